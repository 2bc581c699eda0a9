// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "live_range_view.h"

#include "core.h"
#include "define.h"
#include "python_error.h"

#include "../llvm/live_range.h"
#include "../llvm/live_range_question.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/Target/TargetMachine.h"

namespace passpilot {

namespace {

struct PrioritySite : SiteView {
  using SiteView::SiteView;
};

struct EvictionSite : SiteView {
  using SiteView::SiteView;
  EvictQuestion &evict() const { return static_cast<EvictQuestion &>(asked()); }
};

/// A question of the advised allocator.
struct AllocatorSite : SiteView {
  using SiteView::SiteView;
  AllocatorQuestion &allocator() const {
    return static_cast<AllocatorQuestion &>(asked());
  }
};

struct ColumnView : EvictionSite {
  size_t Index;
  ColumnView(const EvictionSite &S, size_t I) : EvictionSite(S), Index(I) {}
};

struct LiveRangeView : SiteView {
  const llvm::LiveInterval *LI;
  LiveRangeView(const SiteView &S, const llvm::LiveInterval &LI)
      : SiteView(S), LI(&LI) {}
  const llvm::LiveInterval &range() const {
    asked();
    return *LI;
  }
};

struct OperandView : SiteView {
  const llvm::MachineOperand *O;
  OperandView(const SiteView &S, const llvm::MachineOperand &O)
      : SiteView(S), O(&O) {}
  const llvm::MachineOperand &operand() const {
    asked();
    return *O;
  }
  const llvm::MachineInstr &instruction() const {
    return *operand().getParent();
  }
  const llvm::MachineBasicBlock &block() const {
    return *instruction().getParent();
  }
};

std::vector<LiveRangeView> interferencesOf(const ColumnView &C) {
  std::vector<LiveRangeView> V;
  for (const llvm::LiveInterval *LI : C.evict().interferences(C.Index))
    V.emplace_back(C, *LI);
  return V;
}

std::vector<std::vector<LiveRangeView>> unitsOf(const ColumnView &C) {
  std::vector<std::vector<LiveRangeView>> Units;
  for (const auto &Ranges : C.evict().unitInterferences(C.Index)) {
    Units.emplace_back();
    for (const llvm::LiveInterval *LI : Ranges)
      Units.back().emplace_back(C, *LI);
  }
  return Units;
}

std::vector<ColumnView> columnsOf(const EvictionSite &S) {
  std::vector<ColumnView> V;
  for (size_t I = 0, E = S.evict().Registers.size(); I < E; ++I)
    V.emplace_back(S, I);
  return V;
}

std::vector<OperandView> operandsOf(const LiveRangeView &V) {
  std::vector<OperandView> All;
  for (const llvm::MachineOperand *O : operands(V.function(), V.range()))
    All.emplace_back(V, *O);
  return All;
}

std::optional<std::string> assignedTo(const LiveRangeView &V) {
  std::string Name = assigned(V.function(), V.range());
  return Name.empty() ? std::nullopt : std::optional(Name);
}

void bindOperand(nb::module_ &M) {
  nb::class_<OperandView> C(M, "Operand", nb::type_slots(GCSlots<OperandView>));
  Properties P(C);
  P("opcode",
    [](OperandView &V) { return opcodeName(V.function(), V.instruction()); });
  P("block", [](OperandView &V) { return V.block().getNumber(); });
  P("frequency",
    "Executions of the block per execution of the function's entry.",
    [](OperandView &V) { return frequency(V.function(), V.block()); });
  P("loop_depth",
    [](OperandView &V) { return loopDepth(V.function(), V.block()); });
  P("is_def", [](OperandView &V) { return V.operand().isDef(); });
  P("is_use", "Also true for the definition of a part, which reads the rest.",
    [](OperandView &V) { return V.operand().readsReg(); });
  P("position",
    "The instruction's position: 16 per instruction, as in segments.",
    [](OperandView &V) { return position(V.function(), V.instruction()); });
  C.def("__str__",
        [](OperandView &V) { return text(printed(V.instruction())); });
}

void bindRange(nb::module_ &M) {
  using View = LiveRangeView;
  nb::class_<View> C(M, "LiveRange", nb::type_slots(GCSlots<View>));
  Properties P(C);
  P("register", [](View &V) { return rangeName(V.range().reg()); });
  P("number", [](View &V) { return V.range().reg().virtRegIndex(); });
  P("register_class",
    [](View &V) { return className(V.function(), V.range().reg()); });
  P("weight", "LLVM's spill weight; infinite if it cannot be spilled.",
    [](View &V) { return V.range().weight(); });
  P("size", "Sum of the segments' lengths; 16 per instruction.",
    [](View &V) { return V.range().getSize(); });
  P("segments", "Pairs of start and end, 16 per instruction.",
    [](View &V) { return segments(V.function(), V.range()); });
  P("blocks", "The numbers of the blocks in which it is live.",
    [](View &V) { return blocks(V.function(), V.range()); });
  P("hints", "The registers that LLVM prefers for it now, best first.",
    [](View &V) { return hints(V.function(), V.range()); });
  P("assigned", "Its current register, or None.", &assignedTo);
  P("is_spillable", [](View &V) { return V.range().isSpillable(); });
  P("is_local", [](View &V) { return isLocal(V.function(), V.range()); });
  P("loop_depth", "The depth of the deepest loop that defines or uses it.",
    [](View &V) { return loopDepth(V.function(), V.range()); });
  P("operands", "The operands that define or use it.", &operandsOf);
  C.def("__repr__", [](View &V) {
    return "<live range " + rangeName(V.range().reg()) + ">";
  });
}

/// Binds what the sites of all points of a register allocator have.
template <typename Site> void bindCommon(nb::class_<Site> &C) {
  Properties P(C);
  P("function", [](Site &S) { return MachineFunctionView(S); });
  P("ordinal", [](Site &S) { return S.Ordinal; });
  C.def("__str__", [](Site &S) {
    return text("live range " + rangeName(S.asked().Range.reg()) + " of " +
                S.function().MF.getName().str());
  });
}

void bindAllocatorSite(nb::module_ &M) {
  nb::class_<AllocatorSite> C(M, "AllocatorSite",
                              nb::type_slots(GCSlots<AllocatorSite>));
  Properties P(C);
  P("live_range", "The live range; at ra-order that of the first column.",
    [](AllocatorSite &S) { return LiveRangeView(S, S.asked().Range); });
  P("live_ranges",
    "The live ranges of the columns at ra-order; elsewhere empty.",
    [](AllocatorSite &S) {
      std::vector<LiveRangeView> V;
      for (const llvm::LiveInterval *LI : S.allocator().Ranges)
        V.emplace_back(S, *LI);
      return V;
    });
  P("columns",
    "What the columns stand for: \"%12\", \"spill\", \"rax\", \"loop:3\" (the "
    "region's first block).",
    [](AllocatorSite &S) { return S.allocator().names(); });
  bindCommon(C);
  for (const char *Point : {"ra-order", "ra-action", "ra-colour", "ra-split"})
    siteMakers()[Point] = makeSite<AllocatorSite>;
}

void bindMachineFunction(nb::module_ &M) {
  using MachineFunction = const llvm::MachineFunction;
  nb::class_<MachineFunctionView> C(
      M, "MachineFunction", nb::type_slots(GCSlots<MachineFunctionView>));
  Properties P(C);
  P("name", [](MachineFunction &MF) { return MF.getName(); });
  P("triple",
    [](MachineFunction &MF) { return MF.getTarget().getTargetTriple().str(); });
  P("block_count", [](MachineFunction &MF) { return MF.size(); });
  P("instruction_count",
    [](MachineFunction &MF) { return MF.getInstructionCount(); });
  P("register_count",
    [](MachineFunctionView &V) { return V.function().MRI.getNumVirtRegs(); });
  C.def("__str__", [](MachineFunctionView &V) {
     return text(printed(of(V)));
   }).def("__repr__", [](MachineFunctionView &V) {
    return text("<machine function " + of(V).getName().str() + ">");
  });
  bindInterference(C);
}

} // namespace

void bindLiveRange(nb::module_ &M) {
  bindOperand(M);
  bindRange(M);
  bindMachineFunction(M);
  bindAllocatorSite(M);

  nb::class_<ColumnView> Column(M, "Column",
                                nb::type_slots(GCSlots<ColumnView>));
  Column.def_ro("index", &ColumnView::Index);
  Properties P(Column);
  P("register", [](ColumnView &C) {
    return physicalName(C.function(), C.evict().Registers[C.Index]);
  });
  P("is_legal", [](ColumnView &C) { return C.evict().Mask[C.Index] != 0; });
  P("is_hint", [](ColumnView &C) { return C.Index < C.evict().HintCount; });
  P("unit_interferences",
    "The interferences per register unit. LLVM's features count a live range "
    "once per unit in which it interferes.",
    &unitsOf);
  P("interferences", "The live ranges that would be evicted.",
    &interferencesOf);

  nb::class_<EvictionSite> Eviction(M, "EvictionSite",
                                    nb::type_slots(GCSlots<EvictionSite>));
  Properties E(Eviction);
  E("candidate",
    [](EvictionSite &S) { return LiveRangeView(S, S.asked().Range); });
  E("columns", "The candidate registers, one per column of the tensors.",
    &columnsOf);
  E("must_evict",
    "Whether the candidate cannot be spilled, which forbids the answer 32.",
    [](EvictionSite &S) { return S.evict().MustEvict; });
  bindCommon(Eviction);

  nb::class_<PrioritySite> Priority(M, "PrioritySite",
                                    nb::type_slots(GCSlots<PrioritySite>));
  Properties Q(Priority);
  Q("live_range",
    [](PrioritySite &S) { return LiveRangeView(S, S.asked().Range); });
  bindCommon(Priority);

  siteMakers()["evict"] = makeSite<EvictionSite>;
  siteMakers()["priority"] = makeSite<PrioritySite>;
}

} // namespace passpilot
