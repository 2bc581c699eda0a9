// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Process-wide functions of LLVM: options, targets, names.

#include "core.h"
#include "nanobind_all.h"

#include "../hosted/assembly_files.h"
#include "../hosted/setup.h"
#include "../hosted/target.h"
#include "../llvm/compat.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <cstdio>

namespace passpilot {

void bindLLVM(nb::module_ &M) {
  nb::enum_<OptionKind>(M, "OptionKind")
      .value("UNKNOWN", OptionKind::Unknown)
      .value("FLAG", OptionKind::Flag)
      .value("TAKES_VALUE", OptionKind::TakesValue);
  M.def("option_kind", &optionKind, nb::arg("name"));
  M.def("parse_options", &parseOptions, nb::arg("arguments"),
        nb::arg("forgotten"));
  M.def("tell_fatal_errors", &tellFatalErrors, nb::arg("descriptor"),
        "Writes the reason of LLVM's fatal error to a descriptor.");
  M.def(
      "flush_output",
      [] {
        llvm::outs().flush();
        std::fflush(nullptr);
      },
      "Writes what LLVM and C have buffered for the standard streams.");
  M.def("refuse_assembly_files", &refuseAssemblyFiles,
        "From now on, assembly in modules reads no files.");
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
