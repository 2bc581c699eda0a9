// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "interference.h"

#include "compat.h"
#include "live_range.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/LiveIntervalUnion.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

#include <algorithm>

using namespace llvm;

namespace passpilot {

using Edge = std::pair<unsigned, unsigned>;

static Register registerOf(unsigned Number) {
  return Register::index2VirtReg(Number);
}

bool RangeState::isSpillable() const { return Weight != huge_valf; }

/// LLVM divides the cost by the size plus 25 instructions, so that the size
/// matters less for small ranges.
double RangeState::spillCost() const {
  return static_cast<double>(Weight) * (Size + 25.0 * SlotIndex::InstrDist);
}

const LiveInterval *liveRange(const FunctionAllocation &F, Register Reg) {
  // A range that was split keeps its segments but has no instructions.
  if (Reg.virtRegIndex() >= F.MRI.getNumVirtRegs() || !F.LIS.hasInterval(Reg) ||
      F.MRI.reg_nodbg_empty(Reg))
    return nullptr;
  const LiveInterval &LI = F.LIS.getInterval(Reg);
  return LI.empty() ? nullptr : &LI;
}

//===-- The graph ---------------------------------------------------------===//

InterferenceGraph::InterferenceGraph(const FunctionAllocation &F)
    : F(F), InBlock(F.MF.getNumBlockIDs()), Starts(F.MF.getNumBlockIDs()) {
  for (const MachineBasicBlock &B : F.MF)
    Starts[B.getNumber()] = position(F, F.LIS.getMBBStartIdx(&B));
}

const RangeState *InterferenceGraph::find(unsigned Number) const {
  return Number < Nodes.size() ? Nodes[Number].get() : nullptr;
}

void InterferenceGraph::update(ArrayRef<unsigned> Numbers) {
  // Segments first, so that neighbours are searched among current ones.
  SmallVector<unsigned, 16> Moved;
  for (unsigned Number : Numbers)
    if (readNode(Number))
      Moved.push_back(Number);
  for (unsigned Number : Moved)
    findNeighbours(Number);
}

/// LLVM renumbers a run of neighbours. Before LLVM 23 it starts in \p B and
/// ends before the first block behind it whose number is unchanged.
void InterferenceGraph::renumbered(const MachineBasicBlock &B,
                                   RegisterSet &Touched) {
  constexpr bool Forward = PASSPILOT_LLVM_MAJOR < 23;
  const auto Touch = [&](const MachineBasicBlock &Block) {
    for (unsigned Number : InBlock[Block.getNumber()])
      Touched.insert(Number);
  };
  for (const MachineBasicBlock *Next = Forward ? &B : &F.MF.front(); Next;
       Next = Next->getNextNode()) {
    const int Now = position(F, F.LIS.getMBBStartIdx(Next));
    const bool Same = std::exchange(Starts[Next->getNumber()], Now) == Now;
    if (!Same || Next == &B)
      Touch(*Next);
    else if (Forward)
      return;
    if (!Forward && !Same && Next->getPrevNode())
      Touch(*Next->getPrevNode()); // its end may have moved, too
  }
}

RangeState stateOf(const FunctionAllocation &F, const LiveInterval &LI) {
  const Register Reg = LI.reg();
  return {F.MRI.getRegClass(Reg), LI.weight(), LI.getSize(),
          F.MRI.getRegAllocationHint(Reg).second,
          F.VRM.hasPhys(Reg) ? F.VRM.getPhys(Reg) : MCRegister()};
}

/// Reads the range. Returns true if its neighbours must be searched again.
bool InterferenceGraph::readNode(unsigned Number) {
  ++Work;
  const LiveInterval *LI = liveRange(F, registerOf(Number));
  if (!LI) {
    removeNode(Number);
    return false;
  }
  if (Number >= Nodes.size())
    Nodes.resize(Number + 1);
  std::unique_ptr<Node> &N = Nodes[Number];
  const RangeState Now = stateOf(F, *LI);
  const bool New = !N;
  if (New)
    N = std::make_unique<Node>();
  const bool Reclassed = N->Class != Now.Class;
  if (New || !(*N == Now))
    Journal.emplace_back(Number, Number);
  static_cast<RangeState &>(*N) = Now;
  auto Same = [](const LiveRange::Segment &A, const Segment &B) {
    return A.start == B.first && A.end == B.second;
  };
  if (std::equal(LI->begin(), LI->end(), N->Segments.begin(), N->Segments.end(),
                 Same))
    return Reclassed;
  N->Segments.clear();
  for (const LiveRange::Segment &S : *LI)
    N->Segments.emplace_back(S.start, S.end);
  setBlocks(Number, blocks(F, *LI));
  return true;
}

void InterferenceGraph::removeNode(unsigned Number) {
  if (!find(Number))
    return;
  const std::vector<unsigned> Neighbours = Nodes[Number]->Neighbours;
  for (unsigned Other : Neighbours)
    unlink(Number, Other);
  setBlocks(Number, {});
  Nodes[Number].reset();
  Journal.emplace_back(Number, Number);
}

void InterferenceGraph::setBlocks(unsigned Number,
                                  std::vector<int64_t> Blocks) {
  Node &N = *Nodes[Number];
  for (int64_t B : N.Blocks)
    llvm::erase(InBlock[B], Number);
  N.Blocks = std::move(Blocks);
  for (int64_t B : N.Blocks)
    InBlock[B].push_back(Number);
}

bool InterferenceGraph::Node::overlaps(const Node &O) const {
  auto I = Segments.begin(), J = O.Segments.begin();
  while (I != Segments.end() && J != O.Segments.end())
    if (I->second <= J->first)
      ++I;
    else if (J->second <= I->first)
      ++J;
    else
      return true;
  return false;
}

void InterferenceGraph::findNeighbours(unsigned Number) {
  const Node &N = *Nodes[Number];
  std::vector<unsigned> Now;
  for (int64_t B : N.Blocks)
    Now.insert(Now.end(), InBlock[B].begin(), InBlock[B].end());
  Work += Now.size();
  std::sort(Now.begin(), Now.end());
  Now.erase(std::unique(Now.begin(), Now.end()), Now.end());
  llvm::erase_if(Now, [&](unsigned Other) {
    return Other == Number || !shareRegisters(N.Class, Nodes[Other]->Class) ||
           !N.overlaps(*Nodes[Other]);
  });
  std::vector<unsigned> Gone, Come;
  std::set_difference(N.Neighbours.begin(), N.Neighbours.end(), Now.begin(),
                      Now.end(), std::back_inserter(Gone));
  std::set_difference(Now.begin(), Now.end(), N.Neighbours.begin(),
                      N.Neighbours.end(), std::back_inserter(Come));
  for (unsigned Other : Gone)
    unlink(Number, Other);
  for (unsigned Other : Come)
    link(Number, Other);
}

void InterferenceGraph::link(unsigned A, unsigned B) {
  for (auto [From, To] : {Edge(A, B), Edge(B, A)}) {
    std::vector<unsigned> &V = Nodes[From]->Neighbours;
    V.insert(std::lower_bound(V.begin(), V.end(), To), To);
  }
  Journal.push_back(std::minmax(A, B));
}

void InterferenceGraph::unlink(unsigned A, unsigned B) {
  for (auto [From, To] : {Edge(A, B), Edge(B, A)}) {
    std::vector<unsigned> &V = Nodes[From]->Neighbours;
    V.erase(std::lower_bound(V.begin(), V.end(), To));
  }
  Journal.push_back(std::minmax(A, B));
}

bool InterferenceGraph::linked(unsigned A, unsigned B) const {
  if (!find(A) || !find(B))
    return false;
  const std::vector<unsigned> &V = Nodes[A]->Neighbours;
  return std::binary_search(V.begin(), V.end(), B);
}

static BitVector allocatableUnits(const FunctionAllocation &F,
                                  const TargetRegisterClass *C) {
  BitVector V(F.TRI.getNumRegUnits());
  for (MCPhysReg Reg : F.Classes.getOrder(C))
    for (MCRegUnit Unit : F.TRI.regunits(Reg))
      V.set(static_cast<unsigned>(Unit));
  return V;
}

const BitVector &InterferenceGraph::unitsOf(const TargetRegisterClass *C) {
  BitVector &V = Units[C];
  if (V.empty())
    V = allocatableUnits(F, C);
  return V;
}

bool InterferenceGraph::shareRegisters(const TargetRegisterClass *A,
                                       const TargetRegisterClass *B) {
  const auto Found =
      Shared.try_emplace(std::minmax(A->getID(), B->getID()), false);
  if (Found.second) {
    unitsOf(A); // the second call may invalidate the first result
    const BitVector &Second = unitsOf(B);
    Found.first->second = unitsOf(A).anyCommon(Second);
  }
  return Found.first->second;
}

InterferenceChanges InterferenceGraph::changes(size_t Version) const {
  std::vector<Edge> Touched(Journal.begin() + std::min(Version, Journal.size()),
                            Journal.end());
  std::sort(Touched.begin(), Touched.end());
  Touched.erase(std::unique(Touched.begin(), Touched.end()), Touched.end());
  InterferenceChanges C{Journal.size(), {}, {}, {}, {}};
  for (const Edge &E : Touched) {
    if (E.first == E.second)
      (find(E.first) ? C.Nodes : C.Removed).push_back(E.first);
    else if (linked(E.first, E.second))
      C.Linked.push_back(E);
    else if (find(E.first) && find(E.second))
      C.Unlinked.push_back(E);
  }
  return C;
}

static RegisterSet allRegisters(const FunctionAllocation &F) {
  RegisterSet All;
  for (unsigned N = 0, E = F.MRI.getNumVirtRegs(); N < E; ++N)
    All.insert(N);
  return All;
}

InterferenceGraph madeAfresh(const FunctionAllocation &F) {
  InterferenceGraph G(F);
  G.update(allRegisters(F).getArrayRef());
  return G;
}

InterferenceChanges comparedByPairs(const FunctionAllocation &F) {
  InterferenceChanges C{0, {}, {}, {}, {}};
  SmallVector<BitVector, 0> Units;
  for (unsigned N = 0, E = F.MRI.getNumVirtRegs(); N < E; ++N)
    if (const LiveInterval *LI = liveRange(F, registerOf(N))) {
      C.Nodes.push_back(N);
      Units.push_back(allocatableUnits(F, F.MRI.getRegClass(LI->reg())));
    }
  for (size_t I = 0; I < C.Nodes.size(); ++I)
    for (size_t J = I + 1; J < C.Nodes.size(); ++J)
      if (Units[I].anyCommon(Units[J]) &&
          F.LIS.getInterval(registerOf(C.Nodes[I]))
              .overlaps(F.LIS.getInterval(registerOf(C.Nodes[J]))))
        C.Linked.emplace_back(C.Nodes[I], C.Nodes[J]);
  return C;
}

//===-- Following LLVM ----------------------------------------------------===//

InterferenceTracker::InterferenceTracker(FunctionAllocation &F,
                                         ArrayRef<QueueEntry> Queued)
    : F(F), MF(const_cast<MachineFunction &>(F.MF)), // registers a delegate
      Before(delegateOf(MF)), Graph(F) {
  for (const QueueEntry &E : Queued)
    queued(E);
  F.MRI.addDelegate(this);
  if (Before)
    MF.resetDelegate(Before);
  MF.setDelegate(this);
}

InterferenceTracker::~InterferenceTracker() {
  MF.resetDelegate(this);
  if (Before)
    MF.setDelegate(Before);
  F.MRI.resetDelegate(this);
}

void InterferenceTracker::queued(const QueueEntry &E) {
  Latest[Register(~E.second).virtRegIndex()] = ++Ordinal;
  Queue.emplace_back(E, Ordinal);
  std::push_heap(Queue.begin(), Queue.end());
}

void InterferenceTracker::unassigned(Register Reg) {
  note(Reg);
  Latest.erase(Reg.virtRegIndex());
}

void InterferenceTracker::queueing(Register Reg, bool Nested) {
  // Handle what left the queue before new entries can hide it.
  unassigned(Reg);
  takeDequeued(Nested);
}

void InterferenceTracker::noteOperands(const MachineInstr &I) {
  for (const MachineOperand &O : I.operands())
    if (O.isReg() && O.getReg().isVirtual())
      note(O.getReg());
}

/// \p I has no operands yet; the next question reads them.
void InterferenceTracker::MF_HandleInsertion(MachineInstr &I) {
  Inserted.insert(&I);
  Edited.insert(I.getParent());
  if (Before)
    Before->MF_HandleInsertion(I);
}

void InterferenceTracker::MF_HandleRemoval(MachineInstr &I) {
  noteOperands(I);
  Inserted.erase(&I);
  if (Before)
    Before->MF_HandleRemoval(I);
}

void InterferenceTracker::MF_HandleChangeDesc(MachineInstr &I,
                                              const MCInstrDesc &D) {
  noteOperands(I);
  if (Before)
    Before->MF_HandleChangeDesc(I, D);
}

/// Notes the registers of instructions that were inserted since the last
/// question, and the ranges whose size that has changed.
void InterferenceTracker::takeInserted() {
  for (const MachineInstr *I : Inserted)
    noteOperands(*I);
  for (const MachineBasicBlock *B : Edited)
    Graph.renumbered(*B, Noted);
  Inserted.clear();
  Edited.clear();
}

void InterferenceTracker::dropFromQueue() {
  std::pop_heap(Queue.begin(), Queue.end());
  Queue.pop_back();
}

/// Notes the ranges that LLVM has dequeued and handled. LLVM handles one range
/// before it dequeues the next.
void InterferenceTracker::takeDequeued(bool Nested) {
  while (!Queue.empty()) {
    const auto &[Top, Nth] = Queue.front();
    const Register Reg(~Top.second);
    if (Latest.lookup(Reg.virtRegIndex()) == Nth) {
      const bool Waiting = liveRange(F, Reg) && !F.VRM.hasPhys(Reg);
      if (!Waiting || Nested)
        note(Reg);
      if (Waiting)
        return;
    }
    dropFromQueue();
  }
}

const InterferenceGraph &InterferenceTracker::sync(Register Reg, bool Nested) {
  note(Reg);
  if (!Built)
    Noted = allRegisters(F);
  Built = true;
  takeInserted();
  takeDequeued(Nested);
  Graph.update(Noted.getArrayRef());
  for (unsigned Number : Noted)
    if (F.VRM.hasPhys(registerOf(Number)))
      Latest.erase(Number);
  if (!Nested)
    Noted.clear();
  return Graph;
}

//===-- Events from LLVM's advisors ---------------------------------------===//

const InterferenceGraph &
FunctionAllocation::interference(const LiveRangeQuestion &Q) {
  if (!Interference) {
    Interference = std::make_shared<InterferenceTracker>(*this, Queue);
    Queue = {};
  }
  return Interference->sync(Q.Range.reg(), Q.nested());
}

void FunctionAllocation::queueing(const LiveInterval &LI) {
  if (Interference)
    Interference->queueing(LI.reg(), nested(LI));
}

void FunctionAllocation::queued(const LiveInterval &LI, unsigned Priority) {
  const QueueEntry E(Priority, ~LI.reg().id());
  if (VRM.hasPhys(LI.reg()))
    return; // queued for recolouring, which has its own queue
  if (Interference)
    Interference->queued(E);
  else
    Queue.push_back(E);
}

void FunctionAllocation::evicting(const LiveInterval &LI, MCRegister Reg) {
  if (!Interference)
    return;
  for (const Ranges &Unit : inTheWay(LI, Reg))
    for (const LiveInterval *Other : Unit)
      Interference->unassigned(Other->reg());
}

void FunctionAllocation::changed(Register Reg) {
  if (Interference)
    Interference->unassigned(Reg);
}

bool FunctionAllocation::nested(const LiveInterval &LI) const {
  // An edit observes new registers; recolouring queues assigned ranges.
  const size_t Known = Observers + (Interference ? 1 : 0);
  return delegateCount(MRI) > Known || VRM.hasPhys(LI.reg());
}

SmallVector<Ranges, 4> FunctionAllocation::inTheWay(const LiveInterval &LI,
                                                    MCRegister Reg) const {
  SmallVector<Ranges, 4> Units;
  // Separate queries: LLVM's own cache results that it uses later.
  LiveIntervalUnion *Unions = Matrix.getLiveUnions();
  for (MCRegUnit Unit : TRI.regunits(Reg)) {
    LiveIntervalUnion::Query Q(LI, Unions[static_cast<unsigned>(Unit)]);
    const auto &Found = Q.interferingVRegs();
    Units.emplace_back(Found.begin(), Found.end());
  }
  return Units;
}

} // namespace passpilot
