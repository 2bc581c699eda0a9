# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows a page in one shell: writes its files, runs its commands, compares their output."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.command import GENEROUS, PASSPILOT
from tests.corpus.build import bindir

DOCS: Final = Path(__file__).parents[2] / "docs"
BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE: Final = re.compile(r"(?:# |// |; |/\* )((?:[\w-]+/)*(?:[\w-]+\.\w+|Makefile))(?: \*/)?\n")
PATH: Final = os.pathsep.join([str(PASSPILOT.parent), str(bindir()), "/usr/local/bin:/usr/bin:/bin"])
PORT: Final = re.compile(r"\b(5005|5006|50051)\b")
NUMBER: Final = re.compile(r"[\d.,]*\d")


@dataclass(frozen=True)
class Block:
    """A block of a page: the `file` that it is, or `commands`, with what they print if the page says so."""

    text: str
    file: str = ""
    output: str | None = None
    roughly: bool = False
    """The numbers of an `output` block differ from run to run; those of a `text` block do not."""

    @property
    def script(self) -> str:
        if not self.file:
            return self.text
        folder = f"mkdir -p {os.path.dirname(self.file)}\n" if "/" in self.file else ""
        return f"{folder}cat >{self.file} <<'END_OF_FILE'\n{self.text}END_OF_FILE\n"


def blocks_of(text: str) -> Iterator[Block]:
    """The files and the commands of a page, in their order.

    A block whose first line is a comment with a file name is that file; an `sh` block has commands.
    """
    blocks = BLOCK.findall(text)
    for (language, body), (after, said) in zip(blocks, [*blocks[1:], ("", "")], strict=False):
        if match := TITLE.match(body):
            yield Block(body, match[1])
        elif language == "sh":
            yield Block(body, output=said if after in ("text", "output") else None, roughly=after == "output")


def script_of(text: str, skipped: tuple[str, ...] = ()) -> str:
    """A page as a script, without the blocks that begin with one of `skipped`."""
    return "".join(block.script for block in blocks_of(text) if not block.text.startswith(skipped or "\0"))


def run_page(
    page: Path, folder: Path, skipped: tuple[str, ...] = (), variables: Mapping[str, str] | None = None
) -> int:
    """Follow a page in a folder; returns how many outputs were compared.

    The commands must succeed, and print what the page says. `skipped` are beginnings of blocks that do not
    run, `variables` more environment variables: with little else. Ports become free ones.
    """
    outputs = folder.parent / f"{folder.name}.outputs"
    outputs.mkdir()
    ports = {port: free_port() for port in ("5005", "5006", "50051")}
    blocks = [block for block in blocks_of(page.read_text()) if not block.text.startswith(skipped or "\0")]
    script = "".join(f"exec >{outputs}/{n}\n{block.script}" for n, block in enumerate(blocks))
    script = PORT.sub(lambda port: str(ports[port[0]]), script)
    environment = {"PATH": PATH, "HOME": str(outputs), "LANG": "C.UTF-8", **(variables or {})}
    code = run(f"exec 2>{outputs}/errors\n{script}", folder, environment)
    ran = len(list(outputs.glob("[0-9]*")))
    assert code == 0, f"{page.name}: {blocks[ran - 1].text}\n{(outputs / 'errors').read_text()}"
    compared = 0
    for n, block in enumerate(blocks):
        if block.output is not None:
            printed = (outputs / str(n)).read_text().replace(f"{folder}/", "")
            assert shape(printed, block.roughly) == shape(block.output, block.roughly), block.text
            compared += 1
    return compared


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def shape(output: str, roughly: bool) -> str:
    """An output, or what of it is the same in every run."""
    return re.sub(r" +", " ", NUMBER.sub("N", output)) if roughly else output


def run(script: str, folder: Path, environment: Mapping[str, str]) -> int:
    """The exit code of a script that stops at an error; what it has started ends with it."""
    with subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            return child.wait(10 * GENEROUS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
