# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache: made once by many processes, made again when something changes, and done without."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from passpilot.plugin.errors import PasspilotWarning
from passpilot.runners.policy import cache as user_cache
from passpilot.training.policy_folder import PointChoice, PolicyText, write_policy
from tests.command import PASSPILOT, finished, passpilot, run, started
from tests.policies.test_doors import OZ, text_of, tool


@pytest.fixture
def cache(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; `tiny` is the policy."""
    assert tiny.is_dir()
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return folder / "passpilot/policies"


def names(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def test_two_processes_at_once(cache: Path, here: Path) -> None:
    command = [str(PASSPILOT), "cc", "--policy=@tiny", "-Oz", "-c", "calls.c", "-o"]
    pair = [subprocess.Popen([*command, f"{each}.o"], cwd=here, stderr=subprocess.PIPE) for each in "ab"]
    for process in pair:
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
    assert (here / "a.o").read_bytes() == (here / "b.o").read_bytes()
    assert names(cache) == [".lock", ".policy", ".so"]
    before = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    text_of(passpilot("cc", "--policy=@tiny", "-Oz", "-c", "calls.c", cwd=here))
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == before


def test_a_process_waits_for_the_one_that_compiles_the_model(cache: Path, tiny: Path, here: Path) -> None:
    """It takes what the other has made."""
    command = ("opt", OZ, f"--policy={tiny}", "-S", "calls.bc", "-o", "-")
    expected = text_of(passpilot(*command, cwd=here))
    (library,) = cache.glob("*.so")
    library.rename(here / "made.so")
    lock = cache / f"{library.name}.lock"
    with lock.open("ab") as held, started(PASSPILOT, *command, cwd=here) as child:
        fcntl.flock(held, fcntl.LOCK_EX)
        while str(lock.resolve()) not in opened_by(child.pid):
            assert child.poll() is None, "it does not wait"
        made = (here / "made.so").rename(library).stat()
        fcntl.flock(held, fcntl.LOCK_UN)
        assert text_of(finished(child, time.monotonic())) == expected
    assert os.path.samestat(library.stat(), made), "it was compiled again"


def opened_by(pid: int) -> set[str]:
    """The files that a process has open now; it opens and closes others meanwhile."""
    found = set()
    with contextlib.suppress(FileNotFoundError):  # it has ended
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                found.add(os.readlink(path))
    return found


@pytest.mark.parametrize("change", ["time", "size"])
def test_a_model_that_was_trained_again_is_noticed(change: str, cache: Path, tiny: Path, here: Path) -> None:
    """By its time alone, and by its size alone."""
    folder = here / "mine"
    shutil.copytree(tiny, folder)
    command = ("opt", OZ, f"--policy={folder}", "-S", "calls.bc", "-o", "-")
    text_of(passpilot(*command, cwd=here))
    assert list(cache.glob("*.policy"))
    model = folder / "inline.onnx"
    data, before = model.read_bytes(), model.stat()
    model.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if change == "time" else data + b"\n")
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns + (change == "time")))
    assert "expected inline.onnx with SHA-256" in passpilot(*command, cwd=here).err


def test_a_changed_policy_is_prepared_again(cache: Path, tiny: Path, here: Path) -> None:
    folder = here / "mine"
    shutil.copytree(tiny, folder)
    command = (OZ, "-S", "calls.bc", "-o", "-")
    first = text_of(tool("opt", *command, cwd=here, PASSPILOT_POLICY=str(folder)))
    text = (folder / "policy.toml").read_text()
    (folder / "policy.toml").write_text(text.replace("as=logits", "as=logits&output=probabilities"))
    assert text_of(tool("opt", *command, cwd=here, PASSPILOT_POLICY=str(folder))) == first
    (folder / "policy.toml").write_text(text.replace("llvm = 22", "llvm = 23"))
    assert "got LLVM 23" in tool("opt", *command, cwd=here, PASSPILOT_POLICY=str(folder)).err
    (folder / "policy.toml").write_text(text)
    for library in cache.glob("*.so"):
        library.unlink()
    assert text_of(tool("opt", *command, cwd=here, PASSPILOT_POLICY=str(folder))) == first
    assert list(cache.glob("*.so"))


def yes_and_no(path: Path) -> Path:
    """A model with an output for each of the two answers."""
    graph = helper.make_graph(
        [
            helper.make_node("Sub", ["cost_estimate", "cost_estimate"], ["no"]),
            helper.make_node("Add", ["no", "one"], ["yes"]),
        ],
        "answers",
        [helper.make_tensor_value_info("cost_estimate", TensorProto.INT64, (1,))],
        [helper.make_tensor_value_info(name, TensorProto.INT64, (1,)) for name in ("yes", "no")],
        [helper.make_tensor("one", TensorProto.INT64, (1,), [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def test_one_model_with_other_options_is_compiled_again(cache: Path, here: Path) -> None:
    model = str(yes_and_no(here / "model.onnx"))
    for output, answer in (("yes", 1), ("no", 0)):
        choice = PointChoice(model, options=f"as=decision&output={output}")
        write_policy(str(here / output), PolicyText(name="mine", description="Says one"), {"inline": choice})
        command = ("opt", OZ, "-S", "calls.bc", "-o", "-")
        expected = text_of(passpilot(*command, f"--inline=const:{answer}", cwd=here))
        assert text_of(passpilot(*command, f"--policy={here / output}", cwd=here)) == expected
    assert len(list(cache.glob("*.so"))) == 2


def test_a_home_that_cannot_be_written(
    cache: Path, tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be\n")
    own = tmp_path / f"passpilot-{os.geteuid()}/policies"
    command = ("cc", "--policy=@tiny", "-Oz", "-c", "calls.c")
    done = passpilot(*command, cwd=here)
    assert done.code == 0
    assert "expected a cache that can be written, got: Not a directory; " in done.err
    assert f"{own}/inline-" in done.err
    assert not cache.exists()
    text_of(passpilot(*command, cwd=here))  # says it once

    shutil.rmtree(own.parent)
    own.parent.write_text("a file, too\n")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = passpilot(*command, cwd=here)
    assert done.code == 0
    assert "inline.onnx runs in onnxruntime, " in done.err
    assert "set XDG_CACHE_HOME" in done.err


def test_a_folder_that_others_may_write_is_not_used(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be\n")
    assert not cache.exists()
    own = tmp_path / f"passpilot-{os.geteuid()}"
    own.mkdir(mode=0o700)
    with pytest.warns(PasspilotWarning, match="expected a cache that can be written, got: Not a directory"):
        assert user_cache.keep("a.so", b"", "test") == str(own / "policies/a.so")
    assert user_cache.find("a.so") == str(own / "policies/a.so")
    for mode in (0o770, 0o707, 0o750):
        own.chmod(mode)
        assert user_cache.find("a.so") == ""
        assert user_cache.keep("b.so", b"", "test") == ""


@pytest.mark.soak
def test_somebody_elses_folder_is_not_used(cache: Path, tmp_path: Path, here: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be\n")
    assert not cache.exists()
    own = tmp_path / f"passpilot-{os.geteuid()}"
    own.mkdir(mode=0o777)
    own.chmod(0o777)
    done = passpilot("cc", "--policy=@tiny", "-Oz", "-c", "calls.c", cwd=here)
    assert done.code == 0
    assert "inline.onnx runs in onnxruntime, " in done.err
    assert list(own.iterdir()) == []


WITHOUT = """\
import importlib.util, sys
real = importlib.util.find_spec
gone = sys.argv.pop(1).split(',')
def find_spec(name, *more):
    if name not in gone:
        return real(name, *more)
    return real(f"absent.{name}", *more) if "." in name else None
importlib.util.find_spec = find_spec
from passpilot.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_the_packages_that_compile(cache: Path, here: Path) -> None:
    command = ("opt", OZ, "--policy=@tiny", "-S", "calls.bc", "-o", "-")
    without = run(sys.executable, "-c", WITHOUT, "google.protobuf,llvmlite", *command, cwd=here)
    assert without.code == 0
    assert (
        "inline.onnx runs in onnxruntime, which takes longer to load, because of: no google.protobuf; "
        in without.err
    )
    assert not list(cache.glob("*.so"))
    shutil.rmtree(cache)
    assert text_of(passpilot(*command, cwd=here)) == without.out
    shutil.rmtree(cache)
    neither = run(sys.executable, "-c", WITHOUT, "llvmlite,onnxruntime", *command, cwd=here)
    assert (neither.code, neither.out) == (1, b"")
    assert neither.err.count("passpilot: error: ") == 1
    assert "expected to compile inline.onnx or to run it in onnxruntime, got: no llvmlite; " in neither.err
    assert 'run: pip install "passpilot[aot]"' in neither.err


@pytest.mark.soak
def test_without_a_linker(cache: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/none")
    done = passpilot("opt", OZ, "--policy=@tiny", "calls.bc", "-o", "out.bc", cwd=here)
    assert done.code == 0
    assert "runs in onnxruntime, which takes longer to load, because of: aot: expected a linker, " in done.err
    assert not list(cache.glob("*.so"))
