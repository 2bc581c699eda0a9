# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part of python -m bench.measure.runners: the time of one decision, by runner and codec, in turns."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.lib import models as runner_models
from bench.lib import peers as runner_peers
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.runners.base import allocate, own_features
from passpilot.runners.spec import make_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from passpilot.features.point import Point
    from passpilot.runners.base import Runner

    Made = tuple[str | Callable[..., object], int | None]
    """An argument of `make_runner`, and the peer's process."""

ROUNDS: Final = 5
SLICE: Final = 0.2
"""Seconds of questions to one runner, before the next one's turn."""

VECTORS: Final = (500, 5_000, 50_000)
COLD: Final = """
import sys, time
import numpy
from passpilot.features.point import find_point
from passpilot.runners.base import allocate
from passpilot.runners.spec import make_runner

point = find_point("inline")
start = time.perf_counter()
with allocate(make_runner(sys.argv[1], point, timeout=60)) as runner:
    runner.evaluate()
    print((time.perf_counter() - start) * 1e3)
"""
MILLION: Final = 1_000_000
SLOW: Final = 20
"""Microseconds per decision above which a million decisions take too long."""
OURS: Final = "pipe"
BRIDGE: Final = "pipe, ML-Compiler-Bridge bitstream"
BRIDGE_JSON: Final = "pipe, ML-Compiler-Bridge JSON"


def workloads() -> dict[str, Point]:
    """The measured decision points by name."""
    inline, evict = find_point("inline"), find_point("evict")
    found = {
        "38 scalars": replace(inline, features=own_features(inline)),
        "eviction": replace(evict, features=own_features(evict)),
    }
    for count in VECTORS:
        vector = TensorSpec("v", "float32", (count,))
        found[f"{count:,} floats"] = replace(inline, features=(vector,))
    return found


@dataclass
class Contender:
    """One runner on one workload, and its measurements."""

    runner: Runner
    peer: int | None
    times: list[int] = field(default_factory=list)
    wire: float | None = None

    def ask(self, seconds: float) -> None:
        """Ask for this time; keep the nanoseconds of every question."""
        evaluate, clock, times = self.runner.evaluate, time.perf_counter_ns, self.times
        end = clock() + int(seconds * 1e9)
        before = clock()
        while before < end:
            evaluate()
            after = clock()
            times.append(after - before)
            before = after

    def count_bytes(self, questions: int = 100) -> None:
        """Measure the bytes per question in both directions."""
        before = _transferred()
        for _ in range(questions):
            self.runner.evaluate()
        self.wire = (_transferred() - before) / questions

    def row(self) -> dict[str, float | None]:
        """The figures: microseconds, bytes."""
        times = np.array(self.times) / 1e3
        median, high = np.percentile(times, [50, 90])
        return {"median": float(median), "p90": float(high), "wire": self.wire}


def _transferred() -> int:
    """The bytes that this process has read and written so far: files, pipes, and TCP sockets."""
    rows = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(rows["rchar"]) + int(rows["wchar"]) + sum(map(_tcp_bytes, os.listdir("/proc/self/fd")))


def _tcp_bytes(name: str) -> int:
    """The payload acknowledged and received on a TCP socket (tcp_info in linux/tcp.h); 0 for other files."""
    with contextlib.suppress(OSError):
        if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
            return 0
        with socket.socket(fileno=os.dup(int(name))) as connection:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136)
            return sum(struct.unpack_from("=QQ", info, 120))
    return 0


class Stage:
    """Starts runners and their peers for one workload, and ends them with it."""

    def __init__(self, point: Point, stack: contextlib.ExitStack, folder: Path) -> None:
        self._point = point
        self._stack = stack
        self._folder = folder
        self._null = runner_peers.null_policy(folder, point)
        self._vector = len(point.features) == 1
        self._flag = f"--point={point.name}"

    def makers(self) -> dict[str, Callable[[], Made]]:
        """The functions that make the runners, by the name in the table."""
        makers: dict[str, Callable[[], Made]] = {
            "Python function": lambda: (self._null, None),
            "ONNX model": lambda: (runner_models.onnx_spec(self._folder, self._point), None),
            "ahead-of-time model": lambda: (runner_models.aot_spec(self._folder, self._point), None),
            OURS: lambda: self._piped("ours", ""),
            "pipe, JSON": lambda: self._piped("json", "?serdes=json"),
            "pipe, Protocol Buffers": lambda: self._piped("protobuf", "?serdes=protobuf"),
            "gRPC stream": self._streamed,
            BRIDGE: lambda: self._bridge("bitstream", "bytes"),
            BRIDGE_JSON: lambda: self._bridge("json", "json"),
        }
        if not self._vector:
            makers["pipe, MLGO"] = self._mlgo
        return makers

    def _piped(self, name: str, options: str) -> Made:
        base = self._folder / name
        peer = self._stack.enter_context(runner_peers.piped(self._null, base, self._flag))
        return f"pipe:{base}{options}", peer

    def _streamed(self) -> Made:
        address, peer = self._stack.enter_context(runner_peers.streamed(self._null, self._flag))
        return f"grpc:{address}", peer

    def _bridge(self, serdes: str, theirs: str) -> Made:
        base = self._folder / f"bridge-{serdes}"
        how = (theirs, "reads" if self._vector else "null")
        peer = self._stack.enter_context(runner_peers.scripted(runner_peers.BRIDGE, base, *how))
        return f"pipe:{base}?protocol=mlbridge&serdes={serdes}", peer

    def _mlgo(self) -> Made:
        base = self._folder / "mlgo"
        peer = self._stack.enter_context(runner_peers.scripted(runner_peers.MLGO, base))
        return f"pipe:{base}?protocol=mlgo", peer

    def contender(self, make: Callable[[], Made]) -> Contender:
        """Make a runner and ask it once."""
        spec, peer = make()
        runner = self._stack.enter_context(allocate(make_runner(spec, self._point, timeout=60)))
        _fill(runner, self._point)
        runner.evaluate()
        return Contender(runner, peer)


def cold_starts() -> dict[str, float]:
    """Milliseconds from a runner's spec to its first answer, in a new process; servers already run."""
    point = find_point("inline")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        makers = Stage(point, stack, Path(folder)).makers()
        return {name: _cold_start(*make()) for name, make in makers.items()}


def _cold_start(spec: str | Callable[..., object], peer: int | None) -> float:
    if peer is not None:
        time.sleep(1)  # the peer's interpreter starts now
    return float(subprocess.check_output([sys.executable, "-c", COLD, str(spec)], text=True))


def _fill(runner: Runner, point: Point) -> None:
    random = np.random.default_rng(1)
    for name, tensor in runner.tensors.items():
        high = 2 if name == getattr(point.domain, "mask", "") else 100
        tensor[...] = random.integers(1, high, tensor.shape)


@contextlib.contextmanager
def contenders(point: Point) -> Iterator[dict[str, Contender]]:
    """All runners on one workload."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stage = Stage(point, stack, Path(folder))
        yield {name: stage.contender(make) for name, make in stage.makers().items()}


def decisions() -> dict[str, dict[str, dict[str, float | None]]]:
    """Measure all runners on all workloads; print one table per workload, and the ratios."""
    results: dict[str, dict[str, dict[str, float | None]]] = {}
    cold = cold_starts()
    for name, point in workloads().items():
        with contenders(point) as found:
            for _ in range(ROUNDS):
                for contender in found.values():
                    contender.ask(SLICE)
            for contender in found.values():
                contender.count_bytes()
            rows = {runner: contender.row() for runner, contender in found.items()}
        if not results:
            rows = {runner: {**row, "cold": cold[runner]} for runner, row in rows.items()}
        results[name] = rows
        _print(name, rows)
    return results


def _print(name: str, rows: dict[str, dict[str, float | None]]) -> None:
    table = Table(title=f"one decision: {name}")
    for column in ("runner", "median, µs", "p90, µs", "to pipe", "bytes", "cold start, ms"):
        table.add_column(column, justify="left" if column == "runner" else "right")
    ours = rows[OURS]["median"] or 1
    for runner, row in rows.items():
        median, wire = row["median"] or 0, row["wire"] or 0
        ratio, size = f"{median / ours:.2f}", f"{wire:,.0f}" if wire > 1 else ""
        start = f"{row['cold']:,.1f}" if "cold" in row else ""
        table.add_row(runner, f"{median:,.2f}", f"{row['p90']:,.2f}", ratio, size, start)
    console = Console(width=100)
    console.print(table)
    bridge, json_ = (rows[name]["median"] or 0 for name in (BRIDGE, BRIDGE_JSON))
    console.print(f"ML-Compiler-Bridge to our pipe: bitstream {bridge / ours:.1f}, JSON {json_ / ours:.1f}\n")


def _resident(process: int | None) -> int:
    if process is None:
        return 0
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory() -> dict[str, dict[str, float]]:
    """Ask every runner a million times, slow ones a tenth of that; the growth of both processes in bytes."""
    results: dict[str, dict[str, float]] = {}
    table = Table(title="growth while 38 scalars are asked about, KiB")
    for column in ("runner", "decisions", "this process", "the other"):
        table.add_column(column, justify="left" if column == "runner" else "right")
    with contenders(workloads()["38 scalars"]) as found:
        for name, contender in found.items():
            contender.ask(1)  # makes the one-time allocations
            decisions = MILLION if len(contender.times) > 1e6 / SLOW else MILLION // 10
            contender.times.clear()
            processes = (os.getpid(), contender.peer)
            before = [_resident(process) for process in processes]
            for _ in range(decisions):
                contender.runner.evaluate()
            grown = [_resident(process) - start for process, start in zip(processes, before, strict=True)]
            results[name] = {"decisions": decisions, "here": grown[0], "there": grown[1]}
            there = f"{grown[1] / 1024:,.0f}" if contender.peer else ""
            table.add_row(name, f"{decisions:,}", f"{grown[0] / 1024:,.0f}", there)
    Console(width=100).print(table)
    return results
