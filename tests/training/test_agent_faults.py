# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults and deaths of agents: the error names the fault, the service goes on, nothing is left."""

from __future__ import annotations

import math
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import grpc
import psutil
import pytest

from passpilot.plugin.errors import AdviceError, CompilationError, InputError, PeerError
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage
from passpilot.training.episode import CompilerClient
from passpilot.training.episode_stream import METHOD
from tests.command import GENEROUS, program
from tests.passes.allocation import pressure
from tests.training.serving import INLINE, Cable, Service, persistently, play, served

MODULE: Final = program(6).encode()

AGENT: Final = """\
import sys
from passpilot.training.episode import CompilerClient

target, feature, steps = sys.argv[1:]
client = CompilerClient(target)
client.reset(sys.stdin.buffer.read(), point="inline", pipeline="default<Oz>", features=feature.split())
for _ in range(int(steps)):
    client.step(1)
print("there", flush=True)
sys.stdout.read()
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    corpus = folder / "corpus"
    (corpus / "below").mkdir(parents=True)
    (corpus / "below" / "good.ll").write_bytes(MODULE)
    (corpus / "inside.ll").symlink_to("below/good.ll")
    (folder / "secret.ll").write_bytes(MODULE)
    (corpus / "outside.ll").symlink_to(folder / "secret.ll")
    (corpus / "up").symlink_to(folder)
    os.mkfifo(corpus / "fifo.ll")
    (corpus / "huge.ll").touch()
    os.truncate(corpus / "huge.ll", 1 << 40)
    with served(folder, f"--modules={corpus}") as running:
        yield running


@pytest.fixture
def client(service: Service) -> Iterator[CompilerClient]:
    """An agent whose stream must still work at the end of the test."""
    with service.client() as made:
        yield made
        assert play(made, 1, MODULE, **INLINE).actions


WRONG: Final[dict[str, tuple[dict[str, object], type[Exception], str]]] = {
    "text": ({"module": b"define nonsense"}, InputError, "module:1:8: expected LLVM IR or bitcode"),
    "bitcode": ({"module": b"BC\xc0\xde" + bytes(50)}, InputError, "module: "),
    "unsound": (
        {"module": b"define i32 @f() {\n %x = add i32 %x, 1\n ret i32 %x }"},
        InputError,
        "Only PHI nodes",
    ),
    "pipeline": ({"pipeline": "no-such-pass"}, InputError, "no-such-pass"),
    "syntax": ({"pipeline": "default<Oz"}, InputError, "default<Oz"),
    "no pipeline": ({"pipeline": ""}, InputError, "pipeline: expected one that reaches the point inline"),
    "point": ({"point": "outline"}, Exception, "expected one of inline, evict, priority, .*got 'outline'"),
    "no point": ({"point": ""}, InputError, "point: expected the name of a decision point, got none"),
    "no pass": (
        {"point": "advised-size", "pipeline": ""},
        InputError,
        "that reaches the point advised-size, got none",
    ),
    "no places": (
        {"point": "evict", "pipeline": "", "at": {"pipeline-start": "dce"}},
        InputError,
        ": at: expected a pipeline",
    ),
    "place": ({"at": {"nowhere": "dce"}}, InputError, "expected a point among .*, got 'nowhere'"),
    "feature": ({"features": ["process", "none_such"]}, Exception, "got none_such"),
    "reward": ({"reward": "speed"}, InputError, "expected one of native-size, .*native-estimate, none"),
    "level": ({"opt_level": 4}, InputError, "opt_level: expected 0 to 3, got 4"),
    "function": ({"function": "calle"}, InputError, r"\(callee, caller0, .*\.\.\.\), got 'calle'"),
    "custom": ({"features": ["wrong"]}, Exception, r"ValueError: no such number .*features\.py:\d+"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_start_is_refused_by_name(client: CompilerClient, name: str) -> None:
    changed, kind, text = WRONG[name]
    asked = {"module": MODULE, **INLINE, **changed}
    with pytest.raises(kind, match=text) as caught:
        client.reset(**asked)  # type: ignore[arg-type]
    assert type(caught.value).__module__ == "passpilot.errors"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.ll",
        "outside.ll",
        "up/secret.ll",
        "below/../../secret.ll",
        "fifo.ll",
        "below",
        "absent.ll",
        "huge.ll",
        "long" * 10000,
        "a\0b",
    ],
)
def test_paths_stay_within_the_corpus(client: CompilerClient, path: str) -> None:
    with pytest.raises(InputError, match=r"expected .*of the corpus|outside the corpus") as caught:
        client.reset(path, point="inline", pipeline="default<Oz>")
    assert len(str(caught.value)) < 250


def test_paths_that_are_refused_leave_no_descriptors(service: Service, client: CompilerClient) -> None:
    process = psutil.Process(service.process.pid)
    before = process.num_fds()
    for _ in range(20):
        with pytest.raises(InputError, match="Is a directory"):
            client.reset("below", point="inline", pipeline="default<Oz>")
    assert process.num_fds() < before + 10  # others come and go


def test_absolute_paths_are_refused_and_links_within_are_not(
    service: Service, client: CompilerClient
) -> None:
    good = service.temporary.with_name("corpus") / "below" / "good.ll"
    with pytest.raises(InputError, match="is outside the corpus"):
        client.reset(str(good), point="inline", pipeline="default<Oz>")
    assert client.reset("inside.ll", point="inline", pipeline="default<Oz>") is not None


@pytest.mark.parametrize(
    "wrong",
    [{"opt_level": 1 << 40}, {"module": 7}, {"module": "\ud800"}, {"function": 3}, {"features": "mask"}],
)
def test_arguments_that_no_message_can_hold(client: CompilerClient, wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"expected the (arguments of an episode|names of features), got"):
        client.reset(**{"module": MODULE, **INLINE, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("action", [2, -1, 0.0, 1.0, "1", None, 1 << 70])
def test_an_illegal_flag_may_be_corrected(client: CompilerClient, action: object) -> None:
    client.reset(MODULE, point="inline", pipeline="default<Oz>")
    with pytest.raises(AdviceError, match="expected a bool or a"):
        client.step(action)
    decisions = 0
    done = False
    while not done:
        *_, done, info = client.step(True)
        decisions += 1
    assert info["decisions"] == decisions


def test_an_illegal_column_may_be_corrected(client: CompilerClient, tmp_path: Path) -> None:
    observation = client.reset(pressure.compiled(tmp_path).read_bytes(), point="evict", reward="none")
    assert observation is not None
    masked = int(observation["mask"][0].argmin())
    before = observation["mask"].copy()
    assert not before[0, masked]
    with pytest.raises(AdviceError, match="expected a column that 'mask' allows"):
        client.step(masked)
    for action in (33, -1, True, 1.5):
        if action is not True:  # over the wire a bool is a number
            with pytest.raises(AdviceError, match="expected an integer of 0 to 32"):
                client.step(action)
    assert (observation["mask"] == before).all()
    assert client.step(int(before[0].argmax()))[2] in (True, False)


@pytest.mark.parametrize("action", [math.nan, math.inf, -1.0, 2.0**32])
def test_an_illegal_number_may_be_corrected(client: CompilerClient, tmp_path: Path, action: float) -> None:
    client.reset(pressure.compiled(tmp_path).read_bytes(), point="priority", reward="none")
    with pytest.raises(AdviceError, match="expected a number of 0 to 4294967295"):
        client.step(action)
    client.step(1)


def test_messages_outside_of_an_episode(service: Service) -> None:
    with grpc.insecure_channel(service.target) as channel:
        method = channel.stream_stream(METHOD, AgentMessage.SerializeToString, CompilerMessage.FromString)
        start = AgentMessage(start={"code": MODULE, **INLINE})
        none = AgentMessage(start=INLINE)
        sent = [AgentMessage(), AgentMessage(action={"integer": 1}), start, AgentMessage(), none, start]
        answers = list(method(iter(sent), timeout=GENEROUS))
    kinds = [answer.WhichOneof("kind") for answer in answers]
    assert kinds == ["failure", "failure", "observation", "failure", "failure", "observation"]
    assert "send a start first" in answers[1].failure.failure.error
    assert "expected a bool or an integer 0 or 1, got NoneType" in answers[3].failure.failure.error
    assert answers[3].failure.retry
    assert "expected bitcode, assembly or a path" in answers[4].failure.failure.error


def test_a_crash_ends_the_episode_only(client: CompilerClient) -> None:
    with pytest.raises(CompilationError, match="got its death by SIGSEGV"):
        client.reset(MODULE, point="inline", pipeline="default<Oz>", features=["crash"])
    with pytest.raises(InputError, match="call reset first"):
        client.step(1)


FATAL: Final = b"""\
target triple = "x86_64-pc-linux-gnu"
declare void @llvm.aarch64.hint(i32)
define void @f() {
  call void @llvm.aarch64.hint(i32 0)
  ret void
}
"""
"""LLVM cannot select an instruction, and ends its process."""


def test_a_fatal_error_of_llvm_ends_the_episode_only(client: CompilerClient) -> None:
    with pytest.raises(CompilationError, match=r"exit code 1: .*error: LLVM: Cannot select: .*aarch64"):
        client.reset(FATAL, point="inline", pipeline="default<Oz>", reward="native-size")


def test_a_worker_that_died_while_it_waited_is_replaced(tmp_path: Path) -> None:
    with served(tmp_path) as service, service.client() as client:
        (worker,) = service.workers()
        os.kill(worker, signal.SIGKILL)
        while psutil.Process(worker).status() != psutil.STATUS_ZOMBIE:  # the service has yet to look
            os.sched_yield()
        assert play(client, 1, MODULE, **INLINE).actions
        assert worker not in service.workers()


def ask_forever(client: CompilerClient, alongside: threading.Thread) -> None:
    alongside.start()
    while True:
        client.reset(MODULE, point="inline", pipeline="default<Oz>")


def test_a_client_can_be_used_after_an_interruption(client: CompilerClient) -> None:
    client.reset(MODULE, point="inline", pipeline="default<Oz>")

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
    try:
        with pytest.raises(KeyboardInterrupt):
            ask_forever(client, thread)
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(("feature", "steps"), [("stuck", 0), ("", 0), ("", 3)])
def test_a_killed_agent_gives_everything_back(tmp_path: Path, feature: str, steps: int) -> None:
    """The agent dies while LLVM works, at the first question, or later; all agents share one worker."""
    with served(tmp_path, "--episodes=1") as service:
        command = [sys.executable, "-c", AGENT, service.target, feature, str(steps)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
            assert agent.stdin is not None
            assert agent.stdout is not None
            agent.stdin.write(MODULE)
            agent.stdin.close()
            if feature:
                while not service.made.exists():
                    os.sched_yield()
            else:
                assert agent.stdout.readline() == b"there\n"
            (worker,) = service.workers()
            agent.kill()
        with service.client() as client:
            persistently(lambda: client.reset(MODULE, point="inline", pipeline="default<Oz>"))
            assert (service.workers() == [worker]) == (not feature)
            with service.client() as other, pytest.raises(PeerError, match="expected fewer than 1 episodes"):
                other.reset(MODULE, point="inline", pipeline="default<Oz>")
            assert client.step(1)[2] is False
        service.process.terminate()
        assert service.ended() == (0, "")
        assert not list(service.temporary.iterdir())


def test_a_cut_connection_gives_everything_back(tmp_path: Path) -> None:
    with served(tmp_path, "--episodes=1") as service:
        cable = Cable(service.target)
        with CompilerClient(cable.target, timeout=GENEROUS) as client, service.client() as other:
            client.reset(MODULE, **INLINE)
            cable.cut()
            persistently(lambda: other.reset(MODULE, **INLINE))
            with pytest.raises(PeerError, match="expected an answer, got"):
                client.step(1)


def test_a_silent_agent_is_told_and_may_come_again(tmp_path: Path) -> None:
    with served(tmp_path, "--timeout=0.2", "--episodes=1") as service, service.client() as client:
        client.reset(MODULE, point="inline", pipeline="default<Oz>")
        with service.client() as other:
            persistently(lambda: other.reset(MODULE, point="inline", pipeline="default<Oz>"))
        with pytest.raises(PeerError, match=r"agent: expected an action within 0\.2 s, got silence"):
            client.step(1)
        persistently(lambda: client.reset(MODULE, point="inline", pipeline="default<Oz>"))
        service.process.terminate()
        assert service.ended() == (0, "")


def test_an_agent_that_takes_no_answer_gives_everything_back(tmp_path: Path) -> None:
    """The observation is larger than what gRPC sends ahead to an agent that does not read."""
    start = AgentMessage(start={"code": MODULE, **INLINE, "features": ["large"]})
    sent: queue.Queue[AgentMessage | None] = queue.Queue()
    sent.put(start)
    with (
        served(tmp_path, "--timeout=0.2", "--episodes=1") as service,
        grpc.insecure_channel(service.target) as channel,
        service.client() as other,
    ):
        method = channel.stream_stream(METHOD, AgentMessage.SerializeToString, bytes)
        call = method(iter(sent.get, None))
        while not service.made.exists():
            os.sched_yield()
        persistently(lambda: other.reset(MODULE, point="inline", pipeline="default<Oz>"))
        call.cancel()
        sent.put(None)
        service.process.terminate()
        assert service.ended() == (0, "")


def test_a_compiler_that_cannot_be_started(tmp_path: Path) -> None:
    with served(tmp_path) as service, service.client() as one, service.client() as two:
        assert one.reset(MODULE, point="inline", pipeline="default<Oz>") is not None
        shutil.rmtree(service.temporary)
        with pytest.raises(CompilationError, match=r"expected to start a compiler, got: .*No such file"):
            two.reset(MODULE, point="inline", pipeline="default<Oz>")
        service.temporary.mkdir()
        assert two.reset(MODULE, point="inline", pipeline="default<Oz>") is not None


def test_a_compiler_that_never_asks_is_ended(tmp_path: Path) -> None:
    with served(tmp_path, "--compile-timeout=8", "--episodes=1") as service, service.client() as client:
        with pytest.raises(CompilationError, match="expected it to ask or to finish within 8 s"):
            client.reset(MODULE, point="inline", pipeline="default<Oz>", features=["stuck"])
        assert play(client, 1, MODULE, **INLINE).actions


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_its_episodes(tmp_path: Path, number: signal.Signals) -> None:
    with served(tmp_path) as service, service.client() as one, service.client() as two:
        for client in (one, two):
            client.reset(MODULE, point="inline", pipeline="default<Oz>")
        workers = service.workers()
        assert len(workers) == 2
        service.process.send_signal(number)
        assert service.ended() == (0, "")
        assert not list(service.temporary.iterdir())
        with pytest.raises(PeerError, match="expected an answer, got"):
            one.step(1)


def test_the_service_killed_takes_its_workers_along(tmp_path: Path) -> None:
    with served(tmp_path) as service, service.client() as client:
        client.reset(MODULE, point="inline", pipeline="default<Oz>")
        children = psutil.Process(service.process.pid).children()
        service.process.kill()
        _, alive = psutil.wait_procs(children, timeout=GENEROUS)
        assert len(children) == 1
        assert not alive
        with pytest.raises(PeerError, match="expected an answer, got"):
            client.step(1)
