// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decision files: what `passpilot tune` found, for a build to apply. Text, one
// decision per line; training/tuning/decision_file.py writes them. This is
// their only reader, for Python, too.
//
//   passpilot decisions 1
//   # any comment
//   unit src/lapi.c
//   level Oz                              with which the search compiled
//   inline 2 yes luaV_execute luaH_get    the second question about this call
//   inline 1 no luaV_execute luaH_getn 14           ... is worth 14 bytes
//   pipeline function(simplifycfg),mergefunc      behind the level's own
//   option enable-machine-outliner=always LLVM's, for code generation
//   function luaV_execute optsize unroll=4   size level and loops of this one
//   function * nooutline                  all others: nothing is outlined
//   function luaS_hash vectorize=8        vectors of so many elements
//   searched 1f0a63b2 90cc27de            hashes of the functions that the
//                                         search saw, for the next search
//
// Words are separated by single blanks. A blank, '%' or control character of a
// name is %XX. Other words at the start of a line are an error, and so are
// passes and options that are not in permitted.h: the file is data.

#pragma once

#include "runner.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace passpilot {

/// An answer to the inliner.
struct InlineDecision {
  bool Yes = false;
  unsigned Bytes = 0; ///< how much smaller it makes the program
};

/// The decisions about a whole function.
struct FunctionDecisions {
  std::string Size;       ///< minsize, optsize or speed; empty for as it was
  unsigned Unroll = 0;    ///< innermost loops by this factor; 0 for LLVM's
  unsigned Vectorize = 0; ///< innermost loops by this width; 0 for LLVM's
  bool NoOutline = false;
  std::string Unwind; ///< where its unwind table is exact; empty for as others
  std::vector<std::string> Words; ///< as the file has them

  /// Adds a word of a decision file; false if it is none.
  bool add(std::string_view Word);
};

/// The decisions for one module.
struct UnitDecisions {
  using Call = std::pair<std::string, std::string>; ///< caller and callee
  std::string Name;                                 ///< the source file
  std::string Level; ///< of the search, such as Oz; may be empty
  /// The answer to the N-th question about a call of this caller and callee.
  std::map<Call, std::map<unsigned, InlineDecision>> Inline;
  std::string Pipeline; ///< runs behind the level's own; may be empty
  std::vector<std::string> Options; ///< of code generation: NAME or NAME=VALUE
  std::map<std::string, FunctionDecisions, std::less<>> Functions;
  std::vector<std::string> Searched; ///< hashes of functions

  /// What is decided for a function: by its name, or by "*"; null for nothing.
  const FunctionDecisions *function(std::string_view Which) const;
};

class DecisionFile {
public:
  /// Reads a file. Returns nothing, with \p Error set, if it is none.
  static std::optional<DecisionFile> read(const std::string &Path,
                                          std::string &Error);
  /// The unit of the module that was made of \p Source; null if there is none.
  /// If no unit has this name, the one whose path ends most alike counts, if it
  /// is a file of the same name and the only such.
  const UnitDecisions *find(std::string_view Source) const;
  /// What is wrong if \p Source is optimized, or "ld-temp.o" at the link, but
  /// the file has decisions, and none for it; else empty.
  std::string misfit(std::string_view Source) const;
  const std::vector<UnitDecisions> &units() const { return Units; }

private:
  std::vector<UnitDecisions> Units;
};

/// Whether the pipeline that this thread runs says that a file has nothing for
/// its module; a runner that begins on the thread leaves it to the pipeline.
extern thread_local bool PipelineReportsUnits;

/// Answers the questions that \p Path decides for the module, and leaves all
/// others to the compiler. Returns null, with \p Error set, for a wrong file.
std::unique_ptr<Runner> makeDecisionsRunner(const std::string &Path,
                                            TensorSpec Output,
                                            TensorSpec Default,
                                            std::string &Error);

} // namespace passpilot
