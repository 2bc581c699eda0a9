# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision points of passes in Python: who answers, what is refused, what a failure does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from passpilot.features import custom
from passpilot.features.catalogue import HOOKED
from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.log.reader import read_log
from passpilot.features.point import POINTS, Feature, find_point, find_table, point_names
from passpilot.features.spec import TensorSpec
from passpilot.passes.advisor import OnError
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.emit import emit
from passpilot.passes.optimize import optimize
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.plugin.errors import (
    AdviceError,
    Error,
    FeatureError,
    InputError,
    PassError,
    PasspilotWarning,
    PolicyError,
    RegistrationError,
    RunnerSpecError,
    SpecMismatchError,
    StaleViewError,
)
from passpilot.plugin.ir import Function, Instruction
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests.passes.python.passes import define, loops, run_once
from tests.runners.serving.serving import served
from tests.stock import MANY_CALLS, clang

SIZE: Final = TensorSpec("size", "int64", (1,))
FLAG: Final = TensorSpec("hot", "int64", (1,))
COLUMN: Final = TensorSpec("column", "int64", (1,))
SHARE: Final = TensorSpec("share", "float64", (1,))
NAME: Final = "test-colour"

pytestmark = pytest.mark.usefixtures("restored_registries")

Default = Callable[[Mapping[str, object]], float]


def flag(default: Default = lambda _: 0) -> DecisionPoint[float]:
    return DecisionPoint(NAME, features=[SIZE], advice=FLAG, default=default)


def choice(default: Default = lambda _: 1) -> DecisionPoint[float]:
    return DecisionPoint(NAME, features=[SIZE], advice=COLUMN, domain=Choice(4), default=default)


def asked(point: DecisionPoint[float], *advisors: PointAdvisor, **more: object) -> dict[str, float]:
    """The advice on each function of `loops()`, which a pass asks for."""
    answers: dict[str, float] = {}

    def run(function: Function) -> bool:
        answers[function.name] = point.ask({"size": function.instruction_count, **more}, function)
        return False

    run_once("function", run, loops(), advisors)
    return answers


def one(point: DecisionPoint[float], *advisors: PointAdvisor, **more: object) -> float:
    return asked(point, *advisors, **more)["sum"]


def test_the_default_decides_where_nobody_advises() -> None:
    point = flag(lambda values: values["size"] == 2)
    assert asked(point) == {"leaf": True, "sum": False}
    assert point.ask({"size": 2}) is True, "outside a compilation, too"
    told = f"{NAME} advisor default: the pass's default; nothing was asked"
    assert point.advisor("default").report() == told


def test_a_policy_sees_the_decision() -> None:
    seen: list[tuple[object, ...]] = []

    def decide(obs: Observation) -> bool:
        assert isinstance(obs.site, Function)
        seen.append((obs.point, obs.context, obs["size"].item(), obs.site.name, obs.default()))
        return obs.context == "sum"

    point = flag(lambda values: values["size"] == 2)
    with point.advisor(decide) as advisor:
        assert asked(point, advisor) == {"leaf": False, "sum": True}
    assert seen == [(NAME, "leaf", 2, "leaf", True), (NAME, "sum", 11, "sum", False)]
    assert (advisor.stats.decisions, advisor.stats.fallbacks) == (2, 0)
    assert "2 decisions" in advisor.report()


@pytest.mark.parametrize("spec", ["const:1", "default", "random:3"])
def test_native_runners_answer(spec: str) -> None:
    point = choice(lambda _: 2)
    answers = asked(point, point.advisor(spec))
    assert set(answers) == {"leaf", "sum"}
    if spec == "random:3":
        assert asked(point, point.advisor(spec)) == answers
        assert len({one(point, point.advisor(f"random:{seed}")) for seed in range(30)}) == 4
    else:
        assert set(answers.values()) == {1 if spec == "const:1" else 2}


def test_random_keeps_to_the_mask_and_to_the_range() -> None:
    point = choice()
    mask = [[0, 1, 0, 1]]
    assert {one(point, point.advisor(f"random:{seed}"), mask=mask) for seed in range(20)} == {1, 3}
    POINTS.unregister(NAME)
    half = DecisionPoint[float](
        NAME, features=[SIZE], advice=SHARE, domain=Number(-0.5, 0.5), default=lambda _: 0.25
    )
    drawn = [one(half, half.advisor(f"random:{seed}")) for seed in range(20)]
    assert all(-0.5 <= each <= 0.5 for each in drawn)
    assert min(drawn) < -0.1 < 0.1 < max(drawn)
    assert one(half) == 0.25


def test_random_needs_a_range() -> None:
    point = DecisionPoint[float](NAME, features=[SIZE], advice=SHARE, default=lambda _: 0.0)
    with pytest.raises(RunnerSpecError, match=r"expected a point with a range of numbers, .*domain=Number"):
        point.advisor("random:1")


def test_a_log_replays(tmp_path: Path) -> None:
    point, log = choice(lambda _: 2), str(tmp_path / "colour.log")
    answers = asked(point, point.advisor("random:3", log=log))
    rows = list(read_log(log))
    assert [(row.context, row.tensors["column"].item()) for row in rows] == list(answers.items())
    assert [row.tensors["column_default"].item() for row in rows] == [2, 2]
    with point.advisor(f"replay:{log}") as advisor:
        assert asked(point, advisor) == answers
    with point.advisor(f"replay:{log}") as advisor, pytest.raises(AdviceError) as caught:
        asked(point, advisor, size=5)
    assert "at decision 0, function leaf: expected size = [2], got [5]" in str(caught.value)


def test_a_location_comes_from_debug_information(tmp_path: Path) -> None:
    point, log = flag(), str(tmp_path / "hot.log")

    def run(function: Function) -> bool:
        for call in function.call_sites:
            assert isinstance(call, Instruction)
            point.ask({"size": 1}, call)
        return False

    module = Module.read(clang(MANY_CALLS, tmp_path / "in.bc", "-g"))
    optimize(module, define("function", run), [point.advisor("const:1", log=log)])
    assert all(row.location.count(":") == 2 for row in read_log(log))


def test_an_onnx_model_answers(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    negated = helper.make_node("Neg", ["size"], ["opposite"])
    joined = helper.make_node("Concat", ["opposite", "size"], ["column"], axis=0)
    logits = helper.make_node("Cast", ["column"], ["logits"], to=TensorProto.FLOAT)
    graph = helper.make_graph(
        [negated, joined, logits],
        "logits",
        [value("size", TensorProto.INT64, [1])],
        [value("logits", TensorProto.FLOAT, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    point = flag()
    assert one(point, point.advisor(f"onnx:{tmp_path}/m.onnx")) is True
    POINTS.unregister(NAME)
    other = DecisionPoint[float](
        NAME, features=[TensorSpec("length", "int64", (1,))], advice=FLAG, default=lambda _: 0
    )
    with pytest.raises(SpecMismatchError, match="size"):
        other.advisor(f"onnx:{tmp_path}/m.onnx")


def test_a_served_policy_answers(tmp_path: Path) -> None:
    file = tmp_path / "colour.py"
    file.write_text(
        "import passpilot\nS = passpilot.TensorSpec\n"
        f"passpilot.DecisionPoint({NAME!r}, features=[S('size', 'int64', (1,))],\n"
        "    advice=S('hot', 'int64', (1,)), default=lambda values: 0)\n"
        "def decide(obs):\n    return obs['size'].item() > 5 and not obs.default()\n"
        "decide.features = ('size', 'hot_default')\n"
    )
    point, base = flag(), str(tmp_path / "ch")
    flags = ("--load", str(file), "--point", NAME, "--once")
    with served(f"python:{file}:decide", base, *flags) as server:
        with point.advisor(f"pipe:{base}", timeout=60) as advisor:
            assert asked(point, advisor) == {"leaf": False, "sum": True}
        assert server.wait(60) == 0


@pytest.mark.parametrize(("answer", "got"), [(7, "7"), (True, "bool True"), ("x", "str 'x'"), (0, "0")])
def test_answers_outside_the_domain_are_refused(answer: object, got: str) -> None:
    point = choice()
    mask = [[0, 1, 1, 1]]
    with pytest.raises(AdviceError) as caught:
        asked(point, point.advisor(lambda _: answer), mask=mask)
    expected = "a column that mask allows" if answer == 0 else "an integer of 0 to 3"
    told = f"{NAME} advisor at decision 0 (function leaf): expected {expected}, got "
    assert str(caught.value).startswith(told)
    assert got in str(caught.value)


def test_a_policy_that_raises() -> None:
    point = flag(lambda _: 1)

    def decide(_: Observation) -> bool:
        raise KeyError("colour")

    with pytest.raises(PolicyError) as caught:
        asked(point, point.advisor(decide))
    line = decide.__code__.co_firstlineno + 1
    where = f"{NAME} advisor at decision 0 (function leaf)"
    assert str(caught.value) == f"{where}: KeyError: 'colour' ({__file__}:{line})"
    advisor = point.advisor(decide, on_error="default")
    with pytest.warns(PasspilotWarning, match="2 of 2 decisions fell back to the default"):
        assert asked(point, advisor) == {"leaf": True, "sum": True}
    assert advisor.stats.fallbacks == 2


def test_a_failure_that_the_pass_swallows_is_told_all_the_same() -> None:
    point, caught = flag(), []

    def run(function: Function) -> bool:
        try:
            point.ask({"size": 1}, function)
        except Error as error:
            caught.append(type(error))
        return False

    with pytest.raises(AdviceError):
        optimize(loops(), define("function", run), [point.advisor(lambda _: 3)])
    assert caught == [AdviceError, AdviceError], "nothing more is asked"


@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_a_default_that_raises_is_the_fault_of_the_pass(on_error: OnError) -> None:
    def broken(_: Mapping[str, object]) -> float:
        raise ValueError("no idea")

    def swallow(obs: Observation) -> bool:
        with pytest.raises(ValueError, match="no idea"):
            obs.default()
        return True

    point = flag(broken)
    for advisors in ([], [point.advisor("default", on_error=on_error, log="/dev/null")]):
        with pytest.raises(PassError, match="ValueError: no idea"):
            asked(point, *advisors)
    with pytest.raises(PassError, match=r"at decision 0 \(function leaf\): ValueError: no idea"):
        asked(point, point.advisor(swallow, on_error=on_error))
    assert one(point, point.advisor("const:1", on_error=on_error)) is True, "it is not asked for"


def test_a_default_that_the_mask_forbids_is_refused() -> None:
    point = choice()
    assert point.ask({"size": 1, "mask": [[0, 1, 0, 0]]}) == 1
    with pytest.raises(
        AdviceError, match=r"default: advice: expected a column that 'mask' allows \(0, 2\), got"
    ):
        point.ask({"size": 1, "mask": [[1, 0, 1, 0]]})


def test_a_default_outside_the_domain_is_refused() -> None:
    point = choice(lambda _: 9)
    told = rf"decision point '{NAME}' at .*{Path(__file__).name}:\d+: default: advice: expected .* got int 9"
    for advisors in ([], [point.advisor(lambda obs: obs.default())]):
        with pytest.raises(AdviceError, match=told):
            asked(point, *advisors)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "expected values of size, got no size"),
        ({"size": 1, "colour": 2}, "expected values of size, got colour, which is no feature of it"),
    ],
)
def test_other_values_are_refused(values: dict[str, object], told: str) -> None:
    with pytest.raises(FeatureError, match=told):
        choice().ask(values)


@pytest.mark.parametrize("value", ["many", 1.5, 1 << 63, [1, 2]])
def test_values_that_do_not_fit_are_refused(value: object) -> None:
    point = flag()
    with pytest.raises(FeatureError, match=r"feature 'size' at .*: expected a value for int64.1., got"):
        asked(point, point.advisor("const:1"), size=value)


def test_arrays_are_values() -> None:
    row = TensorSpec("row", "float32", (1, 3))
    point = DecisionPoint[float](NAME, features=[row], advice=SHARE, default=lambda _: 0.0)

    def run(_: Function) -> bool:
        assert point.ask({"row": np.array([[1, 2, 3]], np.float32)}) == 6.0
        assert point.ask({"row": [[1, 2, 4.5]]}) == 7.5
        return False

    total = point.advisor(lambda obs: float(obs["row"].sum()))
    optimize(loops(), define("function", run), [total])


def test_custom_features_see_the_site() -> None:
    point = flag()

    @custom.feature("int64[1]", point=NAME)
    def letters(site: Function) -> int:
        return len(site.name)

    def decide(obs: Observation) -> bool:
        return bool(obs["letters"] == 3)

    decide.features = ("letters",)  # type: ignore[attr-defined]
    assert asked(point, point.advisor(decide)) == {"leaf": False, "sum": True}
    assert [row.spec.name for row in find_table(NAME)] == ["size", "hot_default", "letters"]


def test_an_observation_outlives_its_decision_without_a_site() -> None:
    point, kept = flag(), list[Observation]()

    def keep(obs: Observation) -> bool:
        kept.append(obs)
        return True

    asked(point, point.advisor(keep))
    with pytest.raises(StaleViewError, match=r"obs\.site"):
        _ = kept[0].site
    with pytest.raises(StaleViewError, match=r"obs\.default"):
        kept[0].default()


def test_an_advisor_that_is_never_asked_is_told() -> None:
    point = flag()
    with pytest.warns(PasspilotWarning, match=f"{NAME} advisor: runner const:1 was never asked"):
        optimize(loops(), "instcombine", [point.advisor("const:1")])
    with pytest.raises(InputError, match=f"emit: expected advisors of .*, got {NAME}"):
        emit(loops(), advisors=[point.advisor("const:1")])


def test_domains_come_from_the_advice() -> None:
    def domain(*features: TensorSpec | Feature, advice: TensorSpec) -> object:
        DecisionPoint[float](NAME, features=features, advice=advice, default=lambda _: 0)
        found = find_point(NAME).domain
        POINTS.unregister(NAME)
        return found

    assert domain(SIZE, advice=FLAG) == Flag()
    assert domain(TensorSpec("mask", "int64", (1, 5)), advice=FLAG) == Choice(5, "mask")
    number = domain(Feature(SIZE, "how large"), advice=SHARE)
    assert isinstance(number, Number)
    assert number.accept(-1e300) == -1e300


@pytest.mark.parametrize("name", [*HOOKED, "advised-unroll", NAME])
def test_names_are_owned_once(name: str) -> None:
    flag()
    with pytest.raises(RegistrationError) as caught:
        DecisionPoint(name, features=[SIZE], advice=FLAG, default=lambda _: 0)
    here = str(Path(__file__))
    owner = f"the decision point at {here}:" if name == NAME else "passpilot itself owns"
    assert str(caught.value).startswith(f"decision point {name!r} at {here}:")
    assert f"expected a new name, got one that {owner}" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "Not Kebab"}, "expected a name in kebab-case"),
        ({"name": 3}, "expected a name in kebab-case"),
        ({"features": ["size"]}, "expected a TensorSpec or a Feature"),
        ({"features": [SIZE, SIZE]}, "expected one tensor of this name"),
        ({"features": [TensorSpec("a b", "int64", (1,))]}, "expected ASCII identifiers"),
        ({"features": [TensorSpec("hot_default", "int64", (1,))]}, "expected one tensor of this name"),
        ({"advice": TensorSpec("hot", "float32", (1,))}, "expected a TensorSpec of int64.1. or float64.1."),
        ({"advice": "int64[1]"}, "expected a TensorSpec"),
        ({"advice": SHARE, "domain": Flag()}, "expected a Number"),
        ({"domain": Number(0, 1)}, "expected a Flag or a Choice"),
        ({"domain": Choice(0)}, "at least one choice"),
        (
            {"features": [TensorSpec("mask", "float32", (1, 4))], "domain": Choice(4)},
            "expected the mask mask as int64.1,4., got it as float32.1,4.",
        ),
        ({"features": [TensorSpec("größe", "int64", (1,))]}, "expected ASCII identifiers"),
        ({"domain": Choice(3, "size")}, "expected the mask size as int64.1,3., got it as int64.1."),
        ({"advice": SHARE, "domain": Number(1, 0)}, "expected a range"),
        ({"default": 3}, "expected a function of the values"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], told: str) -> None:
    whole: dict[str, object] = {"name": NAME, "features": [SIZE], "advice": FLAG, "default": lambda _: 0}
    whole.update(change)
    with pytest.raises(RegistrationError, match=told):
        DecisionPoint(whole.pop("name"), **whole)  # type: ignore[arg-type]
    assert NAME not in point_names()


@pytest.mark.parametrize("shape", [(4,), (2, 2), (1, 4)])
def test_a_mask_may_have_another_shape(shape: tuple[int, ...]) -> None:
    mask = TensorSpec("mask", "int64", shape)
    point = DecisionPoint[float](
        NAME, features=[SIZE, mask], advice=COLUMN, domain=Choice(4), default=lambda _: 3
    )
    assert one(point) == 3
    assert one(point, point.advisor(lambda obs: int(obs["mask"].sum()) - 1)) == 3
    assert np.array_equal(np.asarray(point.absent["mask"]), np.ones(shape))


@pytest.mark.parametrize(
    ("advice", "domain", "answer", "refused"),
    [
        (COLUMN, Choice(1), 0, 1),
        (SHARE, Number(2, 2), 2.0, 2.5),
        (SHARE, Number(-math.inf, 1), -1e300, -math.inf),
    ],
)
def test_the_smallest_and_the_largest_domain(
    advice: TensorSpec, domain: Domain, answer: float, refused: float
) -> None:
    answers = [answer, refused]
    point = DecisionPoint[float](
        NAME, features=[SIZE], advice=advice, domain=domain, default=lambda _: answers.pop(0)
    )
    assert point.ask({"size": 1}) == answer
    with pytest.raises(AdviceError, match="default: advice: expected"):
        point.ask({"size": 1})
