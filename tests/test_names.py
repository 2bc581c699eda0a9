# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that are not UTF-8, of files, modules and symbols: bytes stay, and distinct names stay distinct."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

import passpilot
from passpilot.features.log.reader import read_log
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.training.corpus.layout import Corpus
from passpilot.training.tuning.decision_file import (
    CallKey,
    UnitDecisions,
    read_decisions,
    write_decisions,
)
from tests.command import OPT, PASSPILOT, run
from tests.command import passpilot as command

PROGRAM: Final = rb"""source_filename = "s\FF.c"
target triple = "x86_64-pc-linux-gnu"
define internal i32 @"g\FF"(i32 %"x\FF") {
  %y = add i32 %"x\FF", 1
  ret i32 %y
}
define internal i32 @"g\FE"(i32 %x) {
  %y = add i32 %x, 2
  ret i32 %y
}
define i32 @"f\C3\A9"(i32 %x) {
  %a = call i32 @"g\FF"(i32 %x)
  %b = call i32 @"g\FE"(i32 %a)
  ret i32 %b
}
"""
FF, FE, CALLER = "g\udcff", "g\udcfe", "f\u00e9"
FOLDER, FILE = os.fsdecode(b"d\xff"), os.fsdecode(b"in\xfe.ll")
POLICY: Final = """
def decide(obs):
    print(obs.site.caller.name, obs.site.callee.name)
    return obs.site.callee.name == "g\\udcff"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / FILE).write_bytes(PROGRAM)
    (folder / "policy.py").write_text(POLICY)
    return folder


def test_functions_are_found_by_their_names() -> None:
    module = passpilot.Module.read(PROGRAM)
    names = [function.name for function in module.functions]
    assert names == [FF, FE, CALLER]
    assert [found.name for name in names if (found := module.function(name))] == names
    assert [os.fsencode(name) for name in names] == [b"g\xff", b"g\xfe", "f\u00e9".encode()]
    assert module.source_file == "s\udcff.c"
    assert json.loads(json.dumps(names)) == names
    assert [each.name for each in module.functions[0].arguments] == ["x\udcff"]
    for again in (str(module).encode("utf-8", "surrogateescape"), module.bitcode()):
        assert [each.name for each in passpilot.Module.read(again).functions] == names


def test_names_that_are_made() -> None:
    module = passpilot.Module.read(PROGRAM)
    module.declare("h\udcfd", "i32 ()")
    assert rb'declare i32 @"h\FD"()' in module.assembly()


POINT: Final = "inline=python:policy.py:decide"
DOORS: Final[tuple[tuple[str | Path, ...], ...]] = (
    (PASSPILOT, "opt", f"--{POINT}", "--log=l\udcff"),
    (OPT, f"-load-pass-plugin={llvm_plugin()}", f"-passpilot-{POINT}", "-passpilot-log=l\udcff"),
)


def test_both_doors_make_the_same_files(folder: Path) -> None:
    made = []
    for words in DOORS:
        done = run(*words, FILE, "-passes=default<O2>", "-S", "-o", "out\udcff.ll", cwd=folder)
        assert (done.code, done.err) == (0, "")
        assert done.out == f"{CALLER} {FF}\n{CALLER} {FE}\n".encode("utf-8", "surrogateescape")
        made.append([(folder / name).read_bytes() for name in ("out\udcff.ll", "l\udcff")])
    assert made[0] == made[1]
    assert b'i32 @"g\\FE"' in made[0][0]
    assert b'i32 @"g\\FF"' not in made[0][0]
    decided = [
        (o.caller, o.callee, bool(o.tensors["inlining_decision"])) for o in read_log(folder / "l\udcff")
    ]
    assert decided == [(CALLER, FF, True), (CALLER, FE, False)]
    shown = command("log", "show", "l\udcff", cwd=folder)
    assert b"g\\xff" in shown.out
    assert b"g\\xfe" in shown.out


def test_decision_files(folder: Path) -> None:
    unit = UnitDecisions("s\udcff.c", {CallKey(CALLER, FF, 1): False, CallKey(CALLER, FE, 1): True})
    path = str(folder / "decisions\udcff")
    write_decisions(path, [unit])
    assert read_decisions(path) == [unit]
    done = command("opt", FILE, "-O2", f"--decisions={path}", "-S", cwd=folder)
    assert done.code == 0
    assert b'i32 @"g\\FF"' in done.out
    assert b'@"g\\FE"' not in done.out


def test_corpora(folder: Path) -> None:
    """Of a recorded build, and of compile commands with absolute folders and some relative to the file."""
    source = "a\udcff.c"
    (folder / source).write_text("int main(void) { return 0; }\n")
    words = ("cc", f"--record={folder}/recording", "-O2", source, "-o", "p\udcff")
    assert command(*words, cwd=folder).code == 0
    rows = [
        {"directory": str(folder), "file": source, "command": f"clang -O2 -c {source} -o a.o"},
        {"directory": FOLDER, "file": source, "arguments": ["clang", "-c", source, "-o", "b\udcff.o"]},
    ]
    written = json.dumps(rows[:1])[:-1] + "," + json.dumps(rows[1], ensure_ascii=False) + "]"
    commands = folder.parent / "commands.json"
    commands.write_bytes(written.encode("utf-8", "surrogateescape"))
    for flag, names in (
        ("--recording=recording", [source]),
        (f"--compile-commands={commands}", ["a.o", "b\udcff.o"]),
    ):
        output = f"corpus{len(names)}\udcff"
        done = command("corpus", "extract", flag, "-o", output, cwd=folder)
        assert done.code == 0, done.err
        assert sorted(Corpus.read(str(folder / output)).units) == names
    split = command("corpus", "split", "corpus1\udcff", "-o", "parts\udcff", cwd=folder)
    assert split.code == 0
    assert b"p\\xff" in split.out
