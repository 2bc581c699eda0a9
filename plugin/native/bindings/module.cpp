// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir.h"
#include "passes.h"

#include "../hosted/target.h"
#include "llvm/TargetParser/Host.h"

#include <chrono>

namespace passpilot {

namespace {

/// Looks for Ctrl-C every 20 ms while LLVM runs without the GIL. What the
/// signal's handler raised is raised by check(), after LLVM has returned.
class SignalPoll {
public:
  bool operator()() {
    if (interpreterEnds())
      return true;
    const auto Now = std::chrono::steady_clock::now();
    if (Raised || Now < Next)
      return Raised.has_value();
    Next = Now + std::chrono::milliseconds(20);
    nb::gil_scoped_acquire GIL;
    if (PyErr_CheckSignals() != 0)
      Raised.emplace();
    return Raised.has_value();
  }
  void check() {
    if (Raised)
      throw *Raised;
    if (interpreterEnds())
      throw CompilationError("compilation: the interpreter ends");
  }

private:
  std::chrono::steady_clock::time_point Next = std::chrono::steady_clock::now();
  std::optional<nb::python_error> Raised;
};

[[noreturn]] void refuseBusy(HostedModule &H) {
  throw InputError("module " + H.module().getModuleIdentifier() +
                   ": expected it to be free, got one that is being compiled; "
                   "copy it first");
}

void refuseBroken(HostedModule &H) {
  if (!H.Broken.empty())
    throw InputError("module " + H.module().getModuleIdentifier() +
                     ": expected valid IR, got what the pass " + H.Broken +
                     " left; read it again");
}

/// Holds the module, and the advisors, for one compilation. The GIL is the
/// lock: it is held here, and given up in between.
class Compiling {
public:
  Compiling(HostedModule &H, const std::vector<PyAdvisor *> &All) : H(H) {
    readable(H);
    if (H.Worker != std::thread::id())
      refuseBusy(H);
    refuseBroken(H);
    H.Worker = std::this_thread::get_id();
    H.dropAnalyses();
    for (PyAdvisor *A : All)
      if (A)
        Advisors.push_back(A);
    for (PyAdvisor *A : Advisors)
      A->begin();
  }
  ~Compiling() {
    H.Worker = std::thread::id();
    for (PyAdvisor *A : Advisors)
      A->end();
  }

private:
  HostedModule &H;
  std::vector<PyAdvisor *> Advisors;
};

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

/// Binds cpu and features of the options' target.
template <typename T> void bindTarget(nb::class_<T> &C) {
  C.def_prop_rw(
       "cpu", [](T &O) { return O.Target.CPU; },
       [](T &O, std::string V) { O.Target.CPU = std::move(V); })
      .def_prop_rw(
          "features", [](T &O) { return O.Target.Features; },
          [](T &O, std::string V) { O.Target.Features = std::move(V); });
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

void bindEmitOptions(nb::module_ &M) {
  nb::enum_<llvm::CodeGenFileType>(M, "FileType")
      .value("ASM", llvm::CodeGenFileType::AssemblyFile)
      .value("OBJ", llvm::CodeGenFileType::ObjectFile)
      .value("NULL", llvm::CodeGenFileType::Null);
  nb::class_<EmitOptions> C(M, "EmitOptions");
  bindTarget(C);
  C.def(nb::init<>())
      .def_rw("remarks", &EmitOptions::Remarks)
      .def_rw("filetype", &EmitOptions::FileType)
      .def_rw("opt_level", &EmitOptions::OptLevel)
      .def_rw("relocation_model", &EmitOptions::RelocationModel)
      .def_rw("verify", &EmitOptions::Verify)
      .def_rw("simplify_libcalls", &EmitOptions::SimplifyLibCalls)
      .def_rw("asm_verbose", &EmitOptions::AsmVerbose)
      .def_rw("preserve_as_comments", &EmitOptions::PreserveAsmComments)
      .def_rw("show_mc_encoding", &EmitOptions::ShowEncoding)
      .def_rw("dwarf_directory", &EmitOptions::DwarfDirectory, nb::arg().none())
      .def_rw("output_asm_variant", &EmitOptions::AsmVariant, nb::arg().none())
      .def_rw("include_paths", &EmitOptions::IncludePaths)
      .def_rw("printer_options", &EmitOptions::PrinterOptions)
      .def_rw("binutils_version", &EmitOptions::BinutilsVersion)
      .def_rw("output_name", &EmitOptions::OutputName)
      .def_rw("split_dwarf_file", &EmitOptions::SplitDwarfFile)
      .def_rw("split_dwarf_output", &EmitOptions::SplitDwarfOutput)
      .def_rw("costs", &EmitOptions::Costs)
      .def_rw("frequencies", &EmitOptions::Frequencies);
}

} // namespace

HostedModule &readable(HostedModule &H) {
  if (H.ended())
    raiseError("StaleViewError", "module: expected one of a compilation that "
                                 "goes on, got one whose compiler has it back");
  if (H.busy())
    refuseBusy(H);
  return H;
}

void bindModule(nb::module_ &M) {
  nb::class_<ParseOptions>(M, "ParseOptions")
      .def(nb::init<>())
      .def_rw("triple", &ParseOptions::Triple)
      .def_rw("data_layout", &ParseOptions::DataLayout)
      .def_rw("verify", &ParseOptions::Verify)
      .def_rw("strip_debug", &ParseOptions::StripDebug)
      .def_rw("discard_value_names", &ParseOptions::DiscardNames)
      .def_rw("for_codegen", &ParseOptions::ForCodeGen);

  nb::class_<RemarkOptions>(M, "RemarkOptions")
      .def(nb::init<>())
      .def_rw("file", &RemarkOptions::File)
      .def_rw("filter", &RemarkOptions::Filter)
      .def_rw("format", &RemarkOptions::Format)
      .def_rw("with_hotness", &RemarkOptions::WithHotness);

  nb::class_<PipelineOptions> Pipeline(M, "PipelineOptions");
  bindTarget(Pipeline);
  Pipeline.def(nb::init<>())
      .def_rw("remarks", &PipelineOptions::Remarks)
      .def_rw("aa_pipeline", &PipelineOptions::AAPipeline)
      .def_rw("verify", &PipelineOptions::Verify)
      .def_rw("verify_each", &PipelineOptions::VerifyEach)
      .def_rw("debug_pass_manager", &PipelineOptions::DebugPassManager)
      .def_rw("pass_plugins", &PipelineOptions::PassPlugins)
      .def_rw("at", &PipelineOptions::At);

  bindEmitOptions(M);
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

  nb::enum_<OptionKind>(M, "OptionKind")
      .value("UNKNOWN", OptionKind::Unknown)
      .value("FLAG", OptionKind::Flag)
      .value("TAKES_VALUE", OptionKind::TakesValue);
  M.def("option_kind", &optionKind, nb::arg("name"));
  M.def("parse_options", &parseOptions, nb::arg("arguments"));
  M.def("statistics", &statistics);
  M.def("prints_pipeline", &printsPipeline);
  M.def("pass_names", &passNames);
  M.def(
      "processor",
      [](const std::string &Name) {
        const Processor P = processorOf(Name);
        return std::make_tuple(llvm::sys::getDefaultTargetTriple(), P.Name,
                               P.Attributes, P.Features);
      },
      nb::arg("name"));
  M.def("target_help", &targetHelp, nb::arg("triple"));
  M.def("version_text", &versionText);
}

} // namespace passpilot
