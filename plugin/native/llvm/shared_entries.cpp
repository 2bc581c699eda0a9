// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shared_entries.h"

#include "compat.h"
#include "table_writer.h"

#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/MachineStableHash.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <map>

using namespace llvm;

namespace passpilot {

namespace {

cl::opt<unsigned> MostSharing(
    "unwind-share",
    cl::desc("Most functions that share an entry with -unwind=shared"),
    cl::init(32));

/// Joins the finished entry of a function to that of the function before it.
class EntryJoiner final : public AsmPrinterHandler {
public:
  explicit EntryJoiner(MCStreamer &S) : Frames(framesOf(S)) {}
  SmallPtrSet<const Function *, 0> Joined;

  void endModule() override { Joined.clear(); } // the printer may go on
  void beginFunction(const MachineFunction *) override {}
  void endFunction(const MachineFunction *MF) override {
    if (Joined.contains(&MF->getFunction()))
      join();
  }

private:
  FrameInfos &Frames;

  void join() {
    MCDwarfFrameInfo &Own = Frames.back();
    MCDwarfFrameInfo *Before = Frames.size() > 1 ? &Frames.end()[-2] : nullptr;
    if (!Before || !Before->End || !Own.End ||
        &Own.Begin->getSection() != &Before->Begin->getSection())
      report_fatal_error(
          "shared unwind entries: expected two neighbours in one "
          "section, got a function alone");
    append_range(Before->Instructions, Own.Instructions);
    Before->End = Own.End;
    Frames.pop_back();
  }
};

class SharedEntries final : public ModulePass {
public:
  static char ID;
  SharedEntries() : ModulePass(ID) {}
  StringRef getPassName() const override { return "Shared Unwind Entries"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<MachineModuleInfoWrapperPass>();
    AU.setPreservesAll();
  }

  bool runOnModule(Module &M) override {
    AsmPrinter *Printer = printerBehind(*this);
    if (!Printer || writesText(*Printer->OutStreamer))
      return false; // text has directives for every function
    MMI = &getAnalysis<MachineModuleInfoWrapperPass>().getMMI();
    auto Owned = std::make_unique<EntryJoiner>(*Printer->OutStreamer);
    Joiner = Owned.get();
    Printer->addAsmPrinterHandler(std::move(Owned));
    Sections = 0;
    for (auto &[Prefix, Shapes] : candidates(M))
      share(M, Prefix, ordered(Shapes));
    shareOutlined(M);
    return true;
  }

private:
  using Shape = std::pair<UnwindRow, UnwindRow>; ///< the first row and the last
  using Shapes = std::map<Shape, std::vector<MachineFunction *>>;
  MachineModuleInfo *MMI = nullptr;
  EntryJoiner *Joiner = nullptr;
  unsigned Sections = 0;

  std::map<std::string, Shapes> candidates(Module &M) const {
    SmallVector<GlobalValue *, 8> Used;
    collectUsedGlobalVariables(M, Used, /*CompilerUsed=*/false);
    std::vector<std::pair<MachineFunction *, stable_hash>> Found;
    DenseMap<stable_hash, unsigned> Twins;
    for (Function &F : M)
      if (MachineFunction *MF = MMI->getMachineFunction(F);
          MF && !MF->isOutlined() && mayMove(*MF) && !is_contained(Used, &F)) {
        Found.emplace_back(MF, stableHashValue(*MF));
        ++Twins[Found.back().second];
      }
    std::map<std::string, Shapes> All;
    for (auto [MF, Hash] : Found) {
      // The linker folds functions that are the same if they have sections of
      // their own.
      if (MF->getTarget().getFunctionSections() && Twins[Hash] > 1)
        continue;
      TableWriter Writer(*MF, /*Faults=*/true);
      if (!Writer.follow(Writer.Initial))
        continue;
      const StringRef Prefix =
          MF->getFunction().getSectionPrefix().value_or("");
      All[Prefix.str()][{Writer.First.value_or(Writer.Initial), Writer.Last}]
          .push_back(MF);
    }
    return All;
  }

  /// Whether \p F is in no group of sections, or in one of which the linker
  /// need not drop it.
  static bool mayLeaveGroup(const Function &F) {
    const Comdat *C = F.getComdat();
    return !C || (F.hasLocalLinkage() &&
                  (C->getUsers().size() == 1 ||
                   C->getSelectionKind() == Comdat::NoDeduplicate));
  }

  static bool mayMove(const MachineFunction &MF) {
    const Function &F = MF.getFunction();
    return sharesEntry(MF) && !F.hasAvailableExternallyLinkage() &&
           mayLeaveGroup(F) && !F.hasSection() &&
           (F.hasLocalLinkage() || !MF.getTarget().getFunctionSections()) &&
           !F.hasMetadata(LLVMContext::MD_associated) &&
           !F.hasFnAttribute("implicit-section-name") &&
           !F.hasFnAttribute(Attribute::SanitizeMemTag) &&
           F.getFnAttribute("sign-return-address-key").getValueAsString() !=
               "b_key" &&
           !MF.hasBBSections() && none_of(MF, [](const MachineBasicBlock &B) {
             return B.isBeginSection();
           });
  }

  /// All functions, so that little is to be written between neighbours.
  static std::vector<MachineFunction *> ordered(Shapes &All) {
    std::vector<MachineFunction *> Order;
    std::optional<UnwindRow> Row;
    while (!All.empty()) {
      auto Best = All.begin();
      if (Row) {
        size_t Least = -1;
        for (auto I = All.begin(); I != All.end(); ++I)
          if (const size_t Cost = I->first.first.after(*Row).size();
              Cost < Least) {
            Best = I;
            Least = Cost;
          }
      }
      append_range(Order, Best->second);
      Row = Best->first.second;
      All.erase(Best);
    }
    return Order;
  }

  /// The outliner's functions stay the last ones, in their order: the memory of
  /// a call is that of the function that it calls, until that is printed.
  void shareOutlined(Module &M) {
    std::vector<MachineFunction *> Outlined, Run;
    for (Function &F : M)
      if (MachineFunction *MF = MMI->getMachineFunction(F);
          MF && MF->isOutlined())
        Outlined.push_back(MF);
    for (MachineFunction *MF : Outlined) {
      TableWriter Writer(*MF, /*Faults=*/true);
      if (mayMove(*MF) && !MF->getFunction().getSectionPrefix() &&
          Writer.follow(Writer.Initial)) {
        Run.push_back(MF);
        continue;
      }
      share(M, "", std::exchange(Run, {}));
      moveToEnd(M, MF->getFunction());
    }
    share(M, "", Run);
  }

  static void moveToEnd(Module &M, Function &F) {
    M.getFunctionList().splice(M.end(), M.getFunctionList(), F.getIterator());
  }

  void share(Module &M, StringRef Prefix, ArrayRef<MachineFunction *> Order) {
    while (!Order.empty()) {
      const auto Group = Order.take_front(std::max(1U, MostSharing.getValue()));
      Order = Order.drop_front(Group.size());
      const std::string Section =
          (".text." + Prefix + (Prefix.empty() ? "" : ".") + "shared_entry." +
           Twine(Sections++))
              .str();
      std::optional<UnwindRow> Row;
      for (MachineFunction *MF : Group) {
        Function &F = MF->getFunction();
        moveToEnd(M, F);
        if (Group.size() == 1)
          continue;
        F.setComdat(nullptr);
        if (MF->getTarget().getFunctionSections() || !Prefix.empty())
          F.setSection(Section);
        TableWriter Writer(*MF, /*Faults=*/true);
        if (Row)
          Joiner->Joined.insert(&F);
        Writer.follow(Row.value_or(Writer.Initial));
        Writer.write();
        Row = Writer.Last;
      }
    }
  }
};

char SharedEntries::ID = 0;
const RegisterPass<SharedEntries> Registered("shared-unwind-entries",
                                             "Shared Unwind Entries");

} // namespace

char &SharedEntriesID = SharedEntries::ID;

} // namespace passpilot
