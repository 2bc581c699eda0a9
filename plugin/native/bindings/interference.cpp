// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../llvm/interference.h"

#include "../llvm/live_range.h"
#include "interpreter.h"
#include "live_range_view.h"

namespace passpilot {

namespace {

/// Keeps a Python object for a function's allocation. LLVM releases it without
/// the GIL. An ending interpreter no longer grants the GIL, so the object then
/// leaks.
std::shared_ptr<void> keep(nb::object Object) {
  return {new nb::object(std::move(Object)), [](void *P) {
            if (interpreterEnds())
              return;
            nb::gil_scoped_acquire GIL;
            delete static_cast<nb::object *>(P);
          }};
}

nb::object kept(MachineFunctionView &V, const nb::object &Make) {
  FunctionAllocation &F = V.function();
  if (!F.Kept)
    F.Kept = keep(Make());
  return *static_cast<nb::object *>(F.Kept.get());
}

nb::object hintOf(const FunctionAllocation &F, llvm::Register Hint) {
  if (!Hint.isValid())
    return nb::none();
  return nb::cast(Hint.isVirtual() ? rangeName(Hint)
                                   : physicalName(F, Hint.asMCReg()));
}

nb::dict attributesOf(const FunctionAllocation &F, unsigned Number,
                      const RangeState &S) {
  const llvm::Register Reg = llvm::Register::index2VirtReg(Number);
  nb::dict D;
  D["register"] = rangeName(Reg);
  D["register_class"] = className(F, Reg);
  D["weight"] = S.Weight;
  D["size"] = S.Size;
  D["spill_cost"] = S.spillCost();
  D["hint"] = hintOf(F, S.Hint);
  D["assigned"] =
      S.Assigned.isValid() ? nb::cast(physicalName(F, S.Assigned)) : nb::none();
  D["is_spillable"] = S.isSpillable();
  return D;
}

template <typename State>
nb::object resultOf(const FunctionAllocation &F, const InterferenceChanges &C,
                    State Find) {
  nb::list Nodes;
  for (unsigned Number : C.Nodes)
    Nodes.append(nb::make_tuple(Number, attributesOf(F, Number, Find(Number))));
  return nb::make_tuple(C.Version, nb::cast(C.Removed), Nodes,
                        nb::cast(C.Unlinked), nb::cast(C.Linked));
}

nb::object changesSince(MachineFunctionView &V, size_t Version) {
  FunctionAllocation &F = V.function();
  const InterferenceGraph &G = F.interference(V.asked());
  return resultOf(F, G.changes(Version),
                  [&](unsigned N) -> const RangeState & { return *G.find(N); });
}

nb::object afresh(MachineFunctionView &V, bool ByPairs) {
  FunctionAllocation &F = V.function();
  auto State = [&](unsigned N) {
    return stateOf(F, *liveRange(F, llvm::Register::index2VirtReg(N)));
  };
  if (ByPairs)
    return resultOf(F, comparedByPairs(F), State);
  return resultOf(F, madeAfresh(F).changes(0), State);
}

} // namespace

#define PASSPILOT_CHANGES                                                      \
  "tuple[int, list[int], list[tuple[int, dict[str, object]]], "                \
  "list[tuple[int, int]], list[tuple[int, int]]]"

void bindInterference(nb::class_<MachineFunctionView> &Class) {
  Class
      .def("kept", &kept, nb::arg("make"),
           nb::sig("def kept(self, make: collections.abc.Callable[[], object]) "
                   "-> object"),
           "Calls make() once per allocation of this function and returns its "
           "result, which is dropped when the allocation ends.")
      .def("interference", &changesSince, nb::arg("version"),
           nb::sig("def interference(self, version: int) "
                   "-> " PASSPILOT_CHANGES),
           "The changes of the interference graph since a version, 0 for the "
           "empty graph: the current version, removed nodes, new and changed "
           "nodes with their attributes, removed edges, new edges.")
      .def("interference_afresh", &afresh, nb::arg("by_pairs"),
           nb::sig("def interference_afresh(self, by_pairs: bool) "
                   "-> " PASSPILOT_CHANGES),
           "The whole graph, built from scratch; by_pairs: by comparing all "
           "pairs of live ranges. For tests and measurements.")
      .def_prop_ro(
          "interference_work",
          [](MachineFunctionView &V) {
            return V.function().interference(V.asked()).work();
          },
          "The number of live ranges read or compared so far to maintain the "
          "graph.");
}

} // namespace passpilot
