# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The features of each decision as stock opt itself tells them, over the FIFOs of its interactive mode.

The mode exists in every build: opt writes a header line, then per decision the line of its log and the
tensors, and waits for an int64. This end follows `inlining_default`, as an echo of the default does.
"""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
from pathlib import Path

from tests.corpus.build import bindir


class _EndedError(Exception):
    """Opt has ended."""


class _Reader:
    def __init__(self, fd: int, process: subprocess.Popen[bytes]) -> None:
        self.fd, self.process, self.data = fd, process, b""

    def _more(self) -> None:
        while not select.select([self.fd], [], [], 0.2)[0]:
            if self.process.poll() is not None:
                raise _EndedError
        self.data += os.read(self.fd, 1 << 16)

    def line(self) -> bytes:
        while b"\n" not in self.data:
            self._more()
        line, _, self.data = self.data.partition(b"\n")
        return line

    def block(self, size: int) -> bytes:
        while len(self.data) < size:
            self._more()
        block, self.data = self.data[:size], self.data[size:]
        return block


def decisions(source: Path, pipeline: str, folder: Path) -> list[dict[str, int]]:
    """The features of every decision, `inlining_default` among them."""
    base = folder / "channel"
    pipes = []
    for end in ("in", "out"):
        os.mkfifo(f"{base}.{end}")
        pipes.append(os.open(f"{base}.{end}", os.O_RDWR))
    command = [
        str(bindir() / "opt"),
        f"-passes={pipeline}",
        "-enable-ml-inliner=release",
        f"-inliner-interactive-channel-base={base}",
        "-inliner-interactive-include-default",
        "-ml-advisor-size-increase-threshold=1000000",
        "-disable-output",
        str(source),
    ]
    try:
        with subprocess.Popen(command) as process:
            found = _serve(_Reader(pipes[1], process), pipes[0])
            assert process.wait() == 0
    finally:
        for fd in pipes:
            os.close(fd)
    return found


def _serve(reader: _Reader, answers: int) -> list[dict[str, int]]:
    found: list[dict[str, int]] = []
    names: list[str] = []
    try:
        while True:
            event = json.loads(reader.line())
            if "features" in event:
                names = [spec["name"] for spec in event["features"]]
            elif "observation" in event:
                values = struct.unpack(f"={len(names)}q", reader.block(8 * len(names)))
                reader.line()
                found.append(dict(zip(names, values, strict=True)))
                os.write(answers, struct.pack("=q", found[-1]["inlining_default"]))
    except _EndedError:
        return found
