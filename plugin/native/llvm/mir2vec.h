// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's MIR2Vec embeddings, with the vocabulary as an object instead of a
// process-wide option, and as features of evictions.

#pragma once

#include "../runtime/feature_set.h"
#include "version.h"
#if PASSPILOT_LLVM_MAJOR >= 22 // LLVM 21 has no MIR2Vec
#include "llvm/CodeGen/MIR2Vec.h"
#endif

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace llvm {
class Target;
}

namespace passpilot {

/// The sections of a vocabulary's file, in LLVM's order.
constexpr std::array<const char *, 4> MIR2VecSections = {
    "Opcodes", "CommonOperands", "PhysicalRegisters", "VirtualRegisters"};

#if PASSPILOT_LLVM_MAJOR >= 22

/// Threads: may be shared.
class MIR2VecVocabulary {
public:
  /// Vectors of one length by their keys in the file.
  using Section = std::map<std::string, llvm::ir2vec::Embedding>;
  explicit MIR2VecVocabulary(
      std::array<Section, MIR2VecSections.size()> Sections)
      : Sections(std::move(Sections)) {}

  size_t dimension() const { return Sections[0].begin()->second.size(); }
  /// LLVM's vocabulary for the target of \p MF, made at the first call; null if
  /// the file's register classes are another target's. The weights of the
  /// sections come from LLVM's options at this moment. Of the result use only
  /// what needs no target: the target of another compilation may be gone.
  const llvm::mir2vec::MIRVocabulary *
  ofTarget(const llvm::MachineFunction &MF) const;

private:
  const std::array<Section, MIR2VecSections.size()> Sections;
  mutable std::mutex Mutex; ///< of Made
  mutable std::map<const llvm::Target *,
                   std::unique_ptr<llvm::mir2vec::MIRVocabulary>>
      Made;

  bool knows(const llvm::TargetRegisterInfo &TRI) const;
};

/// Adds up the vectors of instructions as LLVM's embedder does. It remembers
/// what LLVM looks up by name every time, counts registers without a class as
/// zero, where LLVM's embedder crashes, and takes the classes of virtual
/// registers from the function itself. Threads: one at a time.
class MachineEmbedder {
public:
  explicit MachineEmbedder(std::shared_ptr<const MIR2VecVocabulary> Vocabulary)
      : Vocabulary(std::move(Vocabulary)) {}

  size_t dimension() const { return Vocabulary->dimension(); }
  /// Call this before the first instruction of a function. Returns false if the
  /// vocabulary is not for its target.
  bool enter(const llvm::MachineFunction &MF);
  /// Adds the vector of \p I, an instruction of the function, to \p Sum.
  void add(const llvm::MachineInstr &I, double *Sum);

private:
  using Vectors = std::vector<const double *>;

  const std::shared_ptr<const MIR2VecVocabulary> Vocabulary;
  const llvm::mir2vec::MIRVocabulary *Target = nullptr;
  const llvm::MachineFunction *Function = nullptr;
  Vectors Entities;  ///< LLVM's entities in order
  Vectors Opcodes;   ///< by opcode; null if not looked up yet
  Vectors Registers; ///< by register; null if not looked up yet
  // By register class.
  Vectors OfPhysical, OfVirtual;
  std::array<const double *, llvm::MachineOperand::MO_Last + 1> OfOperands = {};
  std::vector<double> Zero;

  void readTarget();
  const double *ofOpcode(unsigned Opcode);
  const double *ofOperand(const llvm::MachineOperand &O);
  const double *ofRegister(llvm::Register Reg);
};

/// The vectors of the function, the candidate and the columns.
enum class MIR2VecFeature : size_t { Function, Candidate, Columns };
std::unique_ptr<FeatureSet>
mir2vecFeatures(std::shared_ptr<const MIR2VecVocabulary> Vocabulary);

#endif

} // namespace passpilot
