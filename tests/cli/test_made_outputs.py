# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs that exist: what takes long to make is kept without --force, what a compiler makes is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.command import files_in, passpilot, refused
from tests.training.evaluation.small import corpus

LEARN: Final = 'policy = "linear"\n[data]\ntrain = ["data/train"]\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, a data set, a model and the result of an evaluation."""
    here = tmp_path_factory.mktemp("made")
    corpus(here)
    (here / "imitate.toml").write_text(LEARN)
    for words in COMMANDS.values():
        done = passpilot(*words, cwd=here)
        assert done.code == 0, done.err
    return here


COMMANDS: Final = {
    "corpus split": ("corpus", "split", "corpus", "-o", "parts"),
    "train data": ("train", "data", "--corpus=corpus", "-o", "data"),
    "train imitate": ("train", "imitate", "imitate.toml", "-o", "model"),
    "eval": ("eval", "--corpus=corpus", "--baselines=-Oz", "--no-runs", "-o", "result.json"),
}
OTHERS: Final = {"train imitate": "--resume to go on, ", "eval": "--resume to go on, "}


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_kept_without_force(command: str, made: Path) -> None:
    words, before = COMMANDS[command], files_in(made)
    told = (
        f"{command}: -o: expected a new output, got {words[-1]}, which exists; give {OTHERS.get(command, '')}"
    )
    assert f"{told}--force to replace it\n" in refused(*words, cwd=made)
    assert files_in(made) == before
    done = passpilot(*words, "--force", cwd=made)
    assert done.code == 0, done.err
    assert {path.name for path in made.iterdir()} == {
        *("sources", "corpus", "imitate.toml", "parts", "data", "model", "result.json")
    }


def test_with_force_a_failure_leaves_the_earlier_folder(made: Path) -> None:
    before = files_in(made)
    refused("train", "data", "--corpus=none", "-o", "data", "--force", cwd=made)
    assert files_in(made) == before


def test_a_folder_that_cannot_be_replaced_is_refused(made: Path) -> None:
    (made / "link").symlink_to("data")
    link = refused("train", "data", "--corpus=corpus", "-o", "link", "--force", cwd=made)
    assert "expected a folder that can be replaced, got link: it is a symbolic link" in link
    (made / "link").unlink()
    words = ("train", "data", "--corpus=../corpus", "-o", ".", "--force")
    assert "expected a folder that can be replaced, got .: " in refused(*words, cwd=made / "data")


def test_other_folders_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("x")
    (tmp_path / "a.bc").write_text("")
    told = refused("train", "data", "a.bc", "-o", "mine", "--force", cwd=tmp_path)
    assert "train data: -o: expected a new folder, got mine, which has other files; choose another" in told
    assert (tmp_path / "mine/thesis.tex").read_text() == "x"
