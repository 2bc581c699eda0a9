# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decision log of evictions, and its replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot.cli.log import main
from passpilot.features.custom import feature, unregister
from passpilot.features.llvm.evict import FEATURES
from passpilot.features.log.reader import read_log
from passpilot.passes.llvm_advisors import EvictAdvisor, PriorityAdvisor
from passpilot.plugin import _core
from passpilot.plugin.errors import AdviceError, LogError, PasspilotWarning
from passpilot.runners.python import Observation
from tests.features.log import minimal_reader
from tests.passes.allocation.allocated import optimized
from tests.passes.allocation.pressure import allocated


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "evict.log"


@pytest.fixture
def custom() -> Iterator[None]:
    @feature("float64[2]", point="evict")
    def weight_and_depth(site: _core.EvictionSite) -> list[float]:
        return [site.candidate.weight, site.candidate.loop_depth]

    yield
    unregister("weight_and_depth", point="evict")


@pytest.mark.usefixtures("custom")
def test_what_a_log_holds(pressed: Path, log: Path) -> None:
    seen: list[tuple[object, ...]] = []

    def decide(obs: Observation) -> object:
        site = obs.site
        assert isinstance(site, _core.EvictionSite)
        values = {name: obs[name].tobytes() for name in obs}
        values["weight_and_depth"] = obs["weight_and_depth"].tobytes()
        values["evict_default"] = obs["evict_default"].tobytes()
        answer = obs["mask"].argmax()
        values["index_to_evict"] = answer.tobytes()
        names = tuple(column.register for column in site.columns)
        seen.append((obs.context, site.candidate.register, names, site.ordinal, values))
        return answer

    allocated(pressed, EvictAdvisor(decide, log=str(log)))
    reader = read_log(log)
    names = [row.spec.name for row in FEATURES]
    assert [spec.name for spec in reader.features] == [
        *names,
        "weight_and_depth",
        "evict_default",
        "index_to_evict",
    ]
    assert [
        (
            each.context,
            each.register,
            each.registers,
            each.index,
            {name: t.tobytes() for name, t in each.tensors.items()},
        )
        for each in reader
    ] == seen
    assert {context for context, *_ in seen} == {"sums", "blend"}


@pytest.mark.usefixtures("custom")
def test_readers_of_llvm_understand_it(pressed: Path, log: Path) -> None:
    allocated(pressed, EvictAdvisor("random:1", log=str(log)))
    arrays = read_log(log).to_arrays(["mask", "index_to_evict"])
    records = minimal_reader.read(log)
    assert [context for context, *_ in records] == [each.context for each in read_log(log)]
    for name, array in arrays.items():
        assert [values[name] for _, _, values, _ in records] == array.reshape(len(array), -1).tolist()


def test_a_log_for_people(pressed: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    allocated(pressed, EvictAdvisor("default", log=str(log)))
    assert main(["show", str(log)]) == 0
    head, context, *decisions, summary = capsys.readouterr().out.splitlines()
    assert head == "decision default  advice   register"
    assert context == "context sums:"
    assert decisions[0].split()[0] == "0"
    assert decisions[0].split()[1] == decisions[0].split()[2]
    assert decisions[0].split()[3].startswith("%")
    count = len(list(read_log(log)))
    assert summary.startswith(f"{count} decisions, ")
    assert summary.endswith(f" evicted, {count} as LLVM's default (100.0 %)")


@pytest.mark.usefixtures("custom")
def test_a_replay_gives_the_same_bytes(pressed: Path, pressed_by_llc: bytes, log: Path) -> None:
    first = allocated(pressed, EvictAdvisor("random:11", log=str(log)))
    again = log.with_name("again.log")
    with EvictAdvisor(f"replay:{log}", log=str(again)) as advisor:
        assert allocated(pressed, advisor) == first != pressed_by_llc
        assert advisor.stats.decisions == len(list(read_log(log)))
    assert again.read_bytes() == log.read_bytes()


@pytest.mark.usefixtures("custom")
def test_a_replay_of_a_real_program(tmp_path: Path) -> None:
    """Of both decisions at once, through the same replayed masks, priorities and custom features."""
    source = optimized("libsvm")
    logs = [tmp_path / "evict.log", tmp_path / "priority.log"]
    first = allocated(
        source,
        EvictAdvisor("random:3", log=str(logs[0])),
        PriorityAdvisor("random:4", log=str(logs[1])),
    )
    again = [log.with_suffix(".again") for log in logs]
    with (
        EvictAdvisor(f"replay:{logs[0]}", log=str(again[0])) as evict,
        PriorityAdvisor(f"replay:{logs[1]}", log=str(again[1])) as priority,
    ):
        assert allocated(source, evict, priority) == first
    assert [log.read_bytes() for log in again] == [log.read_bytes() for log in logs]
    assert evict.stats.decisions > 1000 < priority.stats.decisions


def test_a_replay_keeps_the_limit_of_its_log(pressed: Path, log: Path) -> None:
    """The mask is part of the question, and the limit part of the mask."""
    first = allocated(pressed, EvictAdvisor("random:2", log=str(log), eviction_limit=1))
    with EvictAdvisor(f"replay:{log}", eviction_limit=1) as advisor:
        assert allocated(pressed, advisor) == first
    with (
        EvictAdvisor(f"replay:{log}") as advisor,
        pytest.raises(
            AdviceError,
            match=r"function \w+, %\d+: expected mask\[\d+\] = 0, got 1; compare the input, the pipeline",
        ),
    ):
        allocated(pressed, advisor)


def test_a_log_replays_only_its_own_compilation(pressed: Path, log: Path) -> None:
    allocated(pressed, EvictAdvisor("random:2", log=str(log)))
    data = log.read_bytes()
    log.write_bytes(data[: data.rindex(b'{"context"')])
    with (
        EvictAdvisor(f"replay:{log}") as advisor,
        pytest.raises(
            AdviceError, match=r"evict advisor at decision \d+ \(function blend, %\d+\): replay .* "
        ),
    ):
        allocated(pressed, advisor)


def test_a_log_that_is_not_used_up_is_a_warning(pressed: Path, log: Path) -> None:
    allocated(pressed, EvictAdvisor("default", log=str(log)))
    text = log.read_bytes()
    last = text[text.rindex(b'{"observation"') :]
    log.write_bytes(text + last)
    advisor = EvictAdvisor(f"replay:{log}")
    allocated(pressed, advisor)
    with pytest.warns(PasspilotWarning, match="the log has more decisions than the"):
        advisor.close()


def test_a_log_is_of_one_compilation(pressed: Path, log: Path) -> None:
    advisor = EvictAdvisor("random:2", log=str(log))
    allocated(pressed, advisor)
    before = log.read_bytes()
    with pytest.raises(LogError, match=r"evict\.log: an earlier compilation has written it"):
        allocated(pressed, advisor)
    assert log.read_bytes() == before


def test_a_failed_compilation_leaves_no_log(pressed: Path, log: Path) -> None:
    with pytest.raises(AdviceError):
        allocated(pressed, EvictAdvisor("const:32", log=str(log)))
    assert list(log.parent.iterdir()) == []


def test_a_log_of_the_inliner_is_refused(log: Path) -> None:
    from tests.features.log.log_writer import inline_log

    log.write_bytes(inline_log([]))
    with pytest.raises(LogError, match=r"index_to_evict as int64\[1\], got one of another decision point"):
        EvictAdvisor(f"replay:{log}")
