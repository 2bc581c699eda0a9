// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts what an operation of MLIR contains: the numbers of the decision point
// `mlir-inline`. Stock mlir-opt uses MLIR's C++ interface, and Python the C
// API of its bindings; both count by the function here.

#ifndef PASSPILOT_RUNTIME_MLIR_CONTENTS_H
#define PASSPILOT_RUNTIME_MLIR_CONTENTS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace passpilot {

/// The dialects whose operations are counted separately.
inline constexpr std::array<std::string_view, 11> MLIRDialects = {
    "affine", "arith",  "cf",  "func",   "linalg", "llvm",
    "math",   "memref", "scf", "tensor", "vector"};

/// What the name of an operation says about it.
struct MLIRName {
  size_t Dialect; ///< index in MLIRDialects; its size for others
  bool Loop, Constant;
  bool Flat;         ///< has no regions, and refers to no symbols
  bool Call = false; ///< set by the caller, who knows the dialects

  explicit MLIRName(std::string_view Full) {
    const std::string_view Loops[] = {"scf.for",      "scf.while",
                                      "scf.parallel", "scf.forall",
                                      "affine.for",   "affine.parallel"};
    const std::string_view FlatOnes[] = {"arith", "math", "cf", "complex",
                                         "index"};
    const std::string_view Name = Full.substr(0, Full.find('.'));
    auto IsIn = [](const auto &Names, std::string_view N) {
      return std::find(std::begin(Names), std::end(Names), N) !=
             std::end(Names);
    };
    Dialect = std::find(MLIRDialects.begin(), MLIRDialects.end(), Name) -
              MLIRDialects.begin();
    Loop = IsIn(Loops, Full);
    Flat = IsIn(FlatOnes, Name);
    const std::string_view End = ".constant";
    Constant = Full.size() > End.size() &&
               Full.substr(Full.size() - End.size()) == End;
  }
};

struct MLIRCounts {
  int64_t Operations = 0, Blocks = 0, Loops = 0, Calls = 0;
  int64_t Depth = 1; ///< of nested regions
  std::array<int64_t, MLIRDialects.size() + 1> OfDialect{};
};

/// Adds the contents of \p Op to \p C; its body is \p Level regions deep. \p
/// MLIR is an interface of MLIR: blocks() and operations() call a function
/// with each one in an operation or block, and visit() returns an operation's
/// MLIRName.
template <typename Interface, typename Operation>
void countContents(Interface &MLIR, Operation Op, MLIRCounts &C,
                   int64_t Level = 1) {
  MLIR.blocks(Op, [&](auto Block) {
    ++C.Blocks;
    C.Depth = std::max(C.Depth, Level);
    MLIR.operations(Block, [&](Operation Inner) {
      const MLIRName Name = MLIR.visit(Inner);
      ++C.Operations;
      ++C.OfDialect[Name.Dialect];
      C.Loops += Name.Loop;
      C.Calls += Name.Call;
      if (!Name.Flat && !Name.Call)
        countContents(MLIR, Inner, C, Level + 1);
    });
  });
}

} // namespace passpilot

#endif
