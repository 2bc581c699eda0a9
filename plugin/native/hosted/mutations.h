// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of a module's IR that keep it valid. LLVM's own functions do not
// check their arguments: these functions do, and throw IRError without having
// changed the module.

#pragma once

#include "module.h"

#include "llvm/IR/Instructions.h"

namespace passpilot {

/// Lets a context parse assembly while the object lives: if a compiler has set
/// it to discard value names, LLVM refuses to parse.
class NamedValues {
public:
  explicit NamedValues(llvm::LLVMContext &C)
      : C(C), Before(C.shouldDiscardValueNames()) {
    C.setDiscardValueNames(false);
  }
  ~NamedValues() { C.setDiscardValueNames(Before); }
  NamedValues(const NamedValues &) = delete;

private:
  llvm::LLVMContext &C;
  const bool Before;
};

/// What a change affects.
enum class Extent {
  Attachments,  ///< metadata and attributes of instructions
  Instructions, ///< the body of a function
  Functions,    ///< which globals exist, and their linkage
};
/// Throws IRError unless \p What is allowed on \p F now. \p F is null for a
/// change outside of functions.
void checkMayChange(HostedModule &H, const llvm::Function *F, Extent E,
                    const char *What);
[[noreturn]] void refuse(const std::string &What, const llvm::Function *F,
                         const std::string &Expected, const std::string &Got,
                         const std::string &Advice = "");

/// Throws unless an instruction can be inserted before \p Pos.
void checkPosition(llvm::Instruction &Pos, const char *What);
/// Throws unless an instruction before \p Pos can use \p V.
void checkOperand(HostedModule &H, llvm::Value &V, llvm::Instruction &Pos,
                  const char *What);
/// The verifier's complaint about \p F; empty if it is valid.
std::string complaintAbout(const llvm::Function &F);

/// Lets the running pass run a pipeline of LLVM's passes on \p F or, if it is
/// null, on the module. Returns true if they changed something. Throws IRError,
/// or CompilationError if the compilation shall end.
bool runPipeline(HostedModule &H, llvm::Function *F, llvm::StringRef Text);
/// Lets LLVM skip its pass \p Name on \p F for the rest of the compilation.
/// Throws IRError.
void skipPass(HostedModule &H, llvm::Function &F, llvm::StringRef Name);

// Values and instructions.
void replaceAllUses(HostedModule &H, llvm::Value &Old, llvm::Value &New);
void erase(HostedModule &H, llvm::Instruction &I);
void moveBefore(HostedModule &H, llvm::Instruction &I, llvm::Instruction &Pos);
void setMetadata(HostedModule &H, llvm::Instruction &I, llvm::StringRef Kind,
                 llvm::MDNode *Node);

// Blocks.
llvm::BasicBlock &splitBefore(HostedModule &H, llvm::Instruction &I,
                              const std::string &Name);
/// Appends a block that ends in unreachable.
llvm::BasicBlock &addBlock(HostedModule &H, llvm::Function &F,
                           const std::string &Name);
void erase(HostedModule &H, llvm::BasicBlock &B);
/// These replace the terminator. \p Value may be null.
void setBranch(HostedModule &H, llvm::BasicBlock &B, llvm::BasicBlock &To);
void setConditionalBranch(HostedModule &H, llvm::BasicBlock &B,
                          llvm::Value &Condition, llvm::BasicBlock &IfTrue,
                          llvm::BasicBlock &IfFalse);
void setReturn(HostedModule &H, llvm::BasicBlock &B, llvm::Value *Value);
void setUnreachable(HostedModule &H, llvm::BasicBlock &B);

// Functions and globals.
void inlineCall(HostedModule &H, llvm::CallBase &CB);
llvm::Function &clone(HostedModule &H, llvm::Function &F,
                      const std::string &Name);
void erase(HostedModule &H, llvm::GlobalValue &G);
void setLinkage(HostedModule &H, llvm::GlobalValue &G, const std::string &Text);
void setVisibility(HostedModule &H, llvm::GlobalValue &G,
                   const std::string &Text);
void setCallingConvention(HostedModule &H, llvm::Function &F,
                          const std::string &Text);
void setMetadata(HostedModule &H, llvm::Function &F, llvm::StringRef Kind,
                 llvm::MDNode *Node);

// Attributes as assembly text: "noinline", "align 8", "\"key\"=\"value\"". \p
// Where is LLVM's index: the function, its result, or an argument.
void addAttribute(HostedModule &H, llvm::Function &F, unsigned Where,
                  const std::string &Text);
void removeAttribute(HostedModule &H, llvm::Function &F, unsigned Where,
                     const std::string &Name);
void addAttribute(HostedModule &H, llvm::CallBase &CB, unsigned Where,
                  const std::string &Text);
void removeAttribute(HostedModule &H, llvm::CallBase &CB, unsigned Where,
                     const std::string &Name);

// The module. Text describes types and constants.
llvm::Type &typeOf(HostedModule &H, const std::string &Text);
llvm::Constant &constantOf(HostedModule &H, const std::string &Text);
llvm::Function &declare(HostedModule &H, const std::string &Name,
                        llvm::Type &Type);
llvm::GlobalVariable &addGlobal(HostedModule &H, const std::string &Name,
                                llvm::Type &Type, llvm::Constant *Initializer,
                                bool IsConstant);

// Phis; each incoming value comes with its predecessor.
using Incoming = std::pair<llvm::Value *, llvm::BasicBlock *>;
/// Inserts a phi after those that \p B has.
llvm::Instruction &insertPhi(HostedModule &H, llvm::BasicBlock &B,
                             llvm::Type &Type, const std::vector<Incoming> &In,
                             const std::string &Name);
/// Replaces the value that comes from a predecessor.
void setIncoming(HostedModule &H, llvm::Instruction &Phi, const Incoming &In);

// New instructions before \p Pos, with its debug location.
llvm::Instruction &insertBinary(HostedModule &H, llvm::Instruction &Pos,
                                const std::string &Opcode, llvm::Value &A,
                                llvm::Value &B, const std::string &Name);
llvm::Instruction &insertCompare(HostedModule &H, llvm::Instruction &Pos,
                                 const std::string &Predicate, llvm::Value &A,
                                 llvm::Value &B, const std::string &Name);
llvm::Instruction &insertCast(HostedModule &H, llvm::Instruction &Pos,
                              const std::string &Opcode, llvm::Value &V,
                              llvm::Type &To, const std::string &Name);
llvm::Instruction &insertSelect(HostedModule &H, llvm::Instruction &Pos,
                                llvm::Value &Condition, llvm::Value &A,
                                llvm::Value &B, const std::string &Name);
llvm::Instruction &insertAlloca(HostedModule &H, llvm::Instruction &Pos,
                                llvm::Type &Type, const std::string &Name);
llvm::Instruction &insertLoad(HostedModule &H, llvm::Instruction &Pos,
                              llvm::Type &Type, llvm::Value &Pointer,
                              const std::string &Name);
llvm::Instruction &insertStore(HostedModule &H, llvm::Instruction &Pos,
                               llvm::Value &V, llvm::Value &Pointer);
llvm::Instruction &insertElement(HostedModule &H, llvm::Instruction &Pos,
                                 llvm::Type &Type, llvm::Value &Pointer,
                                 const std::vector<llvm::Value *> &Indices,
                                 const std::string &Name);
llvm::Instruction &insertCall(HostedModule &H, llvm::Instruction &Pos,
                              llvm::Function &Callee,
                              const std::vector<llvm::Value *> &Arguments,
                              const std::string &Name);

} // namespace passpilot
