# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runners of a server: the first is made at once, and each client has its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError, PeerError, SpecMismatchError
from passpilot.runners.base import Runner
from passpilot.runners.python import Observation, PythonRunner
from passpilot.runners.remote.peer import AbsentPeer, make_runner_or_absent
from passpilot.runners.serving.sessions import Supply
from tests.runners.aot.models import FLOAT, model

POINT = find_point("inline")


class Policy:
    """Counts those that were made and closed."""

    made = 0
    closed = 0

    def __init__(self) -> None:
        type(self).made += 1

    def decide(self, _obs: Observation) -> bool:
        return True

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def counting() -> type[Policy]:
    return type("Counting", (Policy,), {"made": 0, "closed": 0})


def policy(runner: Runner) -> object:
    assert isinstance(runner, PythonRunner)
    return runner.decider


def test_the_first_client_takes_the_first_runner(counting: type[Policy]) -> None:
    supply = Supply(counting, "inline", 1.0)
    assert counting.made == 1
    first, second = supply.runner_for(POINT), supply.runner_for(POINT)
    assert policy(first) is not policy(second)
    assert counting.made == 2
    supply.close()
    assert counting.closed == 0


def test_a_runner_that_nobody_took_is_closed_once(counting: type[Policy]) -> None:
    supply = Supply(counting, "inline", 1.0)
    supply.close()
    supply.close()
    assert (counting.made, counting.closed) == (1, 1)


def test_a_client_with_other_features_gets_a_new_runner(counting: type[Policy]) -> None:
    supply = Supply(counting, "inline", 1.0)
    supply.runner_for(replace(POINT, features=(*POINT.features, TensorSpec("mine", "int64", (1,)))))
    assert (counting.made, counting.closed) == (2, 1)


def test_a_client_of_another_point_is_refused(counting: type[Policy]) -> None:
    supply = Supply(counting, "evict", 1.0)
    told = "expected a client of the decision point evict, got one of inline"
    with pytest.raises(SpecMismatchError, match=told):
        supply.runner_for(POINT)
    assert (counting.made, counting.closed) == (1, 1)


def test_a_policy_may_read_what_only_its_clients_offer() -> None:
    class Custom(Policy):
        features = ("mine",)

    supply = Supply(Custom, "inline", 1.0)
    with pytest.raises(SpecMismatchError, match="mine"):
        supply.runner_for(POINT)
    offered = replace(POINT, features=(*POINT.features, TensorSpec("mine", "int64", (1,))))
    assert [spec.name for spec in supply.runner_for(offered).inputs] == ["mine"]


def test_a_model_may_not(tmp_path: Path) -> None:
    from onnx import helper

    made = model([helper.make_node("Relu", ["mine"], ["y"])], [("mine", FLOAT, [1])], ["y"])
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    hint = "; name another point with --point, or the file of its custom features with --load"
    with pytest.raises(SpecMismatchError) as caught:
        Supply(f"onnx:{tmp_path}/m.onnx", "inline", 1.0)
    assert "mine" in str(caught.value)
    assert str(caught.value).endswith(hint)


def test_the_name_of_a_supply_hides_the_token() -> None:
    text = "onnx:none.onnx?token=secret"
    with pytest.raises(Exception, match="onnx") as caught:
        Supply(text, "inline", 1.0)
    assert "secret" not in str(caught.value)
    assert Supply("const:1", "inline", 1.0).name == "const:1"


def test_an_absent_peer_repeats_its_error(tmp_path: Path) -> None:
    spec = f"pipe:{tmp_path}/none"
    with pytest.raises(PeerError, match="expected a model server, got none"):
        make_runner_or_absent(spec, POINT, timeout=0.01, default_on_error=False)
    absent = make_runner_or_absent(spec, POINT, timeout=0.01, default_on_error=True)
    assert isinstance(absent, AbsentPeer)
    assert (absent.inputs, absent.output) == ((), POINT.advice)
    for _ in range(2):
        with pytest.raises(PeerError, match="expected a model server, got none"):
            absent.evaluate()
    with pytest.raises(ModelError):
        make_runner_or_absent(f"onnx:{tmp_path}/none", POINT, timeout=1, default_on_error=True)
