# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`corpus debian`: packages of a distribution become corpora."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from passpilot.training.corpus.debian.gather import listed_packages
from passpilot.training.corpus.debian.package import Compiler, is_linked, passed_tests
from passpilot.training.corpus.debian.system import shown_folders
from passpilot.training.corpus.layout import Corpus
from tests.command import passpilot, refused


def test_names_come_from_arguments_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("# rule: by name\nzopfli\n\nlibyaml  # C\nhello\n")
    assert listed_packages(["hello"], str(file)) == ["hello", "zopfli", "libyaml"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["Hello"], 1, "expected the name of a source package, got 'Hello'"),
        (["../x"], 1, "expected the name of a source package, got '../x'"),
        (["--packages=none.txt"], 1, "none.txt: expected names of packages, got: No such file"),
        ([], 2, "expected names of packages, or --packages=LIST.txt, got none"),
        (["hello", "--level=-O9"], 2, "invalid choice: '-O9'"),
    ],
)
def test_what_is_no_package_is_refused(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    assert message in refused("corpus", "debian", "-o", "out", *arguments, cwd=tmp_path, code=code)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("output", "count"),
    [
        (b"# TOTAL: 5\n# PASS:  4\n# FAIL:  0\nlater\n# PASS:  3\n", 7),
        (b"100% tests passed, 0 tests failed out of 12\n", 12),
        (b"Ok:                 31\nExpected Fail:      0\n", 31),
        (b"[  PASSED  ] 8 tests.\n", 8),
        (b"All tests successful.\nFiles=3, Tests=120,  2 wallclock secs\n", 120),
        (b"===== 17 passed in 0.3s =====\n", 17),
        (b"PASS: one\nPASS: two\nFAIL: three\n", 2),
        (b"make[1]: Nothing to be done for 'check'.\n", 0),
    ],
)
def test_tests_are_counted(output: bytes, count: int) -> None:
    assert passed_tests(output) == count


def test_a_compiler_stands_in(tmp_path: Path) -> None:
    compiler = Compiler(("printf", "%s|", "a b"), ("false",), ("-Oz",))
    script = tmp_path / "gcc"
    script.write_text(compiler.script("gcc"))
    script.chmod(0o755)
    done = subprocess.run([script, "-c", "x y.c"], check=True, capture_output=True)
    assert done.stdout == b"a b|-c|x y.c|-Oz|"
    assert compiler.script("g++").endswith('exec false "$@" -Oz\n')


def test_a_system_shows_this_passpilot() -> None:
    folders = shown_folders()
    assert any(Path(sys.prefix).is_relative_to(folder) for folder in folders) or sys.prefix == "/usr"
    assert not {"/", "/usr"} & set(folders)


def test_programs_are_found(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"#!/bin/sh\n")
    assert not is_linked(text)
    assert is_linked(Path(shutil.which("sh") or "/bin/sh").resolve())


@pytest.mark.soak
def test_packages_become_corpora(tmp_path: Path) -> None:
    done = passpilot("corpus", "debian", "-o", "d", "--level=-Oz", "zopfli", "no-such-package", cwd=tmp_path)
    assert done.code == 0, done.err
    corpus = Corpus.read(str(tmp_path / "d/zopfli/corpus"))
    assert {program.name for program in corpus.programs} >= {"zopfli", "zopflipng"}
    result = json.loads((tmp_path / "d/zopfli/result.json").read_text())
    assert result["verified"] == result["units"] == len(corpus.units) > 10
    assert "no-such-package: " in done.out.decode()
    assert not (tmp_path / "d/zopfli/source").exists()
    again = passpilot("corpus", "debian", "-o", "d", "--level=-Oz", "zopfli", cwd=tmp_path)
    assert again.out.splitlines()[0] == done.out.splitlines()[0], "nothing is built twice"
