# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that runs passes for a stock mlir-opt: what it answers to each request."""

from __future__ import annotations

import warnings
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir import api as mlir
from passpilot.passes.mlir.stock.messages import (
    AdviseRequest,
    EndRequest,
    Reply,
    RunRequest,
)
from passpilot.passes.mlir.stock.worker import NOWHERE, PassWorker
from tests.passes.mlir.passes import define, symbol

pytestmark = pytest.mark.usefixtures("restored_registries")

FUNCTION: Final = b"""
"func.func"() <{function_type = () -> (), sym_name = "f"}> ({
  "func.return"() : () -> () loc("in.mlir":2:3)
}) : () -> () loc("in.mlir":1:1)
"""
MODULE: Final = b'"builtin.module"() ({' + FUNCTION + FUNCTION.replace(b'"f"', b'"g"') + b"}) : () -> ()"


@pytest.fixture(scope="module")
def worker() -> PassWorker:
    return PassWorker()


def request(name: str = "test-pass", inside: bool = False, compilation: int = 0) -> RunRequest:
    return RunRequest(compilation, "func.func", name, f"{name}{{}}", inside)


def mark(operation: Any) -> None:
    operation.attributes["seen"] = mlir.bindings().ir.UnitAttr.get(operation.context)


def test_only_what_has_changed_goes_back(worker: PassWorker) -> None:
    define(lambda _: None)
    assert worker.answer(request(), FUNCTION) == Reply([], b"")
    define(mark, name="test-mark")
    told, text = worker.answer(request("test-mark"), FUNCTION)
    assert told == []
    assert b"seen" in text
    assert b'"in.mlir":2:3' in text
    assert worker.answer(request("test-mark"), text).text == b"", "nothing more to mark"


def test_the_first_operation_of_a_module_is_the_one_to_run_on(worker: PassWorker) -> None:
    seen: list[str] = []

    def run(operation: Any) -> None:
        seen.append(symbol(operation))
        mark(operation)

    define(run, name="test-inside")
    told, text = worker.answer(request("test-inside", inside=True), MODULE)
    assert (told, seen) == ([], ["f"])
    assert b'"g"' not in text
    assert b"seen" in text


def test_diagnostics_have_their_places_and_are_told_once(worker: PassWorker) -> None:
    def run(operation: Any) -> None:
        operation.location.emit_error("too small")
        mlir.signal_pass_failure()

    define(run, name="test-signal")
    assert worker.answer(request("test-signal"), FUNCTION) == Reply(
        [("error", "too small", ("in.mlir", 1, 1))]
    )

    def fail(_: object) -> None:
        raise ValueError("no\nluck")

    define(fail, name="test-fail")
    ((kind, text, place),) = worker.answer(request("test-fail"), FUNCTION).diagnostics
    assert (kind, place) == ("error", ("in.mlir", 1, 1))
    assert text.startswith("pass test-fail: ValueError: no luck (")


@pytest.mark.parametrize(
    ("kind", "text"), [(KeyboardInterrupt, "KeyboardInterrupt"), (SystemExit, "SystemExit: 3")]
)
def test_a_pass_cannot_leave(worker: PassWorker, kind: type[BaseException], text: str) -> None:
    def leave(_: object) -> None:
        raise kind(*([3] if kind is SystemExit else []))

    name = define(leave, name=f"test-{kind.__name__.lower()}")
    [(_, told, _)] = worker.answer(request(name), FUNCTION).diagnostics
    assert told.endswith(f"{name}: {text} ({__file__}:97)")


def test_each_warning_is_told(worker: PassWorker) -> None:
    define(
        lambda _: [warnings.warn("look", DeprecationWarning, stacklevel=1) for _ in "ab"][2:] or None,
        name="test-warn",
    )
    assert worker.answer(request("test-warn"), FUNCTION).diagnostics == [("warning", "look", NOWHERE)] * 2


def test_what_the_bindings_cannot_read(worker: PassWorker) -> None:
    define(lambda _: None)
    ((kind, text, place),) = worker.answer(request(), b"no operation").diagnostics
    assert (kind, place) == ("error", NOWHERE)
    assert text.startswith("pass test-pass: expected what MLIR of ")
    assert " reads, got: " in text
    assert "\n" not in text


@pytest.fixture
def point(restored_registries: None) -> DecisionPoint[bool]:  # noqa: ARG001
    """Asked by the pass test-ask, which marks what it is told to."""
    size, flag = TensorSpec("size", "int64", (1,)), TensorSpec("flag", "int64", (1,))
    asked = DecisionPoint[bool]("test-flag", features=[size], advice=flag, default=lambda _: False)
    define(lambda each: mark(each) if asked.ask({"size": 1}, each) else None, name="test-ask")
    return asked


def advise(runner: str, compilation: int, log: str = "") -> AdviseRequest:
    return AdviseRequest(compilation, "test-flag", runner, log, "fail", 5.0)


@pytest.mark.usefixtures("point")
def test_each_compilation_has_its_advisors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worker, logs = PassWorker(), [tmp_path / "1.log", tmp_path / "2.log"]
    assert worker.answer(advise("const:1", 1, str(logs[0])), b"") == Reply([], b"")
    assert worker.answer(advise("const:0", 2, str(logs[1])), b"") == Reply([], b"")
    marked = [bool(worker.answer(request("test-ask", compilation=each), FUNCTION).text) for each in (1, 2, 3)]
    assert marked == [True, False, False]
    told = "-passpilot-advise: expected one advisor of the point test-flag, got two"
    assert worker.answer(advise("const:1", 1), b"") == Reply([("error", told, NOWHERE)], b"")
    assert worker.answer(EndRequest(1, True, False), b"") == Reply([], b"")
    assert (logs[0].exists(), capsys.readouterr().err) == (True, "")
    assert worker.answer(EndRequest(2, False, True), b"") == Reply([], b"")
    assert (logs[1].exists(), capsys.readouterr().err) == (False, "")
    assert worker.answer(EndRequest(9, True, True), b"") == Reply([], b""), "without advisors"
    assert not worker.answer(request("test-ask", compilation=1), FUNCTION).text, "the default decides again"


@pytest.mark.usefixtures("point")
def test_counts_are_printed_if_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    worker = PassWorker()
    worker.answer(advise("const:1", 1), b"")
    worker.answer(request("test-ask", compilation=1), FUNCTION)
    worker.answer(EndRequest(1, True, True), b"")
    assert "test-flag advisor const:1:\n         1 decision\n" in capsys.readouterr().err


def test_a_failed_advisor_fails_every_pass_that_comes_after(
    point: DecisionPoint[bool], tmp_path: Path
) -> None:
    assert point.name
    (tmp_path / "policy.py").write_text("def decide(obs):\n    raise ValueError('no luck')\n")
    worker = PassWorker()
    worker.answer(advise(f"python:{tmp_path}/policy.py:decide", 1), b"")
    define(lambda _: None)
    for name in ("test-ask", "test-pass"):
        told = worker.answer(request(name, compilation=1), FUNCTION).diagnostics
        assert any("test-flag advisor at decision 0" in text and "no luck" in text for _, text, _ in told)
    assert worker.answer(request(), FUNCTION) == Reply([], b""), "another compilation"


@pytest.mark.parametrize(
    "sent",
    [request(inside=True), advise("const:1", 3, "a.log"), EndRequest(4, True, False)],
    ids=["run", "advise", "end"],
)
def test_messages_arrive_as_they_were_sent(sent: Any) -> None:
    ours, its = Pipe()
    with ours, its:
        ours.send((sent, b"text \xff\n"))
        assert its.recv() == (sent, b"text \xff\n")
        reply = Reply([("error", "é", ("a.mlir", 3, 7)), ("note", "", NOWHERE)], b"\xff")
        its.send(reply)
        assert ours.recv() == reply
