# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import AdviceError, LogError, PasspilotWarning, RunnerSpecError
from passpilot.runners.base import allocate
from passpilot.runners.replay import ReplayRunner
from passpilot.runners.spec import make_runner
from tests.features.log.log_writer import header, inline_log, line, observation, row
from tests.runners.serving.serving import point, resident_kilobytes

POINT = find_point("inline")
PLACES = [
    {"caller": "main", "callee": "f", "location": "a.c:3:7"},
    {"caller": "main", "callee": "g", "location": ""},
    {},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three decisions, with 10, 11 and 12 users; the advice is 1, 0, 1 and the default 0, 0, 1."""
    path = tmp_path / "decisions.log"
    decisions = zip((10, 11, 12), (0, 0, 1), (1, 0, 1), PLACES, strict=True)
    path.write_bytes(inline_log(decisions))
    return path


def made(log: Path) -> ReplayRunner:
    runner = make_runner(f"replay:{log}", POINT)
    assert isinstance(runner, ReplayRunner)
    return allocate(runner)


def ask(runner: ReplayRunner, users: int, default: int) -> float:
    runner.tensors["callee_users"][...] = users
    runner.tensors["inlining_default"][...] = default
    return runner.evaluate()


def test_logged_advice(log: Path) -> None:
    with made(log) as runner:
        assert [spec.name for spec in runner.inputs] == ["callee_users", "inlining_default"]
        assert [ask(runner, 10, 0), ask(runner, 11, 0), ask(runner, 12, 1)] == [1, 0, 1]


@pytest.mark.parametrize(
    ("right", "place"),
    [(0, "at decision 0, main -> f (a.c:3:7)"), (1, "at decision 1, main -> g"), (2, "at decision 2")],
)
def test_other_question_is_refused_by_name(log: Path, right: int, place: str) -> None:
    with made(log) as runner:
        for users in (10, 11, 12)[:right]:
            ask(runner, users, users == 12)
        with pytest.raises(AdviceError) as caught:
            ask(runner, 99, 0)
    told = f"replay {log} {place}: expected callee_users = [{10 + right}], got [99]; compare the input"
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("context", "place", "told"),
    [
        ("", {"caller": "main"}, ", main -> :"),
        ("", {"callee": "f", "location": "a.c:1:2"}, ",  -> f (a.c:1:2):"),
        ("sums", {}, ", function sums:"),
        ("sums", {"location": "a.c:1:2"}, ", function sums (a.c:1:2):"),
        ("", {"location": "a.c:1:2"}, " (a.c:1:2):"),
        ("sums", {"register": "%3", "location": "a.c:1:2"}, ", function sums, %3:"),
    ],
)
def test_places_of_all_points(context: str, place: dict[str, str], told: str, tmp_path: Path) -> None:
    rows, path = [row("node_count"), row("inlining_decision")], tmp_path / "log"
    path.write_bytes(header(rows) + line(context=context) + observation(rows, 0, [5, 1], **place))
    with made(path) as runner, pytest.raises(AdviceError) as caught:
        runner.evaluate()
    assert f"at decision 0{told} expected node_count = [5], got [0]; " in str(caught.value)


def test_the_first_element_that_differs_is_told(tmp_path: Path) -> None:
    rows = [row("pair_for_replay", shape=(2, 2)), row("inlining_decision")]
    (tmp_path / "log").write_bytes(header(rows) + observation(rows, 0, [[1, 2, 3, 4], 1]))
    offered = point(TensorSpec("pair_for_replay", "int64", (2, 2)))
    with allocate(make_runner(f"replay:{tmp_path}/log", offered)) as runner:
        runner.tensors["pair_for_replay"][...] = [[1, 2], [7, 8]]
        with pytest.raises(AdviceError, match=r"expected pair_for_replay\[2\] = 3, got 7; "):
            runner.evaluate()


def test_any_tensor_may_be_the_one_that_differs(log: Path) -> None:
    with (
        made(log) as runner,
        pytest.raises(AdviceError, match=r"expected inlining_default = \[0\], got \[1\]"),
    ):
        ask(runner, 10, 1)


def test_exhausted_log(log: Path) -> None:
    with made(log) as runner:
        for users, default in ((10, 0), (11, 0), (12, 1)):
            ask(runner, users, default)
        for _ in range(2):
            with pytest.raises(AdviceError, match="expected at most 3 decisions, as logged, got one more"):
                ask(runner, 13, 0)


def test_unasked_decisions_are_a_warning_once(log: Path) -> None:
    runner = made(log)
    ask(runner, 10, 0)
    with pytest.warns(PasspilotWarning, match="more decisions than the 1 that were asked for"):
        runner.close()
    runner.close()


def test_no_warning_where_it_would_be_noise(log: Path) -> None:
    """Close warns neither after an error nor before the compilation has begun."""
    with made(log) as runner, pytest.raises(AdviceError):
        ask(runner, 99, 0)
    make_runner(f"replay:{log}", POINT).close()


def test_bits_are_compared(tmp_path: Path) -> None:
    """NaN equals itself, and -0.0 differs from 0.0."""
    rows = [row("density_for_replay", "float"), row("inlining_decision")]
    path = tmp_path / "log"
    values = [[float("nan"), 1], [0.0, 1]]
    path.write_bytes(header(rows) + b"".join(observation(rows, n, v) for n, v in enumerate(values)))
    offered = point(TensorSpec("density_for_replay", "float32", (1,)))
    with allocate(make_runner(f"replay:{path}", offered)) as runner:
        runner.tensors["density_for_replay"][...] = float("nan")
        assert runner.evaluate() == 1
        runner.tensors["density_for_replay"][...] = -0.0
        with pytest.raises(AdviceError, match=r"expected density_for_replay = \[0.0\], got \[-0.0\]"):
            runner.evaluate()


def test_tensors_that_are_not_offered_are_left_out(tmp_path: Path) -> None:
    rows = [row("not_offered"), row("node_count"), row("inlining_decision")]
    path = tmp_path / "log"
    path.write_bytes(header(rows) + line(context="") + observation(rows, 0, [5, 0, 1]))
    with allocate(make_runner(f"replay:{path}", POINT)) as runner:
        assert [spec.name for spec in runner.inputs] == ["node_count"]
        assert runner.evaluate() == 1


def test_logs_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(header([row("node_count")]))
    with pytest.raises(LogError, match=r"decision as int64\[1\], got one of another decision point"):
        make_runner(f"replay:{path}", POINT)
    path.write_bytes(header([row("inlining_decision", "float")]))
    with pytest.raises(LogError, match=r"got it as float32\[1\]"):
        make_runner(f"replay:{path}", POINT)
    with pytest.raises(LogError):
        make_runner(f"replay:{tmp_path / 'missing'}", POINT)
    with pytest.raises(RunnerSpecError, match="expected replay:LOG"):
        make_runner("replay", POINT)


def test_logged_advice_outside_the_domain(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(inline_log([(0, 0, 2, {})]))
    with made(path) as runner, pytest.raises(AdviceError, match="got ndarray"):
        ask(runner, 0, 0)


def eviction_log(path: Path, column: int) -> Path:
    """One decision of `main` about %12, in which 2 and 32 are legal and the default is 2."""
    rows = [row("mask", shape=(1, 33)), row("evict_default"), row("index_to_evict")]
    mask = [int(column in (2, 32)) for column in range(33)]
    decision = observation(rows, 0, [mask, 2, column], register="%12")
    path.write_bytes(header(rows) + line(context="main") + decision)
    return path


def ask_evict(log: Path, legal: tuple[int, ...]) -> float:
    with allocate(make_runner(f"replay:{log}", find_point("evict"))) as runner:
        runner.tensors["mask"][0, list(legal)] = 1
        runner.tensors["evict_default"][...] = 2
        answer = runner.evaluate()
        assert isinstance(answer, (int, float))
        return answer


def test_evictions(tmp_path: Path) -> None:
    log = eviction_log(tmp_path / "log", 32)
    assert ask_evict(log, (2, 32)) == 32
    with pytest.raises(AdviceError) as caught:
        ask_evict(log, (2, 7, 32))
    assert "log at decision 0, function main, %12: expected mask[7] = 0, got 1; " in str(caught.value)
    with pytest.raises(AdviceError, match=r"allows \(2, 32\), got ndarray array\(\[3\]\)"):
        ask_evict(eviction_log(tmp_path / "log", 3), (2, 32))


def test_priorities_are_replayed_exactly(tmp_path: Path) -> None:
    rows = [row("li_size"), row("priority", "double")]
    values = [3221225985.0, 0.1, 2.0**32 - 1]
    path = tmp_path / "log"
    path.write_bytes(header(rows) + b"".join(observation(rows, n, [0, v]) for n, v in enumerate(values)))
    with allocate(make_runner(f"replay:{path}", find_point("priority"))) as runner:
        assert [runner.evaluate() for _ in values] == values
    path.write_bytes(header([row("li_size"), row("priority", "float")]))
    with pytest.raises(LogError, match=r"advice priority as float64\[1\], got it as float32\[1\]"):
        make_runner(f"replay:{path}", find_point("priority"))


def test_cut_off_log(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-20])
    with made(log) as runner:
        ask(runner, 10, 0)
        ask(runner, 11, 0)
        with pytest.raises(LogError):
            ask(runner, 12, 1)


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(inline_log((n, 0, 1, {"caller": "main", "callee": "f"}) for n in range(60_000)))
    with made(path) as runner:
        for users in range(10_000):
            ask(runner, users, 0)
        before = resident_kilobytes()
        for users in range(10_000, 60_000):
            ask(runner, users, 0)
        assert resident_kilobytes() - before < 300
