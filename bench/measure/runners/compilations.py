# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part of runners: the times of whole compilations, by runner, as ratios to the stock tools."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from bench.lib import models as runner_models
from bench.lib import peers as runner_peers
from passpilot import EvictAdvisor, Module, emit
from passpilot.features.point import find_point
from tests.corpus.programs import all_programs
from tests.passes.allocation.allocated import optimized

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS: Final = 5
PROGRAM: Final = "lz4"
FEATURES: Final = Path(__file__).with_name("graph_features.py")


@dataclass
class Command:
    """A command line without its `-o`, and the times of its runs."""

    line: list[str]
    seconds: list[float] = field(default_factory=list)

    def run(self, output: Path) -> bytes:
        """Run the command once; the file that it wrote."""
        start = time.perf_counter()
        subprocess.run([*self.line, "-o", str(output)], check=True)
        self.seconds.append(time.perf_counter() - start)
        return output.read_bytes()


def _passpilot(*arguments: str) -> list[str]:
    return [sys.executable, "-c", runner_peers.COMMAND, *arguments]


@contextlib.contextmanager
def _runners(folder: Path, model: Path, options: str, *flags: str) -> Iterator[dict[str, str]]:
    """The specs of all runners for one model, by name; the servers use onnxruntime."""
    native = runner_models.ahead_of_time(model)
    onnx = f"onnx:{model}?{options}"
    base = folder / f"pipe-{model.stem}"
    with runner_peers.piped(onnx, base, *flags), runner_peers.streamed(onnx, *flags) as (address, _):
        yield {
            "ahead of time": f"aot:{native}?{options}",
            "ONNX in process": onnx,
            "pipe": f"pipe:{base}",
            "gRPC": f"grpc:{address}",
        }


def _measure(
    commands: dict[str, Command], folder: Path, *, same: bool, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """The seconds of the commands, in turns; with `same`, all must write the same bytes."""
    for _ in range(rounds):
        outputs = {name: command.run(folder / "out") for name, command in commands.items()}
        if same:
            first, *others = outputs.values()
            assert all(other == first for other in others), "the outputs differ"
    return {name: command.seconds for name, command in commands.items()}


def _report(title: str, times: dict[str, list[float]], base: str) -> dict[str, dict[str, float]]:
    table = Table(title=f"{title}, least of {len(times[base])}")
    for column in ("who", "seconds", f"to {base}"):
        table.add_column(column, justify="left" if column == "who" else "right")
    rows = {}
    for name, seconds in times.items():
        rows[name] = {"seconds": min(seconds), "ratio": min(seconds) / min(times[base])}
        table.add_row(name, f"{rows[name]['seconds']:.2f}", f"{rows[name]['ratio']:.2f}")
    Console(width=100).print(table)
    return rows


def _compiled(title: str, stock: list[str], ours: list[str], point: str) -> dict[str, dict[str, float]]:
    """Measure one tool with every runner."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / f"{point}.onnx"
        options = runner_models.follower(model, find_point(point))
        with _runners(folder, model, options, f"--point={point}") as specs:
            advised = {who: Command(_passpilot(*ours, f"--{point}={spec}")) for who, spec in specs.items()}
            commands = {
                "stock": Command(stock),
                "passpilot, nobody asked": Command(_passpilot(*ours)),
                **advised,
            }
            if point == "inline":
                attached = ["attach", f"--inline={specs['ONNX in process']}", "--", *stock]
                commands["MLGO's interactive mode, ONNX"] = Command(_passpilot(*attached))
            return _report(title, _measure(commands, folder, same=True), "stock")


def compilations() -> dict[str, dict[str, dict[str, float]]]:
    """`opt -Oz` and `llc -O2` of one program."""
    opt = [str(all_programs()[PROGRAM].whole("Oz")), "-passes=default<Oz>"]
    llc = ["-O2", "-filetype=obj", "-x", "ir", str(optimized(PROGRAM))]
    return {
        "opt": _compiled(f"opt -Oz of {PROGRAM}", ["opt-22", *opt], ["opt", *opt], "inline"),
        "llc": _compiled(f"llc -O2 of {PROGRAM}", ["llc-22", *llc], ["llc", *llc], "evict"),
    }


def scores() -> dict[str, float]:
    """Microseconds per eviction with a scorer of columns, asked about all legal ones or one by one."""
    program = optimized(PROGRAM)
    times: dict[str, list[float]] = {"at once": [], "one by one": []}
    objects = set()
    with tempfile.TemporaryDirectory() as name:
        for _ in range(ROUNDS):
            for who, batch in (("at once", "n"), ("one by one", 1)):
                model = Path(name) / f"{batch}.onnx"
                options = runner_models.scorer(model, batch)
                with EvictAdvisor(f"onnx:{model}?{options}") as advisor:
                    objects.add(emit(Module.read(program), "obj", advisors=[advisor]))
                    times[who].append(advisor.stats.microseconds_per_decision)
    assert len(objects) == 1, "the objects differ"
    least = {who: min(rounds) for who, rounds in times.items()}
    ratio = least["one by one"] / least["at once"]
    Console().print(f"a scorer of columns, µs per eviction of {PROGRAM}: {least}, ratio {ratio:.1f}")
    return {**least, "ratio": ratio}


def _graph_command() -> list[str]:
    """`llc -O2` with the features of python -m bench.measure.runners.graph_features."""
    return ["llc", "-O2", "-filetype=obj", "-x", "ir", str(optimized(PROGRAM)), "--load", str(FEATURES)]


def graph_over_grpc(rounds: int = 3) -> dict[str, float]:
    """Seconds of `llc -O2` with a policy that sees the interference graph: in process, and over gRPC.

    `exchange` is in process, with a bare exchange over TCP at every decision.
    """
    llc = _graph_command()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "graph.onnx"
        runner_models.graph_policy(model)
        flags = ("--point=evict", "--load", str(FEATURES))
        with runner_peers.streamed(f"onnx:{model}", *flags) as (server, _), runner_peers.exchanging() as port:
            inside = _passpilot(*llc, f"--evict=onnx:{model}")
            commands = {
                "in process": Command(inside),
                "exchange": Command(["env", f"EXCHANGE_PORT={port}", *inside]),
                "grpc:": Command(_passpilot(*llc, f"--evict=grpc:{server}")),
            }
            times = _measure(commands, folder, same=True, rounds=rounds)
    rows = _report(f"llc -O2 of {PROGRAM}, a policy of the interference graph", times, "in process")
    return {who: row["seconds"] for who, row in rows.items()}


def graph() -> dict[str, dict[str, float]]:
    """`llc -O2` with a policy that sees the interference graph."""
    llc = _graph_command()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        model = folder / "graph.onnx"
        names = runner_models.graph_policy(model)
        flags = ("--point=evict", "--load", str(FEATURES))
        ours, _ = stack.enter_context(runner_peers.streamed(f"onnx:{model}", *flags))
        theirs = stack.enter_context(runner_peers.bridged(model, FEATURES))
        bridge = f"grpc:{theirs}?protocol=mlbridge&features=mask,{','.join(names)}"
        commands = {
            "nobody asked": Command(_passpilot(*llc)),
            "ONNX in process": Command(_passpilot(*llc, f"--evict=onnx:{model}")),
            "gRPC, passpilot serve": Command(_passpilot(*llc, f"--evict=grpc:{ours}")),
            "gRPC, ML-Compiler-Bridge": Command(_passpilot(*llc, f"--evict={bridge}")),
        }
        times = _measure(commands, folder, same=False, rounds=1)  # minutes
        advised = {who: times[who] for who in commands if who != "nobody asked"}
    _report(f"llc -O2 of {PROGRAM}, a policy of the interference graph", times, "nobody asked")
    return _report("the same", advised, "ONNX in process")
