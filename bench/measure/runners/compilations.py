# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The times of whole compilations, by runner, as ratios to the stock tools."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import in_turns, least, models, peers, seconds, show
from bench.lib.corpus import built
from passpilot import EvictAdvisor, Module, emit
from passpilot.features.point import find_point
from tests.command import PASSPILOT
from tests.passes.allocation.allocated import optimized

ROUNDS: Final = 5
PROGRAM: Final = "lz4"
FEATURES: Final = Path(__file__).with_name("graph_features.py")


@contextlib.contextmanager
def _runners(folder: Path, model: Path, options: str, *flags: str) -> Iterator[dict[str, str]]:
    """The specs of all runners for one model, by name; the servers use onnxruntime."""
    onnx, base = f"onnx:{model}?{options}", folder / f"pipe-{model.stem}"
    with peers.piped(onnx, base, *flags), peers.streamed(onnx, *flags) as (address, _):
        yield {
            "ahead of time": f"aot:{models.ahead_of_time(model)}?{options}",
            "ONNX in process": onnx,
            "pipe": f"pipe:{base}",
            "gRPC": f"grpc:{address}",
        }


def _times(
    title: str, commands: Mapping[str, Sequence[str]], *, same: bool = True, rounds: int = ROUNDS
) -> dict[str, float]:
    """The least seconds of commands without their `-o`; with `same`, all must write the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = {name: Path(folder, str(number)) for number, name in enumerate(commands)}
        runs = {
            name: partial(seconds, partial(subprocess.run, [*line, "-o", str(outputs[name])], check=True))
            for name, line in commands.items()
        }
        fastest = least(in_turns(runs, rounds))
        assert not same or len({path.read_bytes() for path in outputs.values()}) == 1, "the outputs differ"
    base = next(iter(fastest.values()))
    rows = {name: {"seconds": value, "ratio": value / base} for name, value in fastest.items()}
    show(f"{title}, least of {rounds}", "who", rows)
    return fastest


def _compile(title: str, stock: list[str], ours: list[str], point: str) -> None:
    """Measure one tool with every runner."""
    command = [str(PASSPILOT), *ours]
    with tempfile.TemporaryDirectory() as name:
        model = Path(name, f"{point}.onnx")
        options = models.follower(model, find_point(point))
        with _runners(Path(name), model, options, f"--point={point}") as specs:
            commands = {"stock": stock, "passpilot, nobody asked": command}
            commands |= {who: [*command, f"--{point}={spec}"] for who, spec in specs.items()}
            if point == "inline":
                attached = [f"--inline={specs['ONNX in process']}", "--", *stock]
                commands["MLGO's interactive mode, ONNX"] = [str(PASSPILOT), "attach", *attached]
            _times(title, commands)


def compilations() -> None:
    """`opt -Oz` and `llc -O2` of one program."""
    opt = [str(built([PROGRAM])[0].whole("Oz")), "-passes=default<Oz>"]
    llc = ["-O2", "-filetype=obj", "-x", "ir", str(optimized(PROGRAM))]
    _compile(f"opt -Oz of {PROGRAM}", ["opt-22", *opt], ["opt", *opt], "inline")
    _compile(f"llc -O2 of {PROGRAM}", ["llc-22", *llc], ["llc", *llc], "evict")


def scores() -> None:
    """Microseconds per eviction with a scorer of columns, asked about all legal ones or one by one."""
    program, objects = optimized(PROGRAM), set()

    def microseconds(model: Path, batch: int | str) -> float:
        options = models.scorer(model, batch)
        with EvictAdvisor(f"onnx:{model}?{options}") as advisor:
            objects.add(emit(Module.read(program), "obj", advisors=[advisor]))
            return advisor.stats.microseconds_per_decision

    with tempfile.TemporaryDirectory() as name:
        batches: dict[str, int | str] = {"at once": "n", "one by one": 1}
        runs = {
            who: partial(microseconds, Path(name, f"{batch}.onnx"), batch) for who, batch in batches.items()
        }
        fastest = least(in_turns(runs, ROUNDS))
    assert len(objects) == 1, "the objects differ"
    rows = {who: {"µs": value, "ratio": value / fastest["at once"]} for who, value in fastest.items()}
    show(f"a scorer of columns, per eviction of {PROGRAM}", "asked", rows)


@contextlib.contextmanager
def _graph_policy() -> Iterator[tuple[Path, list[str], list[str], str]]:
    """A policy that sees the interference graph, its inputs, `llc -O2` with its features, and its server."""
    llc = [str(PASSPILOT), "llc", "-O2", "-filetype=obj", "-x", "ir", str(optimized(PROGRAM))]
    with tempfile.TemporaryDirectory() as folder:
        model, load = Path(folder, "graph.onnx"), ("--load", str(FEATURES))
        names = models.graph_policy(model)
        with peers.streamed(f"onnx:{model}", "--point=evict", *load) as (server, _):
            yield model, names, [*llc, *load], server


def graph_over_grpc(rounds: int = 3) -> dict[str, float]:
    """Seconds of `llc -O2` with a policy that sees the interference graph: in process, and over gRPC.

    `exchange` is in process, with a bare exchange over TCP at every decision.
    """
    with _graph_policy() as (model, _, llc, server), peers.exchanging() as port:
        inside = [*llc, f"--evict=onnx:{model}"]
        commands = {
            "in process": inside,
            "exchange": ["env", f"EXCHANGE_PORT={port}", *inside],
            "grpc:": [*llc, f"--evict=grpc:{server}"],
        }
        return _times(f"llc -O2 of {PROGRAM}, a policy of the interference graph", commands, rounds=rounds)


def graph() -> None:
    """`llc -O2` with a policy that sees the interference graph; takes minutes."""
    with _graph_policy() as (model, names, llc, server), peers.bridged(model, FEATURES) as bridge:
        keys = f"protocol=mlbridge&features=mask,{','.join(names)}"
        commands = {
            "ONNX in process": [*llc, f"--evict=onnx:{model}"],
            "nobody asked": llc,
            "gRPC, passpilot serve": [*llc, f"--evict=grpc:{server}"],
            "gRPC, ML-Compiler-Bridge": [*llc, f"--evict=grpc:{bridge}?{keys}"],
        }
        title = f"llc -O2 of {PROGRAM}, a policy of the interference graph"
        _times(title, commands, same=False, rounds=1)
