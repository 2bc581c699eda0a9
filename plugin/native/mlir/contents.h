// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the decision point `mlir-inline` counts in an operation of MLIR.

#pragma once

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
  bool Call = false; ///< whether the operation calls a symbol

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

} // namespace passpilot
