# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stock tools with our plugin: their own bytes by default, and those of our tools with advice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

import passpilot
from passpilot.features.log.reader import read_log
from tests import stock
from tests.corpus.programs import programs
from tests.plugin.native.stock.tools import made, tool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL: Final = ("libsvm", "picosat")

ECHO: Final = {f"PASSPILOT_{point}": "default" for point in ("INLINE", "EVICT", "PRIORITY")}

POLICY: Final = """\
def echo(obs):
    return obs.default()

def draw(obs):
    return hash((obs.context, obs["callee_users"].item())) % 3 == 0
"""


def cases() -> Iterator[object]:
    """Every program; the large ones in a soak."""
    for name in programs():
        yield pytest.param(name, marks=() if name in SMALL else pytest.mark.soak)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", list(cases()))
@pytest.mark.filterwarnings("ignore:.*over 1.5 times its size")
def test_opt_decides_as_ours(name: str, tmp_path: Path) -> None:
    source = programs()[name].whole("O2")
    module = passpilot.Module.read(source)
    hosted = tmp_path / "hosted.log"
    with passpilot.InlineAdvisor("random:5", log=str(hosted), size_budget=1.5) as advisor:
        passpilot.optimize(module, "default<O2>", [advisor])
    loaded = tmp_path / "loaded.log"
    flags = ("-passpilot-inline=random:5", "-passpilot-size-budget=1.5", f"-passpilot-log={loaded}")
    out = tmp_path / "out.bc"
    done = tool("opt", *flags, "-passes=default<O2>", source, "-o", out, cwd=tmp_path)
    assert done.code == 0, done.err
    assert out.read_bytes() == module.bitcode()
    assert loaded.read_bytes() == hosted.read_bytes()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", list(cases()))
def test_llc_decides_as_ours(name: str, tmp_path: Path) -> None:
    source = tmp_path / "in.bc"
    stock.run("opt", "-O1", programs()[name].whole("O2"), "-o", source)
    module = passpilot.Module.read(source, for_codegen=True)
    logs = [tmp_path / f"hosted.{point}" for point in ("evict", "priority")]
    evict = passpilot.EvictAdvisor("random:2", log=str(logs[0]))
    priority = passpilot.PriorityAdvisor("default", log=str(logs[1]))
    hosted = passpilot.emit(module, advisors=[evict, priority])
    flags = ("-passpilot-evict=random:2", "-passpilot-priority=default", "-passpilot-log=evict=loaded.evict")
    more = ("-passpilot-log=priority=loaded.priority", "-filetype=obj", source)
    same = made("llc", tmp_path / "out.o", *flags, *more) == hosted
    assert same
    for log in logs:
        assert log.with_stem("loaded").read_bytes() == log.read_bytes()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", list(cases()))
def test_clang_makes_its_own_objects(name: str, tmp_path: Path) -> None:
    """With the plugin alone, with a default that nobody asks, and with one that is asked."""
    source = programs()[name].whole("O2")
    plain = ("-O2", "-c", "-x", "ir", source)
    out, logs = tmp_path / "out.o", tmp_path / "logs"
    logs.mkdir()
    stock.run("clang", *plain, "-o", out)
    expected = out.read_bytes()
    for variables in ({}, ECHO, {**ECHO, "PASSPILOT_LOG": str(logs)}):
        same = made("clang", out, *plain, env=variables) == expected
        assert same, variables
    assert sorted(log.name.rpartition("-")[2] for log in logs.iterdir()) == [
        "evict.log",
        "inline.log",
        "priority.log",
    ]


def test_clang_decides_as_opt(tmp_path: Path) -> None:
    """A policy in Python sees in clang what it sees in opt: both run the same passes."""
    source = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")
    (tmp_path / "policy.py").write_text(POLICY)
    flags = {"clang": ("-O2", "-x", "ir", "-c", "-emit-llvm"), "opt": ("-passes=default<O2>",)}
    logs = {name: tmp_path / f"{name}.log" for name in flags}
    for name, log in logs.items():
        runner = f"python:{tmp_path / 'policy.py'}:draw"
        variables = {"PASSPILOT_INLINE": runner, "PASSPILOT_LOG": str(log), "PYTHONHASHSEED": "0"}
        once = made(name, tmp_path / "once.bc", *flags[name], source, env=variables)
        again = {"PASSPILOT_INLINE": f"replay:{log}"}
        assert made(name, tmp_path / "again.bc", *flags[name], source, env=again) == once
        assert made(name, tmp_path / "stock.bc", *flags[name], source) != once
    # Clang gives its passes other options for loops than opt does.
    clang, opt = (
        [(o.caller, o.callee, dict(o.tensors) if o.callee != "loop" else {}) for o in read_log(str(log))]
        for log in logs.values()
    )
    assert len(clang) == len(opt) > 1
    np.testing.assert_equal(clang, opt)
