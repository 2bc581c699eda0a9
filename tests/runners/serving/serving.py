# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model servers in child processes, real and faulty ones, and their clients."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.features.point import Point, find_point
from passpilot.features.spec import TensorSpec
from passpilot.runners.base import Runner, allocate
from passpilot.runners.pipe import PipeRunner
from passpilot.runners.spec import make_runner

SERVE = "import sys; from passpilot.cli.serve import main; sys.exit(main(sys.argv[1:]))"
CLIENT = (
    "import sys; from tests.runners.serving.serving import reached; runner = reached(sys.argv[1])\n"
    "print(runner.evaluate(), flush=True); sys.stdin.read()"
)
FAULTY = Path(__file__).with_name("faulty_server.py")
FRAME = re.compile(r"passpilot serve: (?:.* answers for the decision point .* at .*|ended: .*)\n")
"""What a server prints when it is ready, and at its end."""
GENEROUS = 60.0
"""A limit in seconds that only a broken test reaches."""


def point(*more: TensorSpec) -> Point:
    """The inliner's decision point, which may offer more tensors."""
    found = find_point("inline")
    return replace(found, features=(*found.features, *more))


def spec(base: str, name: str) -> str:
    """The policy `name` in the file beside `base`."""
    return f"python:{Path(base).parent / 'policy.py'}:{name}"


def offered(base: str) -> None:
    """Wait until a server has made its FIFOs, for clients whose short deadline would not cover its start."""
    while not names_at(base):
        os.sched_yield()


def names_at(base: str) -> list[str]:
    """The remaining files of a server."""
    return sorted(path.name for path in Path(base).parent.glob(f"{Path(base).name}.*"))


@contextlib.contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A child process that is always killed and reaped at the end."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        try:
            yield child
        finally:
            child.kill()
            child.wait()


def ended(server: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and the text on stderr, without the lines that each server prints."""
    code, said = said_by(server)
    return code, FRAME.sub("", said)


def said_by(server: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and the whole text on stderr."""
    _, said = server.communicate(timeout=GENEROUS)
    return server.returncode, said


@contextlib.contextmanager
def served(spec: str, base: str, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """`passpilot serve` as a child."""
    with process(sys.executable, "-c", SERVE, spec, "--pipe", base, *flags) as child:
        yield child


@contextlib.contextmanager
def faulty(base: str, fault: str, size: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A server with a fault, ready for its client; see `faulty_server.py`."""
    with process(sys.executable, str(FAULTY), base, fault, str(size)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child


def reached(address: str, offered: Point | None = None, timeout: float = GENEROUS) -> Runner:
    """The client of a server by its spec, with buffers."""
    return allocate(make_runner(address, offered or point(), timeout=timeout))


@contextlib.contextmanager
def other_client(address: str) -> Iterator[subprocess.Popen[str]]:
    """A client in a child process, in the middle of a session."""
    with process(sys.executable, "-c", CLIENT, address) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "1\n"
        yield child


def client(base: str, timeout: float = GENEROUS) -> PipeRunner:
    """A client with buffers."""
    return allocate(PipeRunner(base, point(), timeout))


def interrupt_once_asked(server: subprocess.Popen[str], runner: Runner) -> None:
    """Interrupt, like Ctrl-C, while the policy, which has just printed a line, computes its answer."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def interrupt_when_asked() -> None:
        assert server.stdout is not None
        server.stdout.readline()
        signal.pthread_kill(main, signal.SIGUSR1)

    main = threading.get_ident()
    before = signal.signal(signal.SIGUSR1, interrupt)
    other = threading.Thread(target=interrupt_when_asked)
    try:
        other.start()
        with pytest.raises(KeyboardInterrupt):
            runner.evaluate()
    finally:
        other.join()
        signal.signal(signal.SIGUSR1, before)


def resident_kilobytes(pid: int | str = "self") -> int:
    """The current memory of a process without pages of files, which come and go with the system's cache."""
    _, resident, of_files, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    return (resident - of_files) * os.sysconf("SC_PAGE_SIZE") // 1024
