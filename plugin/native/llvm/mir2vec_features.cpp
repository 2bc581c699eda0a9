// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../runtime/session.h"
#include "live_range_question.h"
#include "mir2vec.h"
#if PASSPILOT_LLVM_MAJOR >= 22
#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

namespace {

class MIR2VecFiller final : public FeatureFiller {
public:
  MIR2VecFiller(const std::shared_ptr<const MIR2VecVocabulary> &Vocabulary,
                const void *Maker)
      : Embedder(Vocabulary), Sum(Vocabulary->dimension()), Maker(Maker) {}
  std::string fill(const Session &S, size_t I, void *Buffer) override;

private:
  MachineEmbedder Embedder;
  std::vector<double> Sum;
  SmallPtrSet<const MachineInstr *, 32> Seen;
  const void *const Maker;

  void addRange(const FunctionAllocation &F, const LiveInterval &LI);
  void embedFunction(FunctionAllocation &F, float *Out);
  void embedColumns(const EvictQuestion &Q, float *Out);
  float *store(float *Out);
};

/// Writes the sum, and begins a new one.
float *MIR2VecFiller::store(float *Out) {
  for (double &Each : Sum)
    *Out++ = static_cast<float>(std::exchange(Each, 0));
  return Out;
}

void MIR2VecFiller::addRange(const FunctionAllocation &F,
                             const LiveInterval &LI) {
  // LLVM's list has an instruction once for its operands in a row.
  Seen.clear();
  for (const MachineInstr &I : F.MRI.reg_nodbg_instructions(LI.reg()))
    if (Seen.insert(&I).second)
      Embedder.add(I, Sum.data());
}

void MIR2VecFiller::embedFunction(FunctionAllocation &F, float *Out) {
  std::vector<float> &Vector = F.vectorOf(Maker);
  if (Vector.empty()) {
    for (const MachineBasicBlock *B : depth_first(&F.MF))
      for (const MachineInstr &I : *B)
        Embedder.add(I, Sum.data());
    Vector.resize(Sum.size());
    store(Vector.data());
  }
  std::copy(Vector.begin(), Vector.end(), Out);
}

void MIR2VecFiller::embedColumns(const EvictQuestion &Q, float *Out) {
  for (size_t Column = 0; Column < DoNotEvict; ++Column) {
    if (Q.Mask[Column])
      for (const LiveInterval *LI : Q.interferences(Column))
        addRange(Q.Function, *LI);
    Out = store(Out);
  }
  addRange(Q.Function, Q.Range);
  store(Out);
}

std::string MIR2VecFiller::fill(const Session &S, size_t I, void *Buffer) {
  auto &Q = static_cast<EvictQuestion &>(*S.current());
  auto *Out = static_cast<float *>(Buffer);
  if (!Embedder.enter(Q.Function.MF))
    return std::string("expected a vocabulary of the target ") +
           Q.Function.MF.getTarget().getTarget().getName() +
           ", got one with the register classes of another; name the target's "
           "file";
  switch (static_cast<MIR2VecFeature>(I)) {
  case MIR2VecFeature::Function:
    embedFunction(Q.Function, Out);
    break;
  case MIR2VecFeature::Candidate:
    addRange(Q.Function, Q.Range);
    store(Out);
    break;
  case MIR2VecFeature::Columns:
    embedColumns(Q, Out);
    break;
  }
  return {};
}

class MIR2VecSet final : public FeatureSet {
public:
  explicit MIR2VecSet(std::shared_ptr<const MIR2VecVocabulary> Vocabulary)
      : Vocabulary(std::move(Vocabulary)) {}
  std::unique_ptr<FeatureFiller> filler() const override {
    return std::make_unique<MIR2VecFiller>(Vocabulary, this);
  }

private:
  const std::shared_ptr<const MIR2VecVocabulary> Vocabulary;
};

} // namespace

std::unique_ptr<FeatureSet>
mir2vecFeatures(std::shared_ptr<const MIR2VecVocabulary> Vocabulary) {
  return std::make_unique<MIR2VecSet>(std::move(Vocabulary));
}

} // namespace passpilot

#endif
