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

ROOT: Final = Path(__file__).parents[1]
DEFAULT: Final = 22
NAMES: Final = re.compile(rf"\b[a-z+-]+-{DEFAULT}\b|\bLLVM {DEFAULT}\b|\b{DEFAULT}\.1\b|version {DEFAULT}\b")
"""Tools of the default LLVM, and its version."""
STOCK: Final = re.compile(r"^#? ?;? ?(?:RUN|DEFINE):.*(?<!passpilot )%?\bopt ", re.MULTILINE)
LEVELS: Final = re.compile(r"-O[sz]\b|<O[sz]>|= O[sz]\b")
"""Stock opt has no levels for size since LLVM 23."""
LIFETIME: Final = re.compile(r"lifetime\.(start|end)\.p0\(ptr")
"""LLVM 21 has sizes in these intrinsics."""
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
"""Packages that tests import, and that the extra other-llvm does not bring."""
BRIDGE: Final = "needs compilerinterface"
BINDINGS: Final = "needs MLIR's Python bindings"
POLICIES: Final = f"has policies for LLVM {DEFAULT}"
NO_SIZE: Final = "stock opt has no levels for size"
ONLY: Final = {
    "tests/bench/test_turns.py": f"runs mlir-opt-{DEFAULT}",
    "tests/cli/test_kills.py::test_killed_three_times[cache]": POLICIES,
    "tests/examples/test_evolve.py": "needs deap",
    "tests/examples/test_interop.py": BRIDGE,
    "tests/examples/test_mlir_examples.py": BINDINGS,
    "tests/fuzz/test_fuzz.py": f"reads a corpus of clang {DEFAULT}",
    "tests/passes/mlir/schedule/test_schedule.py": BINDINGS,
    "tests/passes/python/test_third_party.py::test_a_pass_for_mlir": BINDINGS,
    "tests/passes/test_bad_policy.py::test_a_policy_that_raises[divides]": "Python words the error otherwise",
    "tests/plugin/native/c/test_guide.py": "needs the headers of g++-12's plugins",
    "tests/plugin/native/stock/test_plugin.py::test_tools_of_another_llvm": "runs tools of LLVM 14",
    "tests/plugin/native/test_stub.py": "writes the stub by the .venv of the default LLVM",
    "tests/plugin/test_unwind_tables.py": POLICIES,
    "tests/policies/test_bundle.py": POLICIES,
    "tests/policies/test_cache.py::test_a_changed_policy_is_prepared_again": POLICIES,
    "tests/policies/test_oz.py": POLICIES,
    "tests/policies/test_places.py": POLICIES,
    "tests/policies/test_spill.py": POLICIES,
    "tests/runners/aot/test_emitc.py": f"runs mlir-opt-{DEFAULT}",
    "tests/runners/foreign/test_mlbridge.py": BRIDGE,
    "tests/runners/remote/test_advisor_proto.py": "makes protos by the .venv of the default LLVM",
    "tests/runners/remote/test_cut_grpc.py": BRIDGE,
    "tests/runners/remote/test_cut.py": BRIDGE,
    "tests/test_exits.py": BINDINGS,
    "tests/training/corpus/test_verdicts.py": f"has bitcode of clang {DEFAULT}",
    "tests/training/test_environments.py::test_the_guide_prints_what_it_says": f"runs clang-{DEFAULT}",
    "tests/training/test_policy_folder.py": POLICIES,
    "tests/training/tuning/kernels/test_kernels.py": BINDINGS,
    "tests/training/tuning/test_permitted.py": POLICIES,
}
"""Files and tests that are for the default LLVM, and why."""
BEFORE_22: Final = {
    "lit_tests/passes/estimate-profile.test": "LLVM outlines by no profile",
    "tests/cli/cc/test_several_compilations.py::test_every_processor_has_its_log_and_the_host_is_silent": (
        "Debian's LLVM 21 has no clang-offload-packager"
    ),
    "tests/passes/allocation/test_random.py::test_a_range_that_cannot_be_spilled_gets_a_register": (
        f"has bitcode of clang {DEFAULT}"
    ),
    "tests/plugin/ir/test_loop_knowledge.py::test_names_of_blocks_say_nothing": "its blocks have no names",
}
"""Those that LLVM 21 cannot pass."""
ATTRIBUTE: Final = "nooutline is no string"
GUID: Final = "opt adds !guid"
SINCE_23: Final = {
    "tests/bench/test_soak.py::test_units_are_compared_with_stock_opt": NO_SIZE,
    "tests/cli/test_compare.py::test_llvms_own_row_is_what_the_stock_tools_make[default<Oz>-flags0]": NO_SIZE,
    "tests/passes/allocation/test_features.py::test_stock_llc_asks_the_same_and_writes_the_same"
    "[scanner.c-aarch64]": "AArch64 gives hints twice, and LLVM writes past the 32 columns of its model",
    "tests/passes/shipped/test_outline.py::test_functions_may_be_closed_in_a_pipeline": ATTRIBUTE,
    "tests/passes/shipped/test_outline.py::test_functions_that_are_closed_are_not_asked_about": ATTRIBUTE,
    "tests/passes/test_optimize.py::test_any_textual_pipeline[default<Os>]": NO_SIZE,
    "tests/plugin/ir/test_refused_code.py": "musttail calls have other rules",
    "tests/plugin/ir/test_run.py::test_a_module_pipeline_gives_what_it_gives_in_the_pass_own_place"
    "[default<Oz>]": NO_SIZE,
    "tests/plugin/test_like_the_tools.py::test_pipelines_as_clang[Os]": NO_SIZE,
    "tests/plugin/test_like_the_tools.py::test_pipelines_as_clang[Oz]": NO_SIZE,
    "tests/plugin/test_like_the_tools.py::test_vtables_are_seen_by_the_whole_program_if_opt_says_so": GUID,
    "tests/training/test_limits.py::test_llvms_own_pipelines_may_be_spelled_out": "LLVM has other passes",
}
"""Those that LLVM 23 has changed. What fails with another LLVM for no known reason is in neither."""


def only_for_default(file: Path, test: str = "") -> str:
    """Why a file, or a test in it, is for the default LLVM alone; nothing if this is the default."""
    if MAJOR == DEFAULT:
        return ""
    name = f"{file.relative_to(ROOT)}{test and f'::{test}'}" if file.is_relative_to(ROOT) else ""
    known = {**ONLY, **(SINCE_23 if MAJOR >= 23 else BEFORE_22)}
    return known.get(name) or known.get(name.partition("[")[0], "")


def not_tested(file: Path) -> str:
    """Why a test's file is for the default LLVM alone; nothing if it is not, or if this is the default."""
    if MAJOR == DEFAULT:
        return ""
    if reason := only_for_default(file):
        return reason
    source = file.read_text(errors="replace")
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
