# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`corpus debian`: packages of a distribution become corpora."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.training.corpus.debian.gather import GatheredPackage, gather, listed_packages
from passpilot.training.corpus.debian.package import Compiler, DebianPackage
from passpilot.training.corpus.debian.system import DebianSystem, shown_folders
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
        (["hello", "--level=-O9"], 2, "expected one of -O0, -O1, -O2, -O3, -Os, -Oz, got '-O9'"),
    ],
)
def test_what_is_no_package_is_refused(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    assert message in refused("corpus", "debian", "-o", "out", *arguments, cwd=tmp_path, code=code)
    assert not (tmp_path / "out").exists()


def test_a_compiler_stands_in(tmp_path: Path) -> None:
    compiler = Compiler(("printf", "%s|", "a b"), ("false",), ("-Oz",))
    script = tmp_path / "gcc"
    script.write_text(compiler.script("gcc"))
    script.chmod(0o755)
    done = subprocess.run([script, "-c", "x y.c"], check=True, capture_output=True)
    assert done.stdout == b"a b|-c|x y.c|-Oz|"
    assert compiler.script("g++").endswith('exec false "$@" -Oz\n')
    done = subprocess.run([script, "-v"], check=True, capture_output=True)
    assert done.stdout == b"a b|-v|", "nothing is linked by a question for the version"


def test_a_system_shows_this_passpilot() -> None:
    folders = shown_folders()
    assert any(Path(sys.prefix).is_relative_to(folder) for folder in folders) or sys.prefix == "/usr"
    assert not {"/", "/usr"} & set(folders)


def test_what_is_there_is_kept_for_its_level(tmp_path: Path) -> None:
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello/result.json").write_text('{"package": "hello", "units": 7, "level": "-Oz"}')
    system = DebianSystem(tmp_path / "none")
    (kept,) = gather(system, ["hello"], tmp_path, "-Oz", 60.0, 1)
    assert (kept.units, kept.problem) == (7, "")
    (other,) = gather(system, ["hello"], tmp_path, "-O2", 60.0, 1)
    assert "expected its source and what it needs" in other.line(), "it was tried again"
    assert "clang alone" not in other.line(), "nothing was built"
    (tmp_path / "hello/result.json").write_text("{")
    (broken,) = gather(system, ["hello"], tmp_path, "-O2", 60.0, 1)
    assert (broken.problem, broken.level) == (other.problem, "-O2")


def test_a_full_disk_is_said_before_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passpilot.training.corpus.debian.system.LEAST_FREE", 1 << 60)
    (tmp_path / "system").mkdir()
    (found,) = gather(DebianSystem(tmp_path / "system"), ["hello"], tmp_path, "-Oz", 60.0, 1)
    assert "prepare.log: expected 1073741824 GiB of free disk for a build, got " in found.line()
    assert not (tmp_path / "hello/result.json").exists(), "a later call tries again"


def test_a_deadline_says_nothing_about_clang(tmp_path: Path) -> None:
    late = CompilationError("x: x.log: expected it to build within 60 s, got none")
    package = DebianPackage("x", DebianSystem(tmp_path), tmp_path, 60.0)
    assert package.is_late(late)
    assert not package.is_late(CompilationError("x: x.log: expected it to build, got exit code 2"))
    assert "clang alone" not in GatheredPackage("x", problem=str(late), is_late=True).line()
    assert "clang alone does not build it" in GatheredPackage("x", problem="x: exit code 2").line()


@pytest.mark.parametrize("name", ["a:b", "a,b", "a b"])
def test_a_path_that_cannot_be_mounted_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^corpus debian: -o: expected a path that can be mounted, got "):
        DebianSystem.made(tmp_path / name, "bookworm", "http://localhost", tmp_path / "log")


@pytest.mark.soak
def test_packages_become_corpora(tmp_path: Path) -> None:
    done = passpilot(
        "corpus", "debian", "-o", "d", "--level=-Oz", "zopfli", "no-such-package", cwd=tmp_path, timeout=3000
    )
    assert done.code == 0, done.err
    corpus = Corpus.read(str(tmp_path / "d/zopfli/corpus"))
    assert {program.name for program in corpus.programs} >= {"zopfli", "zopflipng"}
    result = json.loads((tmp_path / "d/zopfli/result.json").read_text())
    assert result["verified"] == result["units"] == len(corpus.units) > 10
    assert "no-such-package: " in done.out.decode()
    assert not (tmp_path / "d/zopfli/source").exists()
    again = passpilot("corpus", "debian", "-o", "d", "--level=-Oz", "zopfli", cwd=tmp_path)
    assert again.out.splitlines()[0] == done.out.splitlines()[0], "nothing is built twice"
    killed_with_its_parent(tmp_path)


def killed_with_its_parent(folder: Path) -> None:
    """A build ends with the process that has started it, though it is another user's."""
    mark = f"{time.time_ns() % 10**9 + 10**6}"
    (folder / "k").mkdir()
    lines = (
        "from pathlib import Path",
        "from passpilot.training.corpus.debian.system import DebianSystem",
        f"system = DebianSystem(Path({str(folder / 'd/.system-bookworm')!r}))",
        "folder = Path('k').absolute()",
        f"system.run('sleep {mark} & sleep {mark}', [folder / 'a'], folder / 'log', 900.0)",
    )

    def builds() -> int:
        done = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True)
        return sum(line.startswith(f"sleep {mark}") for line in done.stdout.splitlines())

    def waited(is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while not is_so():
            assert time.monotonic() < end
            time.sleep(0.1)

    with subprocess.Popen([sys.executable, "-c", "\n".join(lines)], cwd=folder) as parent:
        waited(lambda: builds() == 2)
        parent.kill()
    waited(lambda: builds() == 0)
