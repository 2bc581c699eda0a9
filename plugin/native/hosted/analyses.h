// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's analyses of a module's functions, on demand, from separate managers:
// analyses cached in the managers of LLVM's passes would change what those do.
// Changes through the HostedModule invalidate them, so that no answer is
// outdated.

#pragma once

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Support/InstructionCost.h"

#include <map>
#include <optional>
#include <string>

namespace llvm {
class DominatorTree;
class Loop;
class LoopInfo;
class ScalarEvolution;
} // namespace llvm

namespace passpilot {

class HostedModule;
struct DistributableLoop;
struct VectorizableLoop;

/// All functions throw InputError for a function without a body, and outside a
/// pass while the module is being compiled.
llvm::FunctionAnalysisManager &analysesOf(HostedModule &H, llvm::Function &F);
llvm::DominatorTree &dominatorsOf(HostedModule &H, llvm::Function &F);
llvm::LoopInfo &loopsOf(HostedModule &H, llvm::Function &F);
llvm::ScalarEvolution &evolutionOf(HostedModule &H, llvm::Function &F);
llvm::TargetTransformInfo &targetOf(HostedModule &H, llvm::Function &F);

/// Executions per execution of the entry block, as LLVM estimates.
double frequencyOf(HostedModule &H, llvm::BasicBlock &B);
double probabilityOf(HostedModule &H, llvm::BasicBlock &From,
                     llvm::BasicBlock &To);
/// Sizes are in bytes; an empty size means unknown.
llvm::AliasResult aliasOf(HostedModule &H, llvm::Function &F, llvm::Value &A,
                          std::optional<uint64_t> SizeA, llvm::Value &B,
                          std::optional<uint64_t> SizeB);
llvm::InstructionCost costOf(HostedModule &H, llvm::Instruction &I,
                             llvm::TargetTransformInfo::TargetCostKind Kind);
/// What LLVM's vectorizer knows of an innermost loop; null if it cannot
/// vectorize it. Valid until the function changes.
const VectorizableLoop *vectorizationOf(HostedModule &H, const llvm::Loop &L);
/// What LLVM would make of an innermost loop; null if it cannot distribute it.
/// Valid until the function changes.
const DistributableLoop *distributionOf(HostedModule &H, const llvm::Loop &L);
/// The results of LLVM's FunctionPropertiesAnalysis, by LLVM's names.
std::map<std::string, int64_t> propertiesOf(HostedModule &H, llvm::Function &F);
/// The cost with the inliner's default parameters.
llvm::InlineCost inlineCostOf(HostedModule &H, llvm::CallBase &CB);

} // namespace passpilot
