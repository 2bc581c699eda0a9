# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of runner at the decision point of a user's pass."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
import pytest
from onnx import helper

from passpilot.cli.aot import main as aot
from passpilot.features.domain import Number
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.plugin.errors import (
    AdviceError,
    ConformanceError,
    PasspilotWarning,
    PeerError,
    SpecMismatchError,
    UsageError,
)
from passpilot.plugin.load import load_file
from passpilot.runners.conformance import check_runner
from passpilot.runners.native import function_runner
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike
from tests.command import PASSPILOT
from tests.passes.decision_point.example import (
    ADVICE,
    COLUMNS,
    FEATURES,
    MAP,
    NAME,
    SOURCE,
    asked,
    declared,
    perceptron,
    row,
)
from tests.runners.aot.models import FLOAT, INT64, model
from tests.runners.serving import grpc_serving, serving

pytestmark = pytest.mark.usefixtures("restored_registries")

POLICY = [int(number + number / 8 > 9) for number in range(33)]
"""What the policy of `SOURCE` decides, where all columns are legal."""

PLAIN = [{name: row(number)[name] for name in ("size", "share")} for number in range(33)]


LEGAL = [{"size": number, "share": number / 8, "mask": 1} for number in range(33)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The point in a file, which other processes load."""
    path = tmp_path / "scored.py"
    path.write_text(SOURCE)
    return path


def both(point: DecisionPoint[int], runner: RunnerLike, timeout: float = 60) -> list[int]:
    """The answers of a runner, asked one by one; at once they are the same."""
    with point.advisor(runner, timeout=timeout) as advisor:
        answers = asked(point, [advisor], PLAIN, at_once=False)
        assert asked(point, [advisor], PLAIN, at_once=True) == answers
        assert advisor.stats.decisions == 2 * len(PLAIN)
    return answers


def test_models_agree(tmp_path: Path) -> None:
    point, path = declared(), perceptron(tmp_path / "m.onnx")
    assert aot([str(path), "-o", f"{tmp_path}/m.so"]) == 0
    answers = both(point, f"onnx:{path}?{MAP}")
    assert both(point, f"aot:{tmp_path}/m.so?{MAP}") == answers
    assert len(set(answers)) > 1
    for spec in (f"onnx:{path}?{MAP}", f"aot:{tmp_path}/m.so?{MAP}"):
        check_runner(spec, NAME)
        with pytest.raises(SpecMismatchError, match="expected names that the compiler offers, got 'weight'"):
            point.advisor(spec.replace("share", "weight"))


def counter(path: Path) -> Path:
    """How many columns are legal, of a mask of an open dimension."""
    node = helper.make_node
    nodes = [
        node("Cast", ["mask"], ["legal"], to=FLOAT),
        node("ReduceSum", ["legal"], ["score"], keepdims=1),
    ]
    onnx.save(model(nodes, [("mask", INT64, [1, "columns"])], ["score"]), str(path))
    return path


def test_aot_knows_the_point_of_a_file(tmp_path: Path, file: Path) -> None:
    path, out = counter(tmp_path / "m.onnx"), tmp_path / "m.so"
    command: list[str] = [str(PASSPILOT), "aot", str(path), "-o", str(out), "--point", NAME]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"got '{NAME}'; others come from --load files" in done.stderr
    subprocess.run([*command, "--load", str(file)], check=True)
    point, rows = declared(), [{**each, "mask": [[1, 1, 1, 0]]} for each in PLAIN]
    advisor = point.advisor(f"aot:{out}?as=decision", on_error="default")
    with pytest.warns(PasspilotWarning, match=r"33 of 33 .*expected a column that mask allows, got 3"):
        asked(point, [advisor], rows, at_once=True)


@contextlib.contextmanager
def served(kind: str, runner: str, file: Path) -> Iterator[str]:
    """The spec of a served runner."""
    flags = ("--load", str(file), "--point", NAME)
    if kind == "pipe":
        base = str(file.with_name("ch"))
        with serving.served(runner, base, *flags):
            yield f"pipe:{base}"
    else:
        with grpc_serving.served(runner, *flags) as (_, target):
            yield f"grpc:{target}"


@pytest.mark.parametrize("kind", ["pipe", "grpc"])
def test_served_runners(kind: str, file: Path, tmp_path: Path) -> None:
    point, path = declared(), perceptron(tmp_path / "m.onnx")
    with served(kind, f"python:{file}:decide", file) as spec:
        assert both(point, spec) == POLICY
    with served(kind, f"onnx:{path}?{MAP}", file) as spec:
        assert both(point, spec) == both(point, f"onnx:{path}?{MAP}")


@pytest.mark.parametrize("serdes", ["bitstream", "json", "protobuf"])
def test_formats_of_the_pipe(serdes: str, file: Path) -> None:
    with served("pipe", f"python:{file}:decide", file) as spec:
        assert both(declared(), f"{spec}?serdes={serdes}") == POLICY


@pytest.mark.parametrize("kind", ["pipe", "grpc"])
def test_a_served_runner_keeps_the_contract(kind: str, file: Path) -> None:
    declared()
    with served(kind, f"python:{file}:decide", file) as spec:
        check_runner(spec, NAME, observations=LEGAL, timeout=60)


@pytest.mark.parametrize("spec", ["pipe:{}/nobody", "grpc:127.0.0.1:9"])
def test_an_absent_peer(spec: str, tmp_path: Path) -> None:
    point, spec = declared(), spec.format(tmp_path)
    with pytest.raises(PeerError):
        point.advisor(spec, timeout=0.2)
    advisor = point.advisor(spec, timeout=0.2, on_error="default")
    with pytest.warns(PasspilotWarning, match="33 of 33 decisions fell back to the default"):
        answers = asked(point, [advisor], PLAIN, at_once=True)
    assert answers == [number % 2 for number in range(33)]


def test_a_point_that_the_server_does_not_know(file: Path) -> None:
    command = [sys.executable, "-c", serving.SERVE, f"python:{file}:decide", "--grpc", "0", "--point", NAME]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert NAME in done.stderr


def test_a_replay_of_one_by_one_answers_at_once(tmp_path: Path) -> None:
    point, log = declared(), str(tmp_path / "a.log")
    with point.advisor("random:5", log=log) as advisor:
        answers = asked(point, [advisor], at_once=False)
    with point.advisor(f"replay:{log}") as advisor:
        assert asked(point, [advisor], at_once=True) == answers
    with point.advisor(f"replay:{log}") as advisor, pytest.raises(AdviceError, match="size"):
        asked(point, [advisor], PLAIN[1:], at_once=True)


def test_a_c_function() -> None:
    point = declared()

    def decide(_context: int, inputs: Sequence[int], output: int) -> int:
        size = ctypes.c_int64.from_address(inputs[0]).value
        ctypes.c_int64.from_address(output).value = size % COLUMNS
        return int(size == 32)

    pointer = ctypes.c_void_p
    function = ctypes.CFUNCTYPE(ctypes.c_int, pointer, ctypes.POINTER(pointer), pointer)(decide)
    address = ctypes.cast(function, pointer).value
    assert address is not None
    advisor = point.advisor(function_runner(address, FEATURES[:1], ADVICE), on_error="default")
    with pytest.warns(PasspilotWarning, match=r"1 of 33 .*native function: expected status 0, got 1"):
        answers = asked(point, [advisor], PLAIN, at_once=True)
    assert answers == [number % COLUMNS for number in range(32)] + [0]


@pytest.mark.parametrize("spec", ["const:3", "default", "random:1", "python:{}:decide"])
def test_runners_keep_the_contract_at_a_point_of_a_user(spec: str, file: Path) -> None:
    load_file(file)
    check_runner(spec.format(file), NAME, observations=LEGAL)


@pytest.mark.parametrize("domain", [None, Number(0.25, 0.75), Number(-1e300, -1e290), Number(5, 5)])
def test_contracts_at_a_point_of_numbers(domain: Number | None) -> None:
    DecisionPoint[float](
        NAME,
        features=FEATURES,
        advice=TensorSpec("factor", "float64", (1,)),
        domain=domain,
        default=lambda _: 0.5,
    )
    check_runner("default", NAME)


def test_a_runner_that_breaks_it_is_told() -> None:
    declared()

    def bad(obs: Observation) -> object:
        return obs["size"].item()

    with pytest.raises(ConformanceError, match="expected an integer of 0 to 3"):
        check_runner(bad, NAME)
    with pytest.raises(UsageError, match="got 'no-such-point'"):
        check_runner("const:1", "no-such-point")
    assert find_point(NAME).name == NAME
