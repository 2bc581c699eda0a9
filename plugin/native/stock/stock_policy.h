// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A policy in a stock tool, which its options name.

#pragma once

#include "../loaded/policy.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace passpilot {

class StockPolicy {
public:
  /// \p Spec is a name or a folder, with a query; empty for no policy. If it is
  /// wrong, only check() says so, and there is none.
  explicit StockPolicy(std::string Spec);

  /// Checks the policy and its options of LLVM's.
  llvm::Error check() const;
  /// The options of LLVM's for modules of \p Triple, as NAME or NAME=VALUE.
  std::vector<std::string> options(llvm::StringRef Triple) const {
    return Recipe ? Recipe->optionsFor(Triple) : std::vector<std::string>();
  }
  /// The runner for \p Point; empty if there is none.
  std::string runner(llvm::StringRef Point) const;
  /// The points for which there are runners.
  std::vector<std::string> points() const;
  /// The pipeline behind the level's own; empty if there is none.
  std::string pipeline() const { return Recipe ? Recipe->Pipeline : ""; }
  /// The policy and its folder, for messages.
  std::string who() const { return Record ? Record->who() : ""; }
  /// Why the policy is not for \p M; empty if it is.
  std::string refusal(const llvm::Module &M) const {
    return Record ? Record->refusal(M.getTargetTriple().str()) : "";
  }

private:
  const std::string Spec;
  Messages Report; ///< what reading it has reported
  const PolicyRecord *Record = nullptr;
  const PolicyRecipe *Recipe = nullptr;
};

} // namespace passpilot
