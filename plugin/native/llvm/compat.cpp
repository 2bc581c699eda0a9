// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ allows an explicit instantiation to name private members.

#include "compat.h"

#include "version.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/RegAllocRegistry.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/MC/MCStreamer.h"

#if LLVM_VERSION_MAJOR != PASSPILOT_LLVM_MAJOR
#error "passpilot is written for another LLVM; check compat.h against this one"
#endif

using namespace llvm;

namespace passpilot {

namespace {

/// Defines one friend function per member; the tag's type selects it.
template <typename Tag, typename Tag::Type Member> struct Open {
  friend typename Tag::Type member(Tag) { return Member; }
};

struct FunctionDelegate {
  using Type = MachineFunction::Delegate *MachineFunction::*;
  friend Type member(FunctionDelegate);
};
struct RegisterDelegates {
  using Type =
      SmallPtrSet<MachineRegisterInfo::Delegate *, 1> MachineRegisterInfo::*;
  friend Type member(RegisterDelegates);
};
struct Instrumentation {
  using Type = PassInstrumentationCallbacks *PassBuilder::*;
  friend Type member(Instrumentation);
};
struct Profile {
  using Type = std::optional<PGOOptions> PassBuilder::*;
  friend Type member(Profile);
};

struct ModuleAnalyses {
  using Type = SmallVector<std::function<void(ModuleAnalysisManager &)>, 2>
      PassBuilder::*;
  friend Type member(ModuleAnalyses);
};

struct FrameInfos {
  using Type = std::vector<MCDwarfFrameInfo> MCStreamer::*;
  friend Type member(FrameInfos);
};
struct ManagedPasses {
  using Type = SmallVector<Pass *, 16> PMDataManager::*;
  friend Type member(ManagedPasses);
};

template struct Open<FrameInfos, &MCStreamer::DwarfFrameInfos>;
template struct Open<ManagedPasses, &PMDataManager::PassVector>;
template struct Open<FunctionDelegate, &MachineFunction::TheDelegate>;
template struct Open<RegisterDelegates, &MachineRegisterInfo::TheDelegates>;
template struct Open<Instrumentation, &PassBuilder::PIC>;
template struct Open<Profile, &PassBuilder::PGOOpt>;
template struct Open<ModuleAnalyses,
                     &PassBuilder::ModuleAnalysisRegistrationCallbacks>;

/// The option, whatever else its template arguments are.
template <typename OptionT> OptionT *registered(StringRef Name) {
  return dynamic_cast<OptionT *>(cl::getRegisteredOptions().lookup(Name));
}

} // namespace

template <typename T> cl::opt<T> *optionOf(StringRef Name) {
  return registered<cl::opt<T>>(Name);
}
template cl::opt<bool> *optionOf(StringRef);
template cl::opt<unsigned> *optionOf(StringRef);
template cl::opt<float> *optionOf(StringRef);
template cl::opt<std::string> *optionOf(StringRef);

FunctionPass *(*chosenAllocator())() {
  using Option = cl::opt<RegisterRegAlloc::FunctionPassCtor, false,
                         RegisterPassParser<RegisterRegAlloc>>;
  const auto *O = registered<Option>("regalloc");
  return O ? O->getValue() : nullptr;
}

MachineFunction::Delegate *delegateOf(const MachineFunction &MF) {
  return MF.*member(FunctionDelegate());
}

size_t delegateCount(const MachineRegisterInfo &MRI) {
  return (MRI.*member(RegisterDelegates())).size();
}

PassInstrumentationCallbacks *&instrumentationOf(PassBuilder &PB) {
  return PB.*member(Instrumentation());
}

const std::optional<PGOOptions> &profileOf(const PassBuilder &PB) {
  return PB.*member(Profile());
}

std::vector<MCDwarfFrameInfo> &framesOf(MCStreamer &S) {
  return S.*member(FrameInfos());
}

static AsmPrinter *printerIn(PMDataManager &Manager) {
  for (Pass *P : Manager.*member(ManagedPasses())) {
    PMDataManager *Inner = P->getAsPMDataManager();
    if (AsmPrinter *Found =
            Inner ? printerIn(*Inner) : dynamic_cast<AsmPrinter *>(P))
      return Found;
  }
  return nullptr;
}

AsmPrinter *printerBehind(const Pass &P) {
  return printerIn(P.getResolver()->getPMDataManager());
}

std::unique_ptr<PassBuilder> parserOf(const PassBuilder &PB) {
  auto Copy = std::make_unique<PassBuilder>(PB);
  ((*Copy).*member(ModuleAnalyses())).clear();
  return Copy;
}

} // namespace passpilot
