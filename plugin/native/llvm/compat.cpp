// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ allows an explicit instantiation to name private members.

#include "compat.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/DemandedBits.h"
#include "llvm/Analysis/InlineModelFeatureMaps.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/MLInlineAdvisor.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#if PASSPILOT_LLVM_MAJOR >= 22
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#endif
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/CommandFlags.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/RegAllocRegistry.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Remarks/RemarkStreamer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Vectorize/LoopVectorizationLegality.h"

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

struct UnwindFrames {
  using Type = FrameInfos MCStreamer::*;
  friend Type member(UnwindFrames);
};
struct ManagedPasses {
  using Type = SmallVector<Pass *, 16> PMDataManager::*;
  friend Type member(ManagedPasses);
};

template struct Open<UnwindFrames, &MCStreamer::DwarfFrameInfos>;
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

FrameInfos &framesOf(MCStreamer &S) { return S.*member(UnwindFrames()); }

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

//===-- Levels ------------------------------------------------------------===//

std::optional<Level> levelNamed(StringRef Name) {
  using Of = OptimizationLevel;
#if PASSPILOT_LLVM_MAJOR >= 23
  constexpr Of Os = Of::O2, Oz = Of::O2;
#else
  const Of Os = Of::Os, Oz = Of::Oz;
#endif
  if (Name == "O1")
    return Level{Of::O1, 1, 0};
  if (Name == "O2")
    return Level{Of::O2, 2, 0};
  if (Name == "O3")
    return Level{Of::O3, 3, 0};
  if (Name == "Os")
    return Level{Os, 2, 1};
  if (Name == "Oz")
    return Level{Oz, 2, 2};
  return std::nullopt;
}

#if PASSPILOT_LLVM_MAJOR >= 23

/// LLVM's names of pipelines that have a level.
constexpr StringLiteral Leveled[] = {"default", "lto", "lto-pre-link",
                                     "thinlto", "thinlto-pre-link"};

/// The place of the next `Os>` or `Oz>` of such a pipeline, from \p At on.
static size_t nextSize(StringRef Text, size_t At = 0) {
  for (At = Text.find("<O", At); At != StringRef::npos;
       At = Text.find("<O", At + 1)) {
    const StringRef Rest = Text.substr(At + 1);
    const StringRef Before = Text.take_front(At);
    const size_t Start = Before.find_last_of(",() ");
    const StringRef Name =
        Before.substr(Start == StringRef::npos ? 0 : Start + 1);
    if ((Rest.starts_with("Os>") || Rest.starts_with("Oz>")) &&
        is_contained(Leveled, Name))
      return At + 1;
  }
  return StringRef::npos;
}

std::string withKnownLevels(StringRef Pipeline) {
  std::string Text = Pipeline.str();
  for (size_t At = nextSize(Text); At != StringRef::npos;
       At = nextSize(Text, At))
    Text[At + 1] = '2';
  return Text;
}

void markForSize(Module &M, StringRef Pipeline) {
  const size_t At = nextSize(Pipeline);
  if (At == StringRef::npos)
    return;
  for (Function &F : M) {
    if (F.isDeclaration() || F.hasOptNone())
      continue;
    F.addFnAttr(Attribute::OptimizeForSize);
    if (Pipeline[At + 1] == 'z')
      F.addFnAttr(Attribute::MinSize);
  }
}

#else

std::string withKnownLevels(StringRef Pipeline) { return Pipeline.str(); }
void markForSize(Module &, StringRef) {}

#endif

//===-- Features and queues -----------------------------------------------===//

const std::vector<TensorSpec> &inlineFeatures() {
#if PASSPILOT_LLVM_MAJOR >= 22
  return MLInlineAdvisor::getInitialFeatureMap();
#else
  return FeatureMap;
#endif
}

namespace {

/// LLVM's strategy keeps its clusters to itself.
struct OpenClusters : GenericScheduler {
#if PASSPILOT_LLVM_MAJOR >= 22
  static constexpr auto Above = &OpenClusters::TopClusterID;
  static constexpr auto Below = &OpenClusters::BotClusterID;
#else
  static constexpr auto Above = &OpenClusters::TopCluster;
  static constexpr auto Below = &OpenClusters::BotCluster;
#endif
};

} // namespace

bool isInCluster(const GenericScheduler &Queues, const SUnit &SU, bool IsTop) {
  const auto Cluster =
      Queues.*(IsTop ? OpenClusters::Above : OpenClusters::Below);
#if PASSPILOT_LLVM_MAJOR >= 22
  return isTheSameCluster(Cluster, SU.ParentClusterIdx);
#else
  return Cluster && Cluster->contains(const_cast<SUnit *>(&SU));
#endif
}

bool writesText(const MCStreamer &S) {
#if PASSPILOT_LLVM_MAJOR >= 22
  return !S.isObj();
#else
  return S.hasRawTextSupport();
#endif
}

//===-- Signatures --------------------------------------------------------===//

bool printsPipeline() {
#if PASSPILOT_LLVM_MAJOR >= 23
  return PrintPipelinePasses.getValue().has_value();
#else
  return PrintPipelinePasses;
#endif
}

void setFunctionAttributes(Module &M, StringRef CPU, StringRef Features) {
#if PASSPILOT_LLVM_MAJOR >= 23
  codegen::setFunctionAttributes(M, CPU, Features);
#else
  codegen::setFunctionAttributes(CPU, Features, M);
#endif
}

std::optional<uint64_t> entryCountOf(const Function &F) {
  const auto Count = F.getEntryCount();
#if PASSPILOT_LLVM_MAJOR >= 23
  return Count;
#else
  return Count ? std::optional(Count->getCount()) : std::nullopt;
#endif
}

std::string inlineAssemblyOf(const Module &M) {
#if PASSPILOT_LLVM_MAJOR >= 23
  std::string All;
  for (const Module::GlobalAsmFragment &Part : M.getModuleInlineAsm())
    All += Part.Asm;
  return All;
#else
  return M.getModuleInlineAsm();
#endif
}

static const MCSubtargetInfo &subtargetOf(const TargetMachine &TM) {
#if PASSPILOT_LLVM_MAJOR >= 23
  return TM.getMCSubtargetInfo();
#else
  return *TM.getMCSubtargetInfo();
#endif
}

bool hasProcessor(const TargetMachine &TM, StringRef Name) {
  return subtargetOf(TM).isCPUStringValid(Name);
}

std::vector<std::string> enabledFeatures(const TargetMachine &TM) {
  std::vector<std::string> Names;
  for (const auto &F : subtargetOf(TM).getEnabledProcessorFeatures())
#if PASSPILOT_LLVM_MAJOR >= 23
    Names.push_back(F->key());
#else
    Names.push_back(F.Key);
#endif
  return Names;
}

const MCAsmInfo &asmInfoOf(const TargetMachine &TM) {
#if PASSPILOT_LLVM_MAJOR >= 23
  return TM.getMCAsmInfo();
#else
  return *TM.getMCAsmInfo();
#endif
}

DataExtractor extractorOf(StringRef Data, bool LittleEndian) {
#if PASSPILOT_LLVM_MAJOR >= 23
  return {Data, LittleEndian};
#else
  return {Data, LittleEndian, /*AddressSize=*/8};
#endif
}

std::unique_ptr<LoopVectorizationLegality> legalityOf(
    Loop &L, PredicatedScalarEvolution &PSE, FunctionAnalysisManager &FAM,
    LoopVectorizationRequirements &Requirements, LoopVectorizeHints &Hints) {
  Function &F = *L.getHeader()->getParent();
  return std::make_unique<LoopVectorizationLegality>(
      &L, PSE, &FAM.getResult<DominatorTreeAnalysis>(F),
      &FAM.getResult<TargetIRAnalysis>(F),
      &FAM.getResult<TargetLibraryAnalysis>(F), &F,
      FAM.getResult<LoopAccessAnalysis>(F), &FAM.getResult<LoopAnalysis>(F),
      &FAM.getResult<OptimizationRemarkEmitterAnalysis>(F), &Requirements,
      &Hints, &FAM.getResult<DemandedBitsAnalysis>(F),
      &FAM.getResult<AssumptionAnalysis>(F),
#if PASSPILOT_LLVM_MAJOR >= 22
      /*AllowRuntimeSCEVChecks=*/!F.hasOptSize(), &FAM.getResult<AAManager>(F)
#else
      /*BFI=*/nullptr, /*PSI=*/nullptr // of profiles
#endif
  );
}

bool mayStopEarly(const LoopVectorizationLegality &Legality, Loop &L,
                  PredicatedScalarEvolution &PSE,
                  FunctionAnalysisManager &FAM) {
#if PASSPILOT_LLVM_MAJOR >= 23
  if (!Legality.hasUncountableEarlyExit())
    return false;
  Function &F = *L.getHeader()->getParent();
  SmallVector<LoadInst *, 4> Faulting; // LLVM looks for them in its plan
  return !isReadOnlyLoop(&L, PSE.getSE(),
                         &FAM.getResult<DominatorTreeAnalysis>(F),
                         &FAM.getResult<AssumptionAnalysis>(F), Faulting) ||
         !Faulting.empty();
#elif PASSPILOT_LLVM_MAJOR == 22
  (void)L, (void)PSE, (void)FAM;
  return Legality.hasUncountableExitWithSideEffects() ||
         !Legality.getPotentiallyFaultingLoads().empty();
#else
  (void)Legality, (void)L, (void)PSE, (void)FAM;
  return false; // neither is legal
#endif
}

std::optional<int64_t> strideOf(Value *Address, Type *T, Loop &L,
                                PredicatedScalarEvolution &PSE,
                                DominatorTree &DT) {
  const DenseMap<Value *, const SCEV *> NoStrides;
#if PASSPILOT_LLVM_MAJOR >= 22
  return getPtrStride(PSE, T, Address, &L, DT, NoStrides, /*Assume=*/false,
                      /*ShouldCheckWrap=*/false);
#else
  (void)DT;
  return getPtrStride(PSE, T, Address, &L, NoStrides, /*Assume=*/false,
                      /*ShouldCheckWrap=*/false);
#endif
}

void addRuntimeLibraries(legacy::PassManagerBase &PM, const TargetMachine &TM) {
#if PASSPILOT_LLVM_MAJOR >= 22
  const TargetOptions &T = TM.Options;
  PM.add(new RuntimeLibraryInfoWrapper(TM.getTargetTriple(), T.ExceptionModel,
                                       T.FloatABIType, T.EABIVersion,
                                       T.MCOptions.ABIName, T.VecLib));
#else
  (void)PM, (void)TM; // it asks the target
#endif
}

TargetLibraryInfoImpl librariesOf(const Module &M, const TargetMachine &TM) {
#if PASSPILOT_LLVM_MAJOR >= 22
  return TargetLibraryInfoImpl(M.getTargetTriple(), TM.Options.VecLib);
#else
  (void)TM;
  return TargetLibraryInfoImpl(M.getTargetTriple());
#endif
}

#if PASSPILOT_LLVM_MAJOR < 22
RemarksFile::RemarksFile(std::unique_ptr<ToolOutputFile> File,
                         LLVMContext &Context)
    : File(std::move(File)), Context(Context) {}

RemarksFile::~RemarksFile() {
  if (!File)
    return;
  Context.setLLVMRemarkStreamer(nullptr);
  Context.setMainRemarkStreamer(nullptr);
}
#endif

Expected<RemarksFile> openRemarksFile(LLVMContext &Context, StringRef Path,
                                      StringRef Filter, StringRef Format,
                                      bool WithHotness) {
  auto File =
      setupLLVMOptimizationRemarks(Context, Path, Filter, Format, WithHotness);
#if PASSPILOT_LLVM_MAJOR >= 22
  return File;
#else
  if (!File)
    return File.takeError();
  return RemarksFile(std::move(*File), Context);
#endif
}

} // namespace passpilot
