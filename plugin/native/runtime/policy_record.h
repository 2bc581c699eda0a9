// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policies, as Python has prepared them for this machine: runners/policy reads
// and checks a policy's folder, compiles its models, and leaves a record in the
// user's cache, so that a compiler needs no Python. Text, one fact per line:
//
//   passpilot policy 1
//   source 1840 1763867000123456789 /path/policy.toml    size, time, a file
//   policy @oz                            the name for messages
//   folder /path
//   level Oz                              what the policy is made for
//   target x86_64                         a triple, or the start of one
//   recipe                                a way to compile; at least one
//   runner inline aot:/home/me/.cache/passpilot/policies/inline-5a...so
//   pipeline function(gvn),mergefunc      behind the level's own
//   option enable-machine-outliner=always of LLVM's
//   option-for thumbv6m tail-merge-size=2 of LLVM's, for these triples
//   aim compressed                        what the recipe is for
//
// The record is fresh as long as all its sources have their size and time.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace passpilot {

/// One way to compile a module.
struct PolicyRecipe {
  std::map<std::string, std::string> Runners; ///< specs by decision point
  std::string Pipeline; ///< runs behind the level's own; may be empty
  std::vector<std::string> Options; ///< LLVM's, as NAME or NAME=VALUE
  /// More options, by the triple or the start of one.
  std::vector<std::pair<std::string, std::string>> TargetOptions;
  std::string Aim; ///< may be empty

  /// The options for modules of \p Triple; one for this target wins.
  std::vector<std::string> optionsFor(std::string_view Triple) const;
};

struct PolicyRecord {
  std::string Name, Folder, Level;
  std::vector<std::string> Targets; ///< empty: any
  std::vector<PolicyRecipe> Recipes;

  /// The record in \p Text; nothing if it is none.
  static std::optional<PolicyRecord> parse(std::string_view Text);
  /// The record of the policy that \p Spec names, of the passpilot whose plugin
  /// is in \p Plugin; nothing if Python has to make one.
  static std::optional<PolicyRecord> find(std::string_view Spec,
                                          const std::string &Plugin);
  /// Where Python may leave the record, in the order of preference.
  static std::vector<std::string> places(std::string_view Spec,
                                         const std::string &Plugin);

  /// The policy and its folder, for messages.
  std::string who() const;
  /// The recipe that the query of \p Spec chooses: "@oz?recipe=2" or
  /// "@oz?aim=file". Returns null, with \p Error set, for a wrong query.
  const PolicyRecipe *recipe(std::string_view Spec, std::string &Error) const;
  /// The spec of the runner for \p Point that \p Spec chooses; empty, with \p
  /// Error set, if there is none.
  std::string runner(std::string_view Spec, const std::string &Point,
                     std::string &Error) const;
  /// Why the policy is not for modules of \p Triple; empty if it is.
  std::string refusal(std::string_view Triple) const;

private:
  /// The recipe that a part of a query chooses; the end if it is none.
  std::vector<PolicyRecipe>::const_iterator
  chosenBy(std::string_view Key, std::string_view Value) const;
  /// The recipes' aims, for messages.
  std::string aims() const;
};

/// Whether \p Spec names a policy instead of a scheme: "@oz".
bool namesPolicy(std::string_view Spec);

} // namespace passpilot
