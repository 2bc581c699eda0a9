# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stock opt and llc themselves ask, over the FIFOs of their interactive mode.

The mode exists in every build: the tool writes a header line with the specs of its tensors, then per question
a line of its log and the tensors, and waits for the answer.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.corpus.build import bindir
from tests.stock import with_known_levels

Tensors = dict[str, NDArray[np.generic]]
Answer = Callable[[Tensors], np.generic]


@dataclass
class Channel:
    """One pair of FIFOs: what came out of it, and who answers."""

    base: Path
    answer: Answer
    questions: list[tuple[str, Tensors]] = field(default_factory=list)
    """The context of each, and its tensors."""
    specs: list[dict[str, object]] = field(default_factory=list)
    """The header's."""
    data: bytes = b""
    context: str = ""

    def open(self) -> None:
        for end in ("in", "out"):
            os.mkfifo(f"{self.base}.{end}")
        self.answers = os.open(f"{self.base}.in", os.O_RDWR)
        self.out = os.open(f"{self.base}.out", os.O_RDWR)

    def close(self) -> None:
        os.close(self.answers)
        os.close(self.out)

    def serve(self) -> None:
        """Take what is there; answer if it completes a question."""
        self.data += os.read(self.out, 1 << 16)
        while b"\n" in self.data:
            line, _, rest = self.data.partition(b"\n")
            event = json.loads(line)
            if "observation" in event:
                if len(rest) < self.size() + 1:
                    return
                self.ask(rest[: self.size()])
                rest = rest[self.size() + 1 :]
            elif "features" in event:
                self.specs = event["features"]
            else:
                self.context = event["context"]
            self.data = rest

    def size(self) -> int:
        return sum(_dtype(spec).itemsize * _elements(spec) for spec in self.specs)

    def ask(self, packed: bytes) -> None:
        tensors: Tensors = {}
        for spec in self.specs:
            size = _dtype(spec).itemsize * _elements(spec)
            shape: list[int] = spec["shape"]  # type: ignore[assignment]
            tensors[str(spec["name"])] = np.frombuffer(packed[:size], _dtype(spec)).reshape(shape)
            packed = packed[size:]
        self.questions.append((self.context, tensors))
        os.write(self.answers, self.answer(tensors).tobytes())


def _dtype(spec: dict[str, object]) -> np.dtype[np.generic]:
    return np.dtype({"int64_t": np.int64, "float": np.float32}[str(spec["type"])])


def _elements(spec: dict[str, object]) -> int:
    shape: list[int] = spec["shape"]  # type: ignore[assignment]
    return int(np.prod(shape))


@contextmanager
def opened(channels: list[Channel]) -> Iterator[None]:
    for channel in channels:
        channel.open()
    try:
        yield
    finally:
        for channel in channels:
            channel.close()


def run(tool: str, flags: list[str], channels: list[Channel]) -> None:
    """Run a tool to its end and answer what it asks."""
    with (
        opened(channels),
        subprocess.Popen([str(bindir() / tool), *map(with_known_levels, flags)]) as process,
    ):
        while True:
            ready = select.select([channel.out for channel in channels], [], [], 0.2)[0]
            for channel in channels:
                if channel.out in ready:
                    channel.serve()
            if not ready and process.poll() is not None:
                break
        assert process.returncode == 0


def decisions(source: Path, pipeline: str, folder: Path) -> list[dict[str, int]]:
    """The inliner's features of every decision of opt, `inlining_default` among them, which is followed."""
    channel = Channel(folder / "channel", lambda tensors: tensors["inlining_default"][0])
    flags = [
        f"-passes={pipeline}",
        "-enable-ml-inliner=release",
        f"-inliner-interactive-channel-base={channel.base}",
        "-inliner-interactive-include-default",
        "-ml-advisor-size-increase-threshold=1000000",
        "-disable-output",
        str(source),
    ]
    run("opt", flags, [channel])
    return [{name: int(value[0]) for name, value in tensors.items()} for _, tensors in channel.questions]


def allocation(
    source: Path, flags: list[str], folder: Path, evict: Answer, priority: Answer
) -> tuple[bytes, Channel, Channel]:
    """The object file of llc with these two policies, and what they were asked."""
    channels = [Channel(folder / "evict", evict), Channel(folder / "priority", priority)]
    target = folder / "stock.o"
    advised = [
        "-regalloc-enable-advisor=release",
        f"-regalloc-evict-interactive-channel-base={channels[0].base}",
        "-mlregalloc-max-eviction-count=4294967295",
        "-regalloc-enable-priority-advisor=release",
        f"-regalloc-priority-interactive-channel-base={channels[1].base}",
    ]
    run("llc", ["-filetype=obj", *advised, *flags, str(source), "-o", str(target)], channels)
    return target.read_bytes(), channels[0], channels[1]
