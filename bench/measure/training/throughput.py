# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules per second of one core, compiled with a policy and measured: passpilot's workers and others' ways.

The policy is a small ONNX network at `inline`; every module goes through default<Oz> and code generation, and
the size of its machine code is taken. The ways:

* estimate: how trainers try policies, by the reward `native-estimate`: no code is generated, and the size is
  estimated; CANDIDATES policies on all modules, in children of a warm process;
* trainer: the same by `native-size`;
* fork: a child of a warm process for every module, as in `passpilot tune`;
* reused: one process after the other compiles, without isolation;
* plugin: stock opt with the plugin and the model, then stock llc: two processes for every module, as in the
  training of ml-compiler-opt, whose compiler has its model built in;
* stock: the same without a policy: what two processes cost that decide nothing;
* passpilot: `passpilot opt` and `passpilot llc`: two new processes, with Python where the policy needs it.

Times are processor time of the whole way, children and system included, in turns, and the median of the
rounds. Fails if estimate is not LEAST times as fast as plugin.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

import passpilot
from bench.lib import Bar, command, in_turns, medians, require, show
from bench.lib.corpus import built, checked
from passpilot.features.point import find_point
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.runners.spec import RunnerLike
from passpilot.training.by_reward.trials import TrialModule, Trials, measured
from passpilot.training.data.matrix import Arrangement
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.learning.export import onnx_model
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network
from passpilot.training.machines.local import Machines
from passpilot.training.rewards import code_bytes, find_measure
from passpilot.training.task import Task
from tests.command import PASSPILOT

LEAST: Final = 3.0
CANDIDATES: Final = 4
"""Policies of an iteration; their times count as those of one."""
TRAINERS: Final = ("estimate", "trainer")
PIPELINE: Final = "default<Oz>"
PROGRAM: Final = "lua"


def network() -> bytes:
    """A small network at `inline`, with weights that are always the same."""
    arrangement = Arrangement.of(find_point("inline"), ["*"])
    width = len(arrangement.names)
    statistics_ = FeatureStatistics.of(
        arrangement.names, [np.arange(4 * width, dtype=np.float32).reshape(4, -1)]
    )
    policy = DecisionNetwork(
        arrangement, statistics_, Network.random((width, 32, 1), np.random.default_rng(0)), Scaling()
    )
    return bytes(onnx_model(policy, arrangement, Scaling(), {}).SerializeToString())


def ways_of(paths: list[Path], runner: str, folder: Path) -> dict[str, Callable[[], list[float]]]:
    """What compiles all modules and gives their sizes, by name."""
    modules = [TrialModule(str(path), path.read_bytes(), PIPELINE) for path in paths]
    plugin = llvm_plugin()
    by_plugin = ["opt-22", f"-load-pass-plugin={plugin}", f"-passpilot-inline={runner}"]
    return {
        "estimate": lambda: tried(runner, modules, "native-estimate"),
        "trainer": lambda: tried(runner, modules, "native-size"),
        "fork": lambda: forked(runner, modules),
        "reused": lambda: [reused(runner, module) for module in modules],
        "plugin": lambda: [two(by_plugin, ["llc-22"], path, folder) for path in paths],
        "stock": lambda: [two(["opt-22"], ["llc-22"], path, folder) for path in paths],
        "passpilot": lambda: [
            two([PASSPILOT, "opt", f"--inline={runner}"], [PASSPILOT, "llc"], path, folder) for path in paths
        ],
    }


def forked(runner: str, modules: list[TrialModule]) -> list[float]:
    """The sizes, by a child for every module."""
    calls = [partial(measured, "inline", "native-size", {}, runner, module) for module in modules]
    return checked(Machines(1).run("throughput", calls, 300))


def tried(runner: str, modules: list[TrialModule], reward: str) -> list[float]:
    """The sizes by one of several candidates, as trainers take them."""
    pairs: list[tuple[RunnerLike | None, TrialModule]] = [(runner, module) for module in modules]
    return checked(Trials("inline", reward).measure(pairs * CANDIDATES, lambda: None))[: len(modules)]


def reused(runner: str, module: TrialModule) -> float:
    """The size, in this process."""
    with passpilot.advisor("inline", runner) as advisor:
        advisor.may_idle = True
        value = Task(module.code, PIPELINE, {}, 2, find_measure("native-size"), "").run([advisor])
    assert value is not None, "there is a reward"
    return value


def two(opt: Sequence[str | Path], llc: Sequence[str | Path], path: Path, folder: Path) -> float:
    """The size, by two processes."""
    middle, code = folder / "middle.bc", folder / "code.o"
    subprocess.run([*opt, f"-passes={PIPELINE}", path, "-o", middle], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([*llc, "-filetype=obj", middle, "-o", code], check=True)
    return float(code_bytes(code.read_bytes()))


def spent(run: Callable[[], object]) -> float:
    """The processor time of a call, its children's included."""
    before = used()
    run()
    return used() - before


def used() -> float:
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


@command
def main(rounds: int = 3) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    (program,) = built([PROGRAM])
    paths = sorted({program.unit(source, "Oz") for source in program.sources()})
    with tempfile.TemporaryDirectory() as name:
        model = Path(name, "model.onnx")
        model.write_bytes(network())
        ways = ways_of(paths, f"onnx:{model}", Path(name))
        sizes = {way: run() for way, run in ways.items()}  # once, so that files are in memory
        times = in_turns({way: partial(spent, run) for way, run in ways.items()}, rounds)
    if len({tuple(sizes[way]) for way in ways if way not in ("stock", "estimate")}) > 1:
        sys.exit(f"expected the same sizes, got {sizes}")
    seconds = {way: value / (CANDIDATES if way in TRAINERS else 1) for way, value in medians(times).items()}
    rows = {
        way: {"modules per second": len(paths) / value, "times plugin": seconds["plugin"] / value}
        for way, value in seconds.items()
    }
    show("modules per second of a core", "way", rows)
    require(Bar("estimate, times as fast", rows["estimate"]["times plugin"], LEAST, "plugin", least=True))
