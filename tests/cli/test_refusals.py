# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines that are refused, in the words of each command; they leave no file behind."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest

from passpilot.cli import tune
from passpilot.cli.main import COMMANDS
from passpilot.plugin.errors import Error, InputError, UsageError
from tests.command import PASSPILOT, files_in, program, run
from tests.runners.aot.models import small_mlp
from tests.training.evaluation.small import change, corpus


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with modules, a log, a model and a file of other text."""
    for name in ("in.ll", "other.ll"):
        (tmp_path / name).write_text(program(2))
    (tmp_path / "a.log").write_text("")
    (tmp_path / "text").write_text("no number\n")
    (tmp_path / "m.onnx").write_bytes(small_mlp().SerializeToString())
    monkeypatch.chdir(tmp_path)
    with patch.dict(os.environ):  # which some commands change
        yield tmp_path


def refused(here: Path, command: str, *arguments: str) -> Error:
    """The error that a command raises."""
    before = files_in(here)
    module, _, function = COMMANDS[command][0].partition(":")
    with pytest.raises(Error) as caught:
        getattr(import_module(module), function)(list(arguments))
    assert files_in(here) == before
    return caught.value


WRONG: Final = {
    "opt in.ll -O2 --at=pipeline-start=sroa --at=pipeline-start=dce": (
        "opt: --at: expected one pipeline for pipeline-start, got two; join them by a comma"
    ),
    "opt in.ll -O2 --at==sroa": "opt: --at: expected POINT=PIPELINE, got '=sroa'",
    "opt in.ll -O2 --at=pipeline-start=": "opt: --at: expected POINT=PIPELINE, got 'pipeline-start='",
    "opt in.ll -O2 --inline=const:0 --advise=advised-size=const:0 --log=x": (
        "opt: --log: expected POINT=F with POINT among inline, advised-size, got 'x'"
    ),
    "opt in.ll -O2 --inline=const:0 --log=x --log=inline=y": (
        "opt: expected one log for the point inline, got two"
    ),
    "opt in.ll -O2 --inline=const:0 --advise=inline=const:1": (
        "opt: expected one runner for the point inline, got 2"
    ),
    "opt in.ll -O2 --advise=advised-size=const:0 --advise=advised-size=const:1": (
        "opt: expected one runner for the point advised-size, got 2"
    ),
    "opt in.ll -O2 --advise=evict=const:0": "; `passpilot llc` has the point evict",
    "opt in.ll -O2 --advise=inline": "opt: --advise: expected POINT=RUNNER with POINT among inline, ",
    "opt in.ll -O2 --log=x": ("opt: --log has no effect without an advisor; add --inline=RUNNER"),
    "opt in.ll -O2 --timeout=3": ("opt: --timeout has no effect without an advisor; add --inline=RUNNER"),
    "opt in.ll -O2 --advise=advised-size=const:0 --log=inline=x": (
        "opt: --log has no effect without an advisor; add --inline=RUNNER"
    ),
    "opt in.ll -O2 --advise=advised-size=const:0 --size-budget=2": (
        "opt: --size-budget has no effect without an advisor; add --inline=RUNNER"
    ),
    "llc in.ll --priority=const:0 --eviction-limit=2": (
        "llc: --eviction-limit has no effect without an advisor; add --evict=RUNNER"
    ),
    "llc in.ll --evict=const:32 --report=r.json --report-mca --log=x?y": (
        "llc: --log: expected a plain file for --report-mca to read again, got x?y"
    ),
    "llc in.ll --evict=const:32 --report=r.json --report-mca --log=/dev/null": (
        "llc: --log: expected a plain file for --report-mca to read again, got /dev/null"
    ),
    "llc in.ll -asm-verbose=maybe": "expected true or false, got 'maybe'",
    "llc in.ll -O1 -O2": "llc: expected one optimization level, got -O1 -O2",
    "serve decisions:x --pipe ch": "expected a runner that reads tensors alone, got decisions:x",
    "serve const:1 --pipe ch --grpc 0": "expected one of --pipe BASE and --grpc [HOST:]PORT, got both",
    "serve const:1": "expected one of --pipe BASE and --grpc [HOST:]PORT, got none",
    "serve const:1 --pipe ch --token=x": "--token: expected --grpc with it, got --pipe",
    "serve const:1 --pipe ch --tls-cert=x": "--tls-cert: expected --grpc with it, got --pipe",
    "serve const:1 --pipe ch --tls-key=x": "--tls-key: expected --grpc with it, got --pipe",
    "serve-compiler --grpc=0 --token=x --no-token": "choose --token or --no-token",
    "serve-compiler --grpc=0 --timeout=inf": "-timeout: expected a number of seconds above 0, got 'inf'",
    "aot m.onnx": "and -o FILE.so, .o or .ll, got m.onnx without -o",
    "aot -o m.so": "aot: expected MODEL.onnx, FILE.py:NAME or FILE.cpp, and -o FILE.so, .o or .ll",
    "aot m.onnx -o m.so --symbol=mine": "aot: expected --symbol with -o policy.o and a name of C's",
    "aot m.onnx -o m.o --symbol=1a": "a name of C's of your own, got '1a'",
    "aot m.onnx -o m.o --shape=1,39": "aot: expected --shape=INPUT:1,38, got '1,39'",
    "aot m.onnx -o m.o --shape=:1": "aot: expected --shape=INPUT:1,38, got ':1'",
    "aot m.onnx -o m.o --shape=x:0": "aot: expected --shape=INPUT:1,38, got 'x:0'",
    "aot m.onnx -o m.o --shape=x:1,": "aot: expected --shape=INPUT:1,38, got 'x:1,'",
    "aot m.onnx -o m.o --shape=x:²": "aot: expected --shape=INPUT:1,38, got 'x:²'",
    "train data in.ll -o d --timeout=0": "expected a number of seconds above 0, got '0'",
    "train data in.ll -o d --timeout=1e7": "expected a number of seconds above 0, got '1e7'",
    "train data in.ll -o d --budget=soon": "expected a number of seconds above 0, got 'soon'",
    "train data in.ll -o d --budget=nan": "expected a number of seconds above 0, got 'nan'",
    "train data in.ll -o d --flips=2": "train data: --flips works with --corpus and at most one --teacher",
    "train data --corpus=c -o d --flips=2 --teacher=const:0 --teacher=default": (
        "train data: --flips works with --corpus and at most one --teacher"
    ),
    "train data -o d": "train data: give modules, logs or --corpus=DIR, one of them",
    "train data in.ll --corpus=c -o d": "train data: give modules, logs or --corpus=DIR, one of them",
    "train data in.ll -o d --at==sroa": "train data: --at: expected POINT=PIPELINE, got '=sroa'",
    "train data in.ll -o d --at=pipeline-start=": "train data: --at: expected POINT=PIPELINE, got 'pipel",
    "train data in.ll -o d --jobs=-1": "expected a number of jobs, got '-1'",
    "tune in.ll other.ll in.ll -o d": "tune: expected different modules, got in.ll, other.ll, in.ll",
    "tune in.ll --corpus=c -o d": "tune: expected modules, or --corpus=DIR, or -- and the command of a",
    "tune --corpus=c -o d -- make": "tune: expected modules, or --corpus=DIR, or -- and the command of a",
    "tune in.ll -o d --budget=inf": "expected a number of seconds above 0, got 'inf'",
    "tune in.ll -o d --budget=soon": "expected a number of seconds above 0, got 'soon'",
    "tune in.ll -o d --compiles=-1": "expected a number of compilations, 1 or more, got '-1'",
    "tune in.ll -o d --seed=²": "expected a number of 0 or more, got '²'",
    "tune --corpus=c --lto --passes=sroa -o d": "--lto: expected programs, and the pipeline of their level, "
    "got --passes",
    "compare in.ll --inline=const:0 --repeat=²": "expected a number of compilations, got '²'",
    "corpus split c -o d --shares=1,2": "expected three numbers, got '1,2'",
    "corpus split c -o d --shares=0,0,0": "expected three numbers, got '0,0,0'",
    "corpus split c -o d --shares=1,-1,1": "expected three numbers, got '1,-1,1'",
    "corpus split c -o d --shares=1,inf,1": "expected three numbers, got '1,inf,1'",
    "corpus extract -o d --objects=x --bitcode=y": "got --objects and --bitcode",
    "eval --corpus=c --baselines=-Oz, ": "expected levels such as -Oz or -Oz+outline, got ''",
    "eval --corpus=c --run-timeout=1e9": "expected a number of seconds above 0, got '1e9'",
    "eval --corpus=c --rounds=-1": "expected a number of rounds, got '-1'",
    "report a.log --title=x": "report: expected -o PAGE.html for a page, got none",
    "report a.log --after=x": "report: expected -o PAGE.html for a page, got none",
    "report a.log --after=x -o p.html": "report: --before and --after belong together",
    "cc --policy=@oz?tries=2 --best-of=2 -c in.c": "--policy: expected tries=N or --best-of, got both",
    "cc --policy=@oz?tries=2&recipe=1 -c in.c": "expected tries=N or recipe=N or aim=NAME, got both",
    "cc --policy=@oz?tries=0 -c in.c": "or recipe=N with N of 1 or more, got tries=0",
    "cc --policy=@oz?passes=2 -c in.c": "or recipe=N with N of 1 or more, got passes=2",
    "cc --best-of=² -c in.c": "--best-of: expected a number of variants up to 4, got ²",
    "cc --record=here -c in.c": "--record: expected an absolute path, got here",
    "cc --timeout=inf -c in.c": "--timeout: expected a number above 0, got inf",
    "cc --advise==const:0 -c in.c": "--advise: expected POINT=RUNNER, got =const:0",
    "cc --advise=inline= -c in.c": "--advise: expected POINT=RUNNER, got inline=",
}


@pytest.mark.parametrize("command", WRONG)
def test_a_wrong_command_line(command: str, here: Path) -> None:
    error = refused(here, *command.split())
    assert isinstance(error, UsageError)
    assert WRONG[command] in str(error)


def test_programs_of_a_corpus_to_tune(here: Path) -> None:
    folder = corpus(here / "made")
    error = refused(here, "tune", f"--corpus={folder}", "--program=count", "--program=none", "-o", "d")
    assert str(error).startswith("tune: --program: expected one of count, shout, got none")
    error = refused(here, "tune", f"--corpus={folder}", "--program=out/count", "--keep=none", "-o", "d")
    assert "--keep: expected a function or variable of count" in str(error)
    change(folder, "count", runs=[])
    with pytest.raises(UsageError) as caught:
        tune.main([f"--corpus={folder}", "--program=count", "--reward=run", "-o", str(here)])
    assert str(caught.value) == "tune: expected a recorded run of count, got none; use 'run: {} ...'"
    (folder / "programs.json").unlink()
    error = refused(here, "tune", f"--corpus={folder}", "--program=count", "-o", "d")
    assert str(error) == "tune: --program: expected one of library, got count"
    for arguments in folder.rglob("*.cmd"):
        arguments.write_bytes(b"-cc1\0-Oz\0")
    error = refused(here, "tune", f"--corpus={folder}", "-o", "d")
    assert isinstance(error, InputError)
    assert str(error) == f"tune: expected a linked program in {folder}, got none"


@pytest.mark.parametrize("words", ["cc --inline=random:7 -O2 -c", "build --log=logs/ -- cc -c"])
def test_a_current_folder_that_is_gone(tmp_path: Path, words: str) -> None:
    (tmp_path / "a.c").write_text("int f(void) { return 1; }\n")
    (tmp_path / "gone").mkdir()
    script = f"rmdir ../gone; exec {shlex.quote(str(PASSPILOT))} {words} {shlex.quote(str(tmp_path / 'a.c'))}"
    done = run("sh", "-c", script, cwd=tmp_path / "gone")
    assert done.code == 1
    assert "error: expected a current folder, got one that has been removed; change into another" in done.err
    assert "Traceback" not in done.err
