# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`KernelUnit`: a kernel under search, which a plan schedules, compiles and runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from passpilot.passes.mlir.lower import to_llvm_dialect, translate
from passpilot.passes.mlir.schedule.apply import ScheduledShapes, schedule
from passpilot.passes.mlir.schedule.plan import KernelPlan
from passpilot.passes.mlir.schedule.shape import functions_in
from passpilot.plugin.errors import InputError
from passpilot.plugin.json_and_toml import parse_json
from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.version import MAJOR
from passpilot.training.timing.commands import TIED, Commands
from passpilot.training.tuning.kernels.kernel import Kernel, parsed_kernel
from passpilot.training.tuning.kernels.running import (
    MOST_SECONDS,
    Array,
    LoadedKernel,
    check_outputs,
    least_seconds,
)

CLANG: Final = f"clang-{MAJOR}"
VECTORS: Final = os.uname().machine == "x86_64"
"""Whether libmvec is there: Debian 12's C library has none for AArch64."""
FLAGS: Final = (
    *("-O3", "-march=native", "-shared", "-fPIC", "-w", "-x", "ir"),
    *(["-fveclib=libmvec"] if VECTORS else []),
)
LIBRARIES: Final = ("-lmvec", "-lm") if VECTORS else ("-lm",)


@dataclass(frozen=True, slots=True)
class KernelRun:
    """What a plan makes of a kernel."""

    choice: KernelPlan | None
    """None for the untransformed kernel."""
    microseconds: float
    """The least time of a run."""
    seconds: float
    """The time of compiling and running it."""
    asked: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelUnit:
    """A kernel, and the outputs that every plan must give."""

    kernel: Kernel
    threads: int = 1
    deadline: float = 60.0
    expected: Sequence[Array] = ()
    rewards: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        """The file."""
        return self.kernel.name

    @property
    def visible(self) -> frozenset[str]:
        """The function."""
        return frozenset((self.kernel.function,))

    def digest(self) -> bytes:
        """A hash of all that runs have in common."""
        text = repr((self.kernel, self.threads, FLAGS))
        return hashlib.sha256(text.encode()).digest()

    def key(self, choice: KernelPlan | None) -> str:
        """The text of a plan in the names of kept results."""
        return repr(choice)

    def packed(self, run: KernelRun) -> bytes:
        """A run as a kept file has it."""
        return json.dumps([run.microseconds, run.seconds]).encode()

    @staticmethod
    def unpacked(data: bytes, path: str, choice: KernelPlan | None) -> KernelRun:
        """The run in a kept file."""
        row: Any = parse_json(data, path)
        microseconds, seconds = map(float, row)
        return KernelRun(choice, microseconds, seconds)

    def warm_up(self) -> None:
        """Import what the child processes need."""
        bindings().dialect("transform.interpreter")

    def shapes(self, plan: KernelPlan) -> ScheduledShapes:
        """The operations after the steps of a plan; in this process, which MLIR may end."""
        return schedule(parsed_kernel(self.kernel.text, self.name).operation, plan)

    def compile(self, choice: KernelPlan | None) -> KernelRun:
        """Compile, check and time a plan, in this process, which the kernel may end."""
        began = time.monotonic()
        (least,) = self.times([choice])
        return KernelRun(choice, 1e6 * least, time.monotonic() - began)

    def times(self, choices: Sequence[KernelPlan | None], seconds: float = MOST_SECONDS) -> list[float]:
        """The least seconds of several plans, whose runs take turns."""
        if self.threads == 1:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        with tempfile.TemporaryDirectory(prefix="passpilot-kernel-") as folder:
            loaded = [
                LoadedKernel.load(self.build(choice, os.path.join(folder, f"{number}.so")), self.kernel)
                for number, choice in enumerate(choices)
            ]
        for each in loaded:
            check_outputs(self.kernel, each.outputs(), self.expected)
        return least_seconds([each.timer(self.threads) for each in loaded], seconds)

    def reference(self) -> list[Array]:
        """The outputs of the untransformed kernel, in this process, which it may end."""
        with tempfile.TemporaryDirectory(prefix="passpilot-kernel-") as folder:
            return LoadedKernel.load(self.build(None, os.path.join(folder, "k.so")), self.kernel).outputs()

    def build(self, choice: KernelPlan | None, path: str) -> str:
        """Make a shared library of the kernel.

        Raises:
            CompilationError: the plan does not fit the kernel, or it cannot be lowered or compiled.
            InputError: there is no clang.
        """
        operation = parsed_kernel(self.kernel.text, self.name).operation
        _prepare(operation, self.kernel.function)
        if choice is not None:
            schedule(operation, choice)
        to_llvm_dialect(operation, threads=self.threads > 1)
        text = f"{path}.ll"
        with open(text, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(translate(operation))
        if shutil.which(CLANG) is None:
            raise InputError(
                f"tune: expected {CLANG} to compile kernels, got none; sudo apt-get install {CLANG}"
            )
        tied = TIED if shutil.which(TIED[0]) else ()
        openmp = ("-fopenmp",) * (self.threads > 1)
        hint = f" with OpenMP (sudo apt-get install libomp-{MAJOR}-dev)" if openmp else ""
        words = [*tied, CLANG, *FLAGS, text, "-o", path, *openmp, *LIBRARIES]
        Commands().run(words, self.deadline).check(f"tune: {self.name}: expected code{hint}", self.deadline)
        return path


def _prepare(module: Any, function: str) -> None:
    """Let C call the function."""
    ir = bindings().ir
    attributes: Any = functions_in(module)[function].attributes
    attributes["llvm.emit_c_interface"] = ir.UnitAttr.get(module.context)
    if "sym_visibility" in attributes:
        del attributes["sym_visibility"]
