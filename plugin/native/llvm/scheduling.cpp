// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scheduling.h"

#include "allocator_points.h"
#include "compat.h"
#include "llvm_options.h"
#include "register_allocation.h"
#include "tensors.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/ScheduleDAG.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/Target/TargetMachine.h"

#include <typeinfo>

using namespace llvm;

namespace passpilot {

DecisionPlace ScheduleQuestion::place() {
  Block = block();
  Opcodes.clear();
  for (size_t I = 0; I < Columns.size(); ++I)
    Opcodes += (I ? " " : "") + opcode(I);
  DecisionPlace P;
  P.Register = Block;
  P.Registers = Opcodes;
  return P;
}

std::string ScheduleQuestion::forbidden(Advice A) {
  return "expected a column below " + std::to_string(Columns.size()) +
         ", the number of instructions that are ready, got column " +
         std::to_string(A.Integer);
}

std::string ScheduleQuestion::block() const {
  const MachineBasicBlock &B = *Columns.front()->getInstr()->getParent();
  return "%bb." + std::to_string(B.getNumber());
}

std::string ScheduleQuestion::opcode(size_t Column) const {
  return MF.getSubtarget()
      .getInstrInfo()
      ->getName(Columns[Column]->getInstr()->getOpcode())
      .str();
}

namespace {

/// LLVM's scheduler keeps its strategy to itself.
struct OpenDAG : ScheduleDAGMI {
  static constexpr auto Strategy = &OpenDAG::SchedImpl;
};

/// LLVM's strategy keeps its queues to itself.
struct OpenStrategy : GenericScheduler {
  static constexpr auto Above = &OpenStrategy::Top;
  static constexpr auto Below = &OpenStrategy::Bot;
  static constexpr auto Describe = &OpenStrategy::initCandidate;
};

/// Does what the target's strategy does, but asks which of the instructions
/// that it could place next, at the end that it has chosen, is next. All of
/// them are legal: nothing that they depend on is left.
class AdvisedStrategy final : public MachineSchedStrategy {
public:
  AdvisedStrategy(std::unique_ptr<MachineSchedStrategy> Target,
                  GenericScheduler &Queues, ScheduleDAGMILive &DAG,
                  const MachineLoopInfo &Loops, RegisterAllocation &All)
      : Target(std::move(Target)), Queues(Queues), DAG(DAG), Loops(Loops),
        All(All), S(*All.Sessions.Schedule) {}

  SUnit *pickNode(bool &IsTop) override {
    SUnit *Default = Target->pickNode(IsTop);
    if (!Default || All.stopped())
      return Default;
    SUnit *Next = chosen(*Default, IsTop);
    if (Next != Default) {
      giveBack(*Default);
      take(*Next);
    }
    return Next;
  }

  void initPolicy(MachineBasicBlock::iterator Begin,
                  MachineBasicBlock::iterator End, unsigned Count) override {
    Left = Count;
    Target->initPolicy(Begin, End, Count);
  }
  MachineSchedPolicy getPolicy() const override { return Target->getPolicy(); }
  void dumpPolicy() const override { Target->dumpPolicy(); }
  bool shouldTrackPressure() const override {
    return Target->shouldTrackPressure();
  }
  bool shouldTrackLaneMasks() const override {
    return Target->shouldTrackLaneMasks();
  }
  bool doMBBSchedRegionsTopDown() const override {
    return Target->doMBBSchedRegionsTopDown();
  }
  void initialize(ScheduleDAGMI *D) override { Target->initialize(D); }
  void enterMBB(MachineBasicBlock *B) override { Target->enterMBB(B); }
  void leaveMBB() override { Target->leaveMBB(); }
  void registerRoots() override { Target->registerRoots(); }
  void scheduleTree(unsigned Tree) override { Target->scheduleTree(Tree); }
  void schedNode(SUnit *SU, bool IsTop) override {
    --Left;
    Target->schedNode(SU, IsTop);
  }
  void releaseTopNode(SUnit *SU) override { Target->releaseTopNode(SU); }
  void releaseBottomNode(SUnit *SU) override { Target->releaseBottomNode(SU); }

private:
  SUnit *chosen(SUnit &Default, bool IsTop) {
    SchedBoundary &Zone =
        Queues.*(IsTop ? OpenStrategy::Above : OpenStrategy::Below);
    SmallVector<SUnit *, AllocatorColumns> Ready(Zone.Available.elements());
    Ready.push_back(&Default);
    if (Ready.size() == 1)
      return &Default;
    llvm::sort(Ready, [](const SUnit *A, const SUnit *B) {
      return A->NodeNum < B->NodeNum;
    });
    ArrayRef<SUnit *> Columns = Ready;
    if (Ready.size() > AllocatorColumns) { // those around the default
      const size_t At = find(Ready, &Default) - Ready.begin();
      const size_t First = std::min(At - std::min(At, size_t{16}),
                                    Ready.size() - size_t{AllocatorColumns});
      Columns = Columns.slice(First, AllocatorColumns);
    }
    enterContext();
    describe(Columns, Zone, IsTop);
    ScheduleQuestion Q(DAG.MF, Columns,
                       find(Columns, &Default) - Columns.begin(), IsTop);
    const std::optional<Advice> Answer = S.ask(Q);
    return Answer ? Columns[Answer->Integer] : &Default;
  }

  void enterContext() {
    if (!std::exchange(Entered, true))
      S.switchContext(DAG.MF.getName());
  }

  void describe(ArrayRef<SUnit *> Columns, SchedBoundary &Zone, bool IsTop) {
    using F = ScheduleFeature;
    Tensors<F> T(S);
    const bool Pressure =
        DAG.isTrackingPressure() &&
        (T.reads(F::ExcessPressure) || T.reads(F::CriticalPressure) ||
         T.reads(F::MaxPressure));
    for (size_t I = 0; I < Columns.size(); ++I) {
      SUnit &SU = *Columns[I];
      const MachineInstr &MI = *SU.getInstr();
      T.set(F::Mask, 1, I);
      T.set(F::Order, SU.NodeNum, I);
      T.set(F::Depth, SU.getDepth(), I);
      T.set(F::Height, SU.getHeight(), I);
      T.set(F::Latency, SU.Latency, I);
      if (T.reads(F::Stall))
        T.set(F::Stall, Zone.getLatencyStallCycles(&SU), I);
      T.set(F::Predecessors, SU.NumPreds, I);
      T.set(F::Successors, SU.NumSuccs, I);
      if (T.reads(F::Freed))
        T.set(F::Freed, freed(SU, IsTop), I);
      if (Pressure) {
        GenericScheduler::SchedCandidate C;
        const RegPressureTracker &Tracker =
            IsTop ? DAG.getTopRPTracker() : DAG.getBotRPTracker();
        (Queues.*OpenStrategy::Describe)(
            C, &SU, IsTop, Tracker, const_cast<RegPressureTracker &>(Tracker));
        T.set(F::ExcessPressure, C.RPDelta.Excess.getUnitInc(), I);
        T.set(F::CriticalPressure, C.RPDelta.CriticalMax.getUnitInc(), I);
        T.set(F::MaxPressure, C.RPDelta.CurrentMax.getUnitInc(), I);
      }
      T.set(F::IsCopy, MI.isCopy(), I);
      T.set(F::IsLoad, MI.mayLoad(), I);
      T.set(F::IsStore, MI.mayStore(), I);
      T.set(F::IsClustered, isInCluster(Queues, SU, IsTop), I);
    }
    T.set(F::FromTop, IsTop);
    T.set(F::Cycle, Zone.getCurrCycle());
    T.set(F::ResourceLimited, Zone.isResourceLimited());
    T.set(F::Remaining, Left);
    T.set(F::LoopDepth,
          Loops.getLoopDepth(Columns.front()->getInstr()->getParent()));
  }

  /// The instructions that are ready once \p SU is placed.
  static int64_t freed(const SUnit &SU, bool IsTop) {
    SmallDenseMap<const SUnit *, unsigned> Edges; // often several to one
    for (const SDep &D : IsTop ? SU.Succs : SU.Preds)
      if (!D.isWeak() && !D.getSUnit()->isBoundaryNode())
        ++Edges[D.getSUnit()];
    return count_if(Edges, [&](const auto &E) {
      return E.second ==
             (IsTop ? E.first->NumPredsLeft : E.first->NumSuccsLeft);
    });
  }

  /// Puts what the target's strategy has taken back into its queues.
  void giveBack(SUnit &SU) {
    if (SU.isTopReady())
      Target->releaseTopNode(&SU);
    if (SU.isBottomReady())
      Target->releaseBottomNode(&SU);
  }

  /// Takes an instruction as the target's strategy does.
  void take(SUnit &SU) {
    if (SU.isTopReady())
      (Queues.*OpenStrategy::Above).removeReady(&SU);
    if (SU.isBottomReady())
      (Queues.*OpenStrategy::Below).removeReady(&SU);
  }

  const std::unique_ptr<MachineSchedStrategy> Target;
  GenericScheduler &Queues; ///< Target, as what it is
  ScheduleDAGMILive &DAG;
  const MachineLoopInfo &Loops;
  RegisterAllocation &All;
  Session &S;
  bool Entered = false;
  unsigned Left = 0; ///< instructions of the region that have no place yet
};

/// The target's own scheduler, which asks if the code generation is advised.
ScheduleDAGInstrs *createAdvised(MachineSchedContext *C) {
  ScheduleDAGInstrs *Own = C->TM->createMachineScheduler(C);
  if (!Own)
    Own = createSchedLive(C);
  Module &M = *const_cast<Module *>(C->MF->getFunction().getParent());
  RegisterAllocation *All = RegisterAllocation::ofThread(M);
  // AMDGPU and Hexagon have schedulers of their own class, which know their
  // strategy's class.
  if (!All || !All->Sessions.Schedule ||
      typeid(*Own) != typeid(ScheduleDAGMILive))
    return Own;
  auto *DAG = static_cast<ScheduleDAGMILive *>(Own);
  std::unique_ptr<MachineSchedStrategy> &Strategy = DAG->*OpenDAG::Strategy;
  if (auto *Queues = dynamic_cast<GenericScheduler *>(Strategy.get()))
    Strategy = std::make_unique<AdvisedStrategy>(std::move(Strategy), *Queues,
                                                 *DAG, *C->MLI, *All);
  return Own;
}

const MachineSchedRegistry Named("passpilot",
                                 "the target's scheduler, advised by passpilot",
                                 createAdvised);

} // namespace

void useAdvisedScheduler() { setUnlessGiven("misched=passpilot", 1); }

} // namespace passpilot
