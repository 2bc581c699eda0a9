# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutated decision files: Python and compilers take the same ones, and what is read is written alike."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Final

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.training.tuning.decision_file import HEAD, read_decisions, write_decisions

MUTATIONS: Final = 2000
SEED: Final = f"""\
{HEAD}
# a comment

unit src/one two.c
pipeline function(gvn,instcombine<no-verify-fixpoint>,loop-mssa(licm)),mergefunc
option enable-machine-outliner=always
option tail-merge-size=2
function main optsize unroll=64 nooutline
function a%20b%25 minsize
function * speed
inline 1 yes main f
inline 2 no main %C3%A4 14
searched 1f0a63b2 90cc27de
unit b.c
inline 10 yes f g 0
""".encode()
PIECES: Final = (
    b" ", b"  ", b"\n", b"\r", b"\t", b"\0", b"%", b"%0", b"%zz", b"%00", b"0", b"1", b"-1", b"+1", b"64",
    b"65", b"4294967296", b"99999999999999999999", b"\xff", b"\xd9\xa3", b"\xc2\xa0", b"#", b"=", b",",
    b"(", b")", b"<", b"*", b"unit ", b"unit x\n", b"inline", b"option", b"pipeline ", b"function ",
    b"searched", b"yes", b"YES", b"speed", b"unroll=2", b"\nsearched \n", b"\nfunction f speed \n",
    b"\ninline 1 yes f g 007\n",
)  # fmt: skip


def mutated(random: random.Random) -> bytes:
    """The seed with a few pieces put in, cut out, doubled or exchanged."""
    data = bytearray(SEED)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0:
                data[at:at] = random.choice(PIECES)
            case 1:
                del data[at : at + random.randint(1, 12)]
            case 2:
                data[at : at + 1] = bytes([random.randrange(256)])
            case 3:
                data[at : at + random.randint(1, 4)] = random.choice(PIECES)
            case _:
                lines = bytes(data).split(b"\n")
                lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
                data[:] = b"\n".join(lines)
        if not data:
            break
    return bytes(data)


def verdict_of_python(path: str) -> str:
    try:
        read_decisions(path)
    except InputError as error:
        return place(error)
    return ""


def verdict_of_compilers(path: str) -> str:
    try:
        _core.decided_options(path, "b.c")
    except InputError as error:
        return place(error)
    return ""


def place(error: InputError) -> str:
    found = re.match(r"decisions [^:]+:\d+: expected ", str(error))
    assert found, error
    return found[0]


def test_mutations_have_one_verdict(tmp_path: Path) -> None:
    chance = random.Random(44)
    path, again = str(tmp_path / "f"), str(tmp_path / "g")
    taken = 0
    for number in range(MUTATIONS):
        data = mutated(chance)
        Path(path).write_bytes(data)
        verdict = verdict_of_python(path)
        assert verdict == verdict_of_compilers(path), (number, data)
        if verdict:
            continue
        taken += 1
        units = read_decisions(path)
        write_decisions(again, units)
        assert read_decisions(again) == units, (number, data)
    assert MUTATIONS // 10 < taken < MUTATIONS * 9 // 10


def test_pieces_between_the_lines(tmp_path: Path) -> None:
    """Each piece at the end of each line, and as a line."""
    path = str(tmp_path / "f")
    lines = SEED.split(b"\n")
    for piece in PIECES:
        for number in range(len(lines)):
            for more in (lines[number] + piece, lines[number] + b"\n" + piece, piece + lines[number]):
                Path(path).write_bytes(b"\n".join((*lines[:number], more, *lines[number + 1 :])))
                assert verdict_of_python(path) == verdict_of_compilers(path), more


def test_an_empty_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert verdict_of_python(str(tmp_path / "f")) == verdict_of_compilers(str(tmp_path / "f")) != ""
