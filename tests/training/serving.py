# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve-compiler` in a child process, and its agents."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Required, TypedDict, Unpack

import numpy as np
import psutil

from passpilot.features.domain import Choice, Flag, Number
from passpilot.plugin.errors import PeerError
from passpilot.training.episode import CompilerClient
from tests.command import GENEROUS, PASSPILOT

FEATURES: Final = """\
import os
import signal
import time
from dataclasses import dataclass

import numpy as np

import passpilot


@passpilot.feature("int64[1]")
def process(site):
    return os.getpid()


@passpilot.feature("int64[1]")
def crash(site):
    os.kill(os.getpid(), signal.SIGSEGV)


@passpilot.feature("int64[1]")
def stuck(site):
    open(os.environ["MADE"], "w").close()
    time.sleep(1000)


@passpilot.feature("float32[4000000]")
def large(site):
    open(os.environ["MADE"], "w").close()
    return np.zeros(4_000_000, np.float32)


@passpilot.feature("int64[1]")
def wrong(site):
    raise ValueError("no such number")


COLD = passpilot.DecisionPoint(
    "cold",
    features=[passpilot.TensorSpec("size", "int64", (1,))],
    advice=passpilot.TensorSpec("is_cold", "int64", (1,)),
    default=lambda values: False,
)


@passpilot.llvm.function_pass("advised-cold")
@dataclass(frozen=True)
class AdvisedCold:
    def run(self, function):
        if cold := COLD.ask({"size": function.instruction_count}, function):
            function.add_attribute("cold")
        return cold
"""


class Asked(TypedDict, total=False):
    """The arguments in which most episodes differ."""

    point: Required[str]
    pipeline: str
    at: Mapping[str, str]
    reward: str


INLINE: Final[Asked] = {"point": "inline", "pipeline": "default<Oz>", "reward": "native-size"}

Choose = Callable[[Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]], object]


@dataclass
class Service:
    """A running service."""

    process: subprocess.Popen[str]
    target: str
    loaded: Path
    temporary: Path
    made: Path
    """The file that the features `stuck` and `large` write."""

    def client(self, timeout: float = GENEROUS) -> CompilerClient:
        return CompilerClient(self.target, timeout=timeout)

    def workers(self) -> list[int]:
        """The service's live child processes."""
        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]

    def ended(self) -> tuple[int, str]:
        """Wait for its end: the exit code and the output since it was ready; checks that nothing is left."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        _, said = self.process.communicate(timeout=GENEROUS)
        _, alive = psutil.wait_procs(children, timeout=GENEROUS)
        assert not alive
        return self.process.returncode, said


def compiling() -> list[psutil.Process]:
    """The child processes of this one that compile episodes."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # another's child, as a zombie has no command
            if "passpilot.training.worker" in " ".join(child.cmdline()):
                found.append(child)
    return found


@contextlib.contextmanager
def served(folder: Path, *flags: str | Path) -> Iterator[Service]:
    """A service with the features above; it is always killed and reaped at the end."""
    file, temporary, made = folder / "features.py", folder / "tmp", folder / "made"
    file.write_text(FEATURES)
    temporary.mkdir(exist_ok=True)
    token = [] if any(str(flag).startswith("--token") for flag in flags) else ["--no-token"]
    command = [PASSPILOT, "serve-compiler", "--grpc=127.0.0.1:0", f"--load={file}", *token, *flags]
    environment = {**os.environ, "TMPDIR": str(temporary), "MADE": str(made)}
    with subprocess.Popen(
        [str(each) for each in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            yield Service(process, f"127.0.0.1:{int(first_line(process.stdout))}", file, temporary, made)
        finally:
            process.kill()


def first_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def chance(client: CompilerClient, seed: int) -> Choose:
    """An agent that draws among the legal actions."""
    draw = random.Random(seed)

    def choose(observation: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> object:
        domain = client.domain
        if isinstance(domain, Flag):
            return draw.random() < 0.5
        if isinstance(domain, Choice):
            return draw.choice(observation[domain.mask].reshape(-1).nonzero()[0])
        assert isinstance(domain, Number)
        return draw.uniform(domain.low, 1000.0)

    return choose


@dataclass
class Played:
    """One episode."""

    actions: list[float]
    reward: float
    value: float
    baseline: float


def play(client: CompilerClient, seed: int, module: bytes | str, **keywords: Unpack[Asked]) -> Played:
    """A random episode to its end."""
    observation = client.reset(module, **keywords)
    choose = chance(client, seed)
    actions: list[float] = []
    reward, done = 0.0, False
    while observation is not None:
        assert (reward, done) == (0.0, False)
        action = choose(observation)
        actions.append(np.asarray(action).item())
        observation, reward, done, _ = client.step(action)
        assert (observation is None) == done
    assert client.info["decisions"] == len(actions)
    value, baseline = client.info["value"], client.info["baseline"]
    assert isinstance(value, float)
    assert isinstance(baseline, float)
    return Played(actions, reward, value, baseline)


def persistently(attempt: Callable[[], object]) -> None:
    """Retry until the service accepts: it notices an agent's death soon, not at once."""
    deadline = time.monotonic() + GENEROUS
    while True:
        try:
            attempt()
        except PeerError:
            assert time.monotonic() < deadline
            os.sched_yield()
        else:
            return


class Cable:
    """A port that forwards to a service, and can be cut."""

    def __init__(self, target: str) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._far = target.rpartition(":")[2]
        self._ends: list[socket.socket] = []
        self.target = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", int(self._far)))
                self._ends += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)

    def cut(self) -> None:
        """Reset all connections, and accept no more."""
        self._listener.close()
        for end in self._ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.shutdown(socket.SHUT_RD)  # ends the thread that reads
            end.close()
