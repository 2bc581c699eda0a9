# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The native core by itself: types of tensors, and uses that Python's own layers do not let through."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from passpilot.features.spec import DTYPES
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, RunnerError, StaleViewError
from passpilot.plugin.module import Module

ADVICE = _core.TensorSpec("advice", "int64", [1])
SIZE = _core.TensorSpec("size", "int64", [1])


def point(*features: _core.TensorSpec, advice: _core.TensorSpec = ADVICE) -> _core.PointSpec:
    return _core.PointSpec("mine", list(features), advice, advice, _core.Domain.flag())


def constant() -> _core.NativeRunner:
    return _core.NativeRunner.constant(ADVICE, 1.0)


def advisor(runner: _core.NativeRunner, *features: _core.TensorSpec) -> _core.Advisor:
    return _core.Advisor(point(*features), runner, [], [], False, 0.0, False)


@pytest.fixture
def made() -> _core.Advisor:
    return advisor(constant(), SIZE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_of_tensors(dtype: str) -> None:
    spec = _core.TensorSpec("values", dtype, [2, 3])
    assert (spec.name, spec.dtype, spec.shape) == ("values", dtype, [2, 3])
    views = advisor(constant(), SIZE, spec).views(writable=True)
    values = views["values"]
    assert (values.dtype, values.shape) == (np.dtype(dtype), (2, 3))
    largest = np.finfo(dtype).max if values.dtype.kind == "f" else np.iinfo(dtype).max
    values[...] = largest
    assert values.tolist() == [[largest] * 3] * 2
    assert views["size"].tolist() == [0]


def test_views_that_a_model_gets_are_read_only(made: _core.Advisor) -> None:
    view = made.views(writable=False)["size"]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    writable = made.views(writable=True)["size"]
    writable[0] = 7
    assert view.tolist() == [7]
    del made
    assert view.tolist() == [7], "it keeps the memory"


@pytest.mark.parametrize("dtype", ["float16", "int", "", "INT64"])
def test_types_that_no_tensor_has(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"^tensor: expected a scalar type, got {dtype}$"):
        _core.TensorSpec("x", dtype, [1])


def test_points_of_llvm() -> None:
    assert [_core.point(each.name).name for each in _core.hooked_points()][:3] == [
        "inline",
        "evict",
        "priority",
    ]
    with pytest.raises(ValueError, match=r"^decision point: expected one of LLVM's, got mine$"):
        _core.point("mine")


def test_a_native_runner_is_asked_in_order() -> None:
    spec = _core.TensorSpec("advice", "float64", [1])
    runner = _core.NativeRunner.default(spec, spec)
    with pytest.raises(RunnerError, match=r"native runner: expected bind\(\) before evaluate\(\), got none"):
        runner.evaluate()
    with pytest.raises(ValueError, match="frame: expected the size of the runner's inputs, got another"):
        runner.bind(np.zeros(16, np.uint8))
    frame = np.zeros(8, np.uint8)
    runner.bind(frame)
    frame.view(np.float64)[0] = 2.5
    assert runner.evaluate() == 2.5
    rows = np.array([[1.5], [-2.0]]).view(np.uint8)
    assert runner.evaluate_batch(rows) == [1.5, -2.0]
    assert runner.evaluate_batch(rows[:0]) == []
    with pytest.raises(ValueError, match="frame: expected the size"):
        runner.evaluate_batch(rows[:, :4].copy())


def test_one_runner_of_two_advisors_is_in_use_once() -> None:
    runner = constant()
    one, other = advisor(runner, SIZE), advisor(runner, SIZE)
    one.begin()
    told = "^mine advisor: expected a runner that is free, got one that another thread or compilation uses; "
    with pytest.raises(RunnerError, match=told + "make a runner for each$"):
        other.begin()
    with pytest.raises(
        RunnerError, match=r"^native runner: expected one thread at a time, got another while"
    ):
        runner.switch_context("f")
    one.end()
    other.begin()
    other.end()
    other.end()
    one.begin()
    one.end()


def test_no_question_is_asked_outside_a_compilation(made: _core.Advisor) -> None:
    told = "^mine advisor: expected to be asked by a pass, on the thread that compiles, got a question from "
    with pytest.raises(InputError, match=told):
        made.ask({"size": 1}, None, "", lambda _: True)
    with pytest.raises(InputError, match=told):
        made.ask_all([{"size": 1}], [None], [""], lambda _: True)
    with pytest.raises(StaleViewError, match=r"obs\.site: expected to be read within its decision"):
        _ = made.place
    with pytest.raises(StaleViewError, match=r"obs\.site: expected to be read within its decision"):
        made.site_text("caller")
    with pytest.raises(StaleViewError, match=r"obs\.default\(\): expected to be called within a decision"):
        made.default()
    with pytest.raises(ValueError, match=r"^set_pass: expected a row for each feature$"):
        made.set_pass([], lambda _: None, lambda _: ("", 0, 0, "", ""))
    assert made.counts["asked"] == 0


def test_what_is_told_of_questions(made: _core.Advisor) -> None:
    made.set_pass([("size", lambda _: None, 0)], lambda _: None, lambda _: ("a.c", 3, 7, "f", "g"))
    made.begin()
    assert made.ask({"size": 1}, None, "", lambda _: False) is True
    assert made.ask_all([{"size": 1}, {"size": 2}], [None, None], ["", ""], lambda _: False) == [True, True]
    made.end()
    counts = made.counts
    assert {name: counts[name] for name in ("asked", "fallbacks", "not_askable", "budget_hits")} == {
        "asked": 3, "fallbacks": 0, "not_askable": 0, "budget_hits": 0,
    }  # fmt: skip
    assert (made.failure, made.first_fallback) == (None, None)


def test_a_vocabulary_has_a_row_for_each_entity() -> None:
    count = len(_core.ir2vec_entities())
    for rows in (count - 1, count + 1):
        with pytest.raises(ValueError, match="IR2Vec vocabulary: expected a row for each entity"):
            _core.IR2VecVocabulary(np.zeros((rows, 4)))
    _core.IR2VecVocabulary(np.zeros((count, 4)))


def test_contents_that_are_replaced() -> None:
    module, other = Module.read(b"@g = global i32 0\n", name="kept"), Module.read(b"@h = global i32 0\n")
    (g,) = module.globals
    with pytest.raises(InputError, match=r"^kept: expected bitcode, got: "):
        module._core.replace(b"BC junk")
    found = [g.is_valid]
    module._core.replace(other.bitcode())
    assert [*found, g.is_valid] == [True, False]
    assert (module.name, [each.name for each in module.globals]) == ("kept", ["h"])
    with pytest.raises(StaleViewError):
        _ = g.linkage


def test_levels_of_passes() -> None:
    passes = _core.Passes()
    for level in ("module", "cgscc", "function", "loop"):
        passes.add(f"{level}-pass", f"{level}-pass", level, False, lambda _: False)
    with pytest.raises(ValueError, match="level: expected module, cgscc, function or loop, got machine"):
        passes.add("other", "other", "machine", False, lambda _: False)
    assert (passes.failure, passes.idle) == (None, "")


def test_a_frame_holds_the_inputs_alone() -> None:
    other = _core.TensorSpec("other", "int64", [3])
    spec = point(SIZE, other)
    read = _core.Advisor(spec, None, [SIZE, SIZE], [], False, 0.0, False)
    assert read.frame().nbytes == 8
    assert _core.Advisor(spec, None, [SIZE, other], [], False, 0.0, False).frame().nbytes == 32
    read.views(writable=True)["size"][0] = 258
    assert read.frame().tolist() == [2, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("holder", range(4), ids=["store", "absent", "check_names", "locate"])
def test_cycles_through_an_advisor_of_a_pass_are_collected(holder: int) -> None:
    made = advisor(constant(), SIZE)
    functions: list[Callable[..., Any]] = [lambda *_, kept=kept: kept for kept in [None] * 4]
    functions[holder] = lambda *_, kept=made: kept
    store, absent, check_names, locate = functions
    made.set_pass([("size", store, absent)], check_names, locate)
    gone = weakref.ref(made)
    del made, functions, store, absent, check_names, locate
    gc.collect()
    assert gone() is None
