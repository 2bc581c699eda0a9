// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "function_copy.h"

#include "errors.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;

namespace passpilot {

namespace {

/// Declares the globals that the copy uses, when it meets them.
class Declarer final : public ValueMaterializer {
public:
  explicit Declarer(Module &M) : M(M) {}

  Value *materialize(Value *V) override {
    auto *G = dyn_cast<GlobalValue>(V);
    return G && G->getParent() != &M ? declare(*G) : nullptr;
  }

private:
  Module &M;

  Value *declare(const GlobalValue &G) {
    constexpr auto Linkage = GlobalValue::ExternalLinkage;
    if (auto *T = dyn_cast<FunctionType>(G.getValueType())) {
      auto *F =
          Function::Create(T, Linkage, G.getAddressSpace(), G.getName(), &M);
      if (auto *Theirs = dyn_cast<Function>(&G)) {
        F->setAttributes(Theirs->getAttributes());
        F->setCallingConv(Theirs->getCallingConv());
      }
      return F;
    }
    auto *Theirs = dyn_cast<GlobalVariable>(&G);
    auto *Variable = new GlobalVariable(
        M, G.getValueType(), Theirs && Theirs->isConstant(), Linkage, nullptr,
        G.getName(), nullptr, G.getThreadLocalMode(), G.getAddressSpace());
    if (Theirs)
      Variable->setAlignment(Theirs->getAlign());
    return Variable;
  }
};

/// The metadata of instructions that analyses of loops read; none of these
/// kinds refers to globals.
constexpr unsigned Kept[] = {LLVMContext::MD_tbaa,
                             LLVMContext::MD_prof,
                             LLVMContext::MD_fpmath,
                             LLVMContext::MD_range,
                             LLVMContext::MD_tbaa_struct,
                             LLVMContext::MD_invariant_load,
                             LLVMContext::MD_alias_scope,
                             LLVMContext::MD_noalias,
                             LLVMContext::MD_nontemporal,
                             LLVMContext::MD_mem_parallel_loop_access,
                             LLVMContext::MD_nonnull,
                             LLVMContext::MD_dereferenceable,
                             LLVMContext::MD_dereferenceable_or_null,
                             LLVMContext::MD_invariant_group,
                             LLVMContext::MD_align,
                             LLVMContext::MD_loop,
                             LLVMContext::MD_access_group,
                             LLVMContext::MD_noundef,
                             LLVMContext::MD_noalias_addrspace};

/// Removes debug information. LLVM's stripDebugInfo() would add a kind of
/// metadata to the context, which its bitcode shows.
void stripDebug(Instruction &I) {
  I.dropDbgRecords();
  I.setDebugLoc(DebugLoc());
  I.setMetadata(LLVMContext::MD_DIAssignID, nullptr);
  updateLoopMetadataDebugLocations(
      I, [](Metadata *MD) { return isa<DILocation>(MD) ? nullptr : MD; });
}

/// Copies the body of \p From into \p To, a function of module \p M.
void copyBody(Function &From, Function &To, Module &M) {
  ValueToValueMapTy Map;
  Map[&From] = &To;
  for (auto [Theirs, Ours] : zip(From.args(), To.args()))
    Map[&Theirs] = &Ours;
  for (BasicBlock &B : From)
    Map[&B] = CloneBasicBlock(&B, Map, "", &To, nullptr, /*MapAtoms=*/false);
  Declarer Globals(M);
  ValueMapper Mapper(Map, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals,
                     nullptr, &Globals);
  for (Instruction &I : instructions(To)) {
    I.dropUnknownNonDebugMetadata(Kept);
    stripDebug(I);
    Mapper.remapInstruction(I);
  }
  if (From.hasPersonalityFn())
    To.setPersonalityFn(Mapper.mapConstant(*From.getPersonalityFn()));
}

/// Whether \p F itself mentions the address of another function's block.
bool namesForeignBlocks(const Function &F) {
  return any_of(instructions(F), [&F](const Instruction &I) {
    return any_of(I.operands(), [&F](const Use &U) {
      auto *Address = dyn_cast<BlockAddress>(U);
      return Address && Address->getFunction() != &F;
    });
  });
}

/// The bitcode of a module that has only \p F and what it uses.
SmallVector<char, 0> bitcodeOf(Function &F) {
  Module Alone(F.getParent()->getModuleIdentifier(), F.getContext());
  Alone.setDataLayout(F.getParent()->getDataLayout());
  Alone.setTargetTriple(F.getParent()->getTargetTriple());
  Function *Copy =
      Function::Create(F.getFunctionType(), GlobalValue::ExternalLinkage,
                       F.getAddressSpace(), F.getName(), &Alone);
  Copy->setAttributes(F.getAttributes());
  Copy->setCallingConv(F.getCallingConv());
  if (F.hasGC())
    Copy->setGC(F.getGC());
  copyBody(F, *Copy, Alone);
  if (auto Count = F.getEntryCount())
    Copy->setEntryCount(*Count);
  SmallVector<char, 0> Bitcode;
  raw_svector_ostream OS(Bitcode);
  WriteBitcodeToFile(Alone, OS);
  return Bitcode;
}

} // namespace

FunctionCopy::FunctionCopy(Function &F)
    : Context(std::make_unique<LLVMContext>()) {
  if (namesForeignBlocks(F))
    throw IRError("copy of function " + F.getName().str() +
                  ": expected a function that can stand alone, got one that "
                  "names blocks of another");
  const SmallVector<char, 0> Bitcode = bitcodeOf(F);
  auto Reread = parseBitcodeFile(
      MemoryBufferRef(StringRef(Bitcode.data(), Bitcode.size()), "copy"),
      *Context);
  if (!Reread)
    throw CompilationError("copy of function " + F.getName().str() + ": " +
                           toString(Reread.takeError()));
  M = std::move(*Reread);
  for (Function &Parsed : *M)
    if (!Parsed.isDeclaration())
      Copy = &Parsed;
}

} // namespace passpilot
