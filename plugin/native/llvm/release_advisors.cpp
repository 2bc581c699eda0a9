// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "release_advisors.h"

#include "compat.h"
#include "version.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <typeinfo>

using namespace llvm;

namespace passpilot {

namespace {

template <typename Members, typename Provider>
Members &membersOf(Provider &P, StringRef Class) {
  auto &M = static_cast<Members &>(P);
  if (!StringRef(typeid(P).name()).contains(Class) || M.Runner)
    throw WrongLLVM(
        "register allocation: expected LLVM's " + Class.str() +
        " of version " PASSPILOT_LLVM_MAJOR_TEXT " without a model, got " +
        typeid(P).name() + "; use the LLVM that passpilot was built with");
  return M;
}

EvictionMembers &evictionMembers(RegAllocEvictionAdvisorProvider &P) {
  return membersOf<EvictionMembers>(P, "ReleaseModeEvictionAdvisorProvider");
}

} // namespace

TensorReceiver::TensorReceiver(LLVMContext &C,
                               const std::vector<llvm::TensorSpec> &Specs,
                               const TensorBuffers &Buffers)
    : MLModelRunner(C, Kind::Release, Specs.size()) {
  for (size_t I = 0; I < Specs.size(); ++I)
    setUpBufferForTensor(I, Specs[I], Buffers(I));
}

void *TensorReceiver::evaluateUntyped() {
  if (Answer)
    Column = Answer();
  return &Column;
}

ReleaseEviction::ReleaseEviction(LLVMContext &C)
    : Provider(createReleaseModeAdvisorProvider(C)) {
  const auto &Specs = evictionMembers(*Provider).InputFeatures;
  if (Specs.size() != 21 || Specs[0].name() != "mask" ||
      Specs[0].shape() != std::vector<int64_t>{1, EvictColumns})
    throw WrongLLVM(
        "register allocation: expected LLVM's 21 eviction features of 33 "
        "columns, got others; use the LLVM that passpilot was built with");
}

const std::vector<llvm::TensorSpec> &ReleaseEviction::features() const {
  return static_cast<EvictionMembers &>(*Provider).InputFeatures;
}

TensorReceiver &ReleaseEviction::receive(LLVMContext &C,
                                         const TensorBuffers &Buffers) {
  EvictionMembers &M = evictionMembers(*Provider);
  auto R = std::make_unique<TensorReceiver>(C, M.InputFeatures, Buffers);
  TensorReceiver &Receiver = *R;
  M.Runner = std::move(R);
  return Receiver;
}

ReleasePriority::ReleasePriority()
    : Provider(createReleaseModePriorityAdvisorProvider()) {}

const std::vector<llvm::TensorSpec> &ReleasePriority::features() {
  static const std::vector<llvm::TensorSpec> Specs = {
      llvm::TensorSpec::createSpec<int64_t>("li_size", {1}),
      llvm::TensorSpec::createSpec<int64_t>("stage", {1}),
      llvm::TensorSpec::createSpec<float>("weight", {1})};
  return Specs;
}

void ReleasePriority::receive(LLVMContext &C, const TensorBuffers &Buffers) {
  auto &M = membersOf<PriorityMembers>(*Provider,
                                       "ReleaseModePriorityAdvisorProvider");
  M.Runner = std::make_unique<TensorReceiver>(C, features(), Buffers);
}

} // namespace passpilot
