// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What policies and custom features may ask about a call site beyond LLVM's own
// features. Everything is computed on demand, without LLVM's cached analyses:
// looking must not change what the compiler does.

#pragma once

#include "../runtime/session.h"
#include "ir_names.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/InstrTypes.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class DILocation;
}

namespace passpilot {

class FunctionFacts;

/// The question about one call site.
class CallQuestion final : public Question {
public:
  using FactsOf = llvm::function_ref<FunctionFacts &(llvm::Function &)>;
  /// The functions are called as long as the question lives.
  CallQuestion(llvm::CallBase &Site, llvm::function_ref<bool()> Default,
               llvm::function_ref<void()> Rest, FactsOf Facts)
      : Site(Site), Default(Default), Rest(Rest), Facts(Facts) {}
  llvm::CallBase &Site;
  FunctionFacts &facts(llvm::Function &F) const { return Facts(F); }
  Advice defaultAdvice() override { return Advice{Default()}; }
  void describeRest() override { Rest(); }
  DecisionPlace place() override;

private:
  llvm::function_ref<bool()> Default;
  llvm::function_ref<void()> Rest;
  FactsOf Facts;
};

struct SourceLocation {
  std::string File, Function;
  unsigned Line = 0, Column = 0;
};

/// The instruction's own debug location first, then the calls it was inlined
/// through, innermost first; empty without debug information.
std::vector<SourceLocation> locationChain(const llvm::Instruction &I);

/// The number of instructions of \p F per opcode, by LLVM's names.
std::map<std::string, int64_t> opcodeCounts(const llvm::Function &F);

/// The attributes as LLVM prints them: "noinline", "\"target-cpu\"=\"x86-64\"".
std::vector<std::string> attributeTexts(llvm::AttributeSet Set);

std::string printed(const llvm::Value &V);
/// The value as an operand of an instruction: "i32 7".
std::string printedOperand(const llvm::Value &V);
/// The type without its body: "%struct.pair".
std::string printedType(const llvm::Type &T);

/// Loops and block frequencies of one function, computed afresh.
class FunctionShape {
public:
  explicit FunctionShape(llvm::Function &F);
  ~FunctionShape();
  unsigned loopDepth(const llvm::BasicBlock &B) const;
  /// Executions of \p B per execution of the entry block, as LLVM estimates.
  double relativeFrequency(const llvm::BasicBlock &B) const;

private:
  struct Analyses;
  std::unique_ptr<Analyses> A;
};

} // namespace passpilot
