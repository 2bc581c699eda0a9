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
/// Runs beyond this number are as good as this number.
constexpr double Most = 1e9;
/// LLVM takes the smallest count of these percentiles, in millionths, as hot
/// and as cold.
constexpr uint32_t HotCutoff = 990000, ColdCutoff = 999999;

class EstimateProfile : public PassInfoMixin<EstimateProfile> {
public:
  explicit EstimateProfile(uint64_t Limit) : Limit(Limit) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    // Elsewhere LLVM outlines at -Oz by itself.
    if (!M.getTargetTriple().isX86() || M.getProfileSummary(/*IsCS=*/false) ||
        hasEntryCounts(M))
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
    OS << EstimateProfileName << "<limit=" << Limit << ">";
  }

private:
  uint64_t Limit;
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

  /// Estimates the runs of a function, and those of the functions that it
  /// calls.
  void estimate(Function &F, const BlockFrequencyInfo &BFI) {
    const bool Foreign = !F.hasLocalLinkage() || F.hasAddressTaken();
    const double Own =
        std::clamp(Runs.lookup(&F) + (Foreign ? 1 : 0), 1.0 / Scale, Most);
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
    const uint64_t Cold = Limit * Scale;
    return ProfileSummary(ProfileSummary::PSK_Instr,
                          {{HotCutoff, Never, 1}, {ColdCutoff, Cold, 2}}, Never,
                          Never, Never, Never, 2, 1);
  }
};

/// The limit in an element such as `estimate-profile<limit=8>`.
std::optional<uint64_t> limitIn(StringRef Element) {
  uint64_t Limit = 8;
  if (!Element.consume_front(EstimateProfileName))
    return std::nullopt;
  if (Element.empty())
    return Limit;
  if (!Element.consume_front("<limit=") || !Element.consume_back(">") ||
      Element.getAsInteger(10, Limit) || Limit > 1000000)
    return std::nullopt;
  return Limit;
}

} // namespace

void registerEstimatedProfile(PassBuilder &PB) {
  if (auto *PIC = PB.getPassInstrumentationCallbacks())
    PIC->addClassToPassName(EstimateProfile::name(), EstimateProfileName);
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &PM,
         ArrayRef<PassBuilder::PipelineElement>) {
        const auto Limit = limitIn(Name);
        if (Limit)
          PM.addPass(EstimateProfile(*Limit));
        return Limit.has_value();
      });
}

} // namespace passpilot
