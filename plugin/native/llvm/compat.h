// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All use of LLVM's internals: private members, protected lists of passes, the
// types of options; and all that differs between the LLVM versions that
// passpilot can be built with. To support another LLVM, start here: if it
// renames a member, this does not compile; if it changes a model of the
// register allocator, release_advisors.cpp reports it at run time.

#pragma once

#include "version.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/MLModelRunner.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TensorSpec.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/MC/MCDwarf.h"
#include "llvm/MC/MCRegister.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/DataExtractor.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class AsmPrinter;
class DominatorTree;
class Function;
class GenericScheduler;
class LoopVectorizationLegality;
class LoopVectorizationRequirements;
class LoopVectorizeHints;
class MCAsmInfo;
class MCStreamer;
class Module;
class Pass;
class PredicatedScalarEvolution;
class SUnit;
class TargetMachine;
namespace legacy {
class PassManagerBase;
}
} // namespace llvm

namespace passpilot {

/// LLVM's option \p Name; null if there is none of type T, which is bool,
/// unsigned, float or std::string.
template <typename T> llvm::cl::opt<T> *optionOf(llvm::StringRef Name);

/// The allocator that -regalloc names; null without the option.
llvm::FunctionPass *(*chosenAllocator())();

/// A pass manager's list of passes.
template <typename PassManagerT> struct PassList : PassManagerT {
  static auto list() { return &PassList::Passes; }
};
template <> struct PassList<llvm::LoopPassManager> : llvm::LoopPassManager {
  static auto list() { return &PassList::LoopPasses; }
  static auto nests() { return &PassList::IsLoopNestPass; }
};

/// Appends a pass that names itself; LLVM's addPass() would name all passes of
/// one C++ class alike.
template <typename PassManagerT, typename PassT>
void appendPass(PassManagerT &PM, std::unique_ptr<PassT> P) {
  (PM.*PassList<PassManagerT>::list()).push_back(std::move(P));
  if constexpr (std::is_same_v<PassManagerT, llvm::LoopPassManager>)
    (PM.*PassList<PassManagerT>::nests()).push_back(false);
}

/// The object that LLVM tells about changes of a machine function; may be null.
llvm::MachineFunction::Delegate *delegateOf(const llvm::MachineFunction &MF);
/// The number of delegates that are notified of new virtual registers.
size_t delegateCount(const llvm::MachineRegisterInfo &MRI);

/// The pass builder's instrumentation callbacks; may be null.
llvm::PassInstrumentationCallbacks *&instrumentationOf(llvm::PassBuilder &PB);
/// What the pass builder's pipelines do about profiles.
const std::optional<llvm::PGOOptions> &profileOf(const llvm::PassBuilder &PB);

/// A copy of \p PB that parses pipelines when \p PB may be gone. It has no
/// callbacks for analyses of modules: ours would own the owner of the copy.
std::unique_ptr<llvm::PassBuilder> parserOf(const llvm::PassBuilder &PB);

#if PASSPILOT_LLVM_MAJOR >= 23
using FrameInfos = llvm::SmallVector<llvm::MCDwarfFrameInfo, 0>;
#else
using FrameInfos = std::vector<llvm::MCDwarfFrameInfo>;
#endif
/// The unwind tables' entries so far; those that are finished may be changed.
FrameInfos &framesOf(llvm::MCStreamer &S);
/// The printer behind \p P, a pass of modules; null if there is none.
llvm::AsmPrinter *printerBehind(const llvm::Pass &P);

// The members of LLVM's two providers of release-mode advisors, as in
// MLRegAllocEvictAdvisor.cpp and MLRegAllocPriorityAdvisor.cpp.
struct EvictionMembers : llvm::RegAllocEvictionAdvisorProvider {
  std::vector<llvm::TensorSpec> InputFeatures;
  std::unique_ptr<llvm::MLModelRunner> Runner;
};
struct PriorityMembers : llvm::RegAllocPriorityAdvisorProvider {
  std::unique_ptr<llvm::MLModelRunner> Runner;
};

// The members of LLVM's AllocationOrder, as in AllocationOrder.h.
struct OrderMembers {
  llvm::SmallVector<llvm::MCPhysReg, 16> Hints;
  llvm::ArrayRef<llvm::MCPhysReg> Order; ///< of the register class
  int IterationLimit;                    ///< 0 if only hints may be used
};
inline const OrderMembers &membersOf(const llvm::AllocationOrder &Order) {
  return reinterpret_cast<const OrderMembers &>(Order);
}

// Optimization levels. LLVM 23 has none for size: there a function's
// attributes say it, and the level is O2.

/// How pipelines are built at one level.
struct Level {
  llvm::OptimizationLevel Pipeline;
  unsigned Speed = 0; ///< 0 to 3
  unsigned Size = 0;  ///< 1 for Os, 2 for Oz
};
/// The level \p Name, such as Oz; nothing for O0 and other names.
std::optional<Level> levelNamed(llvm::StringRef Name);
/// \p Pipeline with the names of levels that this LLVM has.
std::string withKnownLevels(llvm::StringRef Pipeline);
/// Tells the functions of \p M that \p Pipeline has a level for size, if this
/// LLVM's pipelines read that from functions.
void markForSize(llvm::Module &M, llvm::StringRef Pipeline);

/// The features that LLVM computes for a model that inlines.
const std::vector<llvm::TensorSpec> &inlineFeatures();
/// Whether \p SU belongs to the cluster of memory accesses that the scheduler
/// has begun at that end.
bool isInCluster(const llvm::GenericScheduler &Queues, const llvm::SUnit &SU,
                 bool IsTop);
/// Whether \p S writes assembly, not an object.
bool writesText(const llvm::MCStreamer &S);

// Functions whose signatures differ between versions.

/// Whether -print-pipeline-passes is set, which makes opt print the pipeline
/// and stop.
bool printsPipeline();
/// Sets the attributes of all functions that come from options.
void setFunctionAttributes(llvm::Module &M, llvm::StringRef CPU,
                           llvm::StringRef Features);
/// How often a profile has seen \p F called.
std::optional<uint64_t> entryCountOf(const llvm::Function &F);
std::string inlineAssemblyOf(const llvm::Module &M);
/// Whether \p TM's target has a processor of this name.
bool hasProcessor(const llvm::TargetMachine &TM, llvm::StringRef Name);
/// The features that \p TM's processor has.
std::vector<std::string> enabledFeatures(const llvm::TargetMachine &TM);
/// The target's conventions of assembly.
const llvm::MCAsmInfo &asmInfoOf(const llvm::TargetMachine &TM);
/// Reads numbers; with the lowest byte first if \p LittleEndian.
llvm::DataExtractor extractorOf(llvm::StringRef Data, bool LittleEndian = true);
/// What LLVM's vectorizer knows of the loop \p L.
std::unique_ptr<llvm::LoopVectorizationLegality>
legalityOf(llvm::Loop &L, llvm::PredicatedScalarEvolution &PSE,
           llvm::FunctionAnalysisManager &FAM,
           llvm::LoopVectorizationRequirements &Requirements,
           llvm::LoopVectorizeHints &Hints);
/// Whether LLVM refuses the loop \p L because of what may happen before an exit
/// whose count is unknown: an effect, or a load that faults.
bool mayStopEarly(const llvm::LoopVectorizationLegality &Legality,
                  llvm::Loop &L, llvm::PredicatedScalarEvolution &PSE,
                  llvm::FunctionAnalysisManager &FAM);
/// By how many elements of type \p T the address grows with an iteration.
std::optional<int64_t> strideOf(llvm::Value *Address, llvm::Type *T,
                                llvm::Loop &L,
                                llvm::PredicatedScalarEvolution &PSE,
                                llvm::DominatorTree &DT);
/// Adds what code generation is told about the run-time libraries.
void addRuntimeLibraries(llvm::legacy::PassManagerBase &PM,
                         const llvm::TargetMachine &TM);
/// The functions of the libraries that \p M is linked with.
llvm::TargetLibraryInfoImpl librariesOf(const llvm::Module &M,
                                        const llvm::TargetMachine &TM);
#if PASSPILOT_LLVM_MAJOR >= 22
using RemarksFile = llvm::LLVMRemarkFileHandle;
#else
/// A file of remarks that its context forgets, as LLVM 22 has it.
class RemarksFile {
public:
  RemarksFile(std::unique_ptr<llvm::ToolOutputFile> File,
              llvm::LLVMContext &Context);
  RemarksFile(RemarksFile &&) = default;
  ~RemarksFile();
  explicit operator bool() const { return bool(File); }
  llvm::ToolOutputFile *operator->() { return File.get(); }

private:
  std::unique_ptr<llvm::ToolOutputFile> File;
  llvm::LLVMContext &Context;
};
#endif
/// Begins to write remarks of \p Context's functions; see LLVM's function.
llvm::Expected<RemarksFile> openRemarksFile(llvm::LLVMContext &Context,
                                            llvm::StringRef Path,
                                            llvm::StringRef Filter,
                                            llvm::StringRef Format,
                                            bool WithHotness);

} // namespace passpilot
