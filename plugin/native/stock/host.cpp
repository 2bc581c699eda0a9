// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host.h"

#include "../llvm/compat.h"
#include "../llvm/tool.h"
#include "../loaded/refusal.h"
#include "../runtime/text.h"
#include "version.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>

using namespace llvm;

namespace passpilot {

namespace {

const StringRef LibraryName = "/libLLVM.so." PASSPILOT_LLVM_VERSION_TEXT;

/// The order in which the process has loaded libraries; 0: not loaded.
struct Loaded {
  int Next = 0, LLVM = 0, Another = 0, Ours = 0;
  ElfW(Addr) Here = 0; ///< our base address
};

Loaded libraries() {
  Loaded L;
  Dl_info Info;
  dladdr(reinterpret_cast<void *>(&checkTool), &Info);
  L.Here = reinterpret_cast<ElfW(Addr)>(Info.dli_fbase);
  dl_iterate_phdr(
      [](dl_phdr_info *Library, size_t, void *Data) {
        Loaded &All = *static_cast<Loaded *>(Data);
        const StringRef Name(Library->dlpi_name);
        ++All.Next;
        if (Name.contains(LibraryName))
          All.LLVM = All.Next;
        else if (Name.contains("/libLLVM"))
          All.Another = All.Next;
        if (Library->dlpi_addr == All.Here)
          All.Ours = All.Next;
        return 0;
      },
      &L);
  return L;
}

} // namespace

void checkTool(bool Strict) {
  const Loaded L = libraries();
  if (L.LLVM < L.Ours || (!Strict && (!L.Another || L.Another > L.Ours)))
    return;
  refuse("passpilot: expected a tool with " + LibraryName.drop_front().str() +
         ", such as opt-" PASSPILOT_LLVM_MAJOR_TEXT
         ", clang-" PASSPILOT_LLVM_MAJOR_TEXT
         " or llc-" PASSPILOT_LLVM_MAJOR_TEXT ", got " +
         sys::fs::getMainExecutable(nullptr, nullptr));
}

static bool toolIs(StringRef Name) {
  const std::string Tool = sys::fs::getMainExecutable(nullptr, nullptr);
  return sys::path::filename(Tool).contains(Name);
}

bool isLinker() { return toolIs("lld"); }

std::vector<std::string> commandWords() {
  const auto Command = MemoryBuffer::getFileAsStream("/proc/self/cmdline");
  if (!Command)
    return {};
  const std::string Text = (*Command)->getBuffer().str();
  SmallVector<const char *> Words;
  for (const char *Word = Text.data(); Word < Text.data() + Text.size();
       Word += std::strlen(Word) + 1)
    Words.push_back(Word);
  BumpPtrAllocator Allocator;
  cl::ExpansionContext Files(Allocator, cl::TokenizeGNUCommandLine);
  consumeError(Files.expandResponseFiles(Words)); // the tool has reported it
  return {Words.begin(), Words.end()};
}

/// The name of the first option among \p Names that the tool's command has.
static StringRef givenOf(std::initializer_list<StringRef> Names) {
  const std::vector<std::string> Words = commandWords();
  const auto Found = find_if(Names, [&](StringRef Name) {
    return any_of(Words, [Name](StringRef Word) {
      return Word.starts_with("-") && Word.ltrim('-').starts_with(Name);
    });
  });
  return Found == Names.end() ? "" : *Found;
}

StringRef unadvisedLink() {
  return isLinker() ? givenOf({"thinlto-cache-dir", "thinlto-distributor"})
                    : "";
}

bool isDistributed() {
  return isClang() && !givenOf({"fthinlto-index"}).empty();
}

bool isClang() { return toolIs("clang"); }

bool isLLVMTool() {
  const std::string Tool = sys::fs::getMainExecutable(nullptr, nullptr);
  const StringRef Name = sys::path::filename(Tool);
  return generatesCode() || Name == "opt" || Name.starts_with("opt-");
}

bool generatesCode() { return isClang() || isLinker() || toolIs("llc"); }

std::string newPassManagerFlag() {
  const auto *Flag = optionOf<bool>("enable-new-pm"); // only llc has it
  if (!Flag)
    return "";
  if (*Flag)
    return "-enable-new-pm";
  const auto *Passes = optionOf<std::string>("passes");
  return Passes && !Passes->empty() ? "-passes" : "";
}

void onNewPassManager(void (*Call)()) {
  auto *Flag = optionOf<bool>("enable-new-pm");
  if (!Flag)
    return;
  Flag->setCallback([Call](const bool &) { Call(); });
  if (auto *Passes = optionOf<std::string>("passes"))
    Passes->setCallback([Call](const std::string &) { Call(); });
}

static std::mutex FailedMutex;
static DenseSet<const Module *> FailedModules;

bool hasFailed(const Module &M) {
  std::lock_guard<std::mutex> Lock(FailedMutex);
  return FailedModules.contains(&M);
}

void forgetFailure(const Module &M) {
  std::lock_guard<std::mutex> Lock(FailedMutex);
  FailedModules.erase(&M);
}

/// The end of an error in clang, which says nothing of the file it compiles: a
/// build compiles many.
static std::string fileOf(const Module *Of, StringRef Text) {
  if (!Of || !isClang() || Text.contains(Of->getModuleIdentifier()))
    return "";
  return " [while compiling " + Of->getModuleIdentifier() + "]";
}

void tell(LLVMContext &C, const Module *Of, const Messages &Report) {
  for (const Message &M : Report) {
    if (M.isError()) {
      noteFailure();
      std::lock_guard<std::mutex> Lock(FailedMutex);
      FailedModules.insert(Of);
    }
    if (M.Kind == "warning")
      warn(C, M.Text);
    else if (M.isError())
      C.diagnose(DiagnosticInfoGeneric(shown(M.Text + fileOf(Of, M.Text))));
    else
      C.diagnose(DiagnosticInfoGeneric(shown(M.Text), DS_Remark));
  }
}

bool contained(LLVMContext &C, const Module *Of,
               function_ref<void(Messages &Report)> Body) noexcept {
  Messages Report;
  const bool Good = contained(Report, [&] { Body(Report); });
  tell(C, Of, Report);
  return Good;
}

bool contained(Module &M, function_ref<void(Messages &Report)> Body) noexcept {
  return contained(M.getContext(), &M, Body);
}

const Module *moduleOf(const Any &IR) {
  if (auto *M = any_cast<const Module *>(&IR))
    return *M;
  if (auto *F = any_cast<const Function *>(&IR))
    return (*F)->getParent();
  if (auto *L = any_cast<const Loop *>(&IR))
    return (*L)->getHeader()->getModule();
  if (auto *C = any_cast<const LazyCallGraph::SCC *>(&IR))
    return (*C)->begin()->getFunction().getParent();
  return nullptr;
}

void refusePipeline(PassBuilder &PB, const std::string &Text) {
  auto *PIC = PB.getPassInstrumentationCallbacks();
  if (!isLinker() || !PIC)
    refuse(Text);
  PIC->registerBeforeNonSkippedPassCallback(
      [Text, Done = false](StringRef, const Any &IR) mutable {
        const Module *M = moduleOf(IR);
        if (M && !std::exchange(Done, true))
          tell(M->getContext(), M, {{"error", Text}});
      });
}

} // namespace passpilot
