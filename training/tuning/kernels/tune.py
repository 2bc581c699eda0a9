# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tune_kernel`: searches the schedule of one kernel, and gives its decisions and its script."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from passpilot.passes.mlir.schedule.choices import LEVERS as KERNEL_LEVERS
from passpilot.passes.mlir.schedule.plan import KernelPlan, write_plan
from passpilot.plugin.errors import UsageError
from passpilot.plugin.files import write_file
from passpilot.plugin.isolated import run_isolated
from passpilot.plugin.process_end import finishing
from passpilot.training.machines.local import Machines
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.kernels.kernel import SUFFIXES, Kernel
from passpilot.training.tuning.kernels.search import KernelSearch, run_time
from passpilot.training.tuning.kernels.unit import KernelUnit
from passpilot.training.tuning.result import TuneResult
from passpilot.training.tuning.study import FOUND, Budget

if TYPE_CHECKING:
    from passpilot.training.tuning.study import TrialCallback
    from passpilot.training.tuning.unit import Unit

DEADLINE: Final = 120.0
"""The seconds in which the untransformed kernel must compile and run."""


@dataclass(frozen=True)
class KernelResult(TuneResult):
    """What a search has found for a kernel; `start` and `best` are microseconds of a run."""

    plan: KernelPlan = field(default_factory=partial(KernelPlan, ""))
    """The fastest plan; one without decisions if none is faster than the untransformed kernel."""
    script: str = field(default="", repr=False)
    """The plan as a script of MLIR's transform dialect."""
    flops: float = 0.0
    """The arithmetic operations of a run."""
    names: Sequence[str] = ()
    """The operations that the plan has decisions for."""

    @property
    def decides(self) -> bool:
        """True: the file and the script say what the schedule is, also where it changes nothing."""
        return True

    def save(self, path: str) -> None:
        """Write the decisions to a file, and the script to the same name with ``.mlir``.

        Raises:
            InputError: they cannot be written.
        """
        note = f"{os.path.basename(self.name)}: {_milliseconds(self.start)} -> {_milliseconds(self.best)}"
        write_plan(path, self.plan, [note], self.names)
        write_file(f"{path}.mlir", self.script)

    def __repr__(self) -> str:
        ratio = self.best / self.start if self.start else 1.0
        speed = f"{self.flops / self.best / 1e3:.1f} GFLOP/s" if self.best else "?"
        change = f"{_milliseconds(self.start)} -> {_milliseconds(self.best)} ({ratio:.3f})"
        return f"{self.name}: {change}, {speed}; {self.compiles} plans in {self.seconds:.0f} s"


def _milliseconds(microseconds: float) -> str:
    return f"{microseconds / 1000:.4g} ms"


def is_kernel(source: object) -> bool:
    """Whether a source of `passpilot.tune` is a kernel in MLIR."""
    return isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith(SUFFIXES)


@dataclass(frozen=True, slots=True)
class KernelRequest:
    """What to search for one kernel; the fields are keywords of `passpilot.tune`."""

    path: str
    function: str
    threads: int
    levers: Sequence[str]
    budget: Budget
    seed: int

    def __post_init__(self) -> None:
        if unknown := [lever for lever in self.levers if lever not in KERNEL_LEVERS]:
            known = ", ".join(KERNEL_LEVERS)
            raise UsageError(f"tune: --search: expected some of {known} for a kernel, got {unknown[0]!r}")

    def run(
        self,
        machines: Machines,
        kept: Callable[[], AbstractContextManager[CompileCache]],
        callbacks: Iterable[TrialCallback],
        output: str,
        done: Callable[[TuneResult], object],
    ) -> KernelResult:
        """Search, and write what is found; `kept` gives the cache from which the same call goes on."""
        kernel = Kernel.read(self.path, self.function)
        unit = KernelUnit(kernel, self.threads)
        unit.warm_up()
        unit = replace(unit, expected=run_isolated("tune", unit.reference, DEADLINE))
        units = cast("Sequence[Unit]", [unit])  # an engine needs of a unit what both kinds have
        with kept() as cache:
            engine = Engine(units, machines, DEADLINE, cache)
            study = KernelSearch(units, engine, run_time, self.budget, tuple(callbacks), kernel.name)
            study.seed, study.levers = self.seed, self.levers
            study.run()
            with finishing(FOUND):
                result = kernel_result(study)
                if output:
                    result.save(output)
        done(result)
        return result


def kernel_result(study: KernelSearch) -> KernelResult:
    """The result of a search."""
    kernel = study.unit.kernel
    plan = study.best_plan or KernelPlan(kernel.function, fuse=False)
    found = study.shapes(plan)
    script = found.script(plan) if found else ""
    names = [shape.name for shape in found.structured] if found else []
    return KernelResult(
        study.name,
        (),
        study.start.total,
        study.best.total,
        study.compiles,
        study.seconds,
        study.curve,
        0,
        _table(study),
        runs=study.summary(),
        plan=plan,
        script=script,
        flops=kernel.flops,
        names=names,
    )


def _table(study: KernelSearch) -> dict[str, Any]:
    """The search as `passpilot report` reads it."""
    start, best, function = study.start.total, study.best.total, study.unit.kernel.function
    return {
        "reward": "microseconds",
        "start": start,
        "text": best,
        "compilations": study.compiles,
        "seconds": round(study.seconds, 2),
        "curve": [[compiles, round(seconds, 3), value] for compiles, seconds, value in study.curve],
        "functions": {"before": {function: start}, "after": {function: best}},
        "units": [
            {"name": study.name, "start": start, "text": best, "calls": 0, "pipeline": "", "options": ""}
        ],
    }
