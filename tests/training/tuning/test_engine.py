# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches that are killed and go on, and searches on a Ray cluster."""

from __future__ import annotations

import contextlib
import re
import signal
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from passpilot.plugin.errors import Error
from passpilot.training.machines.local import Machines
from passpilot.training.machines.ray_cluster import RayCluster
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.search import Search
from passpilot.training.tuning.sizes import object_sizes
from passpilot.training.tuning.study import Budget
from passpilot.training.tuning.unit import LLVMS_OWN, Unit, UnitChoice
from tests.command import GENEROUS, PASSPILOT, passpilot, started
from tests.training.tuning.units import modules, searched, units


def test_what_is_kept_is_what_was_compiled(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    cache = CompileCache(str(tmp_path / "kept"))
    first = Engine(whole, Machines(2), cache=cache)
    found = Search(whole, first, object_sizes, Budget(16)).run()
    count = cache.contents.files
    assert 8 < count <= found.compiles  # the same choice may come twice

    second = Engine(whole, Machines(2), deadline=0.0, cache=cache)
    again = Search(whole, second, object_sizes, Budget(16)).run()
    assert [each.code for each in again.best.units] == [each.code for each in found.best.units]
    assert second.saved > 0

    damaged = next(path for path in Path(cache.folder).rglob("*") if path.is_file())
    damaged.write_bytes(damaged.read_bytes()[:40])
    third = Search(whole, Engine(whole, Machines(2), cache=cache), object_sizes, Budget(16))
    assert third.run().best.total == found.best.total


def test_a_killed_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CompileCache(str(tmp_path / "cache"))
    monkeypatch.setenv("PASSPILOT_CACHE", cache.folder)
    paths = modules(tmp_path)
    command: tuple[str | Path, ...] = ("tune", *paths, "--compiles=10", "--jobs=2", "-o", "out.decisions")
    with started(PASSPILOT, *command, cwd=tmp_path) as child:
        end = time.monotonic() + GENEROUS
        while cache.contents.files < 6:
            assert time.monotonic() < end
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait(GENEROUS)
    assert not (tmp_path / "out.decisions").exists()
    done = passpilot(*command, cwd=tmp_path)
    assert done.code == 0
    assert re.search(r"main.bc: \d+ of \d+ compilations were in the cache", done.err)
    fresh = passpilot(*command[:-1], "fresh.decisions", "--no-cache", cwd=tmp_path)
    assert fresh.code == 0
    assert (tmp_path / "out.decisions").read_bytes() == (tmp_path / "fresh.decisions").read_bytes()


def test_ctrl_c_keeps_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CompileCache(str(tmp_path / "cache"))
    monkeypatch.setenv("PASSPILOT_CACHE", cache.folder)
    main, _ = modules(tmp_path)
    with started(PASSPILOT, "tune", main, "--compiles=100000", "-o", "out.decisions", cwd=tmp_path) as child:
        end = time.monotonic() + GENEROUS
        while cache.contents.files < 12:
            assert time.monotonic() < end
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=GENEROUS)
        assert child.returncode == 0, said
        assert b"interrupted; this is the best so far" in said
    assert (tmp_path / "out.decisions").read_text().startswith("passpilot decisions 1\n")


def test_a_ray_cluster_compiles_the_same_and_outlives_a_worker(tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    here = searched(whole, compiles=20)
    with RayCluster(jobs=2) as machines:
        ray = Engine(whole, machines)
        there = Search(whole, ray, object_sizes, Budget(20)).run()
        assert [each.code for each in there.best.units] == [each.code for each in here.best.units]
        failing, good = ray.compile([(0, UnitChoice(tail="no-such-pass")), (1, LLVMS_OWN)])
        assert isinstance(failing, Error)
        assert not isinstance(good, Error)

        killed: list[psutil.Process] = []

        def kill(_index: int, _made: object) -> None:
            """Kill the workers that compile, once there are any."""
            for each in psutil.Process().children(recursive=True) if not killed else ():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if each.name().startswith("ray::isolated"):
                        each.kill()
                        killed.append(each)

        shared = [machines.share(unit) for unit in whole]
        calls = [partial(Unit.compile, shared[number % 2], LLVMS_OWN) for number in range(40)]
        made = machines.run("tune", calls, GENEROUS, kill)
        assert killed
        assert not any(isinstance(each, Error) for each in made)
