// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mutations.h"

#include "../llvm/call_site.h"

#include "llvm/IR/CFG.h"

#include <map>

using namespace llvm;

namespace passpilot {

/// Throws unless \p In can be the value of a phi of type \p T.
static void checkIncoming(HostedModule &H, const Incoming &In, const Type &T,
                          const char *What) {
  const auto [Value, From] = In;
  checkOperand(H, *Value, *From->getTerminator(), What);
  if (Value->getType() != &T)
    refuse(What, From->getParent(), "a value of type " + printedType(T),
           printedOperand(*Value));
}

Instruction &insertPhi(HostedModule &H, BasicBlock &B, Type &T,
                       const std::vector<Incoming> &In,
                       const std::string &Name) {
  const char *What = "phi";
  const Function &F = *B.getParent();
  checkMayChange(H, &F, Extent::Instructions, What);
  std::map<BasicBlock *, Value *> Values;
  for (const auto &[Value, From] : In) {
    if (From->getParent() != &F)
      refuse(What, &F, "blocks of the function", printedOperand(*From));
    checkIncoming(H, {Value, From}, T, What);
    if (!Values.emplace(From, Value).second)
      refuse(What, &F, "one value from each predecessor",
             "two from " + printedOperand(*From));
  }
  std::vector<BasicBlock *> Edges(pred_begin(&B), pred_end(&B));
  for (BasicBlock *From : Edges)
    if (!Values.count(From))
      refuse(What, &F, "a value from each predecessor",
             "none from " + printedOperand(*From));
  for (const auto &[From, Value] : Values)
    if (!is_contained(Edges, From))
      refuse(What, &F, "predecessors of the block", printedOperand(*From));
  if (Edges.empty())
    refuse(What, &F, "a block with predecessors", printedOperand(B));
  PHINode *Phi = PHINode::Create(&T, static_cast<unsigned>(Edges.size()));
  for (BasicBlock *From : Edges) // twice if two edges come from it
    Phi->addIncoming(Values[From], From);
  Phi->insertBefore(B.getFirstNonPHIIt());
  Phi->setName(Name);
  H.changed(*B.getParent());
  return *Phi;
}

void setIncoming(HostedModule &H, Instruction &I, const Incoming &In) {
  const char *What = "set_incoming";
  const Function &F = *I.getFunction();
  checkMayChange(H, &F, Extent::Instructions, What);
  auto *Phi = dyn_cast<PHINode>(&I);
  if (!Phi)
    refuse(What, &F, "a phi", printed(I));
  if (Phi->getBasicBlockIndex(In.second) < 0)
    refuse(What, &F, "a predecessor of the block", printedOperand(*In.second));
  checkIncoming(H, In, *Phi->getType(), What);
  Phi->setIncomingValueForBlock(In.second, In.first);
  H.changed(*I.getFunction());
}

} // namespace passpilot
