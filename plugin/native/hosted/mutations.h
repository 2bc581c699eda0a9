// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of a module's IR that leave it valid. LLVM's own functions take bad
// arguments for granted: each of these checks first, and throws IRError, the
// module being as it was.

#ifndef PASSPILOT_HOSTED_MUTATIONS_H
#define PASSPILOT_HOSTED_MUTATIONS_H

#include "module.h"

#include "llvm/IR/Instructions.h"

namespace passpilot {

/// Lets a context read assembly while it lives: compilers may have told theirs
/// to drop the names of values, and LLVM then refuses to.
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

/// What a change needs to be allowed to do.
enum class Extent {
  Attachments,  ///< metadata and attributes of instructions
  Instructions, ///< the body
  Functions,    ///< which functions and globals there are, and their linkage
};
/// Throws IRError unless \p What may be done now to \p F; of a change without a
/// function, \p F is null.
void checkMayChange(HostedModule &H, const llvm::Function *F, Extent E,
                    const char *What);
[[noreturn]] void refuse(const std::string &What, const llvm::Function *F,
                         const std::string &Expected, const std::string &Got,
                         const std::string &Advice = "");

/// Throws unless an instruction can be put in front of \p Pos.
void checkPosition(llvm::Instruction &Pos, const char *What);
/// Throws unless an instruction in front of \p Pos can use \p V.
void checkOperand(HostedModule &H, llvm::Value &V, llvm::Instruction &Pos,
                  const char *What);
/// The verifier's complaint about \p F; empty if it is sound.
std::string complaintAbout(const llvm::Function &F);

/// Runs a pipeline of LLVM's passes in the pass that runs now, on \p F or, if
/// it is null, on the module. True if they have changed something. Throws
/// IRError, or CompilationError if the compilation is to end.
bool runPipeline(HostedModule &H, llvm::Function *F, llvm::StringRef Text);

// Of values and instructions.
void replaceAllUses(HostedModule &H, llvm::Value &Old, llvm::Value &New);
void erase(HostedModule &H, llvm::Instruction &I);
void moveBefore(HostedModule &H, llvm::Instruction &I, llvm::Instruction &Pos);
void setMetadata(HostedModule &H, llvm::Instruction &I, llvm::StringRef Kind,
                 llvm::MDNode *Node);

// Of blocks.
llvm::BasicBlock &splitBefore(HostedModule &H, llvm::Instruction &I,
                              const std::string &Name);
/// A block that ends in unreachable, at the function's end.
llvm::BasicBlock &addBlock(HostedModule &H, llvm::Function &F,
                           const std::string &Name);
void erase(HostedModule &H, llvm::BasicBlock &B);
/// Put in the place of the terminator. \p Value may be null.
void setBranch(HostedModule &H, llvm::BasicBlock &B, llvm::BasicBlock &To);
void setConditionalBranch(HostedModule &H, llvm::BasicBlock &B,
                          llvm::Value &Condition, llvm::BasicBlock &IfTrue,
                          llvm::BasicBlock &IfFalse);
void setReturn(HostedModule &H, llvm::BasicBlock &B, llvm::Value *Value);
void setUnreachable(HostedModule &H, llvm::BasicBlock &B);

// Of functions and globals.
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

// Of attributes, as the assembly has them: "noinline", "align 8",
// "\"key\"=\"value\"". Where: of the function, its result, an argument.
void addAttribute(HostedModule &H, llvm::Function &F, unsigned Where,
                  const std::string &Text);
void removeAttribute(HostedModule &H, llvm::Function &F, unsigned Where,
                     const std::string &Name);
void addAttribute(HostedModule &H, llvm::CallBase &CB, unsigned Where,
                  const std::string &Text);
void removeAttribute(HostedModule &H, llvm::CallBase &CB, unsigned Where,
                     const std::string &Name);

// Of the module. Types and constants are those that the text says.
llvm::Type &typeOf(HostedModule &H, const std::string &Text);
llvm::Constant &constantOf(HostedModule &H, const std::string &Text);
llvm::Function &declare(HostedModule &H, const std::string &Name,
                        llvm::Type &Type);
llvm::GlobalVariable &addGlobal(HostedModule &H, const std::string &Name,
                                llvm::Type &Type, llvm::Constant *Initializer,
                                bool IsConstant);

// New instructions in front of \p Pos, with its debug location.
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

#endif
