# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001, ARG005
"""Policies, features, models and peers that fail at an eviction, under both error policies."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from passpilot.features.custom import feature, unregister
from passpilot.features.log.reader import read_log
from passpilot.passes.llvm_advisors import EvictAdvisor
from passpilot.plugin.errors import (
    AdviceError,
    Error,
    FeatureError,
    ModelError,
    PasspilotWarning,
    PeerError,
    PolicyError,
    SpecMismatchError,
)
from passpilot.runners.python import Observation
from tests.passes.allocation.pressure import allocated
from tests.runners.serving.serving import offered, served

Policy = Callable[[Observation], object]
PLACE = r"evict advisor at decision \d+ \(function (sums|blend), %\d+\)"
HINT = re.escape("; obs['mask'] tells which columns are legal")


def refusal(source: Path, policy: Policy | str, kind: type[Error] = AdviceError) -> str:
    """What the failing compilation says after the place of the decision."""
    with pytest.raises(kind) as caught:
        allocated(source, EvictAdvisor(policy))
    text = str(caught.value)
    match = re.match(f"{PLACE}: ", text)
    assert match is not None, text
    return text[match.end() :]


def falls_back(source: Path, expected: bytes, policy: Policy | str, **keywords: float) -> tuple[str, int]:
    """The warning of a compilation in which the default stands in, and how often it did."""
    advisor = EvictAdvisor(policy, on_error="default", **keywords)  # type: ignore[arg-type]
    with pytest.warns(PasspilotWarning, match="fell back to the default") as told:
        assert allocated(source, advisor) == expected
    (warning,) = told
    stats = advisor.stats
    assert f"evict advisor: {stats.fallbacks} of {stats.decisions} decisions" in str(warning.message)
    assert warning.filename == str(Path(__file__).with_name("pressure.py")), "the line that called emit"
    return str(warning.message), stats.decisions - stats.fallbacks


REFUSED: dict[str, tuple[object, str]] = {
    "minus one": (-1, "int -1"),
    "33": (33, "int 33"),
    "a million": (10**6, "int 1000000"),
    "huge": (1 << 70, f"int {1 << 70}"),
    "NaN": (float("nan"), "float nan"),
    "float": (1.0, "float 1.0"),
    "np.float32": (np.float32(0), "float32 np.float32(0.0)"),
    "np.int64": (np.int64(-1), "int64 np.int64(-1)"),
    "large unsigned": (np.uint64(1 << 63), f"uint64 np.uint64({1 << 63})"),
    "True": (True, "bool True"),
    "np.bool": (np.bool_(True), "bool np.True_"),
    "None": (None, "None"),
    "str": ("0", "str '0'"),
    "bytes": (b"\x01", r"bytes b'\x01'"),
    "empty": (np.zeros(0, np.int64), "ndarray array([], dtype=int64)"),
    "two elements": (np.ones(2, np.int64), "ndarray array([1, 1])"),
    "list": ([1], "list [1]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_answer_outside_the_domain(pressed: Path, pressed_by_llc: bytes, case: str) -> None:
    answer, got = REFUSED[case]
    text = refusal(pressed, lambda obs: answer)
    assert re.fullmatch(f"expected an integer of 0 to 32, got {re.escape(got)}{HINT}", text)
    warning, answered = falls_back(pressed, pressed_by_llc, lambda obs: answer)
    assert "the first: evict advisor at decision 0 (function sums, %" in warning
    assert f"got {got}" in warning
    assert answered == 0


def forbidden(obs: Observation) -> object:
    """The last register column that the mask forbids, or a legal one where it forbids none."""
    columns = np.flatnonzero(obs["mask"][0, :32] == 0)
    return columns[0] if len(columns) else obs["mask"][0].argmax()


def test_a_masked_register(pressed: Path, pressed_by_llc: bytes) -> None:
    text = refusal(pressed, forbidden)
    assert re.fullmatch(
        rf"expected a column that the mask allows \([\d, ]+\), got column \d+( \(\w+\))?{HINT}", text
    )
    falls_back(pressed, pressed_by_llc, forbidden)


def test_a_column_beyond_the_registers(pressed: Path) -> None:
    text = refusal(pressed, lambda obs: 31)
    assert re.fullmatch(rf"expected a column that the mask allows \([\d, ]+\), got column 31{HINT}", text)


def test_refusing_a_compulsory_eviction(pressed: Path) -> None:
    text = refusal(pressed, lambda obs: 32)
    assert re.fullmatch(rf".* allows \([\d, ]+\), got column 32 \(do not evict\){HINT}", text)
    assert f"{text} (const:32)" == refusal(pressed, "const:32")
    advisor = EvictAdvisor("const:32", on_error="default")
    with pytest.warns(PasspilotWarning, match=r"got column 32 \(do not evict\)"):
        allocated(pressed, advisor)
    assert advisor.stats.kept > 0 < advisor.stats.fallbacks


class ColumnError(Exception):
    """Of the user's own."""


def raises(obs: Observation) -> object:
    raise ColumnError(f"no column for {obs.context}")  # this line


def raises_later(obs: Observation) -> object:
    if obs.context == "blend":
        raises(obs)
    return obs.default()


def test_an_exception(pressed: Path, pressed_by_llc: bytes) -> None:
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "# this" in text
    )
    told = f"ColumnError: no column for blend ({__file__}:{line})"
    with pytest.raises(PolicyError, match=re.escape(told)) as caught:
        allocated(pressed, EvictAdvisor(raises_later))
    assert isinstance(caught.value.__cause__, ColumnError)
    assert "(function blend, %" in str(caught.value)
    warning, answered = falls_back(pressed, pressed_by_llc, raises_later)
    assert told in warning
    assert answered > 0


@pytest.mark.parametrize("on_error", ["fail", "default"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_leaving(pressed: Path, kind: type[BaseException], on_error: str) -> None:
    def leaves(obs: Observation) -> object:
        raise kind

    expected = PolicyError if kind is SystemExit else kind
    with pytest.raises(expected):
        allocated(pressed, EvictAdvisor(leaves, on_error=on_error))  # type: ignore[arg-type]


def test_after_a_failure_the_same_advisor_works_again(pressed: Path, pressed_by_llc: bytes) -> None:
    answers: list[object] = [-1]

    def decide(obs: Observation) -> object:
        return answers.pop() if answers else obs.default()

    advisor = EvictAdvisor(decide)
    with pytest.raises(AdviceError):
        allocated(pressed, advisor)
    assert allocated(pressed, advisor) == pressed_by_llc


@pytest.fixture
def misfits() -> Iterator[None]:
    @feature("float32[33]", point="evict")
    def of_wrong_shape(site: object) -> list[float]:
        return [1.0] * 32

    @feature("int64[1]", point="evict")
    def raising(site: object) -> int:
        raise ColumnError("no value")

    yield
    unregister("of_wrong_shape", point="evict")
    unregister("raising", point="evict")


@pytest.mark.usefixtures("misfits")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "of_wrong_shape",
            "feature 'of_wrong_shape' at .*: expected a value for float32.33., got shape .32. of list",
        ),
        ("raising", "feature 'raising': ColumnError: no value"),
    ],
)
def test_a_feature_that_fails(pressed: Path, pressed_by_llc: bytes, name: str, told: str) -> None:
    def decide(obs: Observation) -> object:
        return obs.default()

    decide.features = ("mask", name)  # type: ignore[attr-defined]
    assert re.match(told, refusal(pressed, decide, FeatureError))
    warning, answered = falls_back(pressed, pressed_by_llc, decide)
    assert re.search(told, warning)
    assert answered == 0


def model(path: Path, name: str, shape: list[int], output: list[int]) -> str:
    """A model with one float input, whose square is its output."""
    nodes = [helper.make_node("Mul", [name, name], ["y"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)]
    graph = helper.make_graph(nodes, "m", inputs, outputs)
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return f"onnx:{path}"


@pytest.mark.parametrize("on_error", ["fail", "default"])
@pytest.mark.parametrize(
    ("name", "shape", "told"),
    [
        ("colour", [1, 33], "input 'colour': expected a tensor that the compiler offers"),
        ("mask", [1, 33], r"input 'mask': expected int64\[1,33\]"),
        ("liverange_size", [1, 32], r"input 'liverange_size': expected float32\[1,33\]"),
        ("progress", [1], r"output 'y': expected 33 elements, one per choice, got \[1\]"),
    ],
)
def test_a_wrong_model(tmp_path: Path, name: str, shape: list[int], told: str, on_error: str) -> None:
    """Refused before the compilation where that can be seen; no fallback stands in for a wrong model."""
    spec = model(tmp_path / "m.onnx", name, shape, shape)
    as_logits = "?as=logits" if name == "progress" else ""
    with pytest.raises(SpecMismatchError, match=told):
        EvictAdvisor(spec + as_logits, on_error=on_error)  # type: ignore[arg-type]


def test_a_model_that_answers_nonsense(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    """A progress below 1, squared, is no column."""
    spec = model(tmp_path / "m.onnx", "progress", [1], [1])
    text = refusal(pressed, spec, ModelError)
    assert re.match(r"output 'y': expected an integer of 0 to 32, got 0\.\d+", text)
    falls_back(pressed, pressed_by_llc, spec)


def test_nan_among_the_logits(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    """LLVM's own `use_def_density` is NaN where a weight is infinite."""
    nodes = [helper.make_node("Div", ["nr_urgent", "is_nothing"], ["y"])]
    inputs = [helper.make_tensor_value_info("nr_urgent", TensorProto.FLOAT, [1, 33])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 33])]
    zero = helper.make_tensor("is_nothing", TensorProto.FLOAT, [1], [0.0])
    graph = helper.make_graph(nodes, "m", inputs, outputs, [zero])
    path = tmp_path / "m.onnx"
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    assert refusal(pressed, f"onnx:{path}", ModelError).startswith("output 'y': expected numbers, got NaN")
    falls_back(pressed, pressed_by_llc, f"onnx:{path}")


SERVED = """
import os, signal

count = 0

def dies(obs):
    global count
    count += 1
    if count > 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return obs.default()

dies.features = ("evict_default",)

def hangs(obs):
    while True:
        pass

def lies(obs):
    return 33

def lies_about_the_mask(obs):
    return 31

lies_about_the_mask.features = ("progress",)
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    path = tmp_path / "policies.py"
    path.write_text(SERVED)
    return path


@pytest.mark.parametrize(
    ("name", "kind", "told", "answered"),
    [
        ("dies", PeerError, "expected an answer of 16 bytes, got nothing, and the peer is gone", 5),
        ("lies", ModelError, "advice: expected an integer of 0 to 32, got int 33", 0),
        ("lies_about_the_mask", AdviceError, "got column 31", 0),
    ],
)
def test_a_peer_that_fails(
    pressed: Path,
    pressed_by_llc: bytes,
    policies: Path,
    name: str,
    kind: type[Error],
    told: str,
    answered: int,
) -> None:
    for on_error in ("fail", "default"):
        base = str(policies.with_name(on_error))
        with served(f"python:{policies}:{name}", base, "--point=evict"):
            if on_error == "fail":
                assert told in refusal(pressed, f"pipe:{base}", kind)
            else:
                warning, asked = falls_back(pressed, pressed_by_llc, f"pipe:{base}")
                assert told in warning
                assert asked == answered


def test_a_peer_that_hangs(pressed: Path, pressed_by_llc: bytes, policies: Path) -> None:
    """One deadline, and then nobody waits for it again."""
    base = str(policies.with_name("ch"))
    with served(f"python:{policies}:hangs", base, "--point=evict"):
        offered(base)
        warning, answered = falls_back(pressed, pressed_by_llc, f"pipe:{base}", timeout=2.0)
    assert "expected an answer within 2 s" in warning
    assert answered == 0


def test_a_peer_that_is_absent(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="expected a model server, got none"):
        EvictAdvisor(f"pipe:{tmp_path}/ch", timeout=0.1)
    warning, answered = falls_back(pressed, pressed_by_llc, f"pipe:{tmp_path}/ch", timeout=0.1)
    assert "expected a model server, got none" in warning
    assert answered == 0


def test_a_peer_of_another_point(tmp_path: Path) -> None:
    base = str(tmp_path / "ch")
    with (
        served("random:1", base),
        pytest.raises(SpecMismatchError, match="a client of the decision point inline, got one of evict"),
    ):
        EvictAdvisor(f"pipe:{base}")


def test_fallbacks_are_logged_as_what_was_done(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PasspilotWarning)
        assert allocated(pressed, EvictAdvisor(raises_later, log=log, on_error="default")) == pressed_by_llc
    arrays = read_log(log).to_arrays(["evict_default", "index_to_evict"])
    assert (arrays["evict_default"] == arrays["index_to_evict"]).all()
