// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "points.h"

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
  for (const llvm::TensorSpec &S : Specs)
    V.push_back(fromLLVM(S));
  return V;
}

const Point &inlinePoint() {
  static const Point P{"inline",
                       fromLLVM(MLInlineAdvisor::getInitialFeatureMap()),
                       fromLLVM(DefaultDecisionSpec),
                       fromLLVM(InlineDecisionSpec),
                       {}};
  return P;
}

const Point &evictPoint() {
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

const Point &priorityPoint() {
  static const Point P = [] {
    Domain D;
    D.Kind = DomainKind::Number;
    D.High = 4294967295.0; // what LLVM's queue can hold
    return Point{"priority", fromLLVM(ReleasePriority::features()),
                 TensorSpec{"priority_default", ScalarType::Double, {1}},
                 TensorSpec{"priority", ScalarType::Double, {1}}, D};
  }();
  return P;
}

const Point *findPoint(const std::string &Name) {
  if (Name == "inline")
    return &inlinePoint();
  if (Name == "evict")
    return &evictPoint();
  if (Name == "priority")
    return &priorityPoint();
  return nullptr;
}

} // namespace passpilot
