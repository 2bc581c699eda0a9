# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of every kind cost only their own work: everything else comes out as without them.

`make soak-tests` has every kind 50 times; `make test` has the quick ones a few times.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from passpilot.plugin.errors import Error, PasspilotWarning, PeerError
from passpilot.training.data.collection import loose_modules
from passpilot.training.data.gather import Taught, Teaching, gather
from passpilot.training.environments.compiler_env import CompilerEnv
from passpilot.training.machines.local import Machines
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, UnitChoice
from tests.command import GENEROUS, PASSPILOT, passpilot, run, started
from tests.training.serving import INLINE, compiling, play, served
from tests.training.tuning.units import modules, units

OFTEN: Final = pytest.param(50, marks=pytest.mark.soak)
TIMES: Final = [2, OFTEN]
SHORT: Final = 2.0
"""The deadline of what hangs."""


def _signalled(number: signal.Signals) -> Callable[[object], bool]:
    def decide(obs: object) -> bool:  # noqa: ARG001
        os.kill(os.getpid(), number)
        return False

    return decide


def _raises(error: BaseException) -> Callable[[object], bool]:
    def decide(obs: object) -> bool:  # noqa: ARG001
        raise error

    return decide


def _hangs(obs: object) -> bool:  # noqa: ARG001
    time.sleep(1000)
    return False


FAULTS: Final[dict[str, UnitChoice]] = {
    "killed": UnitChoice(policy=_signalled(signal.SIGKILL)),
    "crash of LLVM": UnitChoice(policy=_signalled(signal.SIGSEGV)),
    "abort of LLVM": UnitChoice(policy=_signalled(signal.SIGABRT)),
    "wrong policy": UnitChoice(policy=_raises(ValueError("no answer"))),
    "no memory": UnitChoice(policy=_raises(MemoryError())),
    "wrong pipeline": UnitChoice(tail="no-such-pass"),
}


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_compilation_that_fails_costs_itself(fault: str, times: int, tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    engine = Engine(whole, Machines(2), GENEROUS)
    expected = codes(engine.compile([(0, LLVMS_OWN), (1, LLVMS_OWN)]))
    work = [(0, LLVMS_OWN), (0, FAULTS[fault]), (1, LLVMS_OWN)] * times
    made = engine.compile(work)
    assert all(isinstance(each, Error) for each in made[1::3])
    assert codes(made[0::3]) == [expected[0]] * times
    assert codes(made[2::3]) == [expected[1]] * times


@pytest.mark.parametrize("times", TIMES)
def test_a_compilation_that_hangs_costs_itself(times: int, tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    expected = codes(Engine(whole, Machines(2), GENEROUS).compile([(0, LLVMS_OWN)]))
    made = Engine(whole, Machines(10), SHORT).compile([(0, UnitChoice(policy=_hangs))] * times)
    assert all(isinstance(each, Error) and f"within {SHORT:g} s" in str(each) for each in made)
    assert codes(Engine(whole, Machines(2), GENEROUS).compile([(0, LLVMS_OWN)])) == expected


def codes(made: list[Compiled | Error]) -> list[bytes]:
    assert not any(isinstance(each, Error) for each in made)
    return [each.code for each in made if not isinstance(each, Error)]


@pytest.mark.parametrize("times", TIMES)
def test_a_bad_module_costs_itself(times: int, program: Path, tmp_path: Path) -> None:
    broken = []
    for number in range(times):
        broken.append(tmp_path / "bad" / f"{number}.bc")
        broken[-1].parent.mkdir(exist_ok=True)
        broken[-1].write_bytes(program.read_bytes()[: 40 + 97 * number])
    teaching = Teaching(machines=Machines(2))
    (alone,) = gather(loose_modules([str(program)], ""), teaching)
    assert isinstance(alone, Taught)
    made = list(gather(loose_modules([str(program), *map(str, broken)], ""), teaching))
    assert sum(isinstance(each, Error) for each in made) == times
    (good,) = (each for each in made if isinstance(each, Taught))
    for name, values in alone.rows.tensors.items():
        assert np.array_equal(values, good.rows.tensors[name]), name


@pytest.mark.parametrize("times", TIMES)
def test_a_full_disk_costs_what_was_to_be_kept(times: int, tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    expected = codes(Engine(whole, Machines(2)).compile([(0, LLVMS_OWN)]))
    kept = tmp_path / "kept"
    for _ in range(times):
        kept.symlink_to("/dev/full")  # nothing can be written below it
        cache = CompileCache(str(kept))
        with pytest.warns(PasspilotWarning, match="kept: expected a folder for the cache"):
            made = Engine(whole, Machines(2), cache=cache).compile([(0, LLVMS_OWN)])
        assert codes(made) == expected
        kept.unlink()


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(
    "fault", [signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP], ids=lambda each: each.name
)
def test_a_compiler_that_dies_or_hangs_costs_its_episode(
    fault: signal.Signals, times: int, program: Path
) -> None:
    timeout = SHORT if fault == signal.SIGSTOP else GENEROUS
    env = CompilerEnv("inline", [str(program)], pipeline="default<Oz>", timeout=timeout)
    expected = episode(env)
    for _ in range(times):
        env.reset(seed=1)
        env.step(0)
        for child in compiling():
            child.send_signal(fault)
        _, reward, terminated, truncated, info = env.step(0)
        assert (reward, terminated, truncated) == (0, False, True)
        assert "error" in info
        assert episode(env) == expected
    env.close()


def episode(env: CompilerEnv) -> tuple[list[float], object]:
    """The rewards of an episode in which every second call is inlined, and the bytes of code."""
    env.reset(seed=1)
    rewards, over, info = list[float](), False, dict[str, object]()
    while not over:
        _, reward, terminated, truncated, info = env.step(len(rewards) % 2)
        rewards.append(float(reward))
        over = terminated or truncated
    return rewards, info["value"]


@pytest.mark.parametrize("times", [1, OFTEN])
def test_a_service_that_dies_costs_its_episodes(times: int, program: Path, tmp_path: Path) -> None:
    module = program.read_bytes()
    with served(tmp_path) as service, service.client() as client:
        expected = play(client, 3, module, **INLINE)
    for _ in range(times):
        with served(tmp_path) as service, service.client() as client:
            client.reset(module, **INLINE)
            service.process.kill()
            with pytest.raises(PeerError):
                client.step(0)
    with served(tmp_path) as service, service.client() as client:
        assert play(client, 3, module, **INLINE) == expected


SETTINGS: Final = """\
modules = ["in.bc"]
iterations = {iterations}
population = 4
sigma = 1.0
learning_rate = 0.5
"""


@pytest.mark.parametrize("times", [1, OFTEN])
@pytest.mark.parametrize("fault", ["killed", "full disk"])
def test_evolution_loses_at_most_an_iteration(fault: str, times: int, program: Path, tmp_path: Path) -> None:
    (tmp_path / "in.bc").write_bytes(program.read_bytes())
    (tmp_path / "e.toml").write_text(SETTINGS.format(iterations=2 * times + 2))
    command = ("train", "evolve", "e.toml", "--jobs=2", "--resume", "-o")
    assert passpilot(*command, "whole", cwd=tmp_path, timeout=3600).code == 0
    for _ in range(times):
        before = iterations(tmp_path / "parts")
        with started(PASSPILOT, *command, "parts", cwd=tmp_path) as child:
            end = time.monotonic() + GENEROUS
            while iterations(tmp_path / "parts") == before and child.poll() is None:
                assert time.monotonic() < end
                time.sleep(0.01)
            child.kill()
        seen = len((tmp_path / "parts" / "curve.csv").read_text().splitlines()) - 1
        assert before < iterations(tmp_path / "parts") <= seen <= iterations(tmp_path / "parts") + 1
        if fault == "full disk":
            kept = (tmp_path / "parts" / "checkpoint.npz").read_bytes()
            full = run("prlimit", "--fsize=100", PASSPILOT, *command, "parts", cwd=tmp_path)
            assert full.code == 1
            assert (tmp_path / "parts" / "checkpoint.npz").read_bytes() == kept
    done = passpilot(*command, "parts", cwd=tmp_path, timeout=3600)
    assert done.code == 0, done.err
    for name in ("model.onnx", "network.json", "curve.csv"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def iterations(folder: Path) -> int:
    """How many iterations a checkpoint has; 0 without one."""
    path = folder / "checkpoint.npz"
    if not path.exists():
        return 0
    with np.load(path) as arrays:
        return int(arrays["strategy_step"])
