# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pipe when one end dies, stops, or sends wrong messages."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.spec import TensorSpec
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import ModelError, PasspilotWarning, PeerError, SpecMismatchError
from passpilot.plugin.module import Module
from passpilot.runners.base import allocate
from passpilot.runners.pipe import PipeRunner
from passpilot.runners.remote import wire
from passpilot.runners.remote.fifo import connect
from tests.command import program
from tests.runners.serving.serving import GENEROUS, client, ended, faulty, point, process, served, spec


def test_server_that_dies_kills_no_client_by_sigpipe(base: str) -> None:
    """A compiler that loads passpilot may have left SIGPIPE at its default."""
    code = (
        "import signal, sys\n"
        "from passpilot.plugin.errors import PeerError\n"
        "from tests.runners.serving.serving import client\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "runner = client(sys.argv[1])\n"
        "print(runner.evaluate(), flush=True)\n"
        "sys.stdin.read()\n"
        "try:\n    runner.evaluate()\n"
        "except PeerError:\n    runner.close()\n    print('told')\n"
    )
    with served("const:1", base) as server, process(sys.executable, "-c", code, base) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "1\n"
        server.kill()
        server.wait()
        assert child.communicate(timeout=GENEROUS)[0] == "told\n"
        assert child.returncode == 0


def test_server_that_has_died_is_not_asked_in_the_next_compilation(base: str) -> None:
    text = program(4).encode()
    with served("const:1", base) as server:
        advisor = InlineAdvisor(f"pipe:{base}", on_error="default", timeout=GENEROUS)
        server.kill()
        server.wait()
        with advisor:
            fell = "4 of 4 decisions fell back to the default; the "
            with pytest.warns(PasspilotWarning, match=f"{fell}first: .* at decision 0 .*the peer is gone"):
                optimize(Module.read(text), "default<O2>", [advisor])
            with pytest.warns(PasspilotWarning, match=f"{fell}runner had failed for good before"):
                optimize(Module.read(text), "default<O2>", [advisor])
            assert advisor.stats.fallbacks == 8


@pytest.mark.parametrize("size", range(17))
def test_server_that_dies_within_its_answer(base: str, size: int) -> None:
    with faulty(base, "dies", size), client(base) as runner:
        assert runner.evaluate() == 1
        if size == 16:
            assert runner.evaluate() == 1
        with pytest.raises(PeerError, match="the peer is gone"):
            runner.evaluate()


@pytest.mark.parametrize("size", range(5))
def test_server_that_dies_within_its_error(base: str, size: int) -> None:
    with faulty(base, "dies in text", size), client(base) as runner:
        assert runner.evaluate() == 1
        with pytest.raises(PeerError, match=r"the text of an error of 5 bytes, got .*, and the peer is gone"):
            runner.evaluate()


def test_server_that_stops_within_its_answer(tmp_path: Path) -> None:
    def ask(size: int) -> str:
        base = str(tmp_path / str(size))
        with faulty(base, "stalls", size), client(base, timeout=5) as runner:
            assert runner.evaluate() == 1
            if size == 16:
                assert runner.evaluate() == 1
            with pytest.raises(PeerError) as caught:
                runner.evaluate()
            with pytest.raises(PeerError, match="before the deadline"):
                runner.evaluate()
            return str(caught.value)

    with ThreadPoolExecutor(17) as pool:
        texts = list(pool.map(ask, range(17)))
    assert all("before the deadline; see whether it hangs" in text for text in texts)
    assert "expected an answer within 5 s, got nothing" in texts[0]


def test_server_that_answers_byte_by_byte(base: str) -> None:
    with faulty(base, "trickles"), client(base) as runner:
        assert [runner.evaluate(), runner.evaluate()] == [1, 1]


@pytest.mark.parametrize("size", [1, 8, 16])
def test_server_that_answers_too_much(base: str, size: int) -> None:
    with faulty(base, "surplus", size), client(base) as runner:
        assert runner.evaluate() == 1
        with pytest.raises(PeerError, match="expected an answer of 16 bytes, got b"):
            runner.evaluate()


def test_server_that_answers_garbage(base: str) -> None:
    with faulty(base, "garbage", 40), client(base) as runner:
        assert runner.evaluate() == 1
        with pytest.raises(PeerError, match="expected an answer of 16 bytes, got b"):
            runner.evaluate()


@pytest.mark.parametrize(
    ("fault", "kind", "complaint"),
    [
        ("greets by dying", PeerError, "expected a handshake, got nothing, and the peer is gone"),
        ("greets with nothing", PeerError, "expected a handshake, got nothing before the deadline"),
        ("greets with garbage", PeerError, "expected one line of JSON"),
        ("greets with a number", PeerError, "expected one line of JSON"),
        ("greets with too much", PeerError, "expected a handshake of one line"),
        ("greets with no names", PeerError, "expected one line of JSON"),
        ("greets with a name twice", PeerError, "expected one line of JSON"),
        ("greets with an unknown name", SpecMismatchError, "weight"),
        ("greets with an error", ModelError, "too busy"),
        ("greets with a strange error", PeerError, "too busy"),
        ("greets without end", PeerError, "expected a handshake of one line"),
    ],
)
def test_server_with_a_bad_handshake(base: str, fault: str, kind: type[Exception], complaint: str) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    with faulty(base, fault), pytest.raises(kind, match=complaint):
        client(base, timeout=1 if "deadline" in complaint else GENEROUS)
    assert len(os.listdir("/proc/self/fd")) == descriptors


def stream(runner: PipeRunner) -> bytes:
    """All messages of a client of `positive`: handshake, context, two questions, end."""
    frame = bytes(runner.frame)
    name = b"a context"
    context = wire.CONTEXT + frame + wire.WORD.pack(len(name)) + name
    return context + wire.EVALUATE + frame + wire.EVALUATE + frame + wire.BYE + frame


@pytest.mark.parametrize("asks", [False, True])
def test_server_survives_a_client_that_leaves_at_any_byte(base: str, asks: bool) -> None:
    """For the server, a killed client is a client that closes its descriptors."""
    with served(spec(base, "positive"), base) as server:
        with client(base) as runner:
            whole, hello = stream(runner), wire.hello(point())
        sizes = range(len(whole) + 1) if asks else (0, 1, len(hello) // 2, len(hello) - 1, len(hello))
        for size in sizes:
            deadline = time.monotonic() + GENEROUS
            channel = connect(base, deadline)
            if asks:
                channel.write(hello, deadline, "")
                channel.read_line(deadline, "")
                channel.write(whole[:size], deadline, "")
            else:
                channel.write(hello[:size], deadline, "")
            channel.close()
            with client(base) as runner:
                runner.tensors["node_count"][...] = size
                assert runner.evaluate() == (size > 0)
        assert server.poll() is None


@pytest.mark.parametrize(
    "data",
    [
        b"garbage\n",
        b"{}\n",
        b"\xff\xff\n",
        b"[" * 100_000 + b"\n",
        b'{"passpilot": 1, "point": "evict", "offered": [], "advice": {}}\n',
    ],
)
def test_server_refuses_a_bad_handshake_and_goes_on(base: str, data: bytes) -> None:
    with served("const:1", base) as server:
        deadline = time.monotonic() + GENEROUS
        channel = connect(base, deadline)
        channel.write(data, deadline, "")
        with pytest.raises(PeerError, match="handshake"):
            wire.read_welcome(channel.read_line(deadline, ""), "x")
        channel.close()
        with client(base) as runner:
            assert runner.evaluate() == 1
        assert server.poll() is None


@pytest.mark.parametrize(
    ("request_of", "complaint"),
    [
        (lambda frame: wire.WORD.pack(9) + frame, "expected a request of a known kind"),
        (lambda frame: wire.CONTEXT + frame + wire.WORD.pack(1 << 60), "expected a name of at most"),
    ],
)
def test_server_refuses_a_bad_request_and_goes_on(
    base: str, request_of: Callable[[bytes], bytes], complaint: str
) -> None:
    with served(spec(base, "positive"), base):
        deadline = time.monotonic() + GENEROUS
        channel = connect(base, deadline)
        channel.write(wire.hello(point()), deadline, "")
        channel.read_line(deadline, "")
        channel.write(request_of(bytes(8)), deadline, "")
        (size, _) = wire.answer_struct(point().advice).unpack(channel.read(16, deadline, ""))
        assert complaint in channel.read(size, deadline, "").decode()
        with pytest.raises(PeerError, match="the peer is gone"):
            channel.read(1, deadline, "")
        channel.close()
        with client(base) as runner:
            assert runner.evaluate() == 0


def test_server_gives_up_a_client_that_stops_within_a_message(base: str) -> None:
    with served(spec(base, "positive"), base, "--timeout", "0.2"):
        deadline = time.monotonic() + GENEROUS
        for data in (wire.hello(point())[:-1], wire.hello(point()) + b"\1"):
            channel = connect(base, deadline)
            channel.write(data, deadline, "")
            with client(base) as runner:
                assert runner.evaluate() == 0
            channel.close()


def test_message_of_200_mib(tmp_path: Path) -> None:
    """A tensor much larger than any pipe; checks every 4096th value and the last."""
    (tmp_path / "policy.py").write_text(
        "def decide(obs):\n"
        "    values = obs['big'][::4096]\n"
        "    return bool((values == values[0] + range(len(values))).all() and obs['big'][-1] == 7)\n"
        "decide.features = ('big',)\n"
    )
    whole = point(TensorSpec("big", "float32", (50 << 20,)))
    base = str(tmp_path / "ch")
    server = served(spec(base, "decide"), base, "--frame", "200")
    with server, allocate(PipeRunner(base, whole, GENEROUS)) as runner:
        assert fcntl.fcntl(runner._channel.writer, fcntl.F_GETPIPE_SZ) > 1 << 16
        tensor = runner.tensors["big"]
        for first in (1.0, 2.0):
            tensor[::4096] = np.arange(len(tensor[::4096])) + first
            tensor[-1] = 7
            assert runner.evaluate() == 1
        tensor[4096 * 5000] = 0
        assert runner.evaluate() == 0


def test_good_bye_that_no_pipe_holds_at_once(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def decide(obs):\n    return True\ndecide.features = ('big',)\n")
    whole = point(TensorSpec("big", "float32", (2 << 20,)))
    base = str(tmp_path / "ch")
    with served(spec(base, "decide"), base, "--once", "--frame", "8") as server:
        with allocate(PipeRunner(base, whole, GENEROUS)) as runner:
            assert runner.evaluate() == 1
        assert ended(server) == (0, "")
    refused = "expected tensors of at most 7340032 bytes, got 8388608; see serve --frame"
    with served(spec(base, "decide"), base, "--frame", "7"), pytest.raises(SpecMismatchError, match=refused):
        PipeRunner(base, whole, GENEROUS)
