# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations with model servers that die, hang or send nonsense, under both error policies."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.command import (
    CALLS,
    GENEROUS,
    PASSPILOT,
    Done,
    files_in,
    finished,
    passpilot,
    program,
    refused,
    started,
    stock,
)
from tests.runners.serving.serving import faulty, offered

TIMEOUT = 3.0
"""The deadline for a peer.

If every one of the `CALLS` decisions waited, a command would exceed its limit `GENEROUS`.
"""
assert TIMEOUT * CALLS > GENEROUS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.ll").write_text(program())
    return tmp_path


def flags(*more: str, base: str = "ch", timeout: float = TIMEOUT) -> tuple[str, ...]:
    return ("opt", "in.ll", "-O2", f"--inline=pipe:{base}", f"--timeout={timeout}", *more, "-o", "out.bc")


def refusal(folder: Path, *more: str) -> str:
    """The error of a compilation that stops at its first fault."""
    done = passpilot(*flags(*more), cwd=folder)
    check_refused(folder, done)
    return done.err


def check_refused(folder: Path, done: Done) -> None:
    assert done.code == 1, done
    assert re.fullmatch(r"passpilot: error: .+\n", done.err), done.err
    assert not (folder / "out.bc").exists()
    assert [name for name in files_in(folder) if name.endswith(".tmp") or name.startswith("l")] == []


def check_fell_back(folder: Path, done: Done, count: int) -> None:
    """Check that `count` decisions were LLVM's, and the output equals opt's."""
    assert done.code == 0, done
    assert re.search(rf"^ *{count} fallbacks to the default$", done.err, re.MULTILINE), done.err
    assert f"{count} of {CALLS} decisions fell back to the default; the first: " in done.err
    assert (folder / "out.bc").read_bytes() == stock(Path("in.ll"), "-O2", cwd=folder)


FALL_BACK = ("--on-error=default", "--stats")

# the faults of a session after one good answer, the one to the context
FAULTS = [
    ("dies between", 0),
    ("dies", 0),
    ("dies", 7),
    ("dies", 8),
    ("dies", 15),
    ("dies in text", 0),
    ("dies in text", 3),
    ("stalls", 0),
    ("stalls", 8),
    ("garbage", 16),
    ("garbage", 5),
]
NO_SESSION = [
    "greets with nothing",
    "greets with garbage",
    "greets with a number",
    "greets with too much",
    "greets with no names",
    "greets with a name twice",
    "greets with an unknown name",
    "greets without end",
    "greets by dying",
]


@pytest.mark.parametrize(("fault", "size"), FAULTS)
def test_a_server_that_fails_in_the_session(folder: Path, fault: str, size: int) -> None:
    with faulty(str(folder / "ch"), fault, size):
        assert "decision 0 (caller0 -> callee): pipe:" in refusal(folder, "--log=l")


@pytest.mark.parametrize(("fault", "size"), FAULTS)
def test_a_fallback_in_the_session(folder: Path, fault: str, size: int) -> None:
    with faulty(str(folder / "ch"), fault, size):
        check_fell_back(folder, passpilot(*flags(*FALL_BACK), cwd=folder), CALLS)


@pytest.mark.parametrize("fault", NO_SESSION)
def test_a_server_that_fails_before_the_session(folder: Path, fault: str) -> None:
    with faulty(str(folder / "ch"), fault):
        assert "pipe:ch" in refusal(folder, "--log=l")


@pytest.mark.parametrize("fault", ["greets with nothing", "greets with garbage", "greets by dying"])
def test_a_fallback_before_the_session(folder: Path, fault: str) -> None:
    with faulty(str(folder / "ch"), fault):
        check_fell_back(folder, passpilot(*flags(*FALL_BACK), cwd=folder), CALLS)


def test_no_server(folder: Path) -> None:
    assert "expected a model server, got none" in refusal(folder)
    check_fell_back(folder, passpilot(*flags(*FALL_BACK), cwd=folder), CALLS)


def test_what_a_killed_server_left(folder: Path) -> None:
    with faulty(str(folder / "ch"), "stalls"):
        pass  # killed before anyone came
    assert "ch.in" in files_in(folder)
    assert "the FIFOs of one that is gone" in refusal(folder)
    check_fell_back(folder, passpilot(*flags(*FALL_BACK), cwd=folder), CALLS)


@pytest.mark.parametrize("kind", ["file", "folder", "socket"])
def test_names_that_are_no_fifos(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in ("ch.in", "ch.out"):
        if kind == "file":
            Path(name).touch()
        elif kind == "folder":
            Path(name).mkdir()
        else:
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(name)
    assert "pipe:ch" in refused(*flags(), cwd=folder)


POLICIES = """\
import os
import signal

asked = 0


def dies(obs):
    global asked
    asked += 1
    if asked == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return True


def raises(obs):
    raise ValueError("not over a pipe")


def nonsense(obs):
    return 0.5


def site(obs):
    return obs.site


def hangs(obs):
    import threading

    threading.Event().wait()


for each in (dies, raises, nonsense, site, hangs):
    each.features = ("callee_users",)
"""


@pytest.fixture
def policies(folder: Path) -> Path:
    (folder / "p.py").write_text(POLICIES)
    return folder


@pytest.mark.parametrize(
    ("name", "decision", "told"),
    [
        ("dies", 4, "the peer is gone"),
        ("raises", 0, "ValueError: not over a pipe ("),
        ("nonsense", 0, "0.5"),
        ("site", 0, "obs.site"),
        ("hangs", 0, "--timeout"),
    ],
)
@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_a_real_server(policies: Path, name: str, decision: int, told: str, on_error: str) -> None:
    with started(PASSPILOT, "serve", f"python:p.py:{name}", "--pipe", "ch", cwd=policies) as server:
        offered(str(policies / "ch"))
        timeout = TIMEOUT if name == "hangs" else 30.0
        more = FALL_BACK if on_error == "default" else ("--log=l",)
        done = passpilot(*flags(*more, timeout=timeout), cwd=policies)
        assert told in done.err
        if on_error == "fail":
            assert f"decision {decision} (caller{decision} -> callee)" in done.err
            assert done.code == 1
            assert len(done.err.splitlines()) == 1
            assert not {"out.bc", "l"} & set(files_in(policies))
        else:
            assert done.code == 0
            assert f" {CALLS - decision} fallbacks to the default\n" in done.err
            assert (policies / "out.bc").read_bytes() == stock(Path("in.ll"), "-O2", cwd=policies)
        server.terminate()
        finished(server, 0.0)
    if name != "dies":
        assert not [each for each in files_in(policies) if each.startswith("ch.")]


@pytest.mark.parametrize(("name", "decision"), [("dies", 4), ("raises", 0)])
@pytest.mark.parametrize("serdes", ["json", "protobuf"])
def test_a_real_server_in_another_format(policies: Path, serdes: str, name: str, decision: int) -> None:
    told = {"dies": "the peer is gone", "raises": "ValueError: not over a pipe ("}[name]
    with started(PASSPILOT, "serve", f"python:p.py:{name}", "--pipe", "ch", cwd=policies) as server:
        base = f"ch?serdes={serdes}"
        done = passpilot(*flags(*FALL_BACK, base=base, timeout=30.0), cwd=policies)
        assert done.code == 0
        assert f"the first: inline advisor at decision {decision} (caller{decision} -> callee)" in done.err
        assert told in done.err
        assert f" {CALLS - decision} fallbacks to the default\n" in done.err
        assert (policies / "out.bc").read_bytes() == stock(Path("in.ll"), "-O2", cwd=policies)
        server.terminate()
        finished(server, 0.0)
