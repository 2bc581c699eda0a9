// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "program_profile.h"

#include "../runtime/text.h"
#include "compat_attributes.h"
#include "tool.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/ProfileData/InstrProfReader.h"
#include "llvm/ProfileData/ProfileCommon.h"
#include "llvm/ProfileData/SampleProfReader.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>

using namespace llvm;

namespace passpilot {

namespace {

enum class Heat { Unknown, Never, Cold, Warm, Hot };

/// How often the hottest blocks of functions ran.
class ProgramProfile {
public:
  static Expected<std::shared_ptr<const ProgramProfile>>
  read(const std::string &Path);

  Heat heat(const Function &F) const;
  /// Whether the counts of \p F may be those of its callers: LLVM counts behind
  /// a first inliner.
  bool mayBeInlined(const Function &F) const {
    return IsBehindInliner && !F.hasFnAttribute(Attribute::NoInline) &&
           (F.getInstructionCount() <= SmallSize || !most(F));
  }
  /// The warning if the profile is not of \p M's program; empty if it is.
  std::string foreign(const Module &M) const;

private:
  std::string Path;
  /// By the hash of the name, which a file may choose: LLVM's own maps have
  /// keys that must not occur.
  std::unordered_map<uint64_t, uint64_t> Most;
  uint64_t HotCount = 0, ColdCount = 0;
  /// A function that is missing never ran: it was sampled or left out.
  bool IsSparse = true;
  bool IsBehindInliner = false;
  /// Above the size, before optimization, of what that inliner takes.
  static constexpr unsigned SmallSize = 100;

  void add(uint64_t Name, uint64_t Count) {
    IsSparse &= Count > 0;
    uint64_t &Known = Most[Name];
    Known = std::max(Known, Count);
  }
  void setThresholds(ProfileSummary &Summary) {
    const SummaryEntryVector &Entries = Summary.getDetailedSummary();
    HotCount = ProfileSummaryBuilder::getHotCountThreshold(Entries);
    ColdCount = ProfileSummaryBuilder::getColdCountThreshold(Entries);
  }
  Error readCounts(std::unique_ptr<MemoryBuffer> Text);
  Error readSamples(std::unique_ptr<MemoryBuffer> Text);
  void addSamples(const sampleprof::FunctionSamples &Samples);
  std::optional<uint64_t> most(const Function &F) const;
};

/// Whether \p Body ends, within a minute, in a child process: some damaged
/// files crash LLVM's readers. The child runs no handler of ours or of the
/// tool's, which would remove its unfinished outputs.
bool endsInChild(function_ref<void()> Body) {
  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC))
    return true;
  const pid_t Child = ::fork();
  if (Child == 0) {
    for (const int Signal :
         {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGTERM, SIGINT})
      std::signal(Signal, SIG_DFL);
    sigset_t None;
    ::sigemptyset(&None);
    ::sigprocmask(SIG_SETMASK, &None, nullptr);
    ::alarm(60);
    const rlimit NoCore{0, 0};
    ::setrlimit(RLIMIT_CORE, &NoCore);
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    remove_fatal_error_handler();
    install_fatal_error_handler([](void *, const char *, bool) { ::_exit(1); });
    Body();
    ::_exit(::write(Ends[1], "", 1) != 1);
  }
  ::close(Ends[1]);
  char Byte;
  ssize_t Got = 1; // without a child, this process is not spared
  while (Child > 0 && (Got = ::read(Ends[0], &Byte, 1)) < 0 && errno == EINTR)
    ;
  ::close(Ends[0]);
  while (Child > 0 && ::waitpid(Child, nullptr, 0) < 0 && errno == EINTR)
    ;
  return Got == 1;
}

/// The hashes by which a function is found. Local functions are
/// "src/a.c;name", or "a.c:name" of clang's own instrumentation; folders and
/// what linkers append do not matter.
SmallVector<uint64_t, 2> keysOf(StringRef Name) {
  const auto [File, Function] = Name.split(Name.contains(';') ? ';' : ':');
  if (Function.empty())
    return {MD5Hash(Name)};
  const std::string Local = (";" + Function.split('.').first).str();
  return {MD5Hash(sys::path::filename(File).str() + Local), MD5Hash(Local)};
}

Error ProgramProfile::readCounts(std::unique_ptr<MemoryBuffer> Text) {
  auto Reader = IndexedInstrProfReader::create(std::move(Text));
  if (!Reader)
    return Reader.takeError();
  for (const NamedInstrProfRecord &Record : **Reader)
    if (!NamedInstrProfRecord::hasCSFlagInHash(Record.Hash) &&
        !Record.Counts.empty())
      for (const uint64_t Key : keysOf(Record.Name))
        add(Key, *max_element(Record.Counts));
  if (Error E = (*Reader)->getError())
    return E;
  IsBehindInliner = (*Reader)->isIRLevelProfile();
  if (!Most.empty())
    setThresholds((*Reader)->getSummary(/*UseCS=*/false));
  return Error::success();
}

Error ProgramProfile::readSamples(std::unique_ptr<MemoryBuffer> Text) {
  LLVMContext Context;
  Context.setDiagnosticHandlerCallBack([](const DiagnosticInfo *, void *) {});
  auto Reader = sampleprof::SampleProfileReader::create(
      Text, Context, *vfs::getRealFileSystem());
  if (!Reader)
    return errorCodeToError(Reader.getError());
  if (const std::error_code Code = (*Reader)->read())
    return errorCodeToError(Code);
  for (const auto &[Hash, Samples] : (*Reader)->getProfiles())
    addSamples(Samples);
  if (!Most.empty())
    setThresholds((*Reader)->getSummary());
  return Error::success();
}

void ProgramProfile::addSamples(const sampleprof::FunctionSamples &Samples) {
  if (const uint64_t Count = Samples.getMaxCountInside())
    add(Samples.getFunction().getHashCode(), Count);
  for (const auto &[Where, Inlined] : Samples.getCallsiteSamples())
    for (const auto &[Name, More] : Inlined)
      addSamples(More);
}

Expected<std::shared_ptr<const ProgramProfile>>
ProgramProfile::read(const std::string &Path) {
  const auto Wrong = [&](const std::string &Why) {
    return createStringError(shown("profile " + Path + ": expected " + Why));
  };
  auto Text = MemoryBuffer::getFile(Path);
  if (!Text)
    return Wrong("a readable file, got: " + Text.getError().message());
  if (RawInstrProfReader64::hasFormat(**Text) ||
      RawInstrProfReader32::hasFormat(**Text))
    return Wrong("a merged profile, got a raw one; run `llvm-profdata-22 merge "
                 "-o FILE.profdata` on it");
  const auto ReadInto = [](ProgramProfile &P,
                           std::unique_ptr<MemoryBuffer> Bytes) {
    return IndexedInstrProfReader::hasFormat(*Bytes)
               ? P.readCounts(std::move(Bytes))
               : P.readSamples(std::move(Bytes));
  };
  if (!endsInChild([&] {
        ProgramProfile Trial;
        consumeError(
            ReadInto(Trial, MemoryBuffer::getMemBuffer(**Text, /*NUL=*/false)));
      }))
    return Wrong("a profile, got one that is damaged; merge it again");
  auto Profile = std::make_shared<ProgramProfile>();
  Profile->Path = Path;
  Error E = ReadInto(*Profile, std::move(*Text));
  if (E)
    return Wrong("a profile of llvm-profdata, or a sample profile such as "
                 "AutoFDO's, got: " +
                 toString(std::move(E)));
  if (Profile->Most.empty())
    return Wrong("counts of functions, got none; run the program before");
  return Profile;
}

std::optional<uint64_t> ProgramProfile::most(const Function &F) const {
  const StringRef Whole = GlobalValue::dropLLVMManglingEscape(F.getName());
  const std::string Name = Whole.split(".llvm.").first.str();
  SmallVector<uint64_t, 3> Keys;
  if (F.hasLocalLinkage())
    append_range(Keys, keysOf(F.getParent()->getSourceFileName() + ";" + Name));
  Keys.push_back(MD5Hash(Name));
  for (const uint64_t Key : Keys)
    if (const auto Found = Most.find(Key); Found != Most.end())
      return Found->second;
  return std::nullopt;
}

Heat ProgramProfile::heat(const Function &F) const {
  const auto Count = most(F);
  if (!Count)
    return IsSparse ? Heat::Never : Heat::Unknown;
  return *Count == 0          ? Heat::Never
         : *Count >= HotCount ? Heat::Hot
         : *Count > ColdCount ? Heat::Warm
                              : Heat::Cold;
}

std::string ProgramProfile::foreign(const Module &M) const {
  unsigned Bodies = 0;
  bool IsMain = false;
  for (const Function &F : M) {
    if (F.isIntrinsic())
      continue;
    Bodies += !F.isDeclaration();
    if (!most(F))
      continue;
    if (F.getName() != "main") // every program has one
      return "";
    IsMain = true;
  }
  if (Bodies == 0 || (IsMain && Bodies == 1))
    return "";
  return shown("profile " + Path + ": expected the program of " +
               M.getSourceFileName() +
               ", got one without its functions; make the profile of this "
               "program");
}

/// The mark of instructions of hot functions, which inlining copies.
constexpr StringLiteral HotMark = "passpilot-hot";

/// Tells LLVM what is cold and what is hot, before anything else.
class MarkHeat : public PassInfoMixin<MarkHeat> {
public:
  explicit MarkHeat(std::shared_ptr<const ProgramProfile> P)
      : Profile(std::move(P)) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (const std::string Why = Profile->foreign(M); !Why.empty()) {
      warn(M.getContext(), Why);
      return PreservedAnalyses::all();
    }
    SetVector<Function *> Hot, Cold;
    for (Function &F : M) {
      if (F.isDeclaration() || F.hasOptNone())
        continue;
      const Heat H = Profile->heat(F);
      if (H == Heat::Hot)
        Hot.insert(&F);
      else if (H == Heat::Never || H == Heat::Cold)
        Cold.insert(&F);
    }
    findInlined(Hot, Cold);
    spareCallers(Hot, Cold);
    for (Function *F : Hot)
      mark(*F);
    const bool IsX86 = M.getTargetTriple().isX86();
    for (Function *F : Cold) {
      F->addFnAttr(Attribute::OptimizeForSize);
      if (!IsX86) // there its pushes and pops need more than they save
        F->addFnAttr(Attribute::MinSize);
    }
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  std::shared_ptr<const ProgramProfile> Profile;

  /// What hot functions call may be as hot, and have no count of its own.
  void findInlined(SetVector<Function *> &Hot,
                   SetVector<Function *> &Cold) const {
    for (size_t Next = 0; Next < Hot.size(); ++Next)
      for (const Instruction &I : instructions(*Hot[Next]))
        if (const auto *Call = dyn_cast<CallBase>(&I))
          if (Function *Callee = Call->getCalledFunction();
              Callee && !Callee->isDeclaration() && !Callee->hasOptNone() &&
              Profile->mayBeInlined(*Callee)) {
            Cold.remove(Callee);
            Hot.insert(Callee);
          }
  }

  /// A function that ran once may inline the hottest loop of the program.
  void spareCallers(const SetVector<Function *> &Hot,
                    SetVector<Function *> &Cold) const {
    SmallVector<Function *> Callees(Hot.begin(), Hot.end());
    while (!Callees.empty())
      for (const User *U : Callees.pop_back_val()->users())
        if (const auto *Call = dyn_cast<CallBase>(U))
          if (auto *Caller = const_cast<Function *>(Call->getFunction());
              Profile->heat(*Caller) == Heat::Cold && Cold.remove(Caller))
            Callees.push_back(Caller);
  }

  static void mark(Function &F) {
    forbidOutlining(F);
    MDNode *Mark = MDNode::get(F.getContext(), {});
    for (Instruction &I : instructions(F))
      I.setMetadata(HotMark, Mark);
  }
};

/// Keeps the machine outliner from hot code that has been inlined.
class KeepHeat : public PassInfoMixin<KeepHeat> {
public:
  explicit KeepHeat(std::shared_ptr<const ProgramProfile> P)
      : Profile(std::move(P)) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    for (Function &F : M) {
      bool HasHot = false;
      for (Instruction &I : instructions(F)) {
        HasHot |= I.hasMetadata(HotMark);
        I.setMetadata(HotMark, nullptr);
      }
      if (HasHot && Profile->heat(F) != Heat::Never)
        forbidOutlining(F);
    }
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }

private:
  std::shared_ptr<const ProgramProfile> Profile;
};

} // namespace

Expected<std::shared_ptr<const bool>> registerProfile(const UserPasses &Passes,
                                                      PassBuilder &PB,
                                                      const std::string &Path) {
  auto Read = ProgramProfile::read(Path);
  if (!Read)
    return Read.takeError();
  const auto Reached = std::make_shared<bool>(false);
  const auto Begin = [Profile = *Read, Reached, Gate = Passes.gate()](
                         ModulePassManager &PM, OptimizationLevel) {
    *Reached = true;
    ModulePassManager Marks;
    Marks.addPass(MarkHeat(Profile));
    addGated(PM, std::move(Marks), Gate);
  };
  const auto End = [Profile = *Read, Reached](ModulePassManager &PM) {
    *Reached = true;
    PM.addPass(KeepHeat(Profile));
  };
  PB.registerPipelineStartEPCallback(Begin);
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(Begin);
  PB.registerOptimizerLastEPCallback([End](ModulePassManager &PM,
                                           OptimizationLevel,
                                           ThinOrFullLTOPhase Phase) {
    if (Phase == ThinOrFullLTOPhase::None ||
        Phase == ThinOrFullLTOPhase::ThinLTOPostLink)
      End(PM);
  });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [End](ModulePassManager &PM, OptimizationLevel) { End(PM); });
  return Reached;
}

} // namespace passpilot
