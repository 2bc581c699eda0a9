// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "python_error.h"

#include "../hosted/compile_options.h"

namespace passpilot {

namespace {

/// Binds the CPU and features of the target options.
template <typename T> void bindTarget(nb::class_<T> &C) {
  C.def_prop_rw(
       "cpu", [](T &O) { return O.Target.CPU; },
       [](T &O, std::string V) { O.Target.CPU = std::move(V); })
      .def_prop_rw(
          "features", [](T &O) { return O.Target.Features; },
          [](T &O, std::string V) { O.Target.Features = std::move(V); });
}

void bindPipelineOptions(nb::module_ &M) {
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
      .def_rw("as_clang", &PipelineOptions::AsClang)
      .def_rw("verify_each", &PipelineOptions::VerifyEach)
      .def_rw("debug_pass_manager", &PipelineOptions::DebugPassManager)
      .def_rw("pass_plugins", &PipelineOptions::PassPlugins)
      .def_rw("at", &PipelineOptions::At)
      .def_rw("decisions", &PipelineOptions::Decisions)
      .def_rw("profile", &PipelineOptions::Profile)
      .def_rw("behind", &PipelineOptions::Behind)
      .def_rw("functions", &PipelineOptions::Functions);
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
      .def_rw("frequencies", &EmitOptions::Frequencies)
      .def_rw("outlines", &EmitOptions::Outlines);
}

} // namespace

void bindCompileOptions(nb::module_ &M) {
  bindPipelineOptions(M);
  bindEmitOptions(M);
}

} // namespace passpilot
