// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "target.h"

#include "../llvm/compat.h"
#include "../llvm/llvm_options.h"
#include "errors.h"
#include "setup.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/CommandFlags.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Remarks/HotnessThresholdParser.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

#include <array>
#include <csignal>
#include <mutex>
#include <utility>

using namespace llvm;

namespace passpilot {

std::string cpuOf(const TargetOptions &O) {
  return O.CPU.empty() ? codegen::getCPUStr() : O.CPU;
}

std::string featuresOf(const TargetOptions &O) {
  return O.Features.empty() ? codegen::getFeaturesStr() : O.Features;
}

static Triple orDefault(const Triple &T) {
  return T.getTriple().empty() ? Triple(sys::getDefaultTargetTriple()) : T;
}

llvm::TargetOptions flagOptions(const Triple &T) {
  return codegen::InitTargetOptionsFromCodeGenFlags(orDefault(T));
}

Expected<std::unique_ptr<TargetMachine>>
makeTarget(Triple T, StringRef CPU, StringRef Features,
           const llvm::TargetOptions &Flags, CodeGenOptLevel Level,
           std::optional<Reloc::Model> Relocation) {
  OptionsInUse::ifAlone(forgetTargets);
  T = orDefault(T);
  const std::string March = codegen::getMArch(), Given = T.str();
  std::string Error;
  if (const Target *Found = TargetRegistry::lookupTarget(March, T, Error)) {
    if (!Relocation)
      Relocation = codegen::getExplicitRelocModel();
    if (TargetMachine *TM =
            Found->createTargetMachine(T, CPU, Features, Flags, Relocation,
                                       codegen::getExplicitCodeModel(), Level))
      return std::unique_ptr<TargetMachine>(TM);
  }
  if (!March.empty())
    return createStringError(
        "-march: expected a target that LLVM knows, got '" + March + "'");
  return createStringError("expected a target triple that LLVM knows, got '" +
                           Given + "'; use -mtriple");
}

Processor processorOf(const std::string &Name) {
  const OptionsInUse Used;
  const bool Native = Name == "native";
  const StringMap<bool> Host = sys::getHostCPUFeatures();
  Processor P{Native ? sys::getHostCPUName().str() : Name, "", {}};
  SubtargetFeatures Attributes;
  if (Native)
    for (const auto &F : Host)
      Attributes.AddFeature(F.first(), F.second);
  P.Attributes = Attributes.getString();
  auto TM = makeTarget(Triple(), "", P.Attributes, flagOptions(Triple()),
                       CodeGenOptLevel::Default, {});
  if (!TM)
    throw InputError("-mcpu: " + toString(TM.takeError()));
  if (!hasProcessor(**TM, P.Name))
    throw InputError("-mcpu: expected native or a processor that LLVM knows, "
                     "got '" +
                     Name + "'");
  auto Chosen = makeTarget(Triple(), P.Name, P.Attributes,
                           flagOptions(Triple()), CodeGenOptLevel::Default, {});
  cantFail(Chosen.takeError());
  for (const std::string &Feature : enabledFeatures(**Chosen))
    if (Host.contains(Feature))
      P.Features.push_back(Feature);
  return P;
}

bool targetHelp(const std::string &TripleText) {
  const std::vector<std::string> Features = codegen::getMAttrs();
  if (codegen::getCPUStr() != "help" &&
      (Features.empty() || Features.front() != "help"))
    return false;
  const OptionsInUse Used;
  Triple T(Triple::normalize(TripleText));
  auto TM =
      makeTarget(T, cpuOf({}), featuresOf({}), flagOptions(T),
                 CodeGenOptLevel::Default, {}); // LLVM prints as it makes it
  if (!TM)
    throw InputError("-mtriple: " + toString(TM.takeError()));
  return true;
}

/// Installs LLVM's signal handlers, which remove unfinished files, but keeps
/// those of Python and the user, and that of SIGUSR1, which LLVM would only
/// swallow. Call this before LLVM opens its first file.
static void installSignalHandlers() {
  static std::once_flag Once;
  std::call_once(Once, [] {
    std::array<struct sigaction, 32> Before{};
    for (int Number = 1; Number < 32; ++Number)
      sigaction(Number, nullptr, &Before[Number]);
    sys::RemoveFileOnSignal(""); // no file
    sys::DontRemoveFileOnSignal("");
    for (int Number = 1; Number < 32; ++Number)
      if (Number == SIGUSR1 || Before[Number].sa_handler != SIG_DFL)
        sigaction(Number, &Before[Number], nullptr);
  });
}

RemarksFile openRemarks(LLVMContext &Context, const RemarkOptions &O) {
  if (!O.File.empty())
    installSignalHandlers();
  auto Remarks =
      openRemarksFile(Context, O.File, O.Filter, O.Format, O.WithHotness);
  if (!Remarks)
    throw InputError("-pass-remarks-output: " + toString(Remarks.takeError()));
  return std::move(*Remarks);
}

} // namespace passpilot
