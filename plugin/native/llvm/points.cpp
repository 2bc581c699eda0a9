// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "points.h"

#include "allocator_points.h"
#include "compat.h"
#include "release_advisors.h"
#include "llvm/Analysis/InlineModelFeatureMaps.h"
#include "llvm/Analysis/MLInlineAdvisor.h"
#include "llvm/IR/LLVMContext.h"

using namespace llvm;

namespace passpilot {

static TensorSpec fromLLVM(const llvm::TensorSpec &S) {
  return {S.name(), static_cast<ScalarType>(S.type()), S.shape()};
}

static std::vector<TensorSpec>
fromLLVM(const std::vector<llvm::TensorSpec> &Specs) {
  std::vector<TensorSpec> V;
  V.reserve(Specs.size());
  for (const llvm::TensorSpec &S : Specs)
    V.push_back(fromLLVM(S));
  return V;
}

const Point &inlinePoint() {
  static const Point P{"inline",
                       fromLLVM(inlineFeatures()),
                       fromLLVM(DefaultDecisionSpec),
                       fromLLVM(InlineDecisionSpec),
                       {}};
  return P;
}

static const Point &evictPoint() {
  static const Point P = [] {
    LLVMContext Context;
    Domain D;
    D.Kind = DomainKind::Choice;
    D.Count = EvictColumns;
    D.Mask = "mask";
    return Point{"evict", fromLLVM(ReleaseEviction(Context).features()),
                 TensorSpec{"evict_default", ScalarType::Int64, {1}},
                 TensorSpec{"index_to_evict", ScalarType::Int64, {1}}, D};
  }();
  return P;
}

static const Point &priorityPoint() {
  static const Point P = [] {
    Domain D;
    D.Kind = DomainKind::Number;
    D.High = 4294967295.0; // the maximum of LLVM's queue
    return Point{"priority", fromLLVM(ReleasePriority::features()),
                 TensorSpec{"priority_default", ScalarType::Double, {1}},
                 TensorSpec{"priority", ScalarType::Double, {1}}, D};
  }();
  return P;
}

static const char InlinerAsksNobody[] =
    "the pipeline has no inliner that asks (as default<O2> and inliner-wrapper "
    "do; a bare inline does not)";
static const char AllocatorAsksNobody[] =
    "the register allocator asks nobody (as at -O0 or with -regalloc=fast)";

static const char AdvisedAllocatorAsksNobody[] =
    "-regalloc=advised is missing, or the module never needed this decision";
static const char SchedulerAsksNobody[] =
    "the target's scheduler asks nobody (as at -O0, with -misched, or on "
    "WebAssembly and AMDGPU), or had no choice";
static constexpr PointLimit NoLimit = {nullptr, nullptr, nullptr, 0, false};

static const HookedPoint Hooked[] = {
    {"inline",
     "optimize",
     "about each call site",
     InlinerAsksNobody,
     {"size-budget", "FACTOR",
      "let the default decide once the module is FACTOR times its size", 4,
      false},
     inlinePoint},
    {"evict",
     "emit",
     "which live range to evict when registers run out",
     AllocatorAsksNobody,
     {"eviction-limit", "COUNT", "how often a live range may be evicted", 100,
      true},
     evictPoint},
    {"priority", "emit", "how early to allocate each live range",
     AllocatorAsksNobody, NoLimit, priorityPoint},
    {"ra-order", "emit", "which live range -regalloc=advised allocates next",
     AdvisedAllocatorAsksNobody, NoLimit, orderPoint},
    {"ra-action", "emit",
     "whether -regalloc=advised assigns, evicts, splits, spills or waits",
     AdvisedAllocatorAsksNobody, NoLimit, actionPoint},
    {"ra-colour", "emit", "which register -regalloc=advised takes",
     AdvisedAllocatorAsksNobody, NoLimit, colourPoint},
    {"ra-split", "emit", "where -regalloc=advised splits a live range",
     AdvisedAllocatorAsksNobody, NoLimit, splitPoint},
    {"schedule", "emit", "which instruction is next before register allocation",
     SchedulerAsksNobody, NoLimit, schedulePoint},
};

ArrayRef<HookedPoint> hookedPoints() { return Hooked; }

ArrayRef<EmitPass> emitPasses() {
  static constexpr EmitPass Passes[] = {
      {"advised-outliner", "advised-outliner{codegen}"},
      {"advised-outline", "advised-outline"}};
  return Passes;
}

const HookedPoint *findHooked(StringRef Name) {
  for (const HookedPoint &P : Hooked)
    if (P.Name == Name)
      return &P;
  return nullptr;
}

} // namespace passpilot
