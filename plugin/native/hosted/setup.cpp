// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Process-wide state: LLVM's registries, options and fatal errors.

#include "setup.h"

#include "../llvm/small_constants.h"
#include "../llvm/tool.h"
#include "../llvm/unwind_tables.h"
#include "../llvm/wasm_ifs.h"
#include "errors.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/CommandFlags.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>
#include <unistd.h>

using namespace llvm;

/// Registers -mcpu, -mattr and so on, unless the compiler that has loaded
/// libpasspilot.so already did.
static bool registerFlags() noexcept {
  if (!cl::getRegisteredOptions().contains("mcpu"))
    static const codegen::RegisterCodeGenFlags Flags;
  return true;
}
[[maybe_unused]] static const bool FlagsRegistered = registerFlags();

namespace passpilot {

static int FatalErrors = -1; ///< where reasons go; negative: to stderr

void tellFatalErrors(int Descriptor) { FatalErrors = Descriptor; }

/// Reports LLVM's fatal error in one line and exits; LLVM cannot continue.
static void onFatalError(void *, const char *Reason, bool) {
  std::string Text = FatalErrors < 0 ? "passpilot: error: LLVM:" : "";
  SmallVector<StringRef, 16> Words;
  SplitString(Reason, Words); // splits at line ends, too
  for (StringRef Word : Words)
    Text += " " + Word.str();
  Text += "\n";
  (void)!::write(FatalErrors < 0 ? STDERR_FILENO : FatalErrors, Text.data(),
                 Text.size());
  sys::RunInterruptHandlers(); // removes LLVM's unfinished outputs
  ::_exit(1);
}

void initializeLLVM() {
  if (inForeignTool())
    return; // which has registered everything
  static std::once_flag Once;
  std::call_once(Once, [] {
    install_fatal_error_handler(onFatalError);
    InitializeAllTargetInfos();
    InitializeAllTargets();
    InitializeAllTargetMCs();
    InitializeAllAsmPrinters();
    InitializeAllAsmParsers();
    PassRegistry &Registry = *PassRegistry::getPassRegistry();
    initializeCore(Registry);
    initializeScalarOpts(Registry);
    initializeVectorization(Registry);
    initializeIPO(Registry);
    initializeAnalysis(Registry);
    initializeTransformUtils(Registry);
    initializeInstCombine(Registry);
    initializeTarget(Registry);
    initializeCodeGen(Registry);
    registerUnwindTables(/*InLinker=*/false);
    registerSmallConstants();
    registerWasmIfs();
  });
}

static std::mutex OptionsMutex;
static int OptionUsers = 0;
static thread_local int OwnUses = 0; ///< those of OptionUsers on this thread

OptionsInUse::OptionsInUse() {
  std::lock_guard<std::mutex> Lock(OptionsMutex);
  ++OptionUsers;
  ++OwnUses;
}

OptionsInUse::~OptionsInUse() {
  std::lock_guard<std::mutex> Lock(OptionsMutex);
  --OptionUsers;
  --OwnUses;
}

void OptionsInUse::ifAlone(void (*Change)()) {
  std::lock_guard<std::mutex> Lock(OptionsMutex);
  if (OptionUsers == 1)
    Change();
}

/// "-name", "--name=value" -> "name".
static StringRef optionName(StringRef Argument) {
  return Argument.ltrim('-').split('=').first;
}

/// Drops from \p Earlier the options that \p Later sets again. An argument
/// without a dash is the value of the previous one.
static std::vector<std::string>
withoutRepeats(const std::vector<std::string> &Earlier,
               const std::vector<std::string> &Later) {
  std::vector<std::string> Kept;
  bool Keep = true;
  for (const std::string &A : Earlier) {
    if (StringRef(A).starts_with("-"))
      Keep = none_of(Later, [&](const std::string &L) {
        return StringRef(L).starts_with("-") && optionName(L) == optionName(A);
      });
    if (Keep)
      Kept.push_back(A);
  }
  return Kept;
}

/// Resets LLVM's options to their defaults and sets \p Arguments. Returns
/// false, with some of them set, after an error.
static bool parse(const std::vector<std::string> &Arguments, raw_ostream &OS) {
  std::vector<const char *> Argv = {"passpilot"};
  for (const std::string &A : Arguments)
    Argv.push_back(A.c_str());
  cl::ResetAllOptionOccurrences();
  return cl::ParseCommandLineOptions(static_cast<int>(Argv.size()), Argv.data(),
                                     "", &OS);
}

void parseOptions(const std::vector<std::string> &Arguments,
                  const std::vector<std::string> &Forgotten) {
  std::lock_guard<std::mutex> Lock(OptionsMutex);
  if (OptionUsers > OwnUses)
    throw InputError("LLVM options: expected no compilation on another thread, "
                     "got one, which reads them; set them before it begins");
  // The parser resets all options, so earlier ones are passed again.
  static std::vector<std::string> Accepted;
  std::vector<std::string> All =
      withoutRepeats(withoutRepeats(Accepted, Forgotten), Arguments);
  All.insert(All.end(), Arguments.begin(), Arguments.end());
  std::string Errors;
  raw_string_ostream OS(Errors);
  if (parse(All, OS)) {
    Accepted = std::move(All);
    return;
  }
  parse(Accepted, nulls());
  // Two lines: the complaint, which ends with this program's name, and a guess.
  auto [Complaint, Guess] = StringRef(OS.str()).trim().split('\n');
  Complaint.consume_front("passpilot: ");
  Complaint = Complaint.split("  Try: ").first;
  Guess.consume_front("passpilot: ");
  throw InputError("LLVM option: " + Complaint.str() +
                   (Guess.empty() ? "" : " " + Guess.trim().str()));
}

OptionKind optionKind(const std::string &Name) {
  cl::Option *O = cl::getRegisteredOptions().lookup(Name);
  if (!O)
    return OptionKind::Unknown;
  return O->getValueExpectedFlag() == cl::ValueRequired ? OptionKind::TakesValue
                                                        : OptionKind::Flag;
}

std::string statistics() {
  if (!AreStatisticsEnabled() || GetStatistics().empty())
    return "";
  std::string Text;
  raw_string_ostream OS(Text);
  PrintStatistics(OS);
  return OS.str();
}

std::string passNames() {
  std::string Text;
  raw_string_ostream OS(Text);
  PassBuilder PB;
  PB.printPassNames(OS);
  return OS.str();
}

std::string versionText() {
  return std::string("LLVM version ") + LLVM_VERSION_STRING +
         "\n  Default target: " + sys::getDefaultTargetTriple() +
         "\n  Host CPU: " + sys::getHostCPUName().str() + "\n";
}

} // namespace passpilot
