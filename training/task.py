# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Task`: compiles one module and measures the result.

The steps are those of ``opt -passes=PIPELINE | llc -O2 -filetype=obj``, including the bitcode in between, so
that the command line gives the same measure. The code for the reward is generated once, at the end.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from passpilot.features.catalogue import emit_points
from passpilot.passes.advisor import Advisor
from passpilot.passes.emit import generate
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import file_type
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.plugin.module import Module
from passpilot.plugin.toolchain import CODEGEN_LEVELS
from passpilot.training.compiler_pb2 import Start
from passpilot.training.limits import check_target
from passpilot.training.messages import points_of
from passpilot.training.rewards import Measure, ModuleMeasure, check_reward, find_measure

_DEFAULT_LEVEL: Final = 2
_NAME: Final = "module"


class TaskResult(NamedTuple):
    """What a task's measure says, if it has one, and the code, if that was needed."""

    value: float | None
    emitted: _core.Emitted | None


@dataclass(frozen=True, slots=True)
class Task:
    """The compilation that a `Start` asks for."""

    code: bytes
    pipeline: str
    at: Mapping[str, str]
    opt_level: int
    measure: Measure | ModuleMeasure | None
    function: str
    with_object: bool = False
    targets: Sequence[str] = ()
    name: str = _NAME
    """The module's name in errors."""

    @classmethod
    def of(cls, start: Start, targets: Sequence[str] = ()) -> Task:
        """The task of a start, which must have its code; `targets` are those that it may have, if not any.

        Raises:
            InputError: reward, level or pipeline is wrong.
        """
        level = start.opt_level if start.HasField("opt_level") else _DEFAULT_LEVEL
        if not 0 <= level < len(CODEGEN_LEVELS):
            raise InputError(f"opt_level: expected 0 to {len(CODEGEN_LEVELS) - 1}, got {level}")
        for point, _ in points_of(start):
            if point not in emit_points() and not start.pipeline:
                msg = f"pipeline: expected one that reaches the point {point}, got none; try default<Oz>"
                raise InputError(msg)
        if start.at and not start.pipeline:
            raise InputError("at: expected a pipeline that has extension points, got none; try default<O2>")
        check_reward(start.reward, [point for point, _ in points_of(start)])
        measure = find_measure(start.reward)
        at = dict(start.at)
        return cls(start.code, start.pipeline, at, level, measure, start.function, start.object, targets)

    def run(self, advisors: Sequence[Advisor] = ()) -> float | None:
        """Compile the module with advice and measure it; None without a measure.

        Raises:
            Error: the compilation failed.
        """
        return self.compiled(advisors).value

    def compiled(
        self, advisors: Sequence[Advisor] = (), begin: Callable[[Module], object] = lambda _: None
    ) -> TaskResult:
        """Compile the module with advice, and measure it. `begin` gets the module first.

        Raises:
            Error: the compilation failed.
        """
        module = Module.read(self.code, name=self.name, for_codegen=not self.pipeline)
        check_target(module.triple, self.targets)
        if self.function:
            _check_defined(module, self.function)
        begin(module)
        if self.pipeline:
            optimizing = [advisor for advisor in advisors if advisor.point not in emit_points()]
            optimize(module, self.pipeline, optimizing, at=self.at)
        value = self.measure.of(module) if isinstance(self.measure, ModuleMeasure) else None
        generating = [advisor for advisor in advisors if advisor.point in emit_points()]
        if not isinstance(self.measure, Measure) and not generating and not self.with_object:
            return TaskResult(value, None)
        if self.pipeline:
            module = Module.read(module.bitcode(), name=self.name, verify=False, for_codegen=True)
        emitted = generate(module, self._options(), generating)
        return TaskResult(self._value(emitted) if isinstance(self.measure, Measure) else value, emitted)

    def _value(self, emitted: _core.Emitted) -> float:
        assert isinstance(self.measure, Measure), "it needs code"
        if self.measure.costs and not emitted.costs:
            msg = (
                "reward: no function was allocated by the greedy allocator (as at opt_level 0): the cost is 0"
            )
            warnings.warn(msg, PasspilotWarning, stacklevel=3)
        return self.measure.of(emitted)

    def _options(self) -> _core.EmitOptions:
        options = _core.EmitOptions()
        options.opt_level = self.opt_level
        needs = self.measure if isinstance(self.measure, Measure) else None
        kind = needs.filetype if needs else "null"
        options.filetype = file_type("obj" if self.with_object else kind)
        options.costs = needs is not None and needs.costs
        return options


def _check_defined(module: Module, function: str) -> None:
    names = re.findall(rb'^define [^@\n]*@(?:"([^"\n]*)"|([\w.$-]+))\(', module.assembly(), re.MULTILINE)
    defined = [(quoted or plain).decode("utf-8", "surrogateescape") for quoted, plain in names]
    if function not in defined:
        some = ", ".join(defined[:5]) + (", ..." if len(defined) > 5 else "")
        raise InputError(f"function: expected one that the module defines ({some}), got {function!r}")
