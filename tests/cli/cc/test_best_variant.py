# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of several policies is the best, whatever the compilations come to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from passpilot.cli.cc.best_of import LOG, POLICY, best_variant
from passpilot.training.corpus.front_end import FrontEnd
from tests import stock
from tests.command import files_in

SCRIPT: Final = """#!/bin/sh
case "$*" in
  *-###*) cat jobs >&2; exit ;;
esac
while [ "$1" != -o ]; do shift; done
echo "$PASSPILOT_POLICY,$PASSPILOT_LOG" >> asked
echo "policies may write, too"
case "$PASSPILOT_POLICY" in
  fails) cp small.o "$2"; exit 3 ;;
  dies) kill -TERM $$ ;;
  text) echo text > "$2" ;;
  none) ;;
  *) cp "${PASSPILOT_POLICY:-own}.o" "$2" ;;
esac
"""
"""A compiler: the objects that it makes are those that clang has made."""

JOB: Final = ' "clang" "-cc1" "-triple" "t" "-emit-obj" "-o" "out.o" "-x" "c" "a.c"\n'


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiler and objects of three sizes; two of them are of one size."""
    folder = tmp_path_factory.mktemp("objects")
    bodies = {"own": "x * 3 + 2", "same": "x * 3 + 3", "small": "x", "large": "x * 3 % 7 / (x + 1)"}
    source = folder / "a.c"
    for name, body in bodies.items():
        source.write_text(f"int f(int x) {{ return {body}; }}\n")
        stock.run("clang", "-O1", "-c", source, "-o", folder / f"{name}.o")
    (folder / "clang").write_text(SCRIPT)
    (folder / "clang").chmod(0o755)
    (folder / "jobs").write_text(JOB)
    return folder


@pytest.fixture
def here(objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the compiler."""
    folder = Path(shutil.copytree(objects, tmp_path / "here"))
    monkeypatch.chdir(folder)
    return folder


def best(*policies: str) -> str:
    environment = {LOG: "logs", "PATH": "/usr/bin:/bin"}
    return best_variant(FrontEnd("./clang", os.getcwd(), environment), ["clang", "-c", "a.c"], policies)


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        (("", "small", "large"), "small"),
        (("", "large"), ""),
        (("large", "", "small"), "small"),
        (("", "same"), ""),
        (("same", ""), "same"),
        (("", "fails"), ""),
        (("large", "fails", "small"), "small"),
        (("", "dies"), ""),
        (("large", "text"), "large"),
    ],
)
def test_the_first_of_the_smallest_is_best(policies: tuple[str, ...], expected: str, here: Path) -> None:
    before = files_in(here)
    assert best(*policies) == expected
    assert files_in(here) == sorted([*before, "asked"])


def test_the_tries_write_no_log_and_say_nothing(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    best("", "small", "large")
    assert (here / "asked").read_text().splitlines() == [",", "small,", "large,"]
    assert capfd.readouterr() == ("", "")
    assert (LOG, POLICY) == ("PASSPILOT_LOG", "PASSPILOT_POLICY")


@pytest.mark.parametrize("policy", ["fails", "dies", "text", "none"])
def test_nothing_is_compared_with_a_first_that_makes_no_object(policy: str, here: Path) -> None:
    assert best(policy, "small") == policy
    assert (here / "asked").read_text().count("\n") == 1


@pytest.mark.parametrize(
    "jobs",
    [
        "",
        JOB + JOB,
        JOB.replace("-emit-obj", "-S"),
        JOB.replace('"-emit-obj"', '"-emit-obj" "-emit-llvm"'),
        JOB.replace("out.o", "-"),
        JOB.replace("out.o", "/dev/null"),
        JOB.replace("out.o", "pipe"),
        JOB.replace("out.o", "link"),
        JOB.replace("out.o", "."),
        JOB.replace("a.c", "-"),
        JOB.replace("a.c", "pipe"),
        JOB.replace("a.c", "none.c"),
    ],
)
def test_what_is_not_one_object_in_a_file_is_not_tried(jobs: str, here: Path) -> None:
    (here / "jobs").write_text(jobs)
    os.mkfifo(here / "pipe")
    (here / "link").symlink_to("pipe")
    assert best("large", "small") == "large"
    assert not (here / "asked").exists()


def test_an_object_that_is_there_is_tried_again(here: Path) -> None:
    (here / "out.o").touch()
    (here / "jobs").write_text(JOB.replace('"c" "a.c"', '"ir" "a.c"'))
    assert best("large", "small") == "small"
    assert not (here / "out.o").read_bytes()
