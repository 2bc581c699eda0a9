// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir_names.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/AtomicOrdering.h"

using namespace llvm;

namespace passpilot {

namespace {

template <typename T> struct Word {
  T Value;
  const char *Text;
};

template <typename T, size_t N>
std::optional<T> valueOf(const Word<T> (&Words)[N], StringRef Text) {
  for (const Word<T> &W : Words)
    if (Text == W.Text)
      return W.Value;
  return std::nullopt;
}

template <typename T, size_t N>
std::string textOf(const Word<T> (&Words)[N], T Value) {
  for (const Word<T> &W : Words)
    if (W.Value == Value)
      return W.Text;
  return "";
}

constexpr Word<GlobalValue::LinkageTypes> Linkages[] = {
    {GlobalValue::ExternalLinkage, "external"},
    {GlobalValue::AvailableExternallyLinkage, "available_externally"},
    {GlobalValue::LinkOnceAnyLinkage, "linkonce"},
    {GlobalValue::LinkOnceODRLinkage, "linkonce_odr"},
    {GlobalValue::WeakAnyLinkage, "weak"},
    {GlobalValue::WeakODRLinkage, "weak_odr"},
    {GlobalValue::AppendingLinkage, "appending"},
    {GlobalValue::InternalLinkage, "internal"},
    {GlobalValue::PrivateLinkage, "private"},
    {GlobalValue::ExternalWeakLinkage, "extern_weak"},
    {GlobalValue::CommonLinkage, "common"},
};

constexpr Word<GlobalValue::VisibilityTypes> Visibilities[] = {
    {GlobalValue::DefaultVisibility, "default"},
    {GlobalValue::HiddenVisibility, "hidden"},
    {GlobalValue::ProtectedVisibility, "protected"},
};

constexpr Word<CallingConv::ID> CallingConvs[] = {
    {CallingConv::C, "ccc"},
    {CallingConv::Fast, "fastcc"},
    {CallingConv::Cold, "coldcc"},
    {CallingConv::GHC, "ghccc"},
    {CallingConv::AnyReg, "anyregcc"},
    {CallingConv::PreserveMost, "preserve_mostcc"},
    {CallingConv::PreserveAll, "preserve_allcc"},
    {CallingConv::PreserveNone, "preserve_nonecc"},
    {CallingConv::Swift, "swiftcc"},
    {CallingConv::SwiftTail, "swifttailcc"},
    {CallingConv::CXX_FAST_TLS, "cxx_fast_tlscc"},
    {CallingConv::Tail, "tailcc"},
    {CallingConv::X86_StdCall, "x86_stdcallcc"},
    {CallingConv::X86_FastCall, "x86_fastcallcc"},
    {CallingConv::X86_ThisCall, "x86_thiscallcc"},
    {CallingConv::X86_VectorCall, "x86_vectorcallcc"},
    {CallingConv::X86_RegCall, "x86_regcallcc"},
    {CallingConv::X86_INTR, "x86_intrcc"},
    {CallingConv::X86_64_SysV, "x86_64_sysvcc"},
    {CallingConv::Win64, "win64cc"},
};

using Flags = std::vector<const char *>;

void addMathFlags(const Instruction &I, Flags &F) {
  const FastMathFlags M = I.getFastMathFlags();
  if (M.isFast())
    return F.push_back("fast");
  const std::pair<bool, const char *> Kinds[] = {
      {M.allowReassoc(), "reassoc"}, {M.noNaNs(), "nnan"},
      {M.noInfs(), "ninf"},          {M.noSignedZeros(), "nsz"},
      {M.allowReciprocal(), "arcp"}, {M.allowContract(), "contract"},
      {M.approxFunc(), "afn"},
  };
  for (auto [Set, Text] : Kinds)
    if (Set)
      F.push_back(Text);
}

void addPointerFlags(const GetElementPtrInst &G, Flags &F) {
  if (G.isInBounds())
    F.push_back("inbounds");
  else if (G.hasNoUnsignedSignedWrap())
    F.push_back("nusw");
  if (G.hasNoUnsignedWrap())
    F.push_back("nuw");
}

/// Adds the flags that belong to the opcode's class.
void addWrapFlags(const Instruction &I, Flags &F) {
  if (isa<OverflowingBinaryOperator>(I) || isa<TruncInst>(I)) {
    if (I.hasNoUnsignedWrap())
      F.push_back("nuw");
    if (I.hasNoSignedWrap())
      F.push_back("nsw");
  }
  if (isa<PossiblyExactOperator>(I) && I.isExact())
    F.push_back("exact");
  if (const auto *D = dyn_cast<PossiblyDisjointInst>(&I); D && D->isDisjoint())
    F.push_back("disjoint");
  if (isa<PossiblyNonNegInst>(I) && I.hasNonNeg())
    F.push_back("nneg");
  if (const auto *C = dyn_cast<ICmpInst>(&I); C && C->hasSameSign())
    F.push_back("samesign");
}

std::optional<AtomicOrdering> orderingOf(const Instruction &I) {
  if (const auto *L = dyn_cast<LoadInst>(&I))
    return L->getOrdering();
  if (const auto *S = dyn_cast<StoreInst>(&I))
    return S->getOrdering();
  if (const auto *F = dyn_cast<FenceInst>(&I))
    return F->getOrdering();
  if (const auto *R = dyn_cast<AtomicRMWInst>(&I))
    return R->getOrdering();
  if (const auto *C = dyn_cast<AtomicCmpXchgInst>(&I))
    return C->getSuccessOrdering();
  return std::nullopt;
}

} // namespace

std::string linkageText(const GlobalValue &G) {
  return textOf(Linkages, G.getLinkage());
}
std::optional<GlobalValue::LinkageTypes> linkageOf(StringRef Text) {
  return valueOf(Linkages, Text);
}

std::string visibilityText(const GlobalValue &G) {
  return textOf(Visibilities, G.getVisibility());
}
std::optional<GlobalValue::VisibilityTypes> visibilityOf(StringRef Text) {
  return valueOf(Visibilities, Text);
}

std::string callingConvText(CallingConv::ID CC) {
  std::string Text = textOf(CallingConvs, CC);
  return Text.empty() ? "cc " + std::to_string(CC) : Text;
}

std::vector<const char *> flagTexts(const Instruction &I) {
  Flags F;
  if (const auto *G = dyn_cast<GetElementPtrInst>(&I))
    addPointerFlags(*G, F);
  else if (isa<FPMathOperator>(I))
    addMathFlags(I, F);
  addWrapFlags(I, F);
  if (I.isVolatile() && !isa<CallBase>(I))
    F.push_back("volatile");
  return F;
}

std::string orderingText(const Instruction &I) {
  const auto O = orderingOf(I);
  return O && *O != AtomicOrdering::NotAtomic ? toIRString(*O) : "";
}

} // namespace passpilot
