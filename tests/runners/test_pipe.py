# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001
"""The pipe between a client and `passpilot serve` in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.point import find_point
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError, SpecMismatchError
from passpilot.runners import wire
from passpilot.runners.base import allocate
from passpilot.runners.fifo import connect
from passpilot.runners.pipe import PipeRunner
from passpilot.runners.spec import make_runner
from tests.runners.serving import (
    GENEROUS,
    client,
    faulty,
    names_at,
    point,
    process,
    resident_kilobytes,
    served,
)

POLICY = """
import os
import signal
import sys

def positive(obs):
    return obs["node_count"] > 0

positive.features = ("node_count",)

def whole(obs):
    return len(obs) == 38 and int(sum(view[0] for view in obs.values())) == 38 * 39 // 2

def fails(obs):
    if obs["node_count"] == 1:
        raise ValueError("a bad\\nnumber")
    if obs["node_count"] == 2:
        return 0.5
    if obs["node_count"] == 3:
        return obs.site
    if obs["node_count"] == 4:
        return obs.default()
    if obs["node_count"] == 5:
        return obs["edge_count"]
    if obs["node_count"] == 6:
        sys.exit("leaving")
    if obs["node_count"] == 7:
        raise ValueError("x" * 100_000)
    return True

fails.features = ("node_count",)

class Contexts:
    features = ("inlining_default", "node_count")

    def __init__(self):
        self.names = []

    def switch_context(self, name):
        if name == "bad":
            raise ValueError("a bad context")
        self.names.append(name)

    def decide(self, obs):
        return self.names == ["", "naïve"] and obs.context == "naïve" and obs.default()

def custom(obs):
    return obs["for_test_pipe"] == 5

custom.features = ("for_test_pipe",)

def forever(obs):
    print("asked", flush=True)
    while True:
        pass

def dies(obs):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def base(tmp_path: Path) -> str:
    (tmp_path / "policy.py").write_text(POLICY)
    return str(tmp_path / "ch")


def spec(base: str, name: str) -> str:
    return f"python:{Path(base).parent / 'policy.py'}:{name}"


def test_questions_and_answers(base: str) -> None:
    with served(spec(base, "positive"), base), client(base) as runner:
        assert [each.name for each in runner.inputs] == ["node_count"]
        assert runner.server == spec(base, "positive")
        for value in (1, 0, -1, 2**63 - 1):
            runner.tensors["node_count"][...] = value
            assert runner.evaluate() == (value > 0)
            assert runner.tensors["node_count"] == value


def test_every_tensor_arrives_in_its_place(base: str) -> None:
    with served(spec(base, "whole"), base), client(base) as runner:
        for number, view in enumerate(runner.tensors.values()):
            view[...] = number + 1
        assert runner.evaluate() == 1


def test_contexts_and_the_default_travel(base: str) -> None:
    with served(spec(base, "Contexts"), base), client(base) as runner:
        runner.switch_context("")
        runner.switch_context("naïve")
        assert runner.evaluate() == 0
        runner.tensors["inlining_default"][...] = 1
        assert runner.evaluate() == 1
        with pytest.raises(ModelError, match=r"ValueError: a bad context \(.*policy.py:\d+\)"):
            runner.switch_context("bad")
        assert runner.evaluate() == 0


def test_every_client_gets_a_runner_of_its_own(base: str) -> None:
    with served(spec(base, "Contexts"), base):
        for _ in range(3):
            with client(base) as runner:
                runner.switch_context("")
                runner.switch_context("naïve")
                runner.tensors["inlining_default"][...] = 1
                assert runner.evaluate() == 1


def test_custom_feature_of_the_compilers_side(base: str) -> None:
    with served(spec(base, "custom"), base):
        with pytest.raises(SpecMismatchError, match="for_test_pipe"):
            client(base)

        @feature("float32[1]", name="for_test_pipe")
        def here(site: object) -> float:
            return 5

        try:
            runner = allocate(PipeRunner(base, find_point("inline"), GENEROUS))
        finally:
            unregister("for_test_pipe")
        with runner:
            runner.tensors["for_test_pipe"][...] = 5
            assert runner.evaluate() == 1


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (1, r"ValueError: a bad number \(.*policy.py:\d+\)$"),
        (2, r"advice: expected a bool or an integer 0 or 1, got float 0.5"),
        (3, r"PolicyError: obs.site: expected a policy inside the compiler.*policy.py:\d+\)$"),
        (4, r"PolicyError: obs.default\(\): .*'inlining_default'\) \(.*policy.py:\d+\)$"),
        (5, r"PolicyError: obs\['edge_count'\]: .*policy.py:\d+\)$"),
        (6, r"SystemExit: leaving \(.*policy.py:\d+\)$"),
        (7, r"ValueError: x{60000,}$"),
    ],
)
def test_errors_of_the_policy_come_back_and_the_session_goes_on(
    base: str, value: int, complaint: str
) -> None:
    with served(spec(base, "fails"), base), client(base) as runner:
        for _ in range(3):
            runner.tensors["node_count"][...] = value
            with pytest.raises(ModelError, match=complaint) as caught:
                runner.evaluate()
            assert str(caught.value).startswith(f"pipe:{base} (python:")
            runner.tensors["node_count"][...] = 0
            assert runner.evaluate() == 1


def test_closed_runner(base: str) -> None:
    with served("const:1", base):
        runner = client(base)
        runner.close()
        runner.close()
        for _ in range(2):
            with pytest.raises(PeerError, match="one that was closed"):
                runner.evaluate()
        with pytest.raises(PeerError, match="one that was closed"):
            runner.switch_context("x")


def test_runner_that_is_forgotten_gives_the_server_back(base: str) -> None:
    with served("const:1", base):
        runner = client(base)
        assert runner.evaluate() == 1
        del runner
        with client(base) as runner:
            assert runner.evaluate() == 1


def test_second_client_waits_for_the_first(base: str) -> None:
    with served("const:1", base), ThreadPoolExecutor(1) as pool:
        with client(base) as first:
            second = pool.submit(client, base)
            with pytest.raises(PeerError, match="got one that is serving another client; start"):
                client(base, timeout=0.1)
            assert first.evaluate() == 1
            assert not second.done()
        with second.result(GENEROUS) as runner:
            assert runner.evaluate() == 1


def test_many_clients_at_once_are_served_one_by_one(base: str) -> None:
    def ask(_: int) -> int:
        with client(base) as runner:
            return sum(int(runner.evaluate()) for _ in range(50))

    with served("const:1", base), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(24))) == [50] * 24


@pytest.mark.parametrize("left_over", [False, True])
def test_absent_server(base: str, left_over: bool) -> None:
    if left_over:
        os.mkfifo(f"{base}.in")
        os.mkfifo(f"{base}.out")
    with pytest.raises(
        PeerError, match="the FIFOs of one that is gone; start" if left_over else "got none; start"
    ):
        make_runner(f"pipe:{base}", point(), timeout=0.05)
    assert len(names_at(base)) == 2 * left_over


def test_client_may_come_before_its_server(base: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client, base)
        with served("const:1", base), waiting.result(GENEROUS) as runner:
            assert runner.evaluate() == 1


def test_base_that_is_no_fifo(base: str) -> None:
    Path(f"{base}.in").write_text("x")
    with pytest.raises(PeerError, match=r"expected FIFOs that can be opened, got: not a FIFO \(.*ch\.in\)"):
        client(base)
    with pytest.raises(RunnerSpecError, match="expected pipe:BASE"):
        make_runner("pipe:", point())


def test_killed_server_while_it_answers(base: str) -> None:
    with served(spec(base, "dies"), base), client(base) as runner:
        for _ in range(3):
            with pytest.raises(
                PeerError, match=r"expected an answer of 16 bytes, got nothing, and the peer is gone"
            ):
                runner.evaluate()


def test_server_that_dies_kills_no_client_by_sigpipe(base: str) -> None:
    """A compiler that loads passpilot may have left SIGPIPE at its default."""
    code = (
        "import signal, sys\n"
        "from passpilot.plugin.errors import PeerError\n"
        "from tests.runners.serving import client\n"
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


def test_random_is_the_same_over_the_pipe(base: str) -> None:
    with served("random:7", base), client(base) as there, allocate(make_runner("random:7", point())) as here:
        answers = []
        for context in ("", "a.c", "", "naïve"):
            for runner in (there, here):
                runner.switch_context(context)
            answers += [(there.evaluate(), here.evaluate()) for _ in range(50)]
    assert all(a == b for a, b in answers)
    assert 0 < sum(int(str(a)) for a, _ in answers) < 200


def test_killed_server_between_questions(base: str) -> None:
    with served("const:1", base) as server, client(base) as runner:
        assert runner.evaluate() == 1
        server.kill()
        server.wait()
        for _ in range(3):
            with pytest.raises(PeerError, match="the peer is gone"):
                runner.evaluate()
        with pytest.raises(PeerError, match="the peer is gone"):
            runner.switch_context("x")


def test_server_after_one_that_was_killed(base: str) -> None:
    with served("const:0", base) as server, client(base) as runner:
        assert runner.evaluate() == 0
        server.kill()
    with served("const:0", base) as server:
        with client(base) as runner:
            assert runner.evaluate() == 0
        server.kill()
        server.wait()
    with served("const:1", base), client(base) as runner:
        assert runner.evaluate() == 1


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
        with faulty(base, "stalls", size), client(base, timeout=1) as runner:
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
    assert "expected an answer within 1 s, got nothing" in texts[0]


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


def test_interruption_ends_the_session(base: str) -> None:
    """What the server still answers would belong to a question that was given up."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with served(spec(base, "forever"), base) as server, client(base) as runner:
        assert server.stdout is not None
        stdout = server.stdout

        def interrupt_when_asked() -> None:
            stdout.readline()
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
        with pytest.raises(PeerError, match="one that an interruption ended"):
            runner.evaluate()


def test_deadline_is_that_of_each_question(base: str) -> None:
    """Many questions may take longer together."""
    with served("const:1", base), client(base, timeout=GENEROUS) as runner:
        runner._watch._timeout = 1
        end = time.monotonic() + 1.6
        while time.monotonic() < end:
            assert runner.evaluate() == 1


def test_large_frames(base: str) -> None:
    """Larger than what a FIFO holds, so that neither end can write at once."""
    (Path(base).parent / "large.py").write_text(
        "def decide(obs):\n    view = obs['large_for_pipe']\n    return int(view.sum()) == view.size\n"
        "decide.features = ('large_for_pipe', 'node_count')\n"
    )

    @feature("int32[100,1001]", name="large_for_pipe")
    def large(site: object) -> None:
        pass

    try:
        offered = find_point("inline")
    finally:
        unregister("large_for_pipe")
    spec = f"python:{Path(base).parent / 'large.py'}:decide"
    with served(spec, base), allocate(PipeRunner(base, offered, GENEROUS)) as runner:
        for _ in range(20):
            runner.tensors["large_for_pipe"][...] = 1
            assert runner.evaluate() == 1
            runner.tensors["large_for_pipe"][-1, -1] = 0
            assert runner.evaluate() == 0
        runner.switch_context("x")


def stream(runner: PipeRunner) -> bytes:
    """All that a client of `positive` says: the handshake, a context, two questions, and good-bye."""
    frame = bytes(runner.frame)
    name = b"a context"
    context = wire.CONTEXT + frame + wire.WORD.pack(len(name)) + name
    return context + wire.EVALUATE + frame + wire.EVALUATE + frame + wire.BYE + frame


@pytest.mark.parametrize("asks", [False, True])
def test_server_survives_a_client_that_leaves_at_any_byte(base: str, asks: bool) -> None:
    """A client that is killed is, for the server, one whose descriptors are closed."""
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


def test_neither_end_grows(base: str) -> None:
    with served(spec(base, "positive"), base) as server, client(base) as runner:

        def ask(count: int) -> list[int]:
            for _ in range(count):
                runner.evaluate()
            return [resident_kilobytes(), resident_kilobytes(server.pid)]

        ask(5_000)
        before = ask(10_000)
        after = ask(50_000)
    assert max(new - old for old, new in zip(before, after, strict=True)) < 300
