// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mutations.h"

#include "../llvm/call_site.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Whether callers and callees must agree on the attribute, since it says how
/// values are passed.
bool belongsToABI(Attribute::AttrKind K) {
  switch (K) {
  case Attribute::ByRef:
  case Attribute::ByVal:
  case Attribute::InAlloca:
  case Attribute::InReg:
  case Attribute::Naked:
  case Attribute::Nest:
  case Attribute::Preallocated:
  case Attribute::SExt:
  case Attribute::StructRet:
  case Attribute::SwiftAsync:
  case Attribute::SwiftError:
  case Attribute::SwiftSelf:
  case Attribute::ZExt:
    return true;
  default:
    return false;
  }
}

Type &typeAt(FunctionType &T, unsigned Where) {
  return Where == AttributeList::ReturnIndex
             ? *T.getReturnType()
             : *T.getParamType(Where - AttributeList::FirstArgIndex);
}

/// Parses \p Text with LLVM's parser, as part of a declaration.
Attribute parseAttribute(FunctionType &T, unsigned Where,
                         const std::string &Text, const std::string &What) {
  auto Fail = [&](const std::string &Got) {
    refuse(What + " '" + Text + "'", nullptr,
           "one attribute, as LLVM's assembly has it", Got);
  };
  std::string Source = "declare void @f() " + Text;
  if (Where == AttributeList::ReturnIndex)
    Source = "declare " + Text + " " + printedType(typeAt(T, Where)) + " @f()";
  else if (Where != AttributeList::FunctionIndex)
    Source =
        "declare void @f(" + printedType(typeAt(T, Where)) + " " + Text + ")";
  SMDiagnostic D;
  NamedValues Named(T.getContext());
  auto M = parseAssemblyString(Source, D, T.getContext());
  if (!M) // LLVM's words for an unknown name are about what follows it
    Fail(D.getMessage() == "expected top-level entity"
             ? "a name that LLVM does not know"
             : D.getMessage().str());
  const Function *F = M->getFunction("f");
  const unsigned Index = Where == AttributeList::FunctionIndex ||
                                 Where == AttributeList::ReturnIndex
                             ? Where
                             : AttributeList::FirstArgIndex;
  const AttributeSet Set =
      F ? F->getAttributes().getAttributes(Index) : AttributeSet();
  if (M->size() != 1 || !M->global_empty() || Set.getNumAttributes() != 1)
    Fail(std::to_string(Set.getNumAttributes()) + " attributes");
  return *Set.begin();
}

/// The verifier's complaint about a declaration of type \p T with \p L.
std::string complaintAbout(FunctionType &T, AttributeList L) {
  Module M("attributes", T.getContext());
  Function *F = Function::Create(&T, GlobalValue::ExternalLinkage, "f", M);
  F->setAttributes(L);
  return passpilot::complaintAbout(*F);
}

/// \p L with the attribute that \p Text describes, or without the attribute of
/// that name.
AttributeList changedList(FunctionType &T, AttributeList L, unsigned Where,
                          const std::string &Text, bool Add,
                          const std::string &What) {
  LLVMContext &C = T.getContext();
  if (Where != AttributeList::FunctionIndex &&
      Where != AttributeList::ReturnIndex &&
      Where - AttributeList::FirstArgIndex >= T.getNumParams())
    refuse(What, nullptr,
           "an argument below " + std::to_string(T.getNumParams()),
           std::to_string(Where - AttributeList::FirstArgIndex));
  Attribute::AttrKind Kind = Attribute::getAttrKindFromName(Text);
  if (Add) {
    const Attribute A = parseAttribute(T, Where, Text, What);
    Kind = A.isStringAttribute() ? Attribute::None : A.getKindAsEnum();
    L = L.addAttributeAtIndex(C, Where, A);
  } else if (Kind != Attribute::None && L.hasAttributeAtIndex(Where, Kind)) {
    L = L.removeAttributeAtIndex(C, Where, Kind);
  } else if (L.hasAttributeAtIndex(Where, Text)) {
    L = L.removeAttributeAtIndex(C, Where, Text);
  } else {
    refuse(What + " '" + Text + "'", nullptr, "the name of one that is there",
           "another");
  }
  if (Kind != Attribute::None && belongsToABI(Kind))
    refuse(What + " '" + Text + "'", nullptr,
           "one that does not change how values are passed", "another");
  if (std::string Complaint = complaintAbout(T, L); !Complaint.empty())
    refuse(What + " '" + Text + "'", nullptr,
           "one that fits the type and the other attributes", Complaint);
  return L;
}

void change(HostedModule &H, Function &F, unsigned Where,
            const std::string &Text, bool Add) {
  const std::string What = "attribute of @" + F.getName().str();
  checkMayChange(H, &F, Extent::Instructions, What.c_str());
  if (F.isIntrinsic())
    refuse(What, nullptr, "a function other than an intrinsic", Text);
  F.setAttributes(changedList(*F.getFunctionType(), F.getAttributes(), Where,
                              Text, Add, What));
  H.changed(static_cast<GlobalValue &>(F));
}

void change(HostedModule &H, CallBase &CB, unsigned Where,
            const std::string &Text, bool Add) {
  const char *What = "attribute of a call";
  checkMayChange(H, CB.getFunction(), Extent::Instructions, What);
  const AttributeList Before = CB.getAttributes();
  CB.setAttributes(
      changedList(*CB.getFunctionType(), Before, Where, Text, Add, What));
  if (std::string Complaint = passpilot::complaintAbout(*CB.getFunction());
      !Complaint.empty()) {
    CB.setAttributes(Before);
    refuse(What, CB.getFunction(), "one that LLVM accepts there", Complaint);
  }
  H.changed(*CB.getFunction());
}

} // namespace

void addAttribute(HostedModule &H, Function &F, unsigned Where,
                  const std::string &Text) {
  change(H, F, Where, Text, true);
}
void removeAttribute(HostedModule &H, Function &F, unsigned Where,
                     const std::string &Name) {
  change(H, F, Where, Name, false);
}
void addAttribute(HostedModule &H, CallBase &CB, unsigned Where,
                  const std::string &Text) {
  change(H, CB, Where, Text, true);
}
void removeAttribute(HostedModule &H, CallBase &CB, unsigned Where,
                     const std::string &Name) {
  change(H, CB, Where, Name, false);
}

} // namespace passpilot
