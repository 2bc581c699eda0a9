# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""passpilot.h at its limits: what a point, options, places and ends of runners may be."""

from __future__ import annotations

import ctypes
import math
from ctypes import c_int64
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.runners.spec import SCHEMES
from tests.plugin.native.c.client import (
    CApiError,
    CDomain,
    CFeature,
    COptions,
    CPlace,
    CPoint,
    choice,
    described,
    flag,
    last_error,
    library,
    number,
    runner,
)
from tests.plugin.native.c.test_api import TOY
from tests.runners.test_native import drawn

BOOL: Final = 9
GIBIBYTE: Final = 1 << 30

CLOSES: Final = """\
import passpilot
from passpilot.runners.base import Runner

class Closes(Runner):
    inputs = ()
    def __init__(self, point):
        self.output = point.advice
    def evaluate(self):
        return True
    def close(self):
        raise ValueError("cannot end")

@passpilot.runner_scheme("closes")
def closes(target, options, point, timeout):
    return Closes(point)
"""

POINTS: Final = {
    "feature size: expected a shape of at most 32 dimensions, got 33": (
        {"size": ("int64", (1,) * 33)},
        flag(),
    ),
    "feature a: expected at most 1073741824 bytes, got more": (
        {"a": ("int64", (GIBIBYTE // 8 + 1,))},
        flag(),
    ),
    "expected a name without control characters, got one with some": ({"a\x7f": ("int64", (1,))}, flag()),
    "expected a name for each tensor, got two of advice_default": (
        {"advice_default": ("int64", (1,))},
        flag(),
    ),
    "expected a choice among at least one, got 134217729": (TOY, choice(GIBIBYTE // 8 + 1)),
    "toy: mask: expected a name without control characters": (TOY, choice(3, "a\n")),
    "toy: mask: expected a name, got none": (TOY, choice(3, "")),
    "expected a mask int64[1,4], got mask float32[1,4]": ({"mask": ("float32", (1, 4))}, choice(4)),
    "expected finite numbers as low and high, got others": (TOY, number(-math.inf, 0)),
    "toy: expected finite numbers as low and high": (TOY, number(1, 0)),
    "decision point toy: expected an enum passpilot_domain_kind, got 3": (TOY, CDomain(3)),
}


@pytest.mark.parametrize("told", POINTS)
def test_a_point_beyond_a_limit(told: str) -> None:
    with pytest.raises(CApiError) as error, runner("default", *POINTS[told]):
        pass
    assert told in str(error.value)


def test_a_point_at_a_limit() -> None:
    with runner("const:3", {"size": ("int64", (1,) * 32)}, number(3, 3)) as made:
        assert made.ask() == 3
    with runner("default", {"legal": ("int64", (2,))}, choice(2, "legal"), timeout=1e6) as made:
        assert made.mask(2).tolist() == [1, 1]
        assert made.ask() == 0


def point_of(*features: CFeature) -> CPoint:
    """A point of these features."""
    return CPoint(b"toy", (CFeature * len(features))(*features), len(features), None, flag())


def test_features_that_are_none() -> None:
    one = (c_int64 * 1)(1)
    points = {
        "feature a: expected an enum passpilot_type other than PASSPILOT_BOOL, got 9": point_of(
            CFeature(b"a", one, 1, BOOL)
        ),
        "feature a: expected a shape of at most 32 dimensions, got none": point_of(
            CFeature(b"a", None, 1, 7)
        ),
        "expected a name, got none": point_of(CFeature(None, one, 1, 7)),
        "decision point toy: expected features, got none": CPoint(b"toy", None, 1, None, flag()),
        "decision point: expected a name, got none": CPoint(b"", None, 0, None, flag()),
    }
    for told, point in points.items():
        assert library().passpilot_runner_create(b"default", ctypes.byref(point), None) is None
        assert told in last_error()


def test_a_feature_without_dimensions_is_one_element() -> None:
    scalar = point_of(CFeature(b"a", None, 0, 7))
    made = library().passpilot_runner_create(b"const:1", ctypes.byref(scalar), None)
    assert made
    assert library().passpilot_runner_input(made, b"a")
    library().passpilot_runner_destroy(made)


def test_arguments_that_are_null() -> None:
    point = described(TOY, flag())
    assert library().passpilot_runner_create(None, ctypes.byref(point), None) is None
    assert last_error() == "runner: expected a spec such as onnx:model.onnx, got none"
    assert not library().passpilot_runner_default(None)
    assert library().passpilot_runner_reads(None, b"size") == 0
    assert library().passpilot_runner_input(None, b"size") is None
    assert last_error() == "passpilot: expected a runner, got null"
    assert library().passpilot_runner_close(None, 1) != 0
    with runner("default", TOY) as made:
        assert library().passpilot_runner_input(made.address, None) is None
        assert last_error() == "decision point toy: expected one of its features, got none"
        assert library().passpilot_runner_reads(made.address, None) == 0


def test_the_default_has_the_name_of_the_advice() -> None:
    with runner("default", TOY, advice="choice") as made:
        assert made.reads("choice_default")
        assert not made.reads("advice_default")


def test_a_forbidden_column_names_the_first_ten_legal_ones(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def first(obs):\n    return 0\n")
    with runner(f"python:{tmp_path / 'policy.py'}:first", {}, choice(14)) as made:
        told = {
            11: r"\(1, 2, 3, 4, 5, 6, 7, 8, 9, 10\), got 0",
            12: r"\(1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1 more\), got 0",
            14: r"\(1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more\), got 0",
            1: r"expected one that 'mask' allows \(none\), got 0",
        }
        for end, expected in told.items():
            made.mask(14)[:] = [0 < column < end for column in range(14)]
            with pytest.raises(CApiError, match=expected):
                made.ask()


@pytest.mark.parametrize("count", [64, 65])
def test_random_columns_of_a_large_choice(count: int) -> None:
    """Which column is drawn among the legal ones is documented, also beyond the 64 that fit into one word."""
    with runner("random:5", {}, choice(count)) as made:
        made.mask(count)[:] = [column % 21 == 0 for column in range(count)]
        expected = [(drawn(5, "", ordinal) >> 32) * 4 >> 32 for ordinal in range(50)]
        assert set(expected) == {0, 1, 2, 3}
        assert [made.ask() for _ in range(50)] == [21 * index for index in expected]
        made.mask(count)[:] = 0
        with pytest.raises(CApiError, match=r"allows \(none\), got 0"):
            made.ask()


def test_random_goes_on_where_it_was_in_a_context() -> None:
    with runner("random:7", TOY, number(0, 1)) as made:
        made.switch_context("f")
        whole = [made.ask() for _ in range(3)]
    with runner("random:7", TOY, number(0, 1)) as made:
        parts = []
        for name in ("f", "g", "f", "f"):
            made.switch_context(name)
            parts.append(made.ask())
    assert [parts[0], *parts[2:]] == whole


def test_places_are_escaped_and_forgotten(tmp_path: Path) -> None:
    log = tmp_path / "toy.log"
    with runner("const:1", TOY, log=log) as made:
        made.place(CPlace(b'f\x7f\x1f ~"\\\xff', b"g", b'a".toy', 3, 7))
        made.ask()
        made.place(CPlace(None, None, b"b.toy", 1, 0))
        made.ask()
        made.place(None)
        made.ask()
        made.close()
    assert b'"caller":"f\\u007f\\u001f ~\\u0022\\u005c\\udcff"' in log.read_bytes()
    assert b'"location":"a\\u0022.toy:3:7"' in log.read_bytes()
    seen = [(each.caller, each.callee, each.location) for each in read_log(log)]
    assert seen[0][0] == 'f\x7f\x1f ~"\\\udcff'
    assert seen[1:] == [("", "", "b.toy:1:0"), ("", "", "")]


def test_a_log_that_cannot_be_written_ends_the_runner() -> None:
    """Each decision is larger than what is kept in memory; all later ones have the first one's error."""
    with runner("const:1", {"large": ("uint8", (1 << 19,))}, log=Path("/dev/full")) as made:
        for _ in range(2):
            with pytest.raises(CApiError, match="toy advisor at decision 0: No space left on device"):
                made.ask()
        with pytest.raises(
            CApiError, match="decision log /dev/full: expected a file to write, got: No space"
        ):
            made.close()


def test_a_log_that_cannot_be_ended_is_an_error() -> None:
    """The decisions fit into the memory, and are written at the end."""
    with runner("const:1", TOY, log=Path("/dev/full")) as made:
        assert made.ask() == 1
        with pytest.raises(
            CApiError, match="decision log /dev/full: expected a file to write, got: No space"
        ):
            made.close()


def test_a_runner_that_cannot_end(tmp_path: Path) -> None:
    """Its log is dropped; freeing an open one leaves the last error as it was."""
    (tmp_path / "scheme.py").write_text(CLOSES)
    log = tmp_path / "x.log"
    try:
        with runner("closes", TOY, load=tmp_path / "scheme.py", log=log) as made:
            assert made.ask() == 1
            with pytest.raises(CApiError, match="ValueError: cannot end"):
                made.close()
            assert not log.exists()
            made.close()
        with runner("closes", TOY) as made, pytest.raises(CApiError, match="got 'nobody'"):
            made.input("nobody")
        assert last_error().endswith("expected one of its features, got 'nobody'")
    finally:
        SCHEMES.unregister("closes")


def test_warnings_without_a_function_go_to_stderr(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "toy.log"
    with runner("const:1", TOY, log=log) as made:
        made.ask()
        made.close()
    point, options = described(TOY, flag()), COptions(ctypes.sizeof(COptions), 1.0)
    made_by_c = library().passpilot_runner_create(
        b"replay:" + bytes(log), ctypes.byref(point), ctypes.byref(options)
    )
    assert library().passpilot_runner_close(made_by_c, 1) == 0
    library().passpilot_runner_destroy(made_by_c)
    said = capfd.readouterr().err
    assert said.startswith("passpilot: warning: ")
    assert "the log has more decisions than the 0 that were asked for" in said
    assert said.count("\n") == 1


def test_a_context_that_is_null_has_no_name(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def seen(obs):\n    return obs.context == ''\n")
    with runner(f"python:{tmp_path / 'policy.py'}:seen", TOY) as made:
        made.switch_context("f")
        assert made.ask() == 0
        library().passpilot_runner_switch_context(made.address, None)
        assert made.ask() == 1


def test_only_the_first_failure_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(
        "def fails(obs):\n    raise ValueError(f'number {obs[\"size\"].item()}')\n"
    )
    with runner(f"python:{tmp_path / 'policy.py'}:fails", TOY, default_on_error=True) as made:
        assert [made.ask(size=size) for size in (4, 5, 6)] == [0, 0, 0]
        assert [warning.partition("; ")[0].partition(" (")[0] for warning in made.warnings] == [
            "toy advisor at decision 0: ValueError: number 4"
        ]
