# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG002
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ConformanceError
from passpilot.runners.base import Runner, allocate
from passpilot.runners.conformance import check_runner
from passpilot.runners.python import Observation
from tests.features.log.log_writer import inline_log
from tests.runners.serving.serving import served

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from passpilot.runners.base import Host, Tensor

POINT = find_point("inline")
COUNTER = count()


class Sound(Runner):
    """Keeps all rules; every runner below breaks one."""

    def __init__(self) -> None:
        self.inputs: tuple[TensorSpec, ...] = POINT.select(["node_count", "callee_users"])
        self.output = POINT.advice

    def evaluate(self) -> object:
        return self.tensors["node_count"] > 0


class NoTuple(Sound):
    def __init__(self) -> None:
        self.inputs = list(POINT.features)  # type: ignore[assignment]
        self.output = POINT.advice


class NoInputs(Sound):
    def __init__(self) -> None:
        self.output = POINT.advice


class Twice(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.inputs = (*self.inputs, self.inputs[0])


class NotOffered(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.inputs = (TensorSpec("node_count", "float32", (1,)),)


class WrongOutput(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.output = TensorSpec("inlining_decision", "float32", (1,))


class NoOutput(Sound):
    def __init__(self) -> None:
        self.inputs = ()


class OwnBuffers(Sound):
    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        super().bind({name: view.copy() for name, view in tensors.items()}, frame, host)


class ResetsInputs(Sound):
    def evaluate(self) -> object:
        answer = bool(self.tensors["node_count"] > 0)
        self.tensors["node_count"][...] = 0
        return answer


class OutsideDomain(Sound):
    def evaluate(self) -> object:
        return 2 if self.tensors["node_count"] else 1


class Raises(Sound):
    def evaluate(self) -> object:
        raise ZeroDivisionError


class ChangesInputs(Sound):
    def evaluate(self) -> object:
        self.inputs = self.inputs[:1]
        return 1


class RaisesOnContext(Sound):
    def switch_context(self, name: str) -> None:
        name.encode("ascii")


class ClosesOnce(Sound):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


class ClosesOnlyIfBound(Sound):
    def close(self) -> None:
        self.frame.sum()


class EntersAsAnother(Sound):
    def __enter__(self) -> Sound:  # type: ignore[override]
        return Sound()


class OtherInputsEachTime(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.inputs = POINT.features[: next(COUNTER) + 1]

    def evaluate(self) -> object:
        return 1


class OtherAnswersEachTime(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.answer = next(COUNTER) % 4 // 2  # of any four calls, the first and the third differ

    def evaluate(self) -> object:
        return self.answer


class LeaksDescriptor(Sound):
    def __init__(self) -> None:
        super().__init__()
        LEAKED.append(os.open(os.devnull, os.O_RDONLY))


class LeaksThread(Sound):
    def __init__(self) -> None:
        super().__init__()
        threading.Thread(target=LET_GO.wait, daemon=True).start()


LEAKED: list[int] = []
LET_GO = threading.Event()


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    while LEAKED:
        os.close(LEAKED.pop())


@pytest.mark.parametrize(
    ("runner", "rule"),
    [
        (NoTuple, "inputs is a tuple of TensorSpec: got ["),
        (NoInputs, "inputs is a tuple of TensorSpec: got None"),
        (Twice, "inputs have distinct names: got node_count, callee_users, node_count"),
        (NotOffered, "inputs are offered: decision point inline: .*node_count is wanted as float32[1]"),
        (WrongOutput, "output is the advice, int64[1]: got float32[1]"),
        (NoOutput, "output is the advice, int64[1]: got None"),
        (OwnBuffers, "bind() keeps the buffers that it is given"),
        (ResetsInputs, "inputs stay unchanged: not at decision "),
        (OutsideDomain, "evaluate() answers within the domain: at decision 1, advice: expected .* got int 2"),
        (Raises, "evaluate() answers: at decision 0, ZeroDivisionError (.*test_conformance.py:"),
        (ChangesInputs, "inputs and output stay the same for the runner's life"),
        (RaisesOnContext, "switch_context does not raise: UnicodeEncodeError"),
        (ClosesOnce, "close, a second time, does not raise: RuntimeError: closed already"),
        (ClosesOnlyIfBound, "__exit__ does not raise: AttributeError"),
        (EntersAsAnother, "`with runner` gives the runner itself"),
        (OtherInputsEachTime, "two runners made alike have the same inputs and output"),
        (OtherAnswersEachTime, "two runners made alike answer alike: they differ at decision 0"),
        (LeaksDescriptor, "close() lets go of descriptors and threads"),
        (LeaksThread, "close() lets go of descriptors and threads"),
    ],
)
def test_broken_rule_is_found_and_no_other(runner: Callable[[], Runner], rule: str) -> None:
    with pytest.raises(ConformanceError) as caught:
        check_runner(runner)
    first, *broken = str(caught.value).splitlines()
    name = getattr(runner, "__qualname__", "")
    assert first == f"check_runner at {name}: expected a runner that keeps the contract, got broken rules:"
    begin, _, inner = rule.partition(".*")
    assert len(broken) == 1, broken
    assert broken[0].startswith(f"  - {begin}")
    assert inner in broken[0]


def test_every_broken_rule_is_listed() -> None:
    class Several(RaisesOnContext, ResetsInputs, ClosesOnce):
        pass

    with pytest.raises(ConformanceError) as caught:
        check_runner(Several)
    assert str(caught.value).count("\n  - ") == 3


def test_sound_runner_is_asked_as_often_as_wished() -> None:
    asked: list[int] = []

    class Counting(Sound):
        def evaluate(self) -> object:
            asked.append(1)
            return 1

    check_runner(Counting, decisions=17)
    assert len(asked) == 34
    asked.clear()
    check_runner(Counting(), POINT, 5)
    assert len(asked) == 5


def test_runner_that_cannot_be_made() -> None:
    def broken() -> Runner:
        raise RuntimeError("no model")

    for wrong in ("nothing:x", "python:nowhere:f", broken):
        with pytest.raises(ConformanceError, match=r"it can be made: Run.*(nothing|nowhere|no model)"):
            check_runner(wrong)


def test_instance_that_is_no_runner() -> None:
    with pytest.raises(ConformanceError, match="it can be made: RunnerSpecError: decision function int"):
        check_runner(7)  # type: ignore[arg-type]


def policy(obs: Observation) -> bool:
    return bool(obs["cost_estimate"] < 50)


class Stateful:
    def __init__(self) -> None:
        self.count = 0

    def decide(self, obs: Observation) -> bool:
        self.count += 1
        return self.count % 3 == 0


@pytest.mark.parametrize("spec", ["const:0", "const:1", "random:7", "default", policy, Stateful])
def test_our_runners_pass(spec: str | Callable[..., object]) -> None:
    check_runner(spec)


def first_legal(obs: Observation) -> object:
    return obs["mask"].argmax() if obs.point == "evict" else obs["li_size"].clip(0)


@pytest.mark.parametrize("point", ["evict", "priority"])
@pytest.mark.parametrize("spec", ["random:7", "default", first_legal])
def test_our_runners_pass_at_other_points(spec: str | Callable[..., object], point: str) -> None:
    check_runner(spec, point)


def test_constants_at_other_points() -> None:
    check_runner("const:2147483648.5", "priority")
    with pytest.raises(ConformanceError, match=r"within the domain: at decision \d+, .* 'mask' allows"):
        check_runner("const:32", "evict")  # column 32 is not always legal
    check_runner("const:32", "evict", observations=[{}, {"mask": 1}])


@pytest.mark.parametrize("options", ["", "?serdes=json", "?serdes=protobuf"])
def test_policy_in_a_file_passes_and_so_does_the_pipe_to_it(tmp_path: Path, options: str) -> None:
    path = tmp_path / "policy.py"
    path.write_text("def decide(obs):\n    return obs.default() and obs['node_count'] > 0\n")
    spec = f"python:{path}:decide?features=node_count,inlining_default"
    check_runner(spec)
    with served(spec, str(tmp_path / "ch")):
        check_runner(f"pipe:{tmp_path / 'ch'}{options}")


def test_pipe_to_a_native_runner_answers_as_the_runner_does(tmp_path: Path) -> None:
    base = str(tmp_path / "ch")
    with served("random:7", base):
        check_runner(f"pipe:{base}")


def test_replay_passes_with_the_questions_of_its_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    values = [(n * n % 17, n % 2, n % 3 == 0) for n in range(40)]
    path.write_bytes(inline_log((users, default, advice, {}) for users, default, advice in values))
    questions = [{"callee_users": users, "inlining_default": default} for users, default, _ in values]
    check_runner(f"replay:{path}", observations=questions)
    with pytest.raises(
        ConformanceError, match=r"evaluate.. answers: at decision|within the domain: at decision"
    ):
        check_runner(f"replay:{path}")


def test_onnx_passes(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    users = helper.make_tensor_value_info("callee_users", TensorProto.INT64, [1])
    chosen = helper.make_tensor_value_info("inlining_decision", TensorProto.INT64, [1])
    nodes = [
        helper.make_node("Greater", ["callee_users", "zero"], ["more"]),
        helper.make_node("Cast", ["more"], ["inlining_decision"], to=TensorProto.INT64),
    ]
    zero = helper.make_tensor("zero", TensorProto.INT64, [1], [0])
    graph = helper.make_graph(nodes, "g", [users], [chosen], [zero])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    save(model, str(tmp_path / "m.onnx"))
    check_runner(f"onnx:{tmp_path / 'm.onnx'}")


class Together(Sound):
    """Overrides `evaluate_batch`, and keeps the rules."""

    def evaluate_batch(self, frames: NDArray[np.uint8]) -> list[object]:
        counts = frames[:, :8].copy().view(np.int64)[:, 0]
        return [self.yes(int(count)) for count in counts]

    def yes(self, count: int) -> object:
        return count > 0


class OtherAnswersTogether(Together):
    def yes(self, count: int) -> object:
        return count >= 0


class NoAnswersTogether(Together):
    def yes(self, count: int) -> object:
        msg = f"no batch of {count}"
        raise ValueError(msg)


class TooFewTogether(Together):
    def evaluate_batch(self, frames: NDArray[np.uint8]) -> list[object]:
        return super().evaluate_batch(frames)[1:]


def test_several_questions_at_once_are_answered_as_one_by_one() -> None:
    check_runner(Together)
    for runner, rule in [
        (OtherAnswersTogether, "answers as evaluate"),
        (NoAnswersTogether, "no batch of"),
        (TooFewTogether, "ValueError"),
    ]:
        with pytest.raises(ConformanceError, match=rf"evaluate_batch\(\).*{rule}") as caught:
            check_runner(runner)
        assert str(caught.value).count("\n") == 1


def test_the_contract_asks_one_by_one_where_a_runner_knows_no_better() -> None:
    runner = Sound()
    frames = np.zeros((3, 16), np.uint8)
    frames[1, 0] = 1
    allocate(runner)
    assert [bool(answer) for answer in runner.evaluate_batch(frames)] == [False, True, False]
