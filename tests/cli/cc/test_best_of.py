# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc --best-of=N`: the smallest of several objects, as if clang had made it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.cli.cc.best_of import VARIANTS
from passpilot.training.rewards import code_bytes
from tests.command import PASSPILOT, Done, files_in, refused, run

BEST = f"--best-of={len(VARIANTS)}"


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
    assert code_bytes(best) < code_bytes((here / "plain.o").read_bytes())
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


def test_advice_and_its_log_are_the_first_variants(here: Path) -> None:
    assert cc(BEST, "--inline=const:0", "--log=logs", "-Oz", "-c", "a.c", cwd=here).code == 0
    assert len(list((here / "logs").iterdir())) <= 1


def test_a_wrong_number(here: Path) -> None:
    assert "--best-of: expected a number of variants, got x" in refused(
        "cc", "--best-of=x", "-Oz", "-c", "a.c", cwd=here, code=2
    )
