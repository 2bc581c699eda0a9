# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`corpus verify` and `corpus stats`: every broken unit has its line, and the others count."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.training.corpus.layout import Corpus
from tests.command import Done, passpilot, refused
from tests.training.corpus.builds import make_project, run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the folders `source` and `corpus`: three units of one program."""
    folder = tmp_path_factory.mktemp("made")
    make_project(folder)
    assert passpilot("corpus", "extract", "--recording=recording", "-o", "corpus", cwd=folder).code == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def verify(here: Path) -> Done:
    return passpilot("corpus", "verify", "corpus", cwd=here)


def test_a_whole_corpus(here: Path) -> None:
    done = verify(here)
    assert (done.code, done.err) == (0, "")
    assert done.out == b"corpus: 3 units: 3 make the code of the build, 0 compile, 0 broken\n"


def test_every_broken_unit_has_a_line(here: Path) -> None:
    corpus = here / "corpus"
    (corpus / "add.c.bc").write_bytes((corpus / "add.c.bc").read_bytes()[:800])
    (corpus / "main.c.cmd").unlink()
    text = (corpus / "twice.c.cmd").read_bytes()
    (corpus / "twice.c.cmd").write_bytes(
        text.replace(b"-Oz\0", b"-O1\0-mllvm\0-align-all-functions=8\0-fwrong\0")
    )
    done = verify(here)
    assert done.code == 1
    dropped, add, main, twice = done.err.splitlines()
    assert "expected flags that a corpus may carry, got -mllvm -align-all-functions, left out" in dropped
    assert add.startswith("passpilot: add.c: expected LLVM IR or bitcode, got: ")
    assert main == "passpilot: main.c: expected arguments of clang -cc1, got none"
    assert twice == "passpilot: twice.c: expected it to compile, got error: unknown argument: '-fwrong'"
    assert done.out == b"corpus: 3 units: 0 make the code of the build, 0 compile, 3 broken\n"


def test_other_code_and_other_bitcode_are_seen(here: Path) -> None:
    corpus = here / "corpus"
    (corpus / "add.c.bc").write_bytes((corpus / "twice.c.bc").read_bytes())
    (corpus / "main.c.bc").unlink()
    text = (corpus / "twice.c.cmd").read_bytes()
    (corpus / "twice.c.cmd").write_bytes(text.replace(b"-Oz\0", b"-O0\0"))
    done = verify(here)
    add, main, twice = done.err.splitlines()
    assert add.startswith("passpilot: add.c: expected the bitcode of hash ")
    assert main == "passpilot: main.c: expected bitcode, got: No such file or directory"
    assert twice == "passpilot: twice.c: expected the machine code of the build's object, got other code"


def test_another_target_is_seen(here: Path) -> None:
    corpus = Corpus.read(here / "corpus")
    replace(corpus, facts=replace(corpus.facts, target="aarch64-unknown-linux-gnu", origins={})).write()
    done = verify(here)
    assert done.code == 1
    expected = "expected a module for aarch64-unknown-linux-gnu, got one for x86_64-pc-linux-gnu"
    assert done.err.splitlines() == [
        f"passpilot: {name}: {expected}" for name in ("add.c", "main.c", "twice.c")
    ]


def test_a_corpus_for_another_target_is_verified(here: Path) -> None:
    flags = ("--target=aarch64-linux-gnu", "-Oz", "-Xclang", "-fembed-bitcode=all")
    (here / "arm").mkdir()
    for name in ("add", "twice"):
        run("clang-22", *flags, "-c", f"source/{name}.c", "-o", f"arm/{name}.o", cwd=here)
    assert passpilot("corpus", "extract", "--objects=arm", "-o", "other", cwd=here).code == 0
    done = passpilot("corpus", "verify", "other", cwd=here)
    assert done.out == b"other: 2 units: 2 make the code of the build, 0 compile, 0 broken\n"


def test_without_clang(here: Path) -> None:
    line = refused("corpus", "verify", "corpus", cwd=here, prefix=("env", "PATH=/nowhere"))
    assert line == (
        "passpilot: error: corpus verify: clang-22 is not on the PATH; sudo apt-get install clang-22\n"
    )


def test_a_corpus_of_another_llvm_is_one_line(here: Path) -> None:
    facts = here / "corpus" / "passpilot.json"
    facts.write_text(facts.read_text().replace("clang version 22", "clang version 19"))
    for command in ("verify", "stats"):
        line = refused("corpus", command, "corpus", cwd=here)
        assert "corpus corpus: expected one of clang 22, got one of Debian clang version 19." in line
        assert line.endswith("; extract it again\n")


def test_statistics(here: Path) -> None:
    done = passpilot("corpus", "stats", "corpus", cwd=here)
    sizes = {path.name: path.stat().st_size for path in (here / "corpus").glob("*.bc")}
    number = f"{sum(sizes.values()):,}"
    head, program, total, last = done.out.decode().splitlines()
    assert head == f"program  language  level  units  functions  calls  {'bytes':>{len(number)}}"
    assert program == f"program  c         Oz         3          4      1  {number}"
    assert total == f"all      c         Oz         3          4      1  {number}"
    assert last.startswith("0 duplicates dropped; Debian clang version 22.")
    assert last.endswith("; x86_64-pc-linux-gnu")
    value = json.loads(passpilot("corpus", "stats", "corpus", "--json", cwd=here).out)
    assert value["total"]["bitcode"] == sum(sizes.values())
    assert value["rows"][0]["name"] == "program"


def test_statistics_of_a_corpus_without_facts(here: Path) -> None:
    """As mlgo-utils makes it: neither programs nor origins; a unit cannot be read."""
    corpus = here / "corpus"
    for name in ("passpilot.json", "programs.json"):
        (corpus / name).unlink()
    (corpus / "add.c.bc").write_bytes(b"")
    done = passpilot("corpus", "stats", "corpus", cwd=here)
    assert done.code == 0
    assert done.err == "passpilot: warning: add.c: expected bitcode, got nothing\n"
    rows = [line.split() for line in done.out.decode().splitlines()]
    assert [row[0] for row in rows[1:4]] == ["add.c", "main.c", "twice.c"]
    assert rows[4][:6] == ["all", "c", "Oz", "2", "2", "0"]
