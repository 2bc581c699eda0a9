# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a decision log is written: links, permissions, pipes and devices, by the same rules in all doors."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from tests import stock
from tests.corpus.build import bindir
from tests.passes.allocation import pressure
from tests.plugin.native.mlir.tools import CALLS, MLIR_OPT

PLUGIN: Final = str(llvm_plugin())
POLICY: Final = "def yes(obs):\n    return True\n"


ONE_CALL: Final = "static int g(int x) { return 3 * x; } int f(int x) { return g(x); }"


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "policy.py").write_text(POLICY)
    return stock.clang(getattr(request, "param", stock.MANY_CALLS), tmp_path / "in.bc")


@pytest.fixture(params=["native in opt", "Python in opt", "passpilot opt", "llc", "clang", "mlir-opt"])
def command(request: pytest.FixtureRequest, source: Path) -> str:
    """A command line that writes the log to the file whose name is put behind it."""
    if request.param == "mlir-opt":
        (source.parent / "in.mlir").write_text(CALLS)
        run = "advised-inline{runner=const:1 log=$1}"
        words = f"{MLIR_OPT} --load-pass-plugin={mlir_plugin()} in.mlir -o out.bc"
        return f'logged() {{ {words} --pass-pipeline="builtin.module({run})"; }}; logged '
    if request.param == "clang":
        words = f"{bindir() / 'clang'} -fpass-plugin={PLUGIN} -Oz -c {source} -o out.bc"
        return f'logged() {{ PASSPILOT_INLINE=const:1 PASSPILOT_LOG="$1" {words}; }}; logged '
    if request.param == "llc":
        words = (
            f"{bindir() / 'llc'} -load={PLUGIN} {pressure.compiled(source.parent)} -filetype=obj -o out.bc"
        )
        return f"{words} -passpilot-evict=random:1 -passpilot-log="
    passes = f"-passes='default<O2>' {source} -o out.bc"
    if request.param == "passpilot opt":
        return f"{Path(sys.executable).with_name('passpilot')} opt {passes} --inline=const:1 --log="
    runner = "const:1" if request.param == "native in opt" else "python:policy.py:yes"
    return (
        f"{bindir() / 'opt'} -load-pass-plugin={PLUGIN} {passes} -passpilot-inline={runner} -passpilot-log="
    )


def shell(text: str, folder: Path) -> bytes:
    """What a command line prints."""
    done = subprocess.run(["sh", "-c", text], cwd=folder, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "source", [stock.MANY_CALLS, ONE_CALL], indirect=True, ids=["many calls", "one call"]
)
def test_a_full_disk_is_an_error_and_leaves_no_output(command: str, tmp_path: Path) -> None:
    """The only decisions there are stay in a buffer until the log is closed."""
    text = ["sh", "-c", f"{command}/dev/full"]
    done = subprocess.run(text, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    (error,) = re.findall("error: (.*)", done.stderr)
    full = r"decision log /dev/full.*: expected .*write.*, got: No space left on device( \[while .*\])?"
    assert re.fullmatch(full, error)
    assert not (tmp_path / "out.bc").exists()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(command: str, tmp_path: Path, there: bool) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "first").symlink_to("folder/second")
    (tmp_path / "folder" / "second").symlink_to("../target")
    if there:
        (tmp_path / "target").write_text("{before")
    before = set(os.listdir(tmp_path))
    shell(f"{command}first", tmp_path)
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "folder" / "second").is_symlink()
    assert len(list(read_log(tmp_path / "target"))) > 1
    assert set(os.listdir(tmp_path)) - {"__pycache__"} == before | {"target", "out.bc"}


def test_permissions_are_those_of_the_file_before(command: str, tmp_path: Path) -> None:
    (tmp_path / "old").touch(mode=0o600)
    (tmp_path / "old").chmod(0o604)
    shell(f"umask 027; {command}old", tmp_path)
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o604
    shell(f"umask 027; {command}new", tmp_path)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_pipe_is_written_to_its_reader(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    opened = os.open(tmp_path / "pipe", os.O_RDWR)  # waits for nobody, and keeps the pipe open until then
    shell(f"{command}pipe", tmp_path)
    os.close(opened)
    reader.join()
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    (tmp_path / "read").write_bytes(got[0])
    assert len(list(read_log(tmp_path / "read"))) > 1


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "-"])
def test_standard_output_goes_on_where_it_is(command: str, tmp_path: Path, name: str) -> None:
    printed = shell(f"{command}{name}", tmp_path)
    shell(f"{{ echo before; {command}{name}; echo after; }} >all", tmp_path)
    assert (tmp_path / "all").read_bytes() == b"before\n" + printed + b"after\n"
    (tmp_path / "printed").write_bytes(printed)
    assert len(list(read_log(tmp_path / "printed"))) > 1


def test_a_device_stays_one(command: str, tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to("/dev/null")
    shell(f"{command}nowhere", tmp_path)
    assert (tmp_path / "nowhere").is_symlink()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_pipe_without_a_reader_is_an_error(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run(
        ["sh", "-c", f"{command}pipe"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "decision log pipe: expected a file to write, got: No such device or address" in done.stderr
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
