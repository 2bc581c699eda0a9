# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that are killed at any moment leave whole files, and the same command goes on to the same end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from passpilot.training.tuning.decision_file import read_decisions
from tests.cli.everything import advised, environment, prepare
from tests.command import GENEROUS, PASSPILOT

OURS: Final = str(PASSPILOT)


@dataclass(frozen=True)
class Work:
    """A command, and what it writes; a killed one leaves the first output whole or not at all."""

    command: tuple[str, ...]
    outputs: tuple[str, ...]
    resume: tuple[str, ...] = ()
    """More options of the next call, if the first output is there."""
    exact: bool = True
    """Whether two calls write the same bytes."""
    fresh: bool = False
    """Whether the command refuses to write where something is."""
    last: str = ""
    """The file in a folder that says that the folder is complete."""


WORKS: Final = {
    "tune": Work(
        ("tune", "once.bc", "--compiles=20", "-o", "once.decisions", "--result=tune.json"),
        ("once.decisions", "tune.json"),
        exact=False,
    ),
    "eval": Work(
        (
            "eval",
            "--corpus=corpus",
            "--baselines=-Oz,-O2",
            "--policy=const:1",
            "--rounds=0",
            "-o",
            "eval.json",
        ),
        ("eval.json",),
        ("--resume",),
        exact=False,
    ),
    "extract": Work(
        ("corpus", "extract", "--recording=recording", "-o", "extracted"),
        ("extracted",),
        fresh=True,
        last="corpus_description.json",
    ),
    "data": Work(
        ("train", "data", "once.bc", "main.bc", "--teacher=const:1", "-o", "shards"),
        ("shards",),
        exact=False,
        fresh=True,
        last="data.json",
    ),
    "imitate": Work(
        ("train", "imitate", "imitate.toml", "-o", "learned"), ("learned/model.onnx",), ("--resume",)
    ),
    "cache": Work(
        ("opt", "once.bc", "-passes=default<Oz>", "--policy=@spill", "-o", "spill.bc"), ("spill.bc",)
    ),
}
"""By the name of what is written."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read: modules, a recording, a corpus and shards."""
    made = tmp_path_factory.mktemp("killed")
    prepare(made)
    commands = [*advised(made, "const:1")]
    for command in (
        *commands[:2],
        *(each for each in commands if "corpus" in each or "--record" in " ".join(each)),
    ):
        if command[1] != "eval":
            run(made, command)
    run(made, [OURS, "train", "data", "once.bc", "--teacher=default", "-o", "data"])
    return made


def run(folder: Path, command: Sequence[str], seconds: float | None = None) -> bool:
    """Whether a command ends well before so many seconds; else it is killed with its children."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            _, said = child.communicate(timeout=GENEROUS if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            assert seconds is not None, command
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            return False
        assert child.returncode == 0, (command, said.decode())
        return True


def call(folder: Path, work: Work, seconds: float | None = None) -> None:
    """Run a command, and kill it after so many seconds."""
    first = folder / work.outputs[0]
    if work.fresh and first.exists():
        shutil.rmtree(first)
    again = first.exists() or (first.parent != folder and first.parent.exists())
    run(folder, [OURS, *work.command, *(work.resume if again else ())], seconds)


def whole(path: Path) -> None:
    """Check that a reader of ours takes a file."""
    if path.suffix == ".json":
        json.loads(path.read_text())
    elif path.suffix == ".decisions":
        read_decisions(str(path))


def contents(folder: Path, work: Work) -> dict[str, str]:
    """The outputs, file by file, with their digests if they are exact."""
    found = {}
    for name in work.outputs:
        top = folder / name
        for path in [top] if top.is_file() else sorted(each for each in top.rglob("*") if each.is_file()):
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if work.exact else ""
            found[str(path.relative_to(folder))] = digest
    return found


def kill(folder: Path, tmp_path: Path, name: str, kills: int) -> None:
    """Kill a command again and again, and let it end at last."""

    work, draw = WORKS[name], random.Random(name)
    reference = Path(shutil.copytree(folder, tmp_path / "reference/work", symlinks=True))
    began = time.monotonic()
    call(reference, work)
    seconds = time.monotonic() - began
    here = Path(shutil.copytree(folder, tmp_path / "here/work", symlinks=True))
    for _ in range(kills):
        call(here, work, draw.uniform(0, seconds))
        for path in here.rglob("*"):
            if path.is_file():
                whole(path)
        if work.last and (here / work.outputs[0] / work.last).exists():
            assert contents(here, work) == contents(reference, work)
    call(here, work)
    assert contents(here, work) == contents(reference, work)
    assert contents(here, work)
    assert names(here) == names(reference), "nothing is left behind"


def names(folder: Path) -> set[str]:
    """All files of the user; TensorBoard has one for each process."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {name for name in found if not name.startswith(("cache/", "temporary/", "learned/tensorboard/"))}


@pytest.mark.parametrize("name", [name for name in WORKS if name != "imitate"])
def test_killed_three_times(folder: Path, tmp_path: Path, name: str) -> None:
    kill(folder, tmp_path, name, 3)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", WORKS)
def test_killed_fifty_times(folder: Path, tmp_path: Path, name: str) -> None:
    kill(folder, tmp_path, name, 50)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_search_that_a_signal_ends_leaves_no_temporary_folders(
    folder: Path, tmp_path: Path, number: signal.Signals
) -> None:
    command = [OURS, "tune", "--corpus=corpus", "--compiles=1000000", "-o", str(tmp_path / "tuned")]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**environment(folder), "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(signal.signal, number, signal.SIG_DFL),
    ) as child:
        deadline = time.monotonic() + GENEROUS
        while not list(scratch.glob("*/*")):
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.send_signal(number)
        assert child.wait(GENEROUS) == -number
    assert not list(scratch.iterdir())
