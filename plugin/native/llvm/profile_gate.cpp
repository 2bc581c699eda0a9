// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "profile_gate.h"

#include "compat.h"
#include "llvm_options.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ProfileData/InstrProfReader.h"
#include "llvm/Support/VirtualFileSystem.h"

using namespace llvm;

namespace passpilot {

using Phases = ThinOrFullLTOPhase;

namespace {

/// LLVM's passes that count or read counts, by class and by name.
constexpr std::pair<StringRef, StringRef> ProfilePasses[] = {
    {"PGOInstrumentationGen", "pgo-instr-gen"},
    {"PGOInstrumentationUse", "pgo-instr-use"},
    {"SampleProfileProbePass", "pseudo-probe"},
    {"SampleProfileLoaderPass", "sample-profile"},
    {"MemProfUsePass", "memprof-use"},
};

unsigned countPasses(StringRef Text) {
  SmallVector<StringRef> Elements;
  SplitString(Text, Elements, ",()");
  unsigned Count = 0;
  for (StringRef Element : Elements)
    Count += any_of(ProfilePasses, [&](auto &P) {
      return P.second == Element.split('<').first;
    });
  return Count;
}

/// Whether the pipelines count in a context, or use such counts. A linker gets
/// every profile as one that may have them.
bool countsInContext(const PGOOptions &O) {
  if (O.CSAction != PGOOptions::CSIRUse)
    return O.CSAction == PGOOptions::CSIRInstr;
  auto Reader = IndexedInstrProfReader::create(
      O.ProfileFile, *vfs::getRealFileSystem(), O.ProfileRemappingFile);
  if (Reader)
    return (*Reader)->hasCSIRLevelProfile();
  consumeError(Reader.takeError()); // LLVM will report it
  return false;
}

} // namespace

/// How many passes about profiles LLVM's pipeline of \p Phase has, as
/// PassBuilder puts them there.
unsigned ProfileGate::passesOf(const PGOOptions &O, bool InContext,
                               Phases Phase) {
  const bool Again = O.Action == PGOOptions::SampleUse &&
                     !boolOption("flattened-profile-used");
  const bool PreLink =
      Phase == Phases::ThinLTOPreLink || Phase == Phases::FullLTOPreLink;
  if (PreLink && (Again || InContext))
    return OfTheLinker;
  if (Phase == Phases::ThinLTOPostLink || Phase == Phases::FullLTOPostLink)
    return Again + InContext;
  return O.PseudoProbeForProfiling + (O.Action != PGOOptions::NoAction) +
         !O.MemoryProfile.empty() + InContext;
}

void ProfileGate::registerWith(PassBuilder &PB, StringRef Text) {
  const std::optional<PGOOptions> &Profile = profileOf(PB);
  auto *PIC = PB.getPassInstrumentationCallbacks();
  const unsigned Named = countPasses(Text);
  Awaited = Named;
  Watches = PIC && (Profile || Named);
  if (!Watches)
    return;
  watch(*PIC);
  if (!Profile)
    return;
  const auto Expect = [Gate = shared_from_this(), Named, O = *Profile,
                       InContext = countsInContext(*Profile)](
                          OptimizationLevel Level, Phases Phase) {
    if (Level != OptimizationLevel::O0)
      Gate->Awaited =
          std::max(Gate->Awaited, Named + passesOf(O, InContext, Phase));
  };
  PB.registerPipelineStartEPCallback(
      [Gate = shared_from_this(), Named](auto &, auto) {
        Gate->Awaited = Named;
      });
  PB.registerPipelineEarlySimplificationEPCallback(
      [Expect](auto &, auto Level, auto Phase) { Expect(Level, Phase); });
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(
      [Expect](auto &, auto Level) { Expect(Level, Phases::FullLTOPostLink); });
}

void ProfileGate::watch(PassInstrumentationCallbacks &PIC) {
  PIC.registerAfterPassCallback(
      [Gate = shared_from_this()](StringRef Class, const Any &,
                                  const PreservedAnalyses &) {
        if (none_of(ProfilePasses, [&](auto &P) { return P.first == Class; }))
          return;
        ++Gate->Passed;
        if (Gate->open())
          for (auto &Work : std::exchange(Gate->Waiting, {}))
            Work();
      });
}

void ProfileGate::begin() {
  Passed = 0;
  Waiting.clear();
}

void ProfileGate::whenOpen(std::function<void()> Work) {
  if (open())
    Work();
  else
    Waiting.push_back(std::move(Work));
}

} // namespace passpilot
