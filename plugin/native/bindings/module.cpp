// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiling.h"
#include "core.h"
#include "interpreter.h"
#include "ir.h"
#include "py_passes.h"
#include "python_error.h"

namespace passpilot {

namespace {

Session *sessionOf(PyAdvisor *A) { return A ? A->Session.get() : nullptr; }

nb::bytes bytesOf(const llvm::SmallVector<char, 0> &V) {
  return nb::bytes(V.data(), V.size());
}

std::vector<std::string> optimize(HostedModule &H, const std::string &Pipeline,
                                  PyAdvisor *Inline,
                                  std::vector<PyAdvisor *> Others,
                                  PyPasses *Passes, const PipelineOptions &O) {
  Others.push_back(Inline);
  Compiling Mine(H, Others);
  SignalPoll Poll;
  std::vector<std::string> Warnings;
  if (Passes)
    Passes->Compiled = &H;
  {
    ReleasedGIL NoGIL;
    Warnings =
        H.optimize(Pipeline, sessionOf(Inline),
                   Passes ? &Passes->Passes : nullptr, O, std::ref(Poll));
  }
  Poll.check();
  return Warnings;
}

nb::list costsOf(const std::vector<AllocationCost> &Costs) {
  nb::list L;
  for (const AllocationCost &C : Costs) {
    nb::dict Kinds;
    for (size_t I = 0; I < CostKinds; ++I)
      Kinds[costName(static_cast<CostKind>(I))] =
          nb::make_tuple(C.Counts[I], C.Frequencies[I]);
    L.append(nb::make_tuple(text(C.Function), Kinds, C.total()));
  }
  return L;
}

/// function -> block number -> frequency.
nb::dict frequenciesOf(const std::vector<BlockFrequencies> &All) {
  nb::dict D;
  for (const BlockFrequencies &F : All) {
    nb::dict Blocks;
    for (auto [Number, Frequency] : F.Blocks)
      Blocks[nb::int_(Number)] = Frequency;
    D[text(F.Function)] = Blocks;
  }
  return D;
}

Emitted emit(HostedModule &H, const EmitOptions &O, PyAdvisor *Evict,
             PyAdvisor *Priority) {
  Compiling Mine(H, {Evict, Priority});
  SignalPoll Poll;
  Emitted Out;
  {
    ReleasedGIL NoGIL;
    Out = H.emit(O, sessionOf(Evict), sessionOf(Priority), std::ref(Poll));
  }
  Poll.check();
  return Out;
}

void bindEmitted(nb::module_ &M) {
  nb::class_<Emitted>(M, "Emitted")
      .def_prop_ro("code", [](Emitted &E) { return bytesOf(E.Code); })
      .def_prop_ro("split_dwarf",
                   [](Emitted &E) { return bytesOf(E.SplitDwarf); })
      .def_prop_ro(
          "costs", [](Emitted &E) { return costsOf(E.Costs); },
          nb::sig("def costs(self) -> list[tuple[str, dict[str, tuple[int, "
                  "float]], float]]"),
          "Per function: kind -> (count, frequency), and the weighted sum.")
      .def_prop_ro(
          "frequencies",
          [](Emitted &E) { return frequenciesOf(E.Frequencies); },
          nb::sig("def frequencies(self) -> dict[str, dict[int, float]]"),
          "Function -> block number -> executions per call.");
}

} // namespace

void bindModule(nb::module_ &M) {
  bindEmitted(M);
  nb::class_<HostedModule> Module(M, "Module");
  Module
      .def_static("from_file", &HostedModule::fromFile, nb::arg("path"),
                  nb::arg("options"), nb::call_guard<ReleasedGIL>())
      .def_static(
          "from_memory",
          [](nb::bytes Bytes, const std::string &Name, const ParseOptions &O) {
            return HostedModule::fromMemory({Bytes.c_str(), Bytes.size()}, Name,
                                            O);
          },
          nb::arg("data"), nb::arg("name"), nb::arg("options"))
      .def_prop_ro("name",
                   [](HostedModule &H) {
                     return readable(H).module().getModuleIdentifier();
                   })
      .def_prop_ro("triple",
                   [](HostedModule &H) {
                     return readable(H).module().getTargetTriple().str();
                   })
      .def_prop_ro("data_layout",
                   [](HostedModule &H) {
                     return readable(H).module().getDataLayoutStr();
                   })
      .def(
          "verify", [](HostedModule &H) { return readable(H).verify(); },
          "The verifier's complaints; empty if sound.")
      .def("assembly",
           [](HostedModule &H) {
             std::string Text = readable(H).assembly();
             return nb::bytes(Text.data(), Text.size());
           })
      .def("bitcode",
           [](HostedModule &H) {
             refuseBroken(readable(H));
             return bytesOf(H.bitcode());
           })
      .def("optimize", &optimize, nb::arg("pipeline"), nb::arg("inline").none(),
           nb::arg("others"), nb::arg("passes").none(), nb::arg("options"),
           "Runs a pipeline; passes in Python ask the other advisors.")
      .def("emit", &emit, nb::arg("options"), nb::arg("evict").none(),
           nb::arg("priority").none(),
           "Generates code; each advisor is asked at its point.");
  bindIRModule(Module);
}

} // namespace passpilot
