# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of the compiler service by themselves: its folder, its messages, its processes and their files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from passpilot.plugin.errors import AdviceError, CompilationError, InputError, PeerError
from passpilot.runners.remote import wire
from passpilot.training.compiler_pb2 import Start
from passpilot.training.compiler_service import ServedFolder
from passpilot.training.messages import LENGTH, default_start, failure, points_of
from passpilot.training.pool import MessageReader, Pool, WorkerOptions, launch, obituary
from passpilot.training.scratch import ScratchFolder, remove_left_overs
from tests.command import GENEROUS


@pytest.fixture
def served(tmp_path: Path) -> ServedFolder:
    """A folder with files of all kinds, beside a secret."""
    folder = tmp_path / "corpus"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.bc").write_bytes(b"a module")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "corpus-2").mkdir()
    (tmp_path / "corpus-2" / "x").write_bytes(b"secret")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "inner").symlink_to("in/a.bc")
    os.mkfifo(folder / "pipe")
    return ServedFolder(str(folder))


def test_files_of_the_folder_are_read(served: ServedFolder) -> None:
    assert [served.read(path) for path in ("in/a.bc", "./in/../in/a.bc", "inner")] == [b"a module"] * 3


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("out", "is outside the corpus"), ("../secret", "is outside the corpus"),
        ("../corpus-2/x", "is outside the corpus"), ("/etc/passwd", "is outside the corpus"),
        ("pipe", "expected a regular file of the corpus"), ("none", "got: No such file"),
        ("in", "got: Is a directory|expected a regular file"), ("in/a.bc\0", "null"),
    ],
)  # fmt: skip
def test_nothing_else_is_read(path: str, told: str, served: ServedFolder) -> None:
    with pytest.raises(InputError, match=told) as caught:
        served.read(path)
    assert "secret'" not in str(caught.value) or path == "../secret"


def test_the_inside_is_meant_by_its_true_path(served: ServedFolder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("corpus")
    assert ServedFolder(str(tmp_path / "link")).read("in/a.bc") == b"a module"
    assert served.read("in/a.bc") == b"a module"
    with pytest.raises(InputError, match="is outside the corpus"):
        served.read(str(tmp_path / "corpus" / "in" / "a.bc"))


def test_a_file_may_be_as_large_as_a_message(served: ServedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST", 8)
    assert served.read("in/a.bc") == b"a module"
    monkeypatch.setattr(wire, "LARGEST", 7)
    with pytest.raises(InputError, match="expected a file of the corpus of at most 0 MiB, got 0"):
        served.read("in/a.bc")


def test_a_service_without_a_folder() -> None:
    with pytest.raises(InputError, match="the service has no corpus; start it with --modules DIR"):
        ServedFolder(None).read("a")
    with pytest.raises(InputError, match="--modules: expected a folder, got /none"):
        ServedFolder("/none")


def test_failures_are_one_line_of_a_known_kind() -> None:
    made = failure(AdviceError("a\n  b \n\nc"), retry=True).failure
    assert (made.failure.error, made.failure.kind, made.retry) == ("a b c", "AdviceError", True)
    other = failure(ZeroDivisionError("x")).failure
    assert (other.failure.kind, other.retry) == ("CompilationError", False)
    assert "ZeroDivisionError: x" in other.failure.error


def test_the_start_of_the_default_is_the_same_but_for_who_decides() -> None:
    start = Start(
        code=b"code", point="inline", pipeline="p", opt_level=1, features=["a", "b"], reward="r",
        function="f", at={"x": "y"}, also=[{"point": "evict", "features": ["c"]}, {"point": "size"}],
        object=True, partial=True,
    )  # fmt: skip
    assert [(point, list(names)) for point, names in points_of(start)] == [
        ("inline", ["a", "b"]), ("evict", ["c"]), ("size", [])
    ]  # fmt: skip
    default = default_start(start)
    assert default == Start(code=b"code", pipeline="p", opt_level=1, reward="r", at={"x": "y"})
    assert points_of(default) == []
    assert start.point == "inline"


def test_messages_come_in_parts_and_together() -> None:
    async def scene() -> list[bytes | None]:
        stream = asyncio.StreamReader()
        reader = MessageReader(stream)
        data = b"".join(LENGTH.pack(len(text)) + text for text in (b"one", b"", b"three"))
        made = list[bytes | None]()
        for at in range(len(data)):
            stream.feed_data(data[at : at + 1])
            with contextlib.suppress(TimeoutError):  # a call that is cancelled loses nothing
                async with asyncio.timeout(0):
                    made.append(await reader.read())
        stream.feed_data(data + LENGTH.pack(9) + b"cut")
        stream.feed_eof()
        return [*made, *[await reader.read() for _ in range(5)]]

    assert asyncio.run(scene()) == [b"one", b"", b"three"] * 2 + [None] * 2


def test_what_a_worker_gets() -> None:
    assert WorkerOptions().arguments == ["0", "", "0"]
    assert WorkerOptions(("a.py", "b.so"), allow_files=True, llvm_options=("-x", "-y")).arguments == [
        "1", "", "2", "-x", "-y", "a.py", "b.so"
    ]  # fmt: skip
    assert WorkerOptions(targets=("bpf", "arm")).arguments == ["0", "bpf,arm", "0"]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os; os._exit(3)", "exit code 3"),
        ("import os; print('a ' * 400, flush=True); print('the\\n end', flush=True); os._exit(1)",
         r"exit code 1: \.\.\.(?:a |\s)+the end"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
    ],
)  # fmt: skip
def test_how_a_process_died(code: str, told: str) -> None:
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=output, stderr=output)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        text = obituary(process, output)
    assert re.fullmatch(f"compiler: expected it to finish, got its death by {told}", text)
    assert len(text) < 400


def test_a_processs_files_go_with_it() -> None:
    with contextlib.ExitStack() as stack:
        made = launch(WorkerOptions(), stack)
        end = time.monotonic() + GENEROUS
        while not (text := Path(f"/proc/{made.process.pid}/environ").read_bytes()):  # not set up yet
            assert time.monotonic() < end
            time.sleep(0.01)
        environment = text.split(b"\0")
        (folder,) = (each.partition(b"=")[2] for each in environment if each.startswith(b"TMPDIR="))
        assert os.path.isdir(folder)
        assert b"OPENBLAS_NUM_THREADS=1" in environment
        made.process.kill()
        made.process.wait()
    assert not os.path.exists(folder)
    assert made.socket.fileno() == -1
    assert made.output.closed


def test_no_more_workers_than_episodes_and_idle_ones_are_used_again() -> None:
    async def scene() -> None:
        pool = Pool(WorkerOptions(), 1)
        first = await pool.borrow()
        with pytest.raises(
            PeerError, match=r"fewer than 1 episodes at a time, got one more; try again later"
        ):
            await pool.borrow()
        pool.give_back(first, done=True)
        assert await pool.borrow() is first
        pool._spare = 0
        pool.give_back(first, done=True)
        assert not first.alive, "no more than the spare ones are kept"
        pool._spare = 1
        second = await pool.borrow()
        assert second is not first
        pool.give_back(second, done=True)
        second._process.kill()
        second._process.wait()
        third = await pool.borrow()
        assert third.alive
        assert third is not second
        process = third._process
        pool.end(third)
        assert process.returncode is not None
        pool.close()

    asyncio.run(scene())


def test_starts_at_once_are_no_more_than_the_episodes() -> None:
    async def scene() -> None:
        pool = Pool(WorkerOptions(), 2)
        made = await asyncio.gather(*(pool.borrow() for _ in range(4)), return_exceptions=True)
        assert [type(each).__name__ for each in made] == ["EpisodeWorker"] * 2 + ["PeerError"] * 2
        pool.close()

    asyncio.run(scene())


def test_what_one_episode_has_printed_is_not_in_the_report_of_the_next(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("print('of the first episode', flush=True)\n")

    async def scene() -> None:
        pool = Pool(WorkerOptions((str(tmp_path / "loud.py"),)), 1)
        reports = []
        for times in (1, 2):
            for _ in range(times):
                worker = await pool.borrow()
                pool.give_back(worker, done=True)
            worker = await pool.borrow() if times == 2 else worker
            worker._process.kill()
            with pytest.raises(CompilationError) as caught:
                await worker.receive(GENEROUS)
            reports.append(str(caught.value))
        pool.close()
        assert ["of the first episode" in each for each in reports] == [True, False]

    asyncio.run(scene())


def test_a_worker_that_cannot_load_its_files(tmp_path: Path) -> None:
    async def scene() -> None:
        pool = Pool(WorkerOptions((str(tmp_path / "none.py"),)), 1)
        for _ in range(2):
            with pytest.raises(CompilationError, match=r"none\.py"):
                await pool.borrow()
        pool.close()

    asyncio.run(scene())


def test_folders_of_the_living_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = ScratchFolder()
    path = Path(folder.path)
    (path / "file").write_text("")
    assert path.name.startswith("passpilot-compiler-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    left = tmp_path / "passpilot-compiler-old"
    (left / "deep").mkdir(parents=True)
    other, file, link = (
        tmp_path / "other",
        tmp_path / "passpilot-compiler-file",
        tmp_path / "passpilot-compiler-link",
    )
    other.mkdir()
    file.write_text("")
    link.symlink_to(other)
    remove_left_overs()
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [path.name, "other", file.name, link.name]
    )
    folder.close()
    assert not path.exists()
    folder.close()
