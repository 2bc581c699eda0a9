# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The time of one decision, by runner and codec, in turns; `python -m bench.measure.runners decisions`."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np

from bench.lib import in_turns, models, peers, show
from passpilot.features.point import Point, find_point
from passpilot.features.spec import TensorSpec
from passpilot.runners.base import Runner, allocate, own_features
from passpilot.runners.spec import make_runner

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
OURS: Final = "pipe"
BRIDGES: Final = {"bitstream": "bytes", "json": "json"}
"""The codecs of ML-Compiler-Bridge, and what it calls them."""


def workloads() -> dict[str, Point]:
    inline, evict = find_point("inline"), find_point("evict")
    points = {
        "38 scalars": replace(inline, features=own_features(inline)),
        "eviction": replace(evict, features=own_features(evict)),
    }
    for count in VECTORS:
        vector = TensorSpec("v", "float32", (count,))
        points[f"{count:,} floats"] = replace(inline, features=(vector,))
    return points


def runner_specs(point: Point, folder: Path, stack: contextlib.ExitStack) -> dict[str, str]:
    """The specs of all runners by the name in the table; starts their peers."""
    null, flag = peers.null_policy(folder, point), f"--point={point.name}"
    is_vector = len(point.features) == 1
    rule = ("v", "int(0 * sum(values))") if is_vector else peers.NULL
    model = folder / "perceptron.onnx"
    keys = models.perceptron(model, point)
    specs = {
        "Python function": null,
        "ONNX model": f"onnx:{model}?{keys}",
        "ahead-of-time model": f"aot:{models.ahead_of_time(model)}?{keys}",
    }
    for name, options in {
        OURS: "",
        "pipe, JSON": "?serdes=json",
        "pipe, protobuf": "?serdes=protobuf",
    }.items():
        base = folder / name.replace(", ", "-")
        stack.enter_context(peers.piped(null, base, flag))
        specs[name] = f"pipe:{base}{options}"
    specs["gRPC stream"] = f"grpc:{stack.enter_context(peers.streamed(null, flag))[0]}"
    for serdes, theirs in BRIDGES.items():
        base = folder / f"bridge-{serdes}"
        stack.enter_context(peers.scripted(peers.BRIDGE, base, theirs, *rule))
        specs[f"pipe, ML-Compiler-Bridge {serdes}"] = f"pipe:{base}?protocol=mlbridge&serdes={serdes}"
    if not is_vector:
        stack.enter_context(peers.scripted(peers.MLGO, folder / "mlgo", *rule))
        specs["pipe, MLGO"] = f"pipe:{folder / 'mlgo'}?protocol=mlgo"
    return specs


def cold_starts() -> dict[str, float]:
    """Milliseconds from a runner's spec to its first answer, in a new process; servers already run."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        specs = runner_specs(find_point("inline"), Path(folder), stack)
        time.sleep(1)  # the peers' interpreters start now
        command = (sys.executable, "-c", COLD)
        return {name: float(subprocess.check_output([*command, spec])) for name, spec in specs.items()}


def ready(spec: str, point: Point) -> Runner:
    """Make a runner, fill its tensors and ask it once."""
    runner = allocate(make_runner(spec, point, timeout=60))
    random = np.random.default_rng(1)
    for name, tensor in runner.tensors.items():
        high = 2 if name == getattr(point.domain, "mask", "") else 100
        tensor[...] = random.integers(1, high, tensor.shape)
    runner.evaluate()
    return runner


def ask_for(runner: Runner, seconds: float) -> list[int]:
    """Ask for this time; the nanoseconds of every question."""
    evaluate, clock, times = runner.evaluate, time.perf_counter_ns, []
    end = clock() + int(seconds * 1e9)
    before = clock()
    while before < end:
        evaluate()
        after = clock()
        times.append(after - before)
        before = after
    return times


def bytes_per_question(runner: Runner, questions: int = 100) -> float:
    """The bytes of a question in both directions."""
    before = _transferred()
    for _ in range(questions):
        runner.evaluate()
    return (_transferred() - before) / questions


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


def decisions() -> None:
    cold = cold_starts()
    for title, point in workloads().items():
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            specs = runner_specs(point, Path(folder), stack)
            runners = {name: stack.enter_context(ready(spec, point)) for name, spec in specs.items()}
            runs = {name: partial(ask_for, runner, SLICE) for name, runner in runners.items()}
            times = in_turns(runs, ROUNDS)
            wire = {name: bytes_per_question(runner) for name, runner in runners.items()}
        rows = {}
        for name, rounds in times.items():
            median, high = np.percentile(list(chain(*rounds)), [50, 90]) / 1e3
            rows[name] = {
                "median, µs": median,
                "p90, µs": high,
                "bytes": wire[name],
                "cold start, ms": cold.get(name),
            }
        ours = rows[OURS]["median, µs"]
        show(
            f"one decision: {title}",
            "runner",
            {name: {**row, "to pipe": row["median, µs"] / ours} for name, row in rows.items()},
        )
