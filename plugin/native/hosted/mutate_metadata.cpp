// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mutations.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/ProfDataUtils.h"

using namespace llvm;

namespace passpilot {

/// Whether LLVM defines the format of \p Kind's nodes. Loops are checked
/// separately.
static bool hasRules(unsigned Kind) {
  static constexpr unsigned Fixed[] = {
#define LLVM_FIXED_MD_KIND(Enum, Name, Value) Value,
#include "llvm/IR/FixedMetadataKinds.def"
#undef LLVM_FIXED_MD_KIND
  };
  return Kind != LLVMContext::MD_loop && is_contained(Fixed, Kind);
}

/// Whether a branch has a weight for each of its ways. The verifier would look
/// at the whole function, for each branch to which a profile is given.
template <typename T> static bool hasRightWeights(const T &Object) {
  if constexpr (std::is_same_v<T, Instruction>)
    if (Object.isTerminator() && !isa<CallBase>(Object) &&
        Object.getNumSuccessors() > 1 && hasValidBranchWeightMD(Object)) {
      const MDNode *Node = Object.getMetadata(LLVMContext::MD_prof);
      return all_of(drop_begin(Node->operands(), getBranchWeightOffset(Node)),
                    [](const MDOperand &Weight) {
                      return mdconst::dyn_extract<ConstantInt>(Weight);
                    });
    }
  return false;
}

static unsigned kindOf(Function &F, StringRef Kind) {
  if (Kind.empty() || Kind == "dbg")
    refuse("set_metadata", &F, "a kind other than dbg", Kind.str());
  return F.getContext().getMDKindID(Kind);
}

/// Sets the metadata \p Kind of \p Object, which is \p F or inside it.
template <typename T>
static void set(HostedModule &H, Function &F, T &Object, unsigned Kind,
                MDNode *Node) {
  // LLVM's passes assume a form that the verifier does not check.
  if (Kind == LLVMContext::MD_loop && Node &&
      (Node->getNumOperands() == 0 || Node->getOperand(0) != Node))
    refuse("set_metadata of a loop", &F, "a tuple that begins with ...",
           "another");
  SmallVector<MDNode *, 2> Before;
  if constexpr (std::is_same_v<T, Function>)
    Object.getMetadata(Kind, Before);
  else if (MDNode *N = Object.getMetadata(Kind))
    Before.push_back(N);
  Object.setMetadata(Kind, Node);
  const bool IsRight = !hasRules(Kind) || (Kind == LLVMContext::MD_prof &&
                                           Node && hasRightWeights(Object));
  if (std::string Complaint = IsRight ? "" : complaintAbout(F);
      !Complaint.empty()) {
    Object.setMetadata(Kind, nullptr);
    if constexpr (std::is_same_v<T, Function>)
      for (MDNode *N : Before)
        Object.addMetadata(Kind, *N);
    else if (!Before.empty())
      Object.setMetadata(Kind, Before.front());
    refuse("set_metadata", &F, "a node as LLVM has it for the kind", Complaint);
  }
  // LLVM treats branch weights as part of the control flow.
  H.changed(F, Kind == LLVMContext::MD_prof ? Change::ControlFlow
                                            : Change::Instructions);
}

void setMetadata(HostedModule &H, Instruction &I, StringRef Kind,
                 MDNode *Node) {
  Function &F = *I.getFunction();
  checkMayChange(H, &F, Extent::Attachments, "set_metadata");
  set(H, F, I, kindOf(F, Kind), Node);
}

void setMetadata(HostedModule &H, Function &F, StringRef Kind, MDNode *Node) {
  checkMayChange(H, &F, Extent::Instructions, "set_metadata");
  set(H, F, F, kindOf(F, Kind), Node);
}

} // namespace passpilot
