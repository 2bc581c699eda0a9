// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes in Python by their names in the pipelines of a stock tool, and at
// LLVM's extension points.

#ifndef PASSPILOT_STOCK_STOCK_PASSES_H
#define PASSPILOT_STOCK_STOCK_PASSES_H

#include "../llvm/user_pass.h"
#include "../loaded/message.h"
#include "llvm/ADT/StringSet.h"

namespace passpilot {

/// The passes that the pipelines of one pass builder may name.
class StockPasses {
public:
  /// Never deleted: pass managers refer to it, which may outlive the builder.
  /// Loads the user's files first.
  static llvm::Expected<StockPasses *> registerWith(llvm::PassBuilder &PB);

  /// The compilation of \p M begins: errors are reported to its context.
  void begin(llvm::Module &M);
  void end(bool Good, Messages &Told);
  bool failed() const { return Passes.failure().has_value(); }

private:
  UserPasses Passes;
  llvm::PassInstrumentationCallbacks Watch; ///< of builders that have none
  llvm::Module *M = nullptr;
  bool Used = false;         ///< there are passes in Python
  llvm::StringSet<> Refused; ///< elements that have been complained about

  void find(llvm::StringRef Element);
  llvm::Error place(llvm::PassBuilder &PB);
  void advise();
  void fail();
  size_t address() { return reinterpret_cast<size_t>(&Passes); }
};

} // namespace passpilot

#endif
