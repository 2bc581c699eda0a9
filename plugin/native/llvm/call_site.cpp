// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "call_site.h"

#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace passpilot {

DecisionPlace CallQuestion::place() {
  DecisionPlace P;
  P.Caller = Site.getCaller()->getName();
  P.Callee = Site.getCalledFunction()->getName();
  if (const DILocation *Loc = Site.getDebugLoc().get()) {
    P.File = Loc->getFilename();
    P.Line = Loc->getLine();
    P.Column = Loc->getColumn();
  }
  return P;
}

std::vector<SourceLocation> locationChain(const Instruction &I) {
  std::vector<SourceLocation> Chain;
  for (const DILocation *L = I.getDebugLoc().get(); L; L = L->getInlinedAt())
    Chain.push_back({L->getFilename().str(),
                     L->getScope()->getSubprogram()->getName().str(),
                     L->getLine(), L->getColumn()});
  return Chain;
}

std::map<std::string, int64_t> opcodeCounts(const Function &F) {
  std::map<std::string, int64_t> Counts;
  for (const Instruction &I : instructions(F))
    ++Counts[I.getOpcodeName()];
  return Counts;
}

std::vector<std::string> attributeTexts(AttributeSet Set) {
  std::vector<std::string> Texts;
  for (Attribute A : Set)
    Texts.push_back(A.getAsString());
  return Texts;
}

std::string printed(const Value &V) {
  std::string S;
  raw_string_ostream OS(S);
  V.print(OS);
  return S;
}

std::string printedOperand(const Value &V) {
  std::string S;
  raw_string_ostream OS(S);
  V.printAsOperand(OS);
  return S;
}

std::string printedType(const Type &T) {
  std::string S;
  raw_string_ostream OS(S);
  T.print(OS, /*IsForDebug=*/false, /*NoDetails=*/true);
  return S;
}

struct FunctionShape::Analyses {
  TargetLibraryInfoImpl TLII;
  TargetLibraryInfo TLI;
  DominatorTree DT;
  PostDominatorTree PDT;
  LoopInfo LI;
  BranchProbabilityInfo BPI;
  BlockFrequencyInfo BFI;

  explicit Analyses(Function &F)
      : TLII(F.getParent()->getTargetTriple()), TLI(TLII, &F), DT(F), PDT(F),
        LI(DT), BPI(F, LI, &TLI, &DT, &PDT), BFI(F, BPI, LI) {}
};

FunctionShape::FunctionShape(Function &F) : A(std::make_unique<Analyses>(F)) {}
FunctionShape::~FunctionShape() = default;

unsigned FunctionShape::loopDepth(const BasicBlock &B) const {
  return A->LI.getLoopDepth(&B);
}

double FunctionShape::relativeFrequency(const BasicBlock &B) const {
  return static_cast<double>(A->BFI.getBlockFreq(&B).getFrequency()) /
         static_cast<double>(A->BFI.getEntryFreq().getFrequency());
}

} // namespace passpilot
