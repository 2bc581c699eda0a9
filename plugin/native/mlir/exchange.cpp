// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "exchange.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace mlir;

namespace passpilot {

static void print(Operation *Op, llvm::raw_ostream &OS, bool Alone) {
  const auto Everything = std::numeric_limits<int64_t>::max();
  OpPrintingFlags Flags; // starts from the command line's flags
  Flags.enableDebugInfo().printGenericOpForm().skipRegions(false);
  Flags.elideLargeElementsAttrs(Everything);
  Flags.elideLargeResourceString(Everything);
  if (!Alone)
    Flags.useLocalScope(); // no aliases, which would precede the operation
  Op->print(OS, Flags);
  OS << "\n";
}

/// Makes a declaration, for use where only name and type matter.
static OwningOpRef<Operation *> declarationOf(Operation *Symbol) {
  if (!isa<FunctionOpInterface>(Symbol)) {
    OwningOpRef<Operation *> Copy = Symbol->clone();
    Copy->removeAttr("initial_value"); // may be large
    return Copy;
  }
  OwningOpRef<Operation *> Copy = Symbol->cloneWithoutRegions();
  SymbolTable::setSymbolVisibility(*Copy, SymbolTable::Visibility::Private);
  if (Copy->hasAttr("linkage"))
    Copy->setAttr("linkage", parseAttribute("#llvm.linkage<external>",
                                            Copy->getContext()));
  return Copy;
}

/// Prints the symbols outside of \p Op that it refers to.
static void printOutside(Operation *Op, llvm::raw_ostream &OS) {
  llvm::SmallSetVector<Operation *, 8> Symbols;
  if (const auto Uses = SymbolTable::getSymbolUses(Op))
    for (const SymbolTable::SymbolUse &Use : *Uses)
      if (Operation *Symbol = SymbolTable::lookupNearestSymbolFrom(
              Op->getParentOp(), Use.getSymbolRef().getRootReference()))
        if (Symbol != Op)
          Symbols.insert(Symbol);
  for (Operation *Symbol : Symbols)
    print(*declarationOf(Symbol), OS, /*Alone=*/false);
}

std::optional<std::string> textOf(Operation *Op, std::string &Why) {
  if (Op->getNumOperands() || Op->getNumResults()) {
    Why = "one with operands or results";
    return std::nullopt;
  }
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  print(Op, OS, /*Alone=*/!Op->getParentOp());
  if (!Op->getParentOp())
    return Text;
  if (StringRef(Text).contains("dense_resource<")) {
    Why = "one with resources, which the module around it keeps";
    return std::nullopt;
  }
  printOutside(Op, OS);
  return "\"builtin.module\"() ({\n" + Text + "}) : () -> ()\n";
}

static OwningOpRef<Operation *> parse(const std::string &Text,
                                      MLIRContext *Context, std::string &Why) {
  ScopedDiagnosticHandler Handler(Context, [&Why](Diagnostic &D) {
    Why += (Why.empty() ? "" : "; ") + D.str();
  });
  const ParserConfig Config(Context, /*verifyAfterParse=*/false);
  return parseSourceString<Operation *>(Text, Config);
}

bool replaceBy(Operation *Op, const std::string &Text, std::string &Why) {
  OwningOpRef<Operation *> New = parse(Text, Op->getContext(), Why);
  if (!New)
    return false;
  if (New->getName() != Op->getName() ||
      New->getNumRegions() != Op->getNumRegions()) {
    Why = New->getName().getStringRef().str();
    return false;
  }
  for (auto [To, From] : llvm::zip(Op->getRegions(), New->getRegions()))
    To.takeBody(From);
  Op->setLoc(New->getLoc());
  Op->setDiscardableAttrs(New->getDiscardableAttrDictionary());
  Op->copyProperties(New->getPropertiesStorage());
  return true;
}

} // namespace passpilot
