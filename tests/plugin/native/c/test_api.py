# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""passpilot.h: each scheme, what is checked, the log, threads."""

from __future__ import annotations

import ctypes
import gc
import math
import subprocess
import threading
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import pytest

from passpilot.cli.aot import main
from passpilot.features.log.reader import read_log
from passpilot.plugin.load import load_file
from passpilot.plugin.toolchain import c_library
from passpilot.runners.spec import SCHEMES
from tests.plugin.native.c.client import (
    TYPES,
    CApiError,
    COptions,
    CPlace,
    choice,
    described,
    flag,
    last_error,
    library,
    number,
    runner,
)

POLICIES: Final = """\
kept = []

def small(obs):
    return obs["size"] < 50

small.features = ("size",)

def everything(obs):
    kept.append((obs["size"], obs["weights"]))
    return obs.default() and obs.context == "f" and obs["weights"].sum() == 6 and obs.point == "toy"

def word(obs):
    return "yes"

def raises(obs):
    raise ValueError("no idea")

def where(obs):
    return obs.site

def unknown(obs):
    return obs["nobody"]

def argmax(obs):
    return obs["scores"][0].argmax()

def half(obs):
    return obs.default() / 2

class Switches:
    def switch_context(self, name):
        if name == "bad":
            raise ValueError("a bad context")
    def decide(self, obs):
        return True
"""

SCHEME: Final = """\
import passpilot
from passpilot.runners.base import Runner

class Odd(Runner):
    inputs = ()
    def __init__(self, point):
        self.output = point.advice
        self.asked = 0
    def evaluate(self):
        self.asked += 1
        return self.asked % 2 == 1

@passpilot.runner_scheme("odd")
def odd(target, options, point, timeout):
    return Odd(point)
"""

TOY: Final = {"size": ("int64", (1,)), "weights": ("float32", (1, 3))}
SCORES: Final = {"scores": ("float32", (1, 4)), "mask": ("int64", (1, 4))}
FLAG_MODEL: Final = """
<ir_version: 8, opset_import: ["": 17]>
policy (int64[1] size) => (bool[1] small) {
  fifty = Constant <value = int64[1] {50}> ()
  small = Less (size, fifty)
}
"""
LOGITS_MODEL: Final = """
<ir_version: 8, opset_import: ["": 17]>
policy (float[1, 4] scores) => (float[1, 4] logits) { logits = Neg (scores) }
"""
SCORE_MODEL: Final = """
<ir_version: 8, opset_import: ["": 17]>
policy (float[1] scores) => (float[1] score) { score = Neg (scores) }
"""
NUMBER_MODEL: Final = """
<ir_version: 8, opset_import: ["": 17]>
policy (float[1, 3] weights) => (float[1] sum) { sum = ReduceSum <keepdims = 0> (weights, axes) }
"""


def model(path: Path, text: str) -> Path:
    """A model in a file."""
    parsed = onnx.parser.parse_model(text)
    axes = onnx.numpy_helper.from_array(np.array([1]), "axes")
    if "axes" in text:
        parsed.graph.initializer.append(axes)
    path.write_bytes(parsed.SerializeToString())
    return path


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """The file of policies."""
    path = tmp_path / "policy.py"
    path.write_text(POLICIES)
    return path


def test_the_library_shows_the_api_alone_and_needs_no_llvm() -> None:
    names = subprocess.check_output(["nm", "-D", "--defined-only", c_library()], text=True)
    shown = {line.split()[-1].split("@")[0] for line in names.splitlines()} - {"PASSPILOT_1"}
    assert "passpilot_runner_create" in shown
    assert {name for name in shown if not name.startswith("passpilot_")} == set()
    needed = subprocess.check_output(["readelf", "-d", c_library()], text=True)
    assert "LLVM" not in needed
    assert "python" not in needed
    assert "soname: [libpasspilot_c.so.1]" in needed


def test_the_default_is_what_the_caller_says() -> None:
    with runner("default", TOY) as made:
        assert made.ask() == 0
        made.default.integer = 1
        assert made.ask() == 1
        assert made.reads("advice_default")
        assert not made.reads("size")


def test_const_and_random_at_each_domain() -> None:
    with runner("const:1", TOY) as made:
        assert made.ask() == 1
    with runner("const:2.5", TOY, number(0, 3)) as made:
        assert made.ask() == 2.5
    with runner("random:7", TOY, number(-1, 1)) as made:
        drawn = [made.ask() for _ in range(100)]
    assert len(set(drawn)) == 100
    assert -1 <= min(drawn) < 0 < max(drawn) <= 1
    with runner("random:7", TOY) as made:
        assert {made.ask() for _ in range(50)} == {0, 1}


def test_random_draws_by_context_and_among_the_legal() -> None:
    drawn: dict[str, list[int | float]] = {}
    for name in ("f", "g", "f"):
        with runner("random:7", SCORES, choice(4)) as made:
            made.mask(4)[:] = (0, 1, 0, 1)
            made.switch_context(name)
            answers = [made.ask() for _ in range(60)]
        assert drawn.setdefault(name, answers) == answers
        assert set(answers) == {1, 3}
    assert drawn["f"] != drawn["g"]


def test_a_mask_that_is_no_feature_is_added() -> None:
    with runner("random:1", {}, choice(3, "legal")) as made:
        assert {made.ask() for _ in range(60)} == {0, 1, 2}
        made.mask(3)[:] = (0, 0, 1)
        assert made.ask() == 2


def test_a_model_at_each_domain(tmp_path: Path) -> None:
    with runner(f"onnx:{model(tmp_path / 'm.onnx', FLAG_MODEL)}", TOY) as made:
        assert [made.ask(size=size) for size in (49, 50, 3)] == [1, 0, 1]
        assert (made.reads("size"), made.reads("weights")) == (True, False)
    with runner(f"onnx:{model(tmp_path / 'l.onnx', LOGITS_MODEL)}", SCORES, choice(4)) as made:
        assert made.ask(scores=(3, 1, 2, 0)) == 3
        assert made.ask(mask=(1, 0, 1, 0)) == 2
    with runner(f"onnx:{model(tmp_path / 'n.onnx', NUMBER_MODEL)}", TOY, number(0, 10)) as made:
        assert made.ask(weights=(1, 2, 3.5)) == 6.5
        with pytest.raises(
            CApiError, match="toy advisor at decision 1: expected a number of 0 to 10, got 11"
        ):
            made.ask(weights=(5, 5, 1))
        with pytest.raises(CApiError, match=r"at decision 2: .*expected.*, got NaN"):
            made.ask(weights=math.nan)
        assert made.ask(weights=(1, 2, 3)) == 6


def test_a_model_that_scores_each_column(tmp_path: Path) -> None:
    path = model(tmp_path / "s.onnx", SCORE_MODEL)
    with runner(f"onnx:{path}?as=score", SCORES, choice(4)) as made:
        assert made.ask(scores=(3, 1, 2, 0)) == 3
        assert made.ask(mask=(1, 0, 1, 0)) == 2
        with pytest.raises(CApiError, match="expected a column that may be chosen, got none"):
            made.ask(mask=0)


def test_a_compiled_model(tmp_path: Path) -> None:
    source = model(tmp_path / "m.onnx", FLAG_MODEL)
    assert main([str(source), "-o", str(tmp_path / "m.so")]) == 0
    with runner(f"aot:{tmp_path / 'm.so'}", TOY) as made:
        assert [made.ask(size=size) for size in (49, 50)] == [1, 0]


def test_a_policy_reads_what_it_names(policies: Path) -> None:
    with runner(f"python:{policies}:small", TOY) as made:
        assert [made.ask(size=size) for size in (49, 50)] == [1, 0]
        assert (made.reads("size"), made.reads("weights")) == (True, False)
    with runner(f"python:{policies}:argmax", SCORES, choice(4)) as made:
        assert made.ask(scores=(1, 5, 2, 0)) == 1
        with pytest.raises(CApiError, match=r"expected one that 'mask' allows \(0, 2\), got 1"):
            made.ask(mask=(1, 0, 1, 0))
    with runner(f"python:{policies}:half", TOY, number(0, 5)) as made:
        made.default.number = 3
        assert made.ask() == 1.5


def test_a_policy_may_keep_what_it_saw(policies: Path) -> None:
    with runner(f"python:{policies}:everything", TOY) as made:
        made.switch_context("f")
        made.default.integer = 1
        assert made.ask(size=12, weights=(1, 2, 3)) == 1
    gc.collect()
    (size, weights) = load_file(str(policies)).kept[-1]
    assert (int(size[0]), weights.tolist()) == (12, [[1, 2, 3]])


def test_a_scheme_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "scheme.py").write_text(SCHEME)
    try:
        with runner("odd", TOY, load=tmp_path / "scheme.py") as made:
            assert [made.ask() for _ in range(4)] == [1, 0, 1, 0]
    finally:
        SCHEMES.unregister("odd")


def test_all_types_come_through(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(
        "def total(obs):\n    return float(sum(v[1] for v in obs.values()))\n"
    )
    features = {dtype: (dtype, (2,)) for dtype in TYPES}
    with runner(f"python:{tmp_path / 'policy.py'}:total", features, number(0, 1e9)) as made:
        for i, dtype in enumerate(TYPES):
            made.input(dtype)[:] = (9, i)
        assert made.ask() == sum(range(len(TYPES)))


@pytest.mark.parametrize(
    ("name", "told"),
    {
        "word": "at decision 0: expected a bool or an integer 0 or 1, got str 'yes'",
        "raises": "at decision 0: ValueError: no idea (",
        "where": "at decision 0: PolicyError: obs.site: the compiler around the decision function is not",
        "unknown": "decision point toy: expected features among those it offers, got nobody",
    }.items(),
)
def test_a_policy_that_fails(policies: Path, name: str, told: str) -> None:
    with runner(f"python:{policies}:{name}", TOY) as made, pytest.raises(CApiError) as error:
        made.ask()
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_the_default_in_place_of_a_failure(policies: Path) -> None:
    with runner(f"python:{policies}:raises", SCORES, choice(4), default_on_error=True) as made:
        made.default.integer = 3
        assert [made.ask() for _ in range(3)] == [3, 3, 3]
        assert made.fallbacks == 3
        assert len(made.warnings) == 1
        assert "toy advisor at decision 0: ValueError: no idea" in made.warnings[0]
        with pytest.raises(CApiError, match="expected a legal default decision"):
            made.ask(mask=(1, 1, 1, 0))


def test_a_context_that_fails_is_the_next_decisions_failure(policies: Path) -> None:
    with runner(f"python:{policies}:Switches", TOY) as made:
        made.switch_context("bad")
        with pytest.raises(CApiError, match=r"decision 0 \(function bad\): ValueError: a bad context"):
            made.ask()
        made.switch_context("good")
        assert made.ask() == 1


REFUSED: Final = {
    "onnx:no.onnx": "model no.onnx: expected an ONNX file, got: No such file or directory",
    "aot:no.so": "expected a model of 'passpilot aot', got No such file or directory",
    "const:2": "runner const:2: expected const:0 or const:1, got '2'",
    "random:x": "runner random:x: expected random:SEED",
    "nobody:x": "runner scheme 'nobody': expected one of aot, const,",
    "python:no.py:f": "no.py: expected a Python file that can be read",
    "replay:no.log": "log no.log: expected a regular file that can be read",
    "": "expected scheme:target",
}


@pytest.mark.parametrize("spec", REFUSED)
def test_a_runner_that_cannot_be_made(spec: str) -> None:
    with pytest.raises(CApiError) as error, runner(spec, TOY):
        pass
    assert REFUSED[spec] in str(error.value)


def test_a_model_that_wants_what_nobody_offers(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", FLAG_MODEL)
    with (
        pytest.raises(CApiError, match="expected a tensor that the compiler offers, got int64"),
        runner(f"onnx:{path}", {"other": ("int64", (1,))}),
    ):
        pass


POINTS: Final = {
    "feature size: expected an enum passpilot_type": ({"size": ("bool", (1,))}, flag()),
    "expected dimensions of at least 1, got 0": ({"size": ("int64", (0,))}, flag()),
    "expected at most 1073741824 bytes, got more": ({"size": ("int64", (1 << 20, 1 << 20))}, flag()),
    "expected a name, got none": ({"": ("int64", (1,))}, flag()),
    "expected a name without control characters": ({"a\nb": ("int64", (1,))}, flag()),
    "expected a name for each tensor, got two of advice": ({"advice": ("int64", (1,))}, flag()),
    "expected a choice among at least one, got 0": (TOY, choice(0)),
    "expected a mask int64[1,3], got mask int64[1,4]": (SCORES, choice(3)),
    "expected finite numbers as low and high": (TOY, number(0, math.inf)),
}


@pytest.mark.parametrize("told", POINTS)
def test_a_wrong_point(told: str) -> None:
    with pytest.raises(CApiError) as error, runner("default", *POINTS[told]):
        pass
    assert told in str(error.value)


def test_what_is_null_is_an_error() -> None:
    assert library().passpilot_runner_create(b"default", None, None) is None
    assert last_error() == "passpilot: expected a decision point, got null"
    assert library().passpilot_runner_evaluate(None, None) != 0
    library().passpilot_runner_destroy(None)
    assert library().passpilot_runner_mask(None) is None
    assert library().passpilot_runner_fallbacks(None) == 0
    with runner("default", TOY) as made:
        assert library().passpilot_runner_evaluate(made.address, None) != 0
        assert "expected a place for the advice, got null" in last_error()
        assert library().passpilot_runner_mask(made.address) is None
        with pytest.raises(CApiError, match="expected one of its features, got 'nobody'"):
            made.input("nobody")


@pytest.mark.parametrize("timeout", [0, -1, math.nan, 1e7])
def test_a_wrong_timeout(timeout: float) -> None:
    with pytest.raises(CApiError, match="options: expected a timeout of more than 0 seconds"):
        runner("default", TOY, timeout=timeout).__enter__()


@pytest.mark.parametrize("size", [0, 8, 20, 57, 64])
def test_options_of_no_known_size(size: int) -> None:
    point, options = described(TOY, flag()), COptions(size, 1.0)
    assert not library().passpilot_runner_create(b"default", ctypes.byref(point), ctypes.byref(options))
    told = (
        f"options: expected the size of passpilot_options, here 56 or less in an older header, got {size}; "
    )
    newer = ", and use the library of the header's version" if size > 56 else ""
    assert last_error() == f"{told}start from PASSPILOT_OPTIONS_INIT{newer}"


def test_a_log_is_read_and_replayed(tmp_path: Path) -> None:
    log = tmp_path / "toy.log"
    with runner("random:3", TOY, log=log) as made:
        assert made.reads("weights")
        made.switch_context("f")
        made.place(CPlace(b"f", b"g", b"a.toy", 3, 7))
        made.default.integer = 1
        answers = [made.ask(size=size) for size in range(5)]
        assert not log.exists()
        made.close()
    seen = list(read_log(log))
    assert [int(each.tensors["size"][0]) for each in seen] == [0, 1, 2, 3, 4]
    assert [int(each.tensors["advice"][0]) for each in seen] == answers
    assert {int(each.tensors["advice_default"][0]) for each in seen} == {1}
    assert (seen[0].caller, seen[0].callee, seen[0].location) == ("f", "g", "a.toy:3:7")
    with runner(f"replay:{log}", TOY) as made:
        made.default.integer = 1
        assert [made.ask(size=size) for size in range(4)] == answers[:4]
        with pytest.raises(CApiError, match=r"expected size = \[4\], got \[9\]"):
            made.ask(size=9)


def test_a_replay_that_ends_early_is_a_warning(tmp_path: Path) -> None:
    log = tmp_path / "toy.log"
    with runner("const:1", TOY, log=log) as made:
        made.ask()
        made.close()
    with runner(f"replay:{log}", TOY) as made:
        made.close()
        assert "the log has more decisions than the 0 that were asked for" in made.warnings[0]


def test_no_log_of_what_has_failed(tmp_path: Path) -> None:
    log = tmp_path / "toy.log"
    with runner("const:1", TOY, log=log) as made:
        made.ask()
        made.close(keep=False)
    with runner("const:1", TOY, log=log) as made:
        made.ask()  # and is never closed
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CApiError, match="expected a file to write, got: No such file"):
        runner("const:1", TOY, log=tmp_path / "no" / "toy.log").__enter__()


def test_a_closed_runner_is_not_asked() -> None:
    with runner("const:1", TOY) as made:
        buffer = made.input("size")
        made.close()
        made.close()
        buffer[0] = 3
        with pytest.raises(CApiError, match="expected an open runner, got a closed one"):
            made.ask()


@pytest.mark.parametrize("spec", ["onnx", "python", "const"])
def test_threads_have_runners_of_their_own(spec: str, policies: Path, tmp_path: Path) -> None:
    specs = {
        "onnx": f"onnx:{model(tmp_path / 'm.onnx', FLAG_MODEL)}",
        "python": f"python:{policies}:small",
        "const": "const:1",
    }
    wrong: list[object] = []
    errors: list[str] = []

    def work(seed: int) -> None:
        sizes = np.random.default_rng(seed).integers(0, 100, 300)
        for part in np.array_split(sizes, 3):
            with runner(specs[spec], TOY) as made:  # the other thread's lives on
                wrong.extend(s for s in part if made.ask(size=s) != (1 if spec == "const" else s < 50))
        with pytest.raises(CApiError, match=f"nobody{seed}"):
            runner(f"nobody{seed}:", TOY).__enter__()
        errors.append(last_error())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [sum(f"'nobody{seed}'" in error for error in errors) for seed in range(3)] == [1, 1, 1]


def test_one_runner_serves_one_thread_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(
        "import threading\nasked, done = threading.Event(), threading.Event()\n"
        "def waits(obs):\n    asked.set()\n    return done.wait(60)\n"
    )
    policy = load_file(str(tmp_path / "policy.py"))
    with runner(f"python:{tmp_path / 'policy.py'}:waits", TOY) as made:
        answers: list[object] = []
        thread = threading.Thread(target=lambda: answers.append(made.ask()))
        thread.start()
        assert policy.asked.wait(60)
        with pytest.raises(CApiError, match="expected one thread at a time, got two"):
            made.ask()
        policy.done.set()
        thread.join()
    assert answers == [1]


def test_buffers_stay_where_they_are() -> None:
    with runner("default", TOY) as made, runner("default", TOY) as other:
        before = ctypes.addressof(made.default), made.input("weights").ctypes.data
        assert before[1] % 8 == 0
        other.ask()
        other.close()
        made.ask()
        assert (ctypes.addressof(made.default), made.input("weights").ctypes.data) == before
