# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records one command of a build: the bitcode of its units, and what its link is made of.

A recording is a folder: `bitcode/SHA256.bc`, and `commands/HASH.json` for every command, where HASH is over
folder and arguments, so that a command that runs again replaces its file. Files appear whole, so commands may
run in parallel. `recording.py` reads it. A command's file has

    {"format": 1, "time": nanoseconds, "directory": "/abs", "driver": "cc", "command": ["clang-22", ...],
     "advice": ["--policy=@oz"],
     "units": [{"source": "/abs/a.c", "language": "c", "arguments": ["-cc1", ...], "bitcode": "SHA256",
                "problem": "", "read": ["/abs/a.c", "/abs/a.h"], "output": "/abs/a.o", "sha256": "...",
                "code_sha256": "..."}],
     "link": {"output": "/abs/program", "sha256": "", "linker": "ld.lld", "items": [
        {"kind": "argument", "text": "-pthread"},
        {"kind": "unit", "path": "/abs/a.c"},
        {"kind": "object", "path": "/abs/b.o", "sha256": "...", "code_sha256": "..."},
        {"kind": "archive", "path": "/abs/libc.a", "text": "-lc", "whole": false, "members": [
            {"name": "d.o", "sha256": "...", "code_sha256": "..."}]},
        {"kind": "other", "path": "/abs/libe.so"}]}}

The link's `sha256` is that of an output that is an object itself; its `linker` is empty for clang's choice.
A driver ``ld`` is the linker, which the build has called itself; ``rustc`` has compiled a crate.
`advice` is what passpilot was to do.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.plugin.files import make_folder, read_regular, write_file
from passpilot.training.corpus.archive import is_archive, read_members
from passpilot.training.corpus.elf import BITCODE, RELOCATABLE, code_hash, elf_type, is_object
from passpilot.training.corpus.front_end import FrontEnd, FrontEndJob
from passpilot.training.corpus.recorded.link_command import (
    LD,
    LinkItem,
    driver_words,
    linker_of,
    read_link,
)
from passpilot.training.corpus.recorded.response_files import configured, expanded

FORMAT: Final = 1

COMMANDS: Final = "commands"
MODULES: Final = "bitcode"


@dataclass(frozen=True, slots=True)
class BuildCommand:
    """A command that has just succeeded.

    Attributes:
        driver: ``cc`` or ``c++``, or ``ld`` for a linker.
        words: the command line, without passpilot's options.
        links: whether it links.
        values: the options of clang whose value is the next argument.
        advice: passpilot's options that change the code.
    """

    driver: str
    words: Sequence[str]
    links: bool
    values: frozenset[str]
    advice: Sequence[str] = ()


def record_command(folder: str, front_end: FrontEnd, command: BuildCommand) -> None:
    """Write a command to the recording in `folder`. A unit that the front end refuses is recorded as such.

    Raises:
        InputError: a file cannot be written.
    """
    directory = front_end.directory
    try:
        jobs = front_end.jobs(command.words) if command.driver != LD else []
    except CompilationError:
        jobs = []
    value: dict[str, object] = {
        "driver": command.driver,
        "advice": list(command.advice),
        "units": [_unit(folder, front_end, job, linked=command.links) for job in jobs],
    }
    if command.links:
        sources = {os.path.join(directory, job.source) for job in jobs}
        value["link"] = _link(command, directory, {os.path.normpath(source) for source in sources})
    elif not jobs:
        return
    write_record(folder, directory, command.words, value)


def write_record(folder: str, directory: str, words: Sequence[str], value: Mapping[str, object]) -> None:
    """Write what is known of a command in the place of an earlier run of it.

    Raises:
        InputError: it cannot be written.
    """
    made = {"format": FORMAT, "time": time.time_ns(), "directory": directory, "command": [*words], **value}
    make_folder(os.path.join(folder, COMMANDS))
    write_file(os.path.join(folder, COMMANDS, f"{key_of(directory, words)}.json"), json.dumps(made))


def key_of(directory: str, words: Sequence[str]) -> str:
    """A name for a command in a folder."""
    text = "\n".join([directory, *words])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def keep_module(folder: str, data: bytes) -> str:
    """Write bitcode to the recording; returns its name there.

    Raises:
        InputError: it cannot be written.
    """
    digest = hashlib.sha256(data).hexdigest()
    make_folder(os.path.join(folder, MODULES))
    path = os.path.join(folder, MODULES, f"{digest}.bc")
    if not os.path.exists(path):
        write_file(path, data)
    return digest


def _unit(folder: str, front_end: FrontEnd, job: FrontEndJob, *, linked: bool) -> dict[str, object]:
    problem, digest, read = "", "", [os.path.join(front_end.directory, job.source)]
    if not os.path.isfile(os.path.join(front_end.directory, job.source)):
        problem = "expected a file that can be read again, got a stream"
    else:
        try:
            data, read = _compiled(front_end, job)
        except CompilationError as error:
            problem = str(error)
        else:
            digest = keep_module(folder, data)
    output = "" if linked else os.path.normpath(os.path.join(front_end.directory, job.output))
    return {
        "source": os.path.normpath(os.path.join(front_end.directory, job.source)),
        "language": "c++" if job.is_cxx else "c",
        "arguments": list(job.recorded),
        "bitcode": digest,
        "problem": problem,
        "read": [os.path.normpath(path) for path in read],
        "output": output,
        **(hashes(_contents(output)) if output else {}),
    }


def _compiled(front_end: FrontEnd, job: FrontEndJob) -> tuple[bytes, list[str]]:
    """The bitcode of a source, and the files that it was made of, without those of the system."""
    with tempfile.NamedTemporaryFile(prefix="passpilot-", suffix=".d") as file:
        data = front_end.bitcode(job, file.name)
        rule = file.read().decode("utf-8", "surrogateescape")
    names = re.findall(r"(?:\\.|[^\s\\])+", rule.replace("\\\n", " "))[1:]
    plain = [re.sub(r"\\(.)|\$(\$)", r"\1\2", name) for name in names]
    return data, [os.path.join(front_end.directory, name) for name in plain]


def _link(command: BuildCommand, directory: str, sources: set[str]) -> dict[str, object]:
    words = configured(expanded(command.words[1:], directory), directory)
    if command.driver == LD:
        words = [f"--ld-path={command.words[0]}", *driver_words(words)]
    link = read_link(words, directory, command.values)
    items = [_item(item, sources) for item in link.items]
    output = _contents(link.output)
    sha256 = hashlib.sha256(output).hexdigest() if elf_type(output) == RELOCATABLE else ""
    return {"output": link.output, "sha256": sha256, "linker": linker_of(words), "items": items}


def _item(item: LinkItem, sources: set[str]) -> dict[str, object]:
    if item.library is not None:
        path = _library(item.text[2:], item.library)
        data = _contents(path) if path else b""
        if not is_archive(data):
            return {"kind": "argument", "text": item.text}
        return _archive(path, data, item)
    if not item.is_input:
        return {"kind": "argument", "text": item.text}
    if item.text in sources:
        return {"kind": "unit", "path": item.text}
    data = _contents(item.text)
    if is_archive(data):
        return _archive(item.text, data, item)
    if is_object(data) or data.startswith(BITCODE):
        return {"kind": "object", "path": item.text, **hashes(data)}
    return {"kind": "other", "path": item.text}


def _archive(path: str, data: bytes, item: LinkItem) -> dict[str, object]:
    try:
        members = [{"name": member.name, **hashes(member.data)} for member in read_members(path, data)]
    except InputError:
        return {"kind": "other", "path": path}
    text = item.text if item.library is not None else ""
    return {"kind": "archive", "path": path, "text": text, "whole": item.whole, "members": members}


def _library(name: str, folders: Sequence[str]) -> str:
    """The archive that `-lNAME` means among the folders of the build; empty if it is another library."""
    names = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
    for folder in folders:
        for file in names:
            if os.path.exists(path := os.path.join(folder, file)):
                return path if path.endswith(".a") else ""
    return ""


def hashes(data: bytes) -> dict[str, str]:
    """Those of an object and its machine code, as a record has them."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "code_sha256": code_hash(data)}


def _contents(path: str) -> bytes:
    """The contents of a file; empty if it cannot be read."""
    try:
        return read_regular(path)
    except OSError:
        return b""
