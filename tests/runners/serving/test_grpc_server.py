# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve --grpc` as a command, with many compilers at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from passpilot.cli.serve import main
from passpilot.features.point import find_point
from passpilot.plugin.errors import Error, InputError, PeerError, UsageError
from passpilot.runners.python import Observation
from passpilot.runners.remote import grpc_messages
from passpilot.runners.remote.advisor_pb2 import Answer
from passpilot.runners.remote.auth import read_guard
from passpilot.runners.serving.grpc_server import GrpcServer
from passpilot.runners.serving.sessions import Tally
from tests.command import PASSPILOT, passpilot, program, refused
from tests.passes.allocation import pressure
from tests.runners.serving.grpc_serving import advise, client, served, server, target_of
from tests.runners.serving.serving import GENEROUS, ended, other_client, process, spec


@pytest.mark.parametrize("point", ["inline", "evict"])
def test_client_is_told_the_end_before_its_server_leaves(point: str) -> None:
    told = {"inline": "welcome", "evict": "failure"}
    for _ in range(20):
        with server("const:1") as made, grpc.insecure_channel(target_of(made)) as channel:
            replies = advise(channel)(iter([grpc_messages.hello(find_point(point))]), timeout=GENEROUS)
            assert made.ended.wait(GENEROUS)
            made.close()
            assert [Answer.FromString(each).WhichOneof("kind") for each in replies] == [told[point]]


def test_closed_server_leaves_no_thread() -> None:
    with server("const:1") as made, client(target_of(made)) as runner:
        assert runner.evaluate() == 1
        assert serving()
    end = time.monotonic() + GENEROUS
    while serving():
        assert time.monotonic() < end
        os.sched_yield()


def serving() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("passpilot-serve")]


def test_signal_while_a_policy_runs_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its output is not lost."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    (tmp_path / "policy.py").write_text(
        f"def decide(obs):\n    print('thinking')\n    open({str(asked)!r}, 'w').close()\n"
        "    while True:\n        pass\n"
    )
    with served(f"python:{tmp_path}/policy.py:decide") as (child, target), client(target) as runner:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(runner.evaluate)
            asked.read_text()
            child.send_signal(signal.SIGTERM)
            with pytest.raises(PeerError):
                waiting.result(GENEROUS)
        said, _ = child.communicate(timeout=GENEROUS)
        assert (child.returncode, said) == (0, "thinking\n")


def test_health_and_reflection() -> None:
    with server("const:1") as made, grpc.insecure_channel(target_of(made)) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", grpc_messages.SERVICE):
            answer = health.Check(health_pb2.HealthCheckRequest(service=name))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        database = ProtoReflectionDescriptorDatabase(channel)
        assert grpc_messages.SERVICE in database.get_services()
        service = DescriptorPool(database).FindServiceByName(grpc_messages.SERVICE)
        (method,) = service.methods
        assert (method.name, method.input_type.name, method.output_type.name) == (
            "Advise",
            "Question",
            "Answer",
        )


def test_port_that_is_taken(tmp_path: Path) -> None:
    with server("const:1") as made:
        target = target_of(made)
        with pytest.raises(
            PeerError, match=rf"^serve --grpc {target}: expected to listen there, got: .*; see"
        ):
            GrpcServer("const:1", target)
        with pytest.raises(PeerError, match="expected to listen there"):
            GrpcServer("const:1", f"localhost:{made.port}")
        assert "expected to listen there" in refused("serve", "const:1", "--grpc", target, cwd=tmp_path)
        with client(target) as runner:
            assert runner.evaluate() == 1


def test_grpc_itself_logs_nothing() -> None:
    code = "from passpilot.runners.serving import grpc_server as s; s.GrpcServer('const:1', '192.0.2.1:0')"
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "add_port.cc" not in done.stderr


@pytest.mark.parametrize(
    ("flags", "error", "complaint"),
    [
        ([], UsageError, "one of --pipe BASE and --grpc .*, got none"),
        (["--pipe", "x", "--grpc", "0"], UsageError, "one of --pipe BASE and --grpc .*, got both"),
        (["--pipe", "x", "--token", "t"], UsageError, "--token: expected --grpc with it"),
        (["--grpc", "host"], UsageError, "serve: --grpc: expected HOST:PORT, got 'host'"),
        (["--grpc", "0", "--token", "@missing"], InputError, "expected a token in missing"),
        (["--grpc", "0", "--tls-cert", "x"], InputError, "--tls-cert and --tls-key belong together"),
        (["--grpc", "0", "--tls-cert", "x", "--tls-key", "y"], InputError, "expected a certificate in x"),
        (["--grpc", "192.0.2.1:0"], PeerError, "expected to listen there"),
    ],
)
def test_wrong_flags(flags: list[str], error: type[Error], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        main(["const:1", *flags])


@pytest.mark.parametrize(("address", "told"), [("0.0.0.0:0", True), ("0", False), ("localhost:0", False)])
def test_the_user_is_told_who_can_read_the_token(
    address: str, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_guard(address, "t", None, None, who="serve") == ("t", None)
    text = f"passpilot serve: --grpc {address}: without TLS, whoever reads the network reads the token\n"
    assert capsys.readouterr().err == text * told


def test_files_that_are_no_certificate(tmp_path: Path) -> None:
    for name in ("cert", "key"):
        (tmp_path / name).write_text("x")
    with pytest.raises(InputError, match=r"--tls-cert: expected a certificate \(PEM\) in "):
        main(["const:1", "--grpc", "0", "--tls-cert", f"{tmp_path}/cert", "--tls-key", f"{tmp_path}/key"])


def test_close_that_raises_is_noted_and_the_server_goes_on(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(
        "class Decide:\n    def __call__(self, obs):\n        return 1\n"
        "    def close(self):\n        raise ValueError('unclean')\n"
    )
    notices: list[str] = []
    with server(f"python:{tmp_path}/policy.py:Decide") as made:
        made._tally = Tally(notices.append)
        for _ in range(2):
            with client(target_of(made)) as runner:
                assert runner.evaluate() == 1
    assert ["expected close() to end, got ValueError: unclean" in each for each in notices] == [True, True]


def test_slow_policy_holds_up_no_other_compiler() -> None:
    asked, release = threading.Event(), threading.Event()

    def decide(obs: Observation) -> bool:
        if obs.context == "slow":
            asked.set()
            release.wait(GENEROUS)
        return True

    with server(decide) as made, client(target_of(made)) as slow, ThreadPoolExecutor(1) as pool:
        slow.switch_context("slow")
        waiting = pool.submit(slow.evaluate)
        asked.wait(GENEROUS)
        for _ in range(20):
            with client(target_of(made)) as runner:
                assert runner.evaluate() == 1
        assert not waiting.done()
        release.set()
        assert waiting.result(GENEROUS) == 1


SESSIONS = """
import sys
from tests.runners.serving.grpc_serving import client
runners = [client(sys.argv[1]) for _ in range(32)]
def ask():
    for value in range(3):
        for runner in runners:
            runner.tensors["node_count"][...] = value
            assert runner.evaluate() == (value > 0)
ask()
print("ready", flush=True)
sys.stdin.readline()
ask()
print("done", flush=True)
sys.stdin.readline()
"""


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_sixty_four_compilers_at_once_some_of_which_die(base: str, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program())
    with served(spec(base, "positive")) as (child, target):
        client(target).close()
        before = descriptors(child.pid)
        processes = [process(sys.executable, "-c", SESSIONS, target) for _ in range(2)]
        agents = [each.__enter__() for each in processes]

        def read(agent: subprocess.Popen[str]) -> str:
            assert agent.stdout is not None
            return agent.stdout.readline()

        def go_on(agent: subprocess.Popen[str]) -> None:
            assert agent.stdin is not None
            agent.stdin.write("go on\n")
            agent.stdin.flush()

        try:
            assert [read(agent) for agent in agents] == ["ready\n"] * 2
            for agent in agents:
                go_on(agent)
            compilers = [
                subprocess.Popen(
                    [PASSPILOT, "opt", "in.ll", "-O2", f"--inline=grpc:{target}", "-o", f"out{number}.bc"],
                    cwd=tmp_path,
                )
                for number in range(2)
            ]
            assert [each.wait(GENEROUS) for each in compilers] == [0] * 2
            assert [read(agent) for agent in agents] == ["done\n"] * 2
            agents[0].kill()  # in the middle of its sessions
            go_on(agents[1])
            assert [agent.wait(GENEROUS) for agent in agents] == [-9, 0]
        finally:
            for each in processes:
                each.__exit__(None, None, None)
        while descriptors(child.pid) > before + 1:
            assert child.poll() is None
            os.sched_yield()
        with client(target) as runner:
            assert runner.evaluate() == 0
        child.send_signal(signal.SIGTERM)
        assert ended(child) == (0, "")
    outputs = {(tmp_path / f"out{number}.bc").read_bytes() for number in range(2)}
    assert len(outputs) == 1


def test_dead_clients_leave_no_session() -> None:
    with server("const:1") as made:
        for _ in range(2):
            with other_client(f"grpc:{target_of(made)}") as child:
                assert made.sessions == 1
                child.kill()
            with made._changed:
                assert made._changed.wait_for(lambda: made.sessions == 0, GENEROUS)


TOOLS = {"inline": ("opt", "in.bc", "-passes=default<Oz>"), "evict": ("llc", "in.bc", "-O2", "-filetype=obj"),
         "priority": ("llc", "in.bc", "-O2", "-filetype=obj")}  # fmt: skip
ECHOES = """
def inline(obs):
    return not obs.default() if obs["callee_users"][0] % 2 else obs.default()
inline.features = ("callee_users", "inlining_default")

def evict(obs):
    legal = obs["mask"][0].nonzero()[0]
    return int(legal[len(legal) // 2])
evict.features = ("mask",)

def priority(obs):
    return obs["li_size"][0] * 3.0 % 1000
priority.features = ("li_size",)
"""


@pytest.mark.parametrize("point", TOOLS)
def test_output_is_that_of_the_same_policy_in_the_compiler(point: str, tmp_path: Path) -> None:
    if point == "inline":
        (tmp_path / "in.bc").write_text(program())
    else:
        pressure.compiled(tmp_path).rename(tmp_path / "in.bc")
    (tmp_path / "policy.py").write_text(ECHOES)
    spec = f"python:{tmp_path}/policy.py:{point}"
    with server(spec, point) as made, ThreadPoolExecutor() as pool:
        runners = {"here": spec, "there": f"grpc:{target_of(made)}", "default": "default"}
        compiled = [
            pool.submit(passpilot, *TOOLS[point], f"--{point}={runner}", "-o", name, cwd=tmp_path)
            for name, runner in runners.items()
        ]
        assert [(each.result().code, each.result().err) for each in compiled] == [(0, "")] * 3
    here, there, default = ((tmp_path / name).read_bytes() for name in ("here", "there", "default"))
    assert here == there
    assert here != default


def test_compiler_that_is_interrupted_while_it_asks(base: str, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program())
    with served(spec(base, "forever")) as (child, target):
        command = [str(PASSPILOT), "opt", "in.ll", "-O2", f"--inline=grpc:{target}", "-o", "out.bc"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as compiler:
            assert child.stdout is not None
            assert child.stdout.readline() == "asked\n"
            compiler.send_signal(signal.SIGINT)
            _, said = compiler.communicate(timeout=GENEROUS)
    assert (compiler.returncode, said) == (130, "passpilot: interrupted\n")
    assert not (tmp_path / "out.bc").exists()
