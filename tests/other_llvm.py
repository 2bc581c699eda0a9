# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is not tested where passpilot is built with another LLVM than the default, and why."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import lit.formats
import lit.Test

from passpilot import plugin
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from lit.LitConfig import LitConfig

DEFAULT: Final = 22
NAMES: Final = re.compile(rf"\b[a-z+-]+-{DEFAULT}\b|\bLLVM {DEFAULT}\b|\b{DEFAULT}\.1\b|version {DEFAULT}\b")
"""Tools of the default LLVM, and its version."""
STOCK: Final = re.compile(r"^#? ?;? ?(?:RUN|DEFINE):.*(?<!passpilot )%?\bopt ", re.MULTILINE)
LEVELS: Final = re.compile(r"-O[sz]\b|<O[sz]>|= O[sz]\b")
"""Stock opt has no levels for size since LLVM 23."""


POLICY: Final = re.compile(r"@oz\b|@spill\b")
"""The policies of the package, which are for the default LLVM."""
LIFETIME: Final = re.compile(r"lifetime\.(start|end)\.p0\(ptr")
IN_MLIR: Final = any(Path(folder, "libpasspilot_mlir.so").exists() for folder in plugin.__path__)
"""Whether the plugin for mlir-opt was built."""
OPTIONAL: Final = (
    "compilerinterface",
    "deap",
    "griffe",
    "grpc_tools",
    "mkdocs",
    "numba",
    "playwright",
    "ray",
)
"""Packages that tests need, and that the extra other-llvm does not bring."""
FILES: Final = {
    "tests/bench/test_turns.py": "runs mlir-opt-22",
    "tests/cli/test_kills.py": "tunes with @oz",
    "tests/cli/test_made_outputs.py": "has a model of LLVM 22's decisions",
    "tests/cli/test_traced.py": "runs mlir-opt",
    "tests/examples/test_interop.py": "needs compilerinterface",
    "tests/examples/test_mlir_examples.py": "needs MLIR's Python bindings",
    "tests/fuzz/test_fuzz.py": "reads a corpus of clang 22",
    "tests/passes/mlir/schedule/test_schedule.py": "needs MLIR's Python bindings",
    "tests/passes/python/test_third_party.py": "needs MLIR's Python bindings",
    "tests/plugin/native/c/test_guide.py": "needs the headers of g++-12's plugins",
    "tests/plugin/native/stock/test_plugin.py": "runs tools of LLVM 14",
    "tests/plugin/native/test_stub.py": "writes the stub by the .venv of the default LLVM",
    "tests/policies/test_bundle.py": "has policies for LLVM 22",
    "tests/policies/test_making.py": "has figures of LLVM 22",
    "tests/policies/test_places.py": "has policies for LLVM 22",
    "tests/runners/aot/test_emitc.py": "runs mlir-translate-22",
    "tests/runners/foreign/test_mlbridge.py": "needs compilerinterface",
    "tests/runners/remote/test_advisor_proto.py": "makes protos by the .venv of the default LLVM",
    "tests/runners/remote/test_cut_grpc.py": "needs compilerinterface",
    "tests/test_exits.py": "runs mlir-opt",
    "tests/training/corpus/test_verdicts.py": "has bitcode of clang 22",
    "tests/training/native_size/test_native_size.py": "tunes with @oz",
    "tests/training/report/test_report.py": "tunes with @oz",
    "tests/training/test_policy_folder.py": "has policies for LLVM 22",
    "tests/training/tuning/kernels/test_kernels.py": "needs MLIR's Python bindings",
    "tests/training/tuning/test_permitted.py": "has policies for LLVM 22",
}
"""Other files that are for the default LLVM, and why."""
TESTS: Final = {
    "test_a_compilation_does_not_change_the_next[amdgcn]": "clang does not accept this C library for AMD GPU",
    "test_a_cpp_unit_with_debug_information": "has lines of this C++ library",
    "test_a_pass_that_says_too_much_is_not_believed": "LLVM numbers blocks otherwise",
    "test_a_policy_that_raises[divides]": "Python words the error otherwise",
    "test_a_processor_that_llvm_mca_cannot_judge": "llvm-mca judges another processor",
    "test_a_module_pipeline_gives_what_it_gives_in_the_pass_own_place[default<Oz>]": "LLVM has no <Oz>",
    "test_an_episode_is_a_compilation": "has figures of LLVM 22",
    "test_an_object_is_clangs[box2d-b2_wheel_joint-Oz]": "clang and opt differ at this level",
    "test_any_textual_pipeline[default<Os>]": "LLVM has no default<Os>",
    "test_bad_function_attributes": "LLVM has other attributes",
    "test_blocks_that_are_not_erased": "has musttail calls as LLVM 22 has them",
    "test_decisions_about_functions": "has figures of LLVM 22",
    "test_every_pass_of_llvm_is_harmless_or_refused_by_name": "has the passes of LLVM 22",
    "test_evolution_gains_and_goes_on_exactly": "has figures of LLVM 22",
    "test_functions_have_the_vectors_that_opt_prints": "opt has another option for the kind",
    "test_functions_may_be_closed_in_a_pipeline": "the attribute nooutline is spelled otherwise",
    "test_functions_that_are_closed_are_not_asked_about": "the attribute nooutline is spelled otherwise",
    "test_llvms_own_pipelines_may_be_spelled_out": "has the passes of LLVM 22",
    "test_llvms_own_row_is_what_the_stock_tools_make[default<Oz>-flags0]": "LLVM has no <Oz>",
    "test_loops_that_cannot_be_vectorized": "LLVM vectorizes others",
    "test_names_of_blocks_say_nothing": "LLVM vectorizes others",
    "test_passes_that_read_leave_the_bytes_alone": "has pipelines of LLVM 22",
    "test_pipelines_as_clang": "LLVM has no levels for size",
    "test_sizes_decisions_and_outputs": "has figures of LLVM 22",
    "test_the_guide_prints_what_it_says": "has figures of LLVM 22",
    "test_units_are_compared_with_stock_opt": "LLVM has no levels for size",
    "test_vtables_are_seen_by_the_whole_program_if_opt_says_so": "opt adds an identity to functions",
    "test_what_passes_a_limit_is_never_taken": "has figures of LLVM 22",
}
"""Single tests that are for the default LLVM, and why."""


def only_for_default(name: str) -> str:
    """Why a test of this name is for the default LLVM; nothing if it is not, or if this is the default."""
    if MAJOR == DEFAULT:
        return ""
    return TESTS.get(name) or TESTS.get(name.partition("[")[0], "")


def not_tested(file: Path) -> str:
    """Why a test's file is for the default LLVM alone; nothing if it is not, or if this is the default."""
    if MAJOR == DEFAULT:
        return ""
    if reason := next((why for name, why in FILES.items() if str(file).endswith(f"/{name}")), ""):
        return reason
    source = file.read_text(errors="replace")
    if found := POLICY.search(source):
        return f"{found[0]} is for LLVM {DEFAULT}"
    missing = [name for name in OPTIONAL if re.search(rf"\b{name}\b", source) and not find_spec(name)]
    if missing:
        return f"needs {missing[0]}"
    if MAJOR < DEFAULT and LIFETIME.search(source):
        return f"has lifetime intrinsics as LLVM {DEFAULT} has them"
    if "mlir_plugin" in source and not IN_MLIR:
        return "needs the plugin for mlir-opt"
    if found := NAMES.search(source):
        return f"the file names {found[0]}, and passpilot is built with LLVM {MAJOR}"
    in_python = file.parent.name == "mlir" or (file.parent.name == "mlir-plugin" and "-load=%S" in source)
    if (in_python or "mlir import" in source or "import mlir" in source) and not find_spec("mlir"):
        return "needs MLIR's Python bindings"
    if MAJOR >= 23 and STOCK.search(source) and LEVELS.search(source):
        return f"opt of LLVM {MAJOR} has no levels for size"
    return ""


class ShTest(lit.formats.ShTest):  # type: ignore[misc]
    """lit's format, without the tests that need the default LLVM, or Python bindings for it."""

    def execute(self, test: lit.Test.Test, lit_config: LitConfig) -> lit.Test.Result:
        """Run a test, or say why it is not run."""
        reason = not_tested(Path(test.getSourcePath()))
        return lit.Test.Result(lit.Test.UNSUPPORTED, reason) if reason else super().execute(test, lit_config)
