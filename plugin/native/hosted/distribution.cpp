// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "distribution.h"

#include "vectorization.h"

#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Transforms/Scalar/LoopDistribute.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <deque>

using namespace llvm;

namespace passpilot {

namespace {

/// A loop of the copy and the loops that it has become.
struct DistributedLoop {
  size_t Place;
  DistributableLoop Known;
  std::vector<Loop *> Parts;
};

unsigned instructionsOf(const Loop &L) {
  unsigned N = 0;
  for (const BasicBlock *B : L.blocks())
    N += static_cast<unsigned>(B->size());
  return N;
}

void countDependences(LoopCopy &Copy, Loop &L, DistributableLoop &Known) {
  auto &Accesses =
      Copy.analyses().getResult<LoopAccessAnalysis>(Copy.function());
  const auto *All = Accesses.getInfo(L).getDepChecker().getDependences();
  for (const MemoryDepChecker::Dependence &D :
       All ? ArrayRef(*All) : ArrayRef<MemoryDepChecker::Dependence>()) {
    ++Known.Dependences;
    Known.Backward += D.isPossiblyBackward();
  }
}

/// Lets LLVM distribute \p L; nothing if it cannot. Its pass keeps the loops'
/// identities.
std::optional<DistributedLoop> distribute(LoopCopy &Copy, size_t Place,
                                          Loop &L) {
  DistributedLoop D{Place, {}, {&L}};
  countDependences(Copy, L, D.Known);
  D.Known.Before = instructionsOf(L);
  MDNode *const Hints = L.getLoopID();
  const auto Loops = Copy.loops().getLoopsInPreorder();
  const SmallPtrSet<const Loop *, 16> Others(Loops.begin(), Loops.end());
  bool Done = false;
  Copy.OnRemark = [&Done](const OptimizationRemark &) { Done = true; };
  addStringMetadataToLoop(&L, "llvm.loop.distribute.enable", 1);
  L.getHeader()->setName("loop"); // without a name its copy has none either
  Function &F = Copy.function();
  const PreservedAnalyses PA = LoopDistributePass().run(F, Copy.analyses());
  Copy.analyses().invalidate(F, PA);
  Copy.OnRemark = nullptr;
  for (Loop *New : Copy.loops().getLoopsInPreorder())
    if (!Others.contains(New)) {
      // The copy of the loop for the case that the check fails is no part.
      const bool Whole = New->getHeader()->getName().contains(".lver.orig");
      D.Known.Checked |= Whole;
      New->setLoopID(Hints);
      if (!Whole)
        D.Parts.push_back(New);
    }
  L.setLoopID(Hints);
  if (!Done)
    return std::nullopt;
  return D;
}

/// Counts the parts that LLVM can vectorize, and vectorizes the copy.
void vectorizeParts(LoopCopy &Copy, std::vector<DistributedLoop> &All) {
  std::deque<VectorizableLoop> Known; // its elements stay where they are
  std::vector<std::pair<Loop *, VectorizableLoop *>> Open;
  std::vector<DistributedLoop *> Owners;
  for (DistributedLoop &D : All)
    for (Loop *Part : D.Parts)
      if (auto Found = examined(Copy, *Part)) {
        ++D.Known.Vectorizable;
        Owners.push_back(&D);
        Open.emplace_back(Part, &Known.emplace_back(*Found));
      }
  vectorize(Copy, Open);
  for (auto [Owner, Loop] : zip(Owners, Known))
    Owner->Known.Vectorized += Loop.Width > 1;
}

} // namespace

std::vector<std::pair<size_t, DistributableLoop>>
DistributableLoop::examine(LoopCopy &Copy) {
  std::vector<DistributedLoop> All;
  for (auto [Place, L] : Copy.innermost())
    if (auto Found = distribute(Copy, Place, *L))
      All.push_back(std::move(*Found));
  for (DistributedLoop &D : All) {
    D.Known.Parts = static_cast<unsigned>(D.Parts.size());
    for (const Loop *Part : D.Parts)
      D.Known.After += instructionsOf(*Part);
  }
  if (!All.empty())
    vectorizeParts(Copy, All);
  std::vector<std::pair<size_t, DistributableLoop>> Known;
  Known.reserve(All.size());
  for (const DistributedLoop &D : All)
    Known.emplace_back(D.Place, D.Known);
  return Known;
}

} // namespace passpilot
