# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runners of the C++ core: `const:`, `default`, `random:`, `decisions:`, `onnx:`, `aot:`, C functions.

Inside a compilation the core asks them directly, without the GIL; the methods here are for other callers,
such as `passpilot serve`. A second thread that uses the runner at the same time gets a `RunnerError`.

`onnx:MODEL[?output=NAME&as=decision|logits|score|probability&threshold=0.5&map=INPUT:a,b]` runs an ONNX model
on one thread. Each model input reads the tensor of the same name, type and number of elements. A float input
whose columns the model names (`passpilot.features.columns`) concatenates the tensors of these names. If the
model does not name them, `map=x:a,b` does it for the input `x`; ';' separates several maps. `map=x:*` means
all of the point's own features, and warns if the model does not name its columns. `output` names the deciding
output of a model with several. `as` says how to read it:

* `decision`: one element, the advice itself; the default for integers and booleans, and for `priority`;
* `logits`: one element per choice, the largest wins, for `evict` among the legal ones; the default for
  several floats;
* `score`: one element, the score of one column of `evict`; the model sees one column of every tensor and is
  asked about all legal columns, in one batch if its first dimension is open; the largest wins;
* `probability`: one float, yes from `threshold` (0.5) on; the default for one float; only for `inline`.

`aot:MODEL.so`, with the same keys, asks a model that `passpilot aot` compiled. `decisions:FILE` takes the
decisions that `passpilot tune` found.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from passpilot.plugin import _core
from passpilot.plugin.errors import AdviceError, ModelError, RunnerSpecError
from passpilot.plugin.files import read_regular
from passpilot.plugin.numbers import finite_number, whole_number
from passpilot.plugin.origin import warn_user
from passpilot.runners.base import Frame, Host, Runner, Tensor, own_features
from passpilot.runners.spec import runner_keys

MEANINGS: Final = {
    Flag: ("decision", "logits", "probability"),
    Choice: ("decision", "logits", "score"),
    Number: ("decision",),
}
"""The values of `as`, by the domain of the advice."""

_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]*)?([eE]\+?[0-9]+)?")


class NativeRunner(Runner):
    """A runner of the core; the compiler asks `core` directly instead of `evaluate`."""

    def __init__(self, core: _core.NativeRunner) -> None:
        self.core = core
        specs = map(spec_of, core.inputs)
        self.inputs = tuple({spec.name: spec for spec in specs}.values())
        self.output = spec_of(core.output)

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self.core.bind(frame)

    def evaluate(self) -> int | float:
        return self.core.evaluate()

    def evaluate_batch(self, frames: Frame) -> Sequence[int | float]:
        return self.core.evaluate_batch(frames)

    def switch_context(self, name: str) -> None:
        self.core.switch_context(name)


def spec_of(core: _core.TensorSpec) -> TensorSpec:
    return TensorSpec(core.name, core.dtype, tuple(core.shape))


def core_spec(spec: TensorSpec) -> _core.TensorSpec:
    return _core.TensorSpec(spec.name, spec.dtype, spec.shape)


def core_domain(domain: Domain) -> _core.Domain:
    if isinstance(domain, Choice):
        return _core.Domain.choice(domain.count, domain.mask)
    return _core.Domain.number(domain.low, domain.high) if isinstance(domain, Number) else _core.Domain.flag()


def core_point(point: Point) -> _core.PointSpec:
    """Convert a decision point for the core: its own features, without the custom ones."""
    own = [core_spec(spec) for spec in own_features(point)]
    default, advice = core_spec(point.default), core_spec(point.advice)
    return _core.PointSpec(point.name, own, default, advice, core_domain(point.domain))


def function_runner(
    address: int, inputs: Sequence[TensorSpec], output: TensorSpec, *, context: int = 0
) -> NativeRunner:
    """Make a runner of a function ``int f(void *context, const void *const *inputs, void *output)``.

    `address` is the function's address, for instance from ctypes, numba or llvmlite; the function and
    `context` must outlive the runner. The function gets one pointer per input, writes the advice, and returns
    0; any other status is an error.
    """
    read = [core_spec(spec) for spec in inputs]
    return NativeRunner(_core.NativeRunner.function(read, core_spec(output), address, context))


def const_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> NativeRunner:
    """`const:N`: always answers N."""
    value = _constant(target, point)
    return NativeRunner(_core.NativeRunner.constant(core_spec(point.advice), value))


def _constant(target: str, point: Point) -> int | float:
    if _NUMBER.fullmatch(target):
        with contextlib.suppress(ValueError, AdviceError):
            return point.domain.accept(float(target) if isinstance(point.domain, Number) else int(target))
    flag = isinstance(point.domain, Flag)
    expected = "const:0 or const:1" if flag else f"const:N with {point.domain.expected}"
    raise RunnerSpecError(f"runner const:{target}: expected {expected}, got {target!r}")


def default_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> NativeRunner:
    """`default`: answers the compiler's own decision."""
    if target:
        raise RunnerSpecError(f"runner default:{target}: expected default alone, got a target")
    (default,) = point.select([point.default.name])
    return NativeRunner(_core.NativeRunner.default(core_spec(point.advice), core_spec(default)))


def decisions_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> NativeRunner:
    """`decisions:FILE`: the decisions of a file of `passpilot tune`; the compiler takes all others.

    Raises:
        RunnerSpecError: the point is not `inline`.
        InputError: the file cannot be read, or is no decision file.
    """
    if point.name != "inline":
        raise RunnerSpecError(f"runner decisions:{target}: expected the point inline, got {point.name}")
    (default,) = point.select([point.default.name])
    return NativeRunner(_core.NativeRunner.decisions(target, core_spec(point.advice), core_spec(default)))


def random_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> NativeRunner:
    """`random:SEED`: draws a legal answer, the same for a context and ordinal on all machines and transports.

    A number is one of 2^32 steps between the domain's bounds: for `priority`, a 32-bit integer.
    """
    seed = whole_number(target)
    if seed is None or seed >= 1 << 64:
        expected = "random:SEED with a 64-bit unsigned seed, such as random:7"
        raise RunnerSpecError(f"runner random:{target}: expected {expected}, got {target!r}")
    if isinstance(point.domain, Number) and not math.isfinite(point.domain.high - point.domain.low):
        msg = f"runner random:{target}: expected a point with a range of numbers, got any for {point.name}"
        raise RunnerSpecError(f"{msg}; declare it with domain=Number(low, high)")
    output, domain, mask = core_spec(point.advice), core_domain(point.domain), _mask_of(point)
    return NativeRunner(_core.NativeRunner.random(output, domain, mask, seed))


def _mask_of(point: Point) -> _core.TensorSpec | None:
    """The tensor that marks the legal choices, if the domain has one."""
    if not isinstance(point.domain, Choice):
        return None
    (mask,) = point.select([point.domain.mask])
    return core_spec(mask)


@runner_keys("output", "as", "threshold", "map")
def onnx_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> NativeRunner:
    """`onnx:MODEL`: an ONNX model through onnxruntime's C API.

    Raises:
        RunnerSpecError: a key has a wrong value.
        ModelError: the model or onnxruntime cannot be loaded.
        SpecMismatchError: the model's inputs or outputs do not fit the decision point.
    """
    if not target:
        raise RunnerSpecError("expected onnx:FILE, got no file")
    try:
        model = read_regular(target)
    except OSError as error:
        inside = os.path.join(target, "model.onnx")
        hint = f"; did you mean {inside}?" if os.path.isfile(inside) else ""
        raise ModelError(f"model {target}: expected an ONNX file, got: {error.strerror}{hint}") from error
    make = partial(_core.NativeRunner.onnx, target, model, onnx_library())
    return _model_runner(f"onnx:{target}", options, point, make)


@runner_keys("output", "as", "threshold", "map")
def aot_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> NativeRunner:
    """`aot:MODEL.so`: a model that `passpilot aot` compiled.

    Raises:
        RunnerSpecError: a key has a wrong value.
        ModelError: the library cannot be loaded, is not from `passpilot aot`, or needs another processor.
        SpecMismatchError: the model's inputs or outputs do not fit the decision point.
    """
    make = partial(_core.NativeRunner.aot, str(Path(target).absolute()))
    return _model_runner(f"aot:{target}", options, point, make)


def _model_runner(
    runner: str, options: dict[str, str], point: Point, make: Callable[..., _core.NativeRunner]
) -> NativeRunner:
    """Check the options of a model's runner and pass them to `make`."""
    offered, advice = [core_spec(spec) for spec in point.features], core_spec(point.advice)
    meaning = _meaning(runner, options, point)
    if meaning == "score":
        scorer = _model_runner(runner, {**options, "as": "decision"}, point.column(), make)
        return NativeRunner(_core.NativeRunner.score(scorer.core, offered, advice, core_domain(point.domain)))
    threshold, maps = _threshold(runner, options), _map(runner, options, point)
    domain, output = core_domain(point.domain), options.get("output", "")
    core = make(offered, advice, domain, output, meaning, threshold, maps)
    if core.warning:
        warn_user(core.warning)
    return NativeRunner(core)


def _meaning(runner: str, options: dict[str, str], point: Point) -> str:
    meaning, known = options.get("as", ""), MEANINGS[type(point.domain)]
    if meaning and meaning not in known:
        msg = f"runner {runner}: expected as={'|'.join(known)} for {point.name}, got {meaning!r}"
        raise RunnerSpecError(msg)
    return known[0] if len(known) == 1 else meaning


def _threshold(runner: str, options: dict[str, str]) -> float | None:
    """The threshold for a probability, if there is one."""
    text = options.get("threshold")
    if text is None:
        return None
    if (value := finite_number(text)) is None or not 0 <= value <= 1:
        raise RunnerSpecError(f"runner {runner}: expected a threshold from 0 to 1, got {text!r}")
    return value


def _map(runner: str, options: dict[str, str], point: Point) -> list[tuple[str, list[str], bool]]:
    """The rows of `map`: a model input, the features in it, and whether these were given as ``*``."""
    maps = []
    for part in filter(None, options.get("map", "").split(";")):
        name, colon, features = part.partition(":")
        names = [feature.strip() for feature in features.split(",")]
        if not colon or not name or not all(names):
            raise RunnerSpecError(f"runner {runner}: expected map=INPUT:feature,feature, got {part!r}")
        if every := names == ["*"]:
            names = [spec.name for spec in own_features(point)]
        maps.append((name, names, every))
    return maps


def onnx_library() -> str:
    """The shared library in onnxruntime's wheel, found without importing the package.

    Raises:
        ModelError: the package is not installed.
    """
    from importlib.util import find_spec

    spec = find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(Path(folder, "capi").glob("libonnxruntime.so*"))
        if found:
            return str(found[-1])
    raise ModelError("runner onnx: the package onnxruntime is missing; run: pip install onnxruntime")
