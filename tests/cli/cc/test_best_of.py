# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc --best-of=N`: the smallest of several objects, as if clang had made it alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest

from passpilot.cli.cc.best_of import VARIANTS
from passpilot.training.rewards import allocated_bytes, code_bytes
from tests.command import GENEROUS, PASSPILOT, Done, files_in, finished, refused, run, started

BEST: Final = "--best-of=3"
KEPT: Final = VARIANTS[1]
"""The first of the best policies for the source here, among three."""


POLICY: Final = """\
name = "other"
description = "Another one"
llvm = 22
level = "Oz"
targets = "any"
license = "MIT"

[[recipes]]
options = {}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a source whose functions repeat long sequences, which the outliner shares."""
    calls = "".join(f"  use(p + {i}, {i}, p[{i}]);\n" for i in range(12))
    functions = "".join(f"void f{i}(int *p) {{\n  p[{i}] = {i};\n{calls}}}\n" for i in range(8))
    (tmp_path / "a.c").write_text(f"void use(int *, int, int);\n{functions}")
    (tmp_path / "wrong.c").write_text("int f(void) { return }\n")
    return tmp_path


def cc(*arguments: str, cwd: Path) -> Done:
    return run(PASSPILOT, "cc", *arguments, cwd=cwd)


def test_the_smallest_stays(here: Path) -> None:
    flags = ("-Oz", "-c", "a.c", "-MD")
    assert run("clang-22", *flags, "-o", "plain.o", cwd=here).code == 0
    for name in ("best.o", "again.o"):
        done = cc(BEST, *flags, "-o", name, cwd=here)
        assert (done.code, done.out, done.err) == (0, b"", "")
    best = (here / "best.o").read_bytes()
    assert allocated_bytes(best) < allocated_bytes((here / "plain.o").read_bytes())
    assert (here / "again.o").read_bytes() == best
    assert (here / "best.d").read_text() == "best.o: a.c\n"
    assert files_in(here) == [
        "a.c",
        "again.d",
        "again.o",
        "best.d",
        "best.o",
        "plain.d",
        "plain.o",
        "wrong.c",
    ]


def test_jump_tables_are_not_free(here: Path) -> None:
    """A variant whose code is smaller, but not what it loads, is not kept."""
    cases = "".join(f"  case {i * 8 + i % 3}: return h{i % 3}(x + {i * 7} * K);\n" for i in range(9))
    heads = "".join(f"int h{i}(int);\n" for i in range(3))
    body = f"{heads}int NAME(int x) {{\n  switch (x) {{\n{cases}  }}\n  return 0;\n}}\n"
    (here / "s.c").write_text(
        "".join(body.replace("NAME", f"f{i}").replace("K", f"{i + 3}") for i in range(6))
    )
    (here / "jumps").mkdir()
    recipes = POLICY.format('["disable-lsr"]') + '[[recipes]]\noptions = ["optsize-jump-table-density=10"]\n'
    (here / "jumps/policy.toml").write_text(recipes)
    flags = ("--target=riscv32-unknown-elf", "-march=rv32imc", "-Oz", "-c", "s.c", "-o")
    ours = {"recipe.o": "--policy=jumps?recipe=2", "best.o": "--policy=jumps?tries=2"}
    for name, option in {"plain.o": "--stats", **ours}.items():
        assert cc(option, *flags, name, cwd=here).code == 0
    plain, recipe, best = ((here / f"{name}.o").read_bytes() for name in ("plain", "recipe", "best"))
    assert code_bytes(recipe) < code_bytes(plain)
    assert allocated_bytes(recipe) > allocated_bytes(plain) >= allocated_bytes(best)


def test_one_variant_is_clangs_own(here: Path) -> None:
    flags = ("-Oz", "-c", "a.c", "-o")
    assert run("clang-22", *flags, "plain.o", cwd=here).code == 0
    assert cc("--best-of=1", *flags, "one.o", cwd=here).code == 0
    assert (here / "one.o").read_bytes() == (here / "plain.o").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-Oz", "-S", "a.c", "-o", "-"),
        ("-Oz", "-E", "a.c"),
        ("-O0", "-c", "a.c"),
        ("-Oz", "-flto", "-c", "a.c"),
    ],
    ids=" ".join,
)
def test_what_makes_no_machine_code_is_clangs(arguments: tuple[str, ...], here: Path) -> None:
    theirs = run("clang-22", *arguments, cwd=here)
    object_ = here / "a.o"
    expected = object_.read_bytes() if object_.exists() else b""
    ours = cc(BEST, *arguments, cwd=here)
    assert (ours.code, ours.out, ours.err) == (theirs.code, theirs.out, theirs.err)
    assert (object_.read_bytes() if object_.exists() else b"") == expected


def test_an_error_is_said_once(here: Path) -> None:
    theirs = run("clang-22", "-Oz", "-c", "wrong.c", cwd=here)
    ours = cc(BEST, "-Oz", "-c", "wrong.c", cwd=here)
    assert (ours.code, ours.err) == (theirs.code, theirs.err)
    assert files_in(here) == ["a.c", "wrong.c"]


SIDES: Final = (
    "-gdwarf-4 -gsplit-dwarf -fsave-optimization-record -fstack-usage -MD --coverage -save-stats",
    "-save-temps -fstack-usage -Rpass-analysis=prologepilog",
    "--inline=default --log=x/logs/",
)


@pytest.mark.parametrize("flags", SIDES)
def test_all_outputs_and_messages_are_those_of_the_kept_try(flags: str, here: Path) -> None:
    """Which are not those of the user's own command, nor of another policy."""
    outcomes = []
    other = here / "other"
    other.mkdir()
    (other / "policy.toml").write_text(POLICY.format('["enable-machine-outliner=always"]'))
    for policy in (BEST, f"--policy={KEPT}", "--priority=default", f"--policy={other}"):
        (here / "x").mkdir()
        done = cc(policy, "-Oz", "-c", "a.c", "-o", "x/a.o", *flags.split(), cwd=here)
        assert done.code == 0
        paths = [path for path in here.rglob("*") if path.is_file() and path.suffix not in (".c", ".stats")]
        outcomes.append((done.err, {str(path): path.read_bytes() for path in paths}))
        shutil.rmtree(here / "x")
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] not in outcomes[2:]


def test_an_output_that_is_no_file_is_written_once(here: Path) -> None:
    flags = ("-Oz", "-c", "a.c")
    plain = run("clang-22", *flags, "-o", "-", cwd=here).out
    assert cc(BEST, *flags, "-o", "-", cwd=here).out == plain
    os.mkfifo(here / "pipe")
    (here / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with subprocess.Popen(["cat", "pipe"], cwd=here, stdout=subprocess.PIPE) as reader:
            assert cc(BEST, *flags, "-o", name, cwd=here).code == 0
            assert reader.communicate(timeout=GENEROUS)[0] == plain
    assert files_in(here) == ["a.c", "link", "pipe", "wrong.c"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "way",
    [
        (BEST,),
        (f"--policy={KEPT.partition('?')[0]}?tries=2",),
        ("--record={here}/recording",),
        (BEST, "--record={here}/recording"),
        ("--inline=const:0",),
        ("--inline=const:0", "--stats"),
        ("--inline=const:0", "clang-22"),
    ],
    ids=" ".join,
)
def test_a_signal_ends_a_compilation(way: tuple[str, ...], number: signal.Signals, here: Path) -> None:
    os.mkfifo(here / "slow.h")
    (here / "slow.c").write_text('#include "slow.h"\n')
    command = ("cc", *(word.format(here=here) for word in way), "-Oz", "-c", "slow.c")
    # The file can be opened once clang reads it.
    with started(PASSPILOT, *command, cwd=here) as child, open(here / "slow.h", "w"):
        os.kill(child.pid, number)
        done = finished(child, time.monotonic())
    assert (done.code, done.out, done.err) == (-number, b"", "")
    assert not (here / "slow.o").exists()


def test_a_wrong_number(here: Path) -> None:
    assert "--best-of: expected a number of variants up to 4, got x" in refused(
        "cc", "--best-of=x", "-Oz", "-c", "a.c", cwd=here, code=2
    )
