# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules per second of one core, compiled with a policy and measured: passpilot's workers and others' ways.

usage: python -m bench.measure.training.throughput [ROUNDS]      (3)

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

Times are processor time of the whole way, children and system included, in turns, and the median of ROUNDS.
Prints a table, and writes bench/results/throughput.json. Fails if estimate is not LEAST times as fast as
plugin.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.lib.records import ROOT
from passpilot.features.point import find_point
from passpilot.passes.advisor import make_advisor
from passpilot.plugin.errors import Error
from passpilot.training.by_reward.trials import TrialModule, Trials, measured
from passpilot.training.data.matrix import Arrangement
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.learning.graph import onnx_model
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network
from passpilot.training.machines.local import ThisMachine
from passpilot.training.rewards import code_bytes, find_measure
from passpilot.training.task import Task
from tests.corpus.build import build
from tests.corpus.programs import programs

if TYPE_CHECKING:
    from passpilot.runners.spec import RunnerLike

LEAST: Final = 3.0
CANDIDATES: Final = 4
"""Policies of an iteration; their times count as those of one."""
RESULTS: Final = ROOT / "bench/results/throughput.json"
PASSPILOT: Final = str(Path(sys.executable).with_name("passpilot"))
PIPELINE: Final = "default<Oz>"
PROGRAM: Final = "lua"


def main() -> None:
    """Measure, print, write."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    if problems := build([PROGRAM]):
        sys.exit(f"bench_throughput: {problems[0]}")
    program = programs()[PROGRAM]
    paths = sorted({program.unit(source, "Oz") for source in program.sources()})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.onnx"
        model.write_bytes(network())
        ways = ways_of(paths, f"onnx:{model}", folder)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        sizes = {way: run() for way, run in ways.items()}  # once, so that files are in memory
        for _ in range(rounds):
            for way, run in ways.items():
                seconds[way].append(spent(run) / (CANDIDATES if way in ("estimate", "trainer") else 1))
    advised = {way: sizes[way] for way in ways if way not in ("stock", "estimate")}
    if len(set(map(tuple, advised.values()))) > 1:
        sys.exit(f"bench_throughput: expected the same sizes, got {advised}")
    report({way: statistics.median(each) for way, each in seconds.items()}, len(paths))


def report(medians: dict[str, float], count: int) -> None:
    """Print and write the figures; exits below the limit."""
    ratios = {way: medians["plugin"] / seconds for way, seconds in medians.items()}
    for way, seconds in medians.items():
        print(f"{way:10} {count / seconds:6.2f} modules per second of a core, {ratios[way]:.2f} times plugin")
    RESULTS.write_text(
        json.dumps({"modules": count, "seconds": medians, "times_plugin": ratios}, indent=1) + "\n"
    )
    if ratios["estimate"] < LEAST:
        sys.exit(f"bench_throughput: expected at least {LEAST} times plugin, got {ratios['estimate']:.2f}")


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
    plugin = subprocess.check_output([PASSPILOT, "plugin-path"], text=True).strip()
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
    return checked(ThisMachine(1).run("bench_throughput", calls, 300))


def tried(runner: str, modules: list[TrialModule], reward: str) -> list[float]:
    """The sizes by one of several candidates, as trainers take them."""
    pairs: list[tuple[RunnerLike | None, TrialModule]] = [(runner, module) for module in modules]
    return checked(Trials("inline", reward).measure(pairs * CANDIDATES, lambda: None))[: len(modules)]


def checked(made: list[float | Error]) -> list[float]:
    """The sizes; exits at an error."""
    for each in made:
        if isinstance(each, Error):
            sys.exit(f"bench_throughput: {each}")
    return [float(each) for each in made if not isinstance(each, Error)]


def reused(runner: str, module: TrialModule) -> float:
    """The size, in this process."""
    with make_advisor("inline", runner) as advisor:
        advisor.may_idle = True
        value = Task(module.code, PIPELINE, {}, 2, find_measure("native-size"), "").run([advisor])
    assert value is not None, "there is a reward"
    return value


def two(opt: list[str], llc: list[str], path: Path, folder: Path) -> float:
    """The size, by two processes."""
    middle, made = folder / "middle.bc", folder / "made.o"
    subprocess.run([*opt, f"-passes={PIPELINE}", path, "-o", middle], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([*llc, "-filetype=obj", middle, "-o", made], check=True)
    return float(code_bytes(made.read_bytes()))


def spent(run: Callable[[], object]) -> float:
    """The processor time of a call, its children's included."""
    before = used()
    run()
    return used() - before


def used() -> float:
    """The processor time of this process and its children so far."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main()
