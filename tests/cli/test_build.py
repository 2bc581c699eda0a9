# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot build`: its options hold in all folders of a build, and in odd places of the installation."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from passpilot.plugin.toolchain import installed
from passpilot.training.tuning import build
from tests.command import GENEROUS, PASSPILOT, passpilot, refused, run, started

SOURCE = "static int twice(int n) { return n * 2; }\nint f(int n) { return twice(n) + 1; }\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A build that compiles in another folder."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.c").write_text(SOURCE)
    (tmp_path / "Makefile").write_text("all:\n\tcd sub && clang-22 -Oz -c a.c -o a.o\n")
    (tmp_path / "never.py").write_text("def decide(_):\n    return False\n")
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [
        ("--inline=python:never.py:decide", "--log=inline=logs/"),
        ("--inline", "python:never.py:decide", "--log", "logs/"),
        ("--advise=inline=python:never.py:decide", "--load=never.py", "--log=logs/"),
    ],
)
def test_paths_hold_in_all_folders(here: Path, options: tuple[str, ...]) -> None:
    done = passpilot("build", *options, "--", "make", "-s", cwd=here)
    assert (done.code, done.err) == (0, "")
    (log,) = (here / "logs").iterdir()
    assert log.name.endswith("-inline.log")
    assert b"twice" in run("llvm-nm-22", here / "sub/a.o", cwd=here).out
    assert {path.name for path in here.iterdir()} == {"Makefile", "logs", "never.py", "sub"}


def test_a_file_of_the_user_stays(here: Path) -> None:
    (here / ".programs").write_text("mine")
    done = passpilot("build", "--", "make", "-s", cwd=here)
    assert done.code == 0
    assert "warning: build: expected an option such as --policy=@oz, got none" in done.err
    assert passpilot("build", "--record=recording", "--", "make", "-s", cwd=here).code == 0
    assert (here / ".programs").read_text() == "mine"
    assert (here / "recording").is_dir()
    assert not (here / "recording.programs").exists()


def test_options_that_a_build_cannot_keep_are_refused(here: Path) -> None:
    told = refused("build", "-DA=1\n-DB=2", "--", "make", cwd=here, code=2)
    assert "build: expected options without line breaks, got '-DA=1\\n-DB=2'" in told
    told = refused("build", "--advise=inlinee=const:0", "--", "make", cwd=here, code=2)
    assert "got 'inlinee'; others come from --load files; did you mean 'inline'?" in told
    told = refused("build", f"-DA={'x' * 20_000}", "--", "make", cwd=here, code=2)
    assert "build: expected options of at most 16,000 bytes, got 20,005" in told


def test_an_installation_may_have_blanks_in_its_path(
    here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = here / "my project: preload.so"
    library.symlink_to(installed("libpasspilot_preload.so"))
    monkeypatch.setattr(build, "installed", lambda _: str(library))
    names = tmp_path_factory.mktemp("names")
    environment = build.build_environment(
        str(names), str(names / "programs"), words=[f"--inline=python:{here}/never.py:decide"]
    )
    words = build.build_words("build", ["make", "-s", "-C", str(here)], environment)
    subprocess.run(words, env=environment, check=True)
    assert b"twice" in run("llvm-nm-22", here / "sub/a.o", cwd=here).out


@pytest.mark.parametrize("command", [("build",), ("tune", "-o", "tuned")], ids=["build", "tune"])
def test_a_signal_ends_the_build_and_its_folder(
    command: tuple[str, ...], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(here / "tmp"))
    with started(PASSPILOT, *command, "--", "sh", "-c", "echo begun; sleep 600; :", cwd=here) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        child.terminate()
        child.communicate(timeout=GENEROUS)  # nothing holds the other end: the build has ended
        assert child.returncode == -signal.SIGTERM
    assert not list((here / "tmp").glob("passpilot-build-*"))
