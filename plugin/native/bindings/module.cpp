// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiling.h"
#include "core.h"
#include "define.h"
#include "interpreter.h"
#include "py_passes.h"
#include "python_error.h"

namespace passpilot {

namespace {

Sessions sessionsOf(const std::vector<PyAdvisor *> &Advisors) {
  Sessions Asked;
  for (PyAdvisor *A : Advisors)
    Asked[A->Point.Name] = A->Session.get();
  return Asked;
}

nb::bytes bytesOf(const llvm::SmallVector<char, 0> &V) {
  return nb::bytes(V.data(), V.size());
}

std::vector<std::string> optimize(HostedModule &H, const std::string &Pipeline,
                                  const std::vector<PyAdvisor *> &Advisors,
                                  PyPasses *Passes, const PipelineOptions &O) {
  Compiling Mine(H, Advisors);
  SignalPoll Poll;
  std::vector<std::string> Warnings;
  if (Passes)
    Passes->Compiled = &H;
  {
    ReleasedGIL NoGIL;
    Warnings =
        H.optimize(Pipeline, sessionsOf(Advisors),
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

/// Maps function -> block number -> frequency.
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

Emitted emit(HostedModule &H, const EmitOptions &O,
             const std::vector<PyAdvisor *> &Advisors) {
  Compiling Mine(H, Advisors);
  SignalPoll Poll;
  Emitted Out;
  {
    ReleasedGIL NoGIL;
    Out = H.emit(O, sessionsOf(Advisors), std::ref(Poll));
  }
  Poll.check();
  return Out;
}

void bindEmitted(nb::module_ &M) {
  nb::class_<Emitted> C(M, "Emitted");
  C.def(nb::init<>());
  Properties P(C);
  P("code", [](Emitted &E) { return bytesOf(E.Code); });
  P("split_dwarf", [](Emitted &E) { return bytesOf(E.SplitDwarf); });
  P(
      "costs",
      "Per function: kind -> (count, frequency), and the weighted sum.",
      [](Emitted &E) { return costsOf(E.Costs); },
      nb::sig(
          "def costs(self) -> list[tuple[str, dict[str, tuple[int, float]], "
          "float]]"));
  P(
      "frequencies", "Function -> block number -> executions per call.",
      [](Emitted &E) { return frequenciesOf(E.Frequencies); },
      nb::sig("def frequencies(self) -> dict[str, dict[int, float]]"));
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
      .def(
          "verify", [](HostedModule &H) { return readable(H).verify(); },
          "The verifier's complaints; empty if valid.")
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
      .def("reserve", &reserve, "Reserves it for this thread.")
      .def("release", &release)
      .def(
          "replace",
          [](HostedModule &H, nb::bytes Bitcode) {
            H.replace({Bitcode.c_str(), Bitcode.size()});
          },
          nb::arg("bitcode"), "Replaces its contents; all views are stale.")
      .def("optimize", &optimize, nb::arg("pipeline"), nb::arg("advisors"),
           nb::arg("passes").none(), nb::arg("options"),
           "Runs a pipeline; passes in Python ask the other advisors.")
      .def("emit", &emit, nb::arg("options"), nb::arg("advisors"),
           "Generates code; each advisor answers at its point.");
  Properties P(Module);
  P("name", [](llvm::Module &LM) { return LM.getModuleIdentifier(); });
  P("triple", [](llvm::Module &LM) { return LM.getTargetTriple().str(); });
  P("data_layout", [](llvm::Module &LM) { return LM.getDataLayoutStr(); });
  bindIRModule(Module);
}

} // namespace passpilot
