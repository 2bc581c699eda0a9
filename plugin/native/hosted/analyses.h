// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's analyses of a module's functions, on demand, from managers of the
// module's own: what LLVM's passes find cached in theirs changes what they do,
// so a question leaves nothing there. What is changed through the HostedModule
// is told to them, so that no answer is about IR that was.

#ifndef PASSPILOT_HOSTED_ANALYSES_H
#define PASSPILOT_HOSTED_ANALYSES_H

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

/// All of these throw InputError for a function without a body, and outside a
/// pass while the module is compiled.
llvm::FunctionAnalysisManager &analysesOf(HostedModule &H, llvm::Function &F);
llvm::DominatorTree &dominatorsOf(HostedModule &H, llvm::Function &F);
llvm::LoopInfo &loopsOf(HostedModule &H, llvm::Function &F);
llvm::ScalarEvolution &evolutionOf(HostedModule &H, llvm::Function &F);
llvm::TargetTransformInfo &targetOf(HostedModule &H, llvm::Function &F);

/// Executions per execution of the entry block, as LLVM estimates.
double frequencyOf(HostedModule &H, llvm::BasicBlock &B);
double probabilityOf(HostedModule &H, llvm::BasicBlock &From,
                     llvm::BasicBlock &To);
/// Sizes in bytes; none: unknown.
llvm::AliasResult aliasOf(HostedModule &H, llvm::Function &F, llvm::Value &A,
                          std::optional<uint64_t> SizeA, llvm::Value &B,
                          std::optional<uint64_t> SizeB);
llvm::InstructionCost costOf(HostedModule &H, llvm::Instruction &I,
                             llvm::TargetTransformInfo::TargetCostKind Kind);
/// LLVM's FunctionPropertiesAnalysis, by LLVM's names.
std::map<std::string, int64_t> propertiesOf(HostedModule &H, llvm::Function &F);
/// With the inliner's default parameters.
llvm::InlineCost inlineCostOf(HostedModule &H, llvm::CallBase &CB);

} // namespace passpilot

#endif
