# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001, ARG005
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError, RunnerSpecError, SpecMismatchError
from passpilot.plugin.failures import shown
from passpilot.runners.base import Point, Runner
from passpilot.runners.spec import (
    BUILT_IN,
    GROUP,
    RunnerSpec,
    find_scheme,
    make_runner,
    parse_runner_spec,
    runner_scheme,
)
from tests.fixtures.registry import Offer

POINT = find_point("inline")
NAMES = st.from_regex(r"[a-z][a-z0-9+_-]*", fullmatch=True)
TARGETS = st.text().filter(lambda text: "?" not in text)
VALUES = st.text(st.characters(exclude_categories=["Cs"]))


class Fixed(Runner):
    """Reads the given features and always says yes."""

    def __init__(self, inputs: tuple[TensorSpec, ...] = (), output: TensorSpec = POINT.advice) -> None:
        self.inputs = inputs
        self.output = output
        self.closed = 0

    def evaluate(self) -> object:
        return True

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def mine(restored_registries: None) -> str:
    """Allow to register a scheme of this name, and remove it afterwards."""
    return "mine"


@given(NAMES, TARGETS, st.dictionaries(NAMES, VALUES))
def test_text_parses_to_what_it_came_from(scheme: str, target: str, options: dict[str, str]) -> None:
    spec = RunnerSpec(scheme, target, options)
    assert parse_runner_spec(str(spec)) == spec


@given(st.text())
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        spec = parse_runner_spec(text)
    except RunnerSpecError as error:
        assert str(error).startswith(f"runner {text or repr(text)}: expected ")  # noqa: PT017
    else:
        assert parse_runner_spec(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "scheme", "target", "options"),
    [
        ("default", "default", "", {}),
        ("random:7", "random", "7", {}),
        ("default?", "default", "", {}),
        ("python:dir/p.py:decide?features=a,b", "python", "dir/p.py:decide", {"features": "a,b"}),
        ("onnx:m.onnx?map=x:a,b&threshold=0.5", "onnx", "m.onnx", {"map": "x:a,b", "threshold": "0.5"}),
        ("x:a%20b?k=c%20d%26%3D", "x", "a%20b", {"k": "c d&="}),
        ("x:t?k=a?b=c", "x", "t", {"k": "a?b=c"}),
        ("x?k=", "x", "", {"k": ""}),
    ],
)
def test_parts(text: str, scheme: str, target: str, options: dict[str, str]) -> None:
    assert parse_runner_spec(text) == RunnerSpec(scheme, target, options)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "got '' as the scheme"),
        (":x", "got '' as the scheme"),
        ("Python:x", "got 'Python' as the scheme"),
        ("policy.py:decide", "got 'policy.py' as the scheme; did you mean 'python:policy.py:decide'?"),
        ("m.onnx", "got 'm.onnx' as the scheme; did you mean 'onnx:m.onnx'?"),
        ("dir/m.so?as=logits", "did you mean 'aot:dir/m.so?as=logits'?"),
        ("a.b.log", "did you mean 'replay:a.b.log'?"),
        ("policy.pyc", "got 'policy.pyc' as the scheme"),
        ("@Oz", "got '@Oz' as the scheme"),
        ("@oz:x", "got '@oz' as the scheme"),
        ("x:t?k", "expected key=value after '?' and '&', got 'k'"),
        ("x:t?=v", "got '=v'"),
        ("x:t?k=1&", "got ''"),
        ("x:t?K=1", "got 'K=1'"),
        ("x:t?k=1&k=1", "expected one value for 'k', got two"),
        ("x:t?k=%ff", "expected a value of 'k' that decodes to UTF-8, got '%ff'"),
    ],
)
def test_what_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(RunnerSpecError) as caught:
        parse_runner_spec(text)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("scheme", sorted(BUILT_IN))
def test_built_in_scheme_refuses_unknown_keys_and_lists_its_own(scheme: str) -> None:
    factory = find_scheme(scheme).factory
    known = getattr(factory, "runner_keys", ())
    with pytest.raises(RunnerSpecError, match="got colour, size") as caught:
        make_runner(f"{scheme}:x?colour=1&size=2", POINT)
    assert f"keys among {', '.join(known)}" in str(caught.value) if known else "no keys" in str(caught.value)


def test_unknown_scheme_lists_the_known_ones(mine: str) -> None:
    runner_scheme(mine)(lambda target, options, point, timeout: Fixed())
    with pytest.raises(RunnerSpecError) as caught:
        make_runner("onxx:m", POINT)
    text = str(caught.value)
    assert f"expected one of {', '.join(sorted((*BUILT_IN, 'mine')))}" in text
    assert "'passpilot.runners'" in text


def test_registered_scheme(mine: str) -> None:
    seen: list[object] = []

    @runner_scheme(mine, keys=("size", "colour"))
    def factory(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
        seen.extend((target, options, point, timeout))
        return Fixed()

    assert isinstance(make_runner("mine:a:b?size=3", POINT, timeout=2), Fixed)
    assert seen == ["a:b", {"size": "3"}, POINT, 2]
    with pytest.raises(RunnerSpecError, match="expected keys among size, colour, got weight"):
        make_runner("mine:a?weight=3", POINT)


def test_registration_is_validated(mine: str) -> None:
    @runner_scheme(mine)
    def factory(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
        return Fixed()

    with pytest.raises(
        RunnerSpecError, match=r"'mine' at .*test_spec.py:\d+: expected a new name.*test_spec.py:"
    ):
        runner_scheme(mine)(factory)
    with pytest.raises(RunnerSpecError, match="one that passpilot itself owns"):
        runner_scheme("onnx")(factory)
    with pytest.raises(RunnerSpecError, match="expected a name of"):
        runner_scheme("My:Scheme")(factory)
    with pytest.raises(RunnerSpecError, match=r"expected a factory of \(target, options, point, timeout\)"):
        runner_scheme("other")(lambda target: Fixed())  # type: ignore[type-var]


def test_factory_that_makes_no_runner_is_refused(mine: str) -> None:
    runner_scheme(mine)(lambda target, options, point, timeout: 7)  # type: ignore[type-var]
    with pytest.raises(RunnerSpecError, match=r"'mine' of .*: expected a Runner from the factory, got 7"):
        make_runner("mine", POINT)


def test_runner_that_does_not_fit_is_closed_and_refused(mine: str) -> None:
    made: list[Fixed] = []
    wanted = (TensorSpec("node_count", "float32", (1,)), TensorSpec("weight", "int64", (2,)))

    @runner_scheme(mine)
    def factory(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
        made.append(Fixed(wanted) if target == "inputs" else Fixed((), TensorSpec("x", "float32", (1,))))
        return made[-1]

    with pytest.raises(SpecMismatchError) as caught:
        make_runner("mine:inputs", POINT)
    assert "node_count is wanted as float32[1] and offered as int64[1]" in str(caught.value)
    assert "weight is wanted as int64[2] and not offered" in str(caught.value)
    with pytest.raises(SpecMismatchError, match=r"inlining_decision as int64\[1\], got float32\[1\]"):
        make_runner("mine:output", POINT)
    assert [runner.closed for runner in made] == [1, 1]
    with pytest.raises(SpecMismatchError):
        make_runner(Fixed(wanted), POINT)


def test_runner_and_policy_are_taken_as_they_are() -> None:
    runner = Fixed()
    assert make_runner(runner, POINT) is runner
    assert len(make_runner(lambda obs: True, POINT).inputs) == 38


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_timeout_has_to_be_one(timeout: float) -> None:
    with pytest.raises(RunnerSpecError, match="expected a timeout"):
        make_runner("const:1", POINT, timeout=timeout)


def test_the_longest_timeout_is_a_million_seconds() -> None:
    make_runner("const:1", POINT, timeout=1e6).close()
    with pytest.raises(RunnerSpecError, match=r"^runner const:1: expected a timeout of .*, got 1000000\.1$"):
        make_runner("const:1", POINT, timeout=1e6 + 0.1)


def test_a_factory_that_raises_is_named(mine: str) -> None:
    """Without the token that it was given; our own errors pass unchanged."""
    errors = {"ours": RunnerSpecError("as it is"), "theirs": ValueError("broken")}

    @runner_scheme(mine, keys=("token",))
    def factory(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
        raise errors[target]

    with pytest.raises(RunnerSpecError, match=r"^as it is$"):
        make_runner("mine:ours", POINT)
    told = (
        r"^runner mine:theirs\?token=\.\.\.: expected the scheme of .*test_spec\.py:\d+ to make it, got Val"
    )
    with pytest.raises(ModelError, match=told):
        make_runner("mine:theirs?token=secret", POINT)


def test_a_runner_that_does_not_fit_is_named_without_its_token(mine: str) -> None:
    advice = TensorSpec("x", "float32", (1,))
    weight = (TensorSpec("weight", "int64", (2,)),)

    @runner_scheme(mine, keys=("token",))
    def factory(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
        return Fixed(weight) if target == "inputs" else Fixed((), advice)

    for target in ("inputs", "advice"):
        with pytest.raises(
            SpecMismatchError, match=rf"^runner mine:{target}\?token=\.\.\. at decision point in"
        ):
            make_runner(f"mine:{target}?token=secret", POINT)


def theirs(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
    return Fixed()


def test_entry_point(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "passpilot_test_entry_point"
    monkeypatch.setitem(sys.modules, module, sys.modules[__name__])
    offer(GROUP, ("theirs", f"{module}:theirs"))
    assert isinstance(make_runner("theirs:x", POINT), Fixed)
    with pytest.raises(RunnerSpecError, match="expected no keys for scheme 'theirs', got size"):
        make_runner("theirs:x?size=1", POINT)
    with pytest.raises(RunnerSpecError, match=", ".join(sorted((*BUILT_IN, "theirs")))):
        make_runner("ours:x", POINT)


def test_entry_points_that_do_not_work(offer: Offer) -> None:
    offer(GROUP, ("theirs", "no_such_module:f"))
    told = r"'theirs' of entry point no_such_module:f: expected it to be imported, got ModuleNot"
    with pytest.raises(RunnerSpecError, match=told):
        make_runner("theirs:x", POINT)
    offer(GROUP, ("theirs", "one:f"), ("theirs", "two:f"))
    with pytest.raises(
        RunnerSpecError, match=r"one:f and two:f: expected one distribution that has the name"
    ):
        make_runner("theirs:x", POINT)


def test_built_in_schemes_scan_no_entry_points(offer: Offer) -> None:
    offer.nothing()
    for scheme in BUILT_IN:
        find_scheme(scheme)


def test_import_is_light(tmp_path: Path) -> None:
    code = (
        "import sys; from passpilot.runners.spec import parse_runner_spec; parse_runner_spec('onnx:m');"
        "heavy = {'numpy', 'rich', 'onnxruntime', 'importlib.metadata', 'socket', 'asyncio'};"
        "print(*heavy & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.strip() == ""


def test_errors_do_not_show_a_token() -> None:
    text = "grpc:h:1?colour=x&token=my%20secret&tls=no"
    with pytest.raises(RunnerSpecError, match=r"^runner grpc:h:1\?colour=x&token=\.{3}&tls=no: exp"):
        make_runner(text, POINT)
    assert shown("grpc:h:1?token=@file&token=t") == "grpc:h:1?token=@file&token=..."
    assert shown("python:p.py:token=x") == "python:p.py:token=x"
