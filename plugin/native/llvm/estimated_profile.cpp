// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "estimated_profile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ProfileSummary.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace passpilot {

namespace {

/// An entry count for one run, so that rarer blocks have counts, too.
constexpr uint64_t Scale = 1000;
/// Larger numbers of runs count as this one.
constexpr double Most = 1e9;
constexpr uint64_t LargestOption = 1000000;
/// LLVM takes the smallest count of these percentiles, in millionths, as hot
/// and as cold.
constexpr uint32_t HotCutoff = 990000, ColdCutoff = 999999;

/// The options in an element of a pipeline.
struct Options {
  /// What runs more often is not cold.
  uint64_t Limit = 8;
  /// A function of n instructions counts as called Small / n times, beside the
  /// calls inside the module.
  uint64_t Small = 0;
};

class EstimateProfile : public PassInfoMixin<EstimateProfile> {
public:
  explicit EstimateProfile(Options Chosen) : Chosen(Chosen) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    if (M.getProfileSummary(/*IsCS=*/false) || hasEntryCounts(M))
      return PreservedAnalyses::all();
    auto &FAM =
        MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
    Runs.clear();
    for (Function *F : callersFirst(M))
      estimate(*F, FAM.getResult<BlockFrequencyAnalysis>(*F));
    M.setProfileSummary(summary().getMD(M.getContext()),
                        ProfileSummary::PSK_Instr);
    return PreservedAnalyses::none();
  }
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)>) const {
    OS << EstimateProfileName << "<limit=" << Chosen.Limit;
    if (Chosen.Small)
      OS << ";small=" << Chosen.Small;
    OS << ">";
  }

private:
  Options Chosen;
  DenseMap<const Function *, double> Runs;

  static bool hasEntryCounts(const Module &M) {
    return any_of(M, [](const Function &F) { return F.hasProfileData(); });
  }

  /// The functions with bodies; those that call one another are in any order.
  static std::vector<Function *> callersFirst(Module &M) {
    CallGraph Graph(M);
    std::vector<Function *> Order;
    for (auto SCC = scc_begin(&Graph); !SCC.isAtEnd(); ++SCC)
      for (CallGraphNode *Node : *SCC)
        if (Function *F = Node->getFunction(); F && !F->isDeclaration())
          Order.push_back(F);
    std::reverse(Order.begin(), Order.end());
    return Order;
  }

  static double frequency(BlockFrequency F) {
    return static_cast<double>(F.getFrequency());
  }

  /// How often a function runs at least: once if other modules or pointers may
  /// call it. Small functions run more often; a program calls main once.
  double fewestRuns(const Function &F) const {
    const double Called = F.hasLocalLinkage() && !F.hasAddressTaken() ? 0 : 1;
    if (F.getName() == "main")
      return Called;
    const double Size = std::max(F.getInstructionCount(), 1U);
    return std::max(static_cast<double>(Chosen.Small) / Size, Called);
  }

  /// Estimates the runs of a function, and those of the functions that it
  /// calls.
  void estimate(Function &F, const BlockFrequencyInfo &BFI) {
    const double Own =
        std::clamp(Runs.lookup(&F) + fewestRuns(F), 1.0 / Scale, Most);
    const double Entry = std::max(frequency(BFI.getEntryFreq()), 1.0);
    for (const Instruction &I : instructions(F))
      if (const auto *Call = dyn_cast<CallBase>(&I))
        if (const Function *Callee = Call->getCalledFunction())
          Runs[Callee] +=
              Own * frequency(BFI.getBlockFreq(I.getParent())) / Entry;
    F.setEntryCount(static_cast<uint64_t>(Own * Scale));
  }

  ProfileSummary summary() const {
    constexpr uint64_t Never = UINT64_MAX / 2; // no block is hot
    const uint64_t Cold = Chosen.Limit * Scale;
    return ProfileSummary(ProfileSummary::PSK_Instr,
                          {{HotCutoff, Never, 1}, {ColdCutoff, Cold, 2}}, Never,
                          Never, Never, Never, 2, 1);
  }
};

/// The options in an element such as `estimate-profile<limit=8;small=400>`.
std::optional<Options> optionsIn(StringRef Element) {
  Options Chosen;
  if (!Element.consume_front(EstimateProfileName))
    return std::nullopt;
  if (Element.empty())
    return Chosen;
  if (!Element.consume_front("<") || !Element.consume_back(">"))
    return std::nullopt;
  SmallVector<StringRef> Given;
  Element.split(Given, ';');
  for (StringRef Option : Given) {
    const auto [Key, Text] = Option.split('=');
    uint64_t Number = 0;
    if (Text.getAsInteger(10, Number) || Number > LargestOption)
      return std::nullopt;
    if (Key == "limit")
      Chosen.Limit = Number;
    else if (Key == "small")
      Chosen.Small = Number;
    else
      return std::nullopt;
  }
  return Chosen;
}

} // namespace

void registerEstimatedProfile(PassBuilder &PB) {
  if (auto *PIC = PB.getPassInstrumentationCallbacks())
    PIC->addClassToPassName(EstimateProfile::name(), EstimateProfileName);
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &PM,
         ArrayRef<PassBuilder::PipelineElement>) {
        const auto Chosen = optionsIn(Name);
        if (Chosen)
          PM.addPass(EstimateProfile(*Chosen));
        return Chosen.has_value();
      });
}

} // namespace passpilot
