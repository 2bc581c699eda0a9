// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "live_range_view.h"

#include "core.h"
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

/// "live range %12 of f".
nb::str described(const SiteView &S) {
  return text("live range " + rangeName(S.asked().Range.reg()) + " of " +
              S.function().MF.getName().str());
}

void bindOperand(nb::module_ &M) {
  nb::class_<OperandView>(M, "Operand", nb::type_slots(ViewSlots<OperandView>))
      .def_prop_ro("opcode",
                   [](OperandView &V) {
                     return opcodeName(V.function(), V.instruction());
                   })
      .def_prop_ro("block",
                   [](OperandView &V) { return V.block().getNumber(); })
      .def_prop_ro(
          "frequency",
          [](OperandView &V) { return frequency(V.function(), V.block()); },
          "Executions of the block per execution of the function's entry.")
      .def_prop_ro(
          "loop_depth",
          [](OperandView &V) { return loopDepth(V.function(), V.block()); })
      .def_prop_ro("is_def", [](OperandView &V) { return V.operand().isDef(); })
      .def_prop_ro(
          "is_use", [](OperandView &V) { return V.operand().readsReg(); },
          "Also true for the definition of a part, which reads the rest.")
      .def_prop_ro(
          "position",
          [](OperandView &V) {
            return position(V.function(), V.instruction());
          },
          "The instruction's position: 16 per instruction, as in segments.")
      .def("__str__",
           [](OperandView &V) { return text(printed(V.instruction())); });
}

void bindRange(nb::module_ &M) {
  nb::class_<LiveRangeView>(M, "LiveRange",
                            nb::type_slots(ViewSlots<LiveRangeView>))
      .def_prop_ro("register",
                   [](LiveRangeView &V) { return rangeName(V.range().reg()); })
      .def_prop_ro(
          "number",
          [](LiveRangeView &V) { return V.range().reg().virtRegIndex(); })
      .def_prop_ro("register_class",
                   [](LiveRangeView &V) {
                     return className(V.function(), V.range().reg());
                   })
      .def_prop_ro(
          "weight", [](LiveRangeView &V) { return V.range().weight(); },
          "LLVM's spill weight; infinite if it cannot be spilled.")
      .def_prop_ro(
          "size", [](LiveRangeView &V) { return V.range().getSize(); },
          "Sum of the segments' lengths; 16 per instruction.")
      .def_prop_ro(
          "segments",
          [](LiveRangeView &V) { return segments(V.function(), V.range()); },
          "Pairs of start and end, 16 per instruction.")
      .def_prop_ro(
          "blocks",
          [](LiveRangeView &V) { return blocks(V.function(), V.range()); },
          "The numbers of the blocks in which it is live.")
      .def_prop_ro(
          "hints",
          [](LiveRangeView &V) { return hints(V.function(), V.range()); },
          "The registers that LLVM prefers for it now, best first.")
      .def_prop_ro("assigned", &assignedTo, "Its current register, or None.")
      .def_prop_ro("is_spillable",
                   [](LiveRangeView &V) { return V.range().isSpillable(); })
      .def_prop_ro(
          "is_local",
          [](LiveRangeView &V) { return isLocal(V.function(), V.range()); })
      .def_prop_ro(
          "loop_depth",
          [](LiveRangeView &V) { return loopDepth(V.function(), V.range()); },
          "The depth of the deepest loop that defines or uses it.")
      .def_prop_ro("operands", &operandsOf,
                   "The operands that define or use it.")
      .def("__repr__", [](LiveRangeView &V) {
        return "<live range " + rangeName(V.range().reg()) + ">";
      });
}

void bindAllocatorSite(nb::module_ &M) {
  nb::class_<AllocatorSite>(M, "AllocatorSite",
                            nb::type_slots(ViewSlots<AllocatorSite>))
      .def_prop_ro(
          "live_range",
          [](AllocatorSite &S) { return LiveRangeView(S, S.asked().Range); },
          "The live range; at ra-order that of the first column.")
      .def_prop_ro(
          "live_ranges",
          [](AllocatorSite &S) {
            std::vector<LiveRangeView> V;
            for (const llvm::LiveInterval *LI : S.allocator().Ranges)
              V.emplace_back(S, *LI);
            return V;
          },
          "The live ranges of the columns at ra-order; elsewhere empty.")
      .def_prop_ro(
          "columns", [](AllocatorSite &S) { return S.allocator().names(); },
          "What the columns stand for: \"%12\", \"spill\", \"rax\", "
          "\"loop:3\" (the region's first block).")
      .def_prop_ro("function",
                   [](AllocatorSite &S) { return MachineFunctionView(S); })
      .def_prop_ro("ordinal", [](AllocatorSite &S) { return S.Ordinal; })
      .def("__str__", [](AllocatorSite &S) { return described(S); });
  for (const char *Point : {"ra-order", "ra-action", "ra-colour", "ra-split"})
    siteMakers()[Point] = [](nb::object Owner, PyAdvisor &A) {
      return nb::cast(AllocatorSite(std::move(Owner), A));
    };
}

void bindMachineFunction(nb::module_ &M) {
  auto MF = [](MachineFunctionView &V) -> const llvm::MachineFunction & {
    return V.function().MF;
  };
  nb::class_<MachineFunctionView> Class(
      M, "MachineFunction", nb::type_slots(ViewSlots<MachineFunctionView>));
  Class
      .def_prop_ro(
          "name",
          [MF](MachineFunctionView &V) { return text(MF(V).getName().str()); })
      .def_prop_ro("triple",
                   [MF](MachineFunctionView &V) {
                     return MF(V).getTarget().getTargetTriple().str();
                   })
      .def_prop_ro("block_count",
                   [MF](MachineFunctionView &V) { return MF(V).size(); })
      .def_prop_ro(
          "instruction_count",
          [MF](MachineFunctionView &V) { return MF(V).getInstructionCount(); })
      .def_prop_ro("register_count",
                   [](MachineFunctionView &V) {
                     return V.function().MRI.getNumVirtRegs();
                   })
      .def("__str__",
           [MF](MachineFunctionView &V) { return text(printed(MF(V))); })
      .def("__repr__", [MF](MachineFunctionView &V) {
        return text("<machine function " + MF(V).getName().str() + ">");
      });
  bindInterference(Class);
}

} // namespace

void bindLiveRange(nb::module_ &M) {
  bindOperand(M);
  bindRange(M);
  bindMachineFunction(M);
  bindAllocatorSite(M);

  nb::class_<ColumnView>(M, "Column", nb::type_slots(ViewSlots<ColumnView>))
      .def_ro("index", &ColumnView::Index)
      .def_prop_ro("register",
                   [](ColumnView &C) {
                     return physicalName(C.function(),
                                         C.evict().Registers[C.Index]);
                   })
      .def_prop_ro("is_legal",
                   [](ColumnView &C) { return C.evict().Mask[C.Index] != 0; })
      .def_prop_ro("is_hint",
                   [](ColumnView &C) { return C.Index < C.evict().HintCount; })
      .def_prop_ro("unit_interferences", &unitsOf,
                   "The interferences per register unit. LLVM's features count "
                   "a live range once per unit in which it interferes.")
      .def_prop_ro("interferences", &interferencesOf,
                   "The live ranges that would be evicted.");

  nb::class_<EvictionSite>(M, "EvictionSite",
                           nb::type_slots(ViewSlots<EvictionSite>))
      .def_prop_ro(
          "candidate",
          [](EvictionSite &S) { return LiveRangeView(S, S.asked().Range); })
      .def_prop_ro("columns", &columnsOf,
                   "The candidate registers, one per column of the tensors.")
      .def_prop_ro(
          "must_evict", [](EvictionSite &S) { return S.evict().MustEvict; },
          "Whether the candidate cannot be spilled, which forbids the answer "
          "32.")
      .def_prop_ro("function",
                   [](EvictionSite &S) { return MachineFunctionView(S); })
      .def_prop_ro("ordinal", [](EvictionSite &S) { return S.Ordinal; })
      .def("__str__", [](EvictionSite &S) { return described(S); });

  nb::class_<PrioritySite>(M, "PrioritySite",
                           nb::type_slots(ViewSlots<PrioritySite>))
      .def_prop_ro(
          "live_range",
          [](PrioritySite &S) { return LiveRangeView(S, S.asked().Range); })
      .def_prop_ro("function",
                   [](PrioritySite &S) { return MachineFunctionView(S); })
      .def_prop_ro("ordinal", [](PrioritySite &S) { return S.Ordinal; })
      .def("__str__", [](PrioritySite &S) { return described(S); });

  siteMakers()["evict"] = [](nb::object Owner, PyAdvisor &A) {
    return nb::cast(EvictionSite(std::move(Owner), A));
  };
  siteMakers()["priority"] = [](nb::object Owner, PyAdvisor &A) {
    return nb::cast(PrioritySite(std::move(Owner), A));
  };
}

} // namespace passpilot
