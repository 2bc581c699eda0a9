# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--llvm`: the passpilot of another LLVM compiles, in an environment beside."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import command
from passpilot.plugin.version import MAJOR
from tests.command import passpilot, refused, run
from tests.newcomer.test_tasks import own_environment

OTHER: Final = next(llvm for llvm in (23, 22) if llvm != MAJOR)
COMPILE: Final = ("-O2", "-S", "a.c", "-o", "-")


def built(folder: Path, major: int) -> Path:
    """An environment with the files by which a plugin is found."""
    plugin = folder / "lib/python3.11/site-packages/passpilot/plugin"
    plugin.mkdir(parents=True)
    (plugin / "version.py").write_text(f'MAJOR = {major}\n__version__ = "0.1.0"\n')
    return plugin / "libpasspilot.so"


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment of its own; beside it, one with a command that prints its arguments."""
    folder = tmp_path_factory.mktemp("beside")
    (folder / f"env-{OTHER}/bin").mkdir(parents=True)
    other = folder / f"env-{OTHER}/bin/passpilot"
    other.write_text('#!/bin/sh\necho "$@" by $PASSPILOT_LLVM\n')
    other.chmod(0o755)
    built(folder / f"env-{OTHER}", OTHER)
    return own_environment(folder / "env") / "passpilot"


@pytest.mark.parametrize(
    "line",
    ["cc --llvm={} -c a.c", "c++ -c a.cpp --llvm={}", "rustc --llvm={} a.rs", "build --llvm={} -- make"],
)
def test_the_other_one_gets_the_arguments(line: str, beside: Path, tmp_path: Path) -> None:
    words = line.format(OTHER).split()
    done = run("env", "-u", "PASSPILOT_LLVM", beside, *words, cwd=tmp_path)
    assert (done.code, done.out.decode(), done.err) == (0, f"{' '.join(words)} by\n", "")


def test_a_variable_chooses_too_and_the_option_wins(beside: Path, tmp_path: Path) -> None:
    done = run("env", f"PASSPILOT_LLVM={OTHER}", beside, "cc", *COMPILE, cwd=tmp_path)
    assert done.out.decode() == f"cc {' '.join(COMPILE)} by {OTHER}\n"
    done = run("env", f"PASSPILOT_LLVM={OTHER}", beside, "cc", f"--llvm={MAJOR}", "--version", cwd=tmp_path)
    assert f"clang version {MAJOR}." in done.out.decode()


@pytest.mark.parametrize("llvm", [21, 22, 23])
def test_the_clang_that_compiles(llvm: int, tmp_path: Path) -> None:
    try:
        assert llvm == MAJOR or command(llvm).exists()
    except InputError:
        pytest.skip(f"needs the environment for LLVM {llvm}: PASSPILOT_LLVM={llvm} tools/setup.sh build")
    (tmp_path / "a.c").write_text(
        "static int one(int x) { return x * 3 + 1; }\nint two(int x) { return one(x) + one(x + 1); }\n"
    )
    for advice in ((), ("--inline=const:0",), ("--inline=const:0", "--on-error=default", "--stats")):
        done = passpilot("cc", f"--llvm={llvm}", *advice, *COMPILE, cwd=tmp_path)
        assert done.code == 0, done
        assert f"clang version {llvm}." in done.out.decode()
        assert bool(advice) == ("call" in done.out.decode())


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    error = refused("cc", "--llvm=20", "a.c", cwd=tmp_path, code=2)
    assert "cc: --llvm: expected 21 or 22 or 23, got 20; see `passpilot cc --help`" in error
    alone = own_environment(tmp_path / "env") / "passpilot"
    done = run(alone, "c++", f"--llvm={OTHER}", "a.cpp", cwd=tmp_path)
    assert (done.code, done.err) == (
        1,
        f"passpilot: error: passpilot: expected LLVM {MAJOR}, which it is built with, got {OTHER}; "
        f"PASSPILOT_LLVM={OTHER} tools/setup.sh build makes {tmp_path}/env-{OTHER}\n",
    )
    built(tmp_path / f"env-{OTHER}", OTHER)
    done = run(alone, "cc", f"--llvm={OTHER}", "a.c", cwd=tmp_path)
    assert f"cc: expected to run {tmp_path}/env-{OTHER}/bin/passpilot, got: No such file" in done.err
    error = refused("eval", f"--contender=--llvm={OTHER}", "--corpus=none", cwd=tmp_path, code=2)
    assert f"eval: --contender: expected LLVM {MAJOR}, got --llvm={OTHER}" in error
