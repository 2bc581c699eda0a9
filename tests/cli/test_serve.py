# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve` as a command: how it starts, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
from itertools import count
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from passpilot.cli.serve import main
from passpilot.plugin.errors import (
    InputError,
    ModelError,
    PeerError,
    PolicyError,
    RunnerSpecError,
    UsageError,
)
from passpilot.runners.remote import fifo
from passpilot.runners.remote.fifo import Listener
from passpilot.runners.serving.pipe_server import PipeServer
from tests.command import passpilot
from tests.runners.aot.models import small_mlp
from tests.runners.remote.remote import Remote
from tests.runners.serving.serving import client, ended, names_at, other_client, reached, said_by, served

if TYPE_CHECKING:
    from _typeshed import TraceFunction

STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def policy(base: str, text: str) -> str:
    path = Path(base).with_name("policy.py")
    path.write_text(text)
    return f"python:{path}:decide"


def test_once_serves_one_client(remote: Remote) -> None:
    with remote.served("const:1", "--once") as (child, address):
        with reached(address) as runner:
            assert runner.evaluate() == 1
        assert ended(child) == (0, "")
    assert names_at(remote.base) == []


def test_a_server_says_what_it_serves_and_counts(remote: Remote) -> None:
    spec = policy(
        remote.base,
        "def decide(obs):\n    if obs['callee_users'][0] == 7: raise ValueError('bad')\n    return 1\n",
    )
    with remote.served(spec, "--verbose") as (child, address):
        with reached(address) as runner:
            assert [runner.evaluate() for _ in range(3)] == [1, 1, 1]
            runner.tensors["callee_users"][0] = 7
            with pytest.raises(ModelError, match="bad"):
                runner.evaluate()
        reached(address).close()
        child.send_signal(signal.SIGTERM)
        code, said = said_by(child)
    lines = [line.removeprefix("passpilot serve: ") for line in said.splitlines()]
    assert code == 0
    assert lines[0] == f"{spec} answers for the decision point inline at {address}"
    assert lines[1].startswith("session 1: a client ")
    assert lines[2].startswith("ValueError: bad (")
    assert any(re.fullmatch(r"session 1: 3 decisions, 1 error in \d+\.\d s", line) for line in lines[3:])
    assert any(line.startswith("session 2: 0 decisions, 0 errors in ") for line in lines[4:])
    assert lines[-1] == "ended: 2 sessions, 3 decisions, 1 error"


def test_names_are_there_only_while_a_client_can_come(base: str) -> None:
    with served("const:1", base) as server:
        for _ in range(2):
            with client(base):
                assert names_at(base) == ["ch.lock"]
        with client(base):
            server.send_signal(signal.SIGTERM)
            assert ended(server) == (0, "")
    assert names_at(base) == []


def test_fifos_are_private(base: str) -> None:
    before = os.umask(0)
    try:
        with served("const:1", base, "--once") as server:
            client(base).close()
            ended(server)
        with served("const:1", base):
            while not Path(f"{base}.in").exists():
                os.sched_yield()
            modes = {path.name: path.stat().st_mode for path in Path(base).parent.glob("ch.*")}
    finally:
        os.umask(before)
    assert {name: stat.S_IMODE(mode) for name, mode in modes.items()} == dict.fromkeys(modes, 0o600)
    assert {name for name, mode in modes.items() if stat.S_ISFIFO(mode)} == {"ch.in", "ch.out"}


@pytest.mark.parametrize("number", STOPS)
def test_signal_while_idle(remote: Remote, number: signal.Signals) -> None:
    with remote.served("const:1") as (child, address):
        reached(address).close()
        child.send_signal(number)
        assert ended(child) == (0, "")
    assert names_at(remote.base) == []


@pytest.mark.parametrize("number", STOPS)
def test_signal_between_questions(remote: Remote, number: signal.Signals) -> None:
    """The policies get to know that it is over."""
    spec = policy(
        remote.base,
        "class decide:\n    def __call__(self, obs):\n        return 1\n"
        "    def close(self):\n        open(__file__ + '.closed', 'w').close()\n",
    )
    told = {"pipe": "the peer is gone", "grpc": "expected an answer, got "}[remote.scheme]
    with remote.served(spec) as (child, address), reached(address) as runner:
        assert runner.evaluate() == 1
        child.send_signal(number)
        assert ended(child) == (0, "")
        with pytest.raises(PeerError, match=told):
            runner.evaluate()
    assert names_at(remote.base) == []
    assert Path(remote.base).with_name("policy.py.closed").exists()


@pytest.mark.parametrize("number", STOPS)
def test_signal_within_a_policy(base: str, number: signal.Signals) -> None:
    spec = policy(
        base,
        f"import os\ndef decide(obs):\n    os.kill(os.getpid(), {int(number)})\n    while True: pass\n",
    )
    with served(spec, base) as server, client(base) as runner:
        with pytest.raises(PeerError, match="the peer is gone"):
            runner.evaluate()
        assert ended(server) == (0, "")
    assert names_at(base) == []


def test_signals_while_it_ends_do_not_disturb_it(base: str) -> None:
    spec = policy(
        base,
        "import os, signal\nclass decide:\n    def __call__(self, obs):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n        while True: pass\n"
        "    def close(self):\n"
        "        for _ in range(5): os.kill(os.getpid(), signal.SIGINT)\n"
        "        open(__file__ + '.closed', 'w').close()\n",
    )
    with served(spec, base) as server, client(base) as runner:
        with pytest.raises(PeerError):
            runner.evaluate()
        assert ended(server) == (0, "")
    assert names_at(base) == []
    assert Path(base).with_name("policy.py.closed").exists()


def test_policy_that_swallows_everything_cannot_hold_the_server(base: str) -> None:
    spec = policy(
        base,
        "import os, signal\ndef decide(obs):\n"
        "    try:\n        os.kill(os.getpid(), signal.SIGTERM)\n        while True: pass\n"
        "    except BaseException:\n        return 1\n",
    )
    with served(spec, base) as server, client(base) as runner:
        assert runner.evaluate() == 1
        assert ended(server) == (0, "")
    assert names_at(base) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a FileIO that nobody closes
def test_interruption_at_any_moment_of_an_offer(base: str) -> None:
    """What ends the server is the interruption, never a descriptor that is closed twice."""

    class StoppedError(BaseException):
        pass

    def stopped_after(steps: int) -> bool:
        """Whether the offer was not made within so many instructions of Python."""
        left = [steps]

        def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
            if frame.f_code.co_filename != fifo.__file__:
                return None
            frame.f_trace_opcodes = True
            left[0] -= event == "opcode"
            if left[0] == 0:
                raise StoppedError
            return trace

        with Listener(base) as listener:
            sys.settrace(trace)
            try:
                listener.offer().close()
            except StoppedError:
                return True
            finally:
                sys.settrace(None)
        return False

    assert next(steps for steps in count(1) if not stopped_after(steps)) > 300


def test_second_server_at_the_same_base(base: str) -> None:
    with served("const:1", base), client(base) as runner:
        with pytest.raises(PeerError, match=r"serve --pipe .*ch: there is a server already"):
            PipeServer("const:0", base).run(once=True)
        assert runner.evaluate() == 1
        runner.close()
        with client(base) as again:
            assert again.evaluate() == 1


def test_left_overs_are_replaced_but_no_other_file(base: str) -> None:
    for end in ("in", "out", "in.new"):
        os.mkfifo(f"{base}.{end}")
    Path(f"{base}.lock").touch()
    with served("const:1", base, "--once") as server:
        while Path(f"{base}.in.new").exists():
            os.sched_yield()
        with client(base) as runner:
            assert runner.evaluate() == 1
        assert ended(server) == (0, "")
    Path(f"{base}.out").write_text("mine")
    with pytest.raises(PeerError, match=r"expected to make FIFOs, got: not a FIFO \(.*ch\.out\)"):
        PipeServer("const:0", base).run(once=True)
    assert Path(f"{base}.out").read_text() == "mine"


def test_base_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="expected to make FIFOs, got: No such file"):
        PipeServer("const:0", str(tmp_path / "no" / "ch")).run(once=True)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("nothing:x", RunnerSpecError),
        ("const:7", RunnerSpecError),
        ("python:missing.py:decide", InputError),
        ("onnx:missing.onnx", ModelError),
        ("decisions:lua.decisions", UsageError),
    ],
)
@pytest.mark.parametrize("flag", ["--pipe={}", "--grpc=0"])
def test_wrong_spec_shows_before_any_client(base: str, flag: str, spec: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        main([spec, flag.format(base)])
    assert names_at(base) == []


def test_load_registers_schemes(base: str) -> None:
    path = Path(base).with_name("mine.py")
    path.write_text(
        "from passpilot.runners.spec import make_runner, runner_scheme\n"
        "@runner_scheme('for-test-serve')\n"
        "def factory(target, options, point, timeout):\n"
        "    return make_runner(lambda obs: target == 'yes', point)\n"
    )
    with served("for-test-serve:yes", base, "--load", str(path)), client(base) as runner:
        assert runner.evaluate() == 1


def test_errors_of_the_policy_are_noted_once_per_client(remote: Remote) -> None:
    spec = policy(remote.base, "def decide(obs):\n    raise ValueError('bad')\n")
    with remote.served(spec) as (child, address):
        for _ in range(2):
            with reached(address) as runner:
                for _ in range(3):
                    with pytest.raises(ModelError, match="bad"):
                        runner.evaluate()
        child.send_signal(signal.SIGTERM)
        code, said = ended(child)
    assert code == 0
    heads = [line.startswith("passpilot serve: ValueError: bad (") for line in said.splitlines()]
    assert heads == [True, True]


FRAGILE = """
from passpilot.runners.base import Runner
from passpilot.runners.spec import runner_scheme

made = []


class Fragile(Runner):
    inputs = ()

    def __init__(self, point, fails):
        self.output = point.advice
        self.fails = fails
        made.append(self)

    def bind(self, *buffers):
        if self.fails == "bind":
            raise ValueError("bad bind")

    def evaluate(self):
        return 1

    def close(self):
        if self.fails == "close":
            raise ValueError("bad close")


@runner_scheme("fragile")
def factory(target, options, point, timeout):
    if target == "make" and made:
        raise ValueError("bad make")
    return Fragile(point, target)
"""


@pytest.mark.parametrize("fails", ["bind", "close", "make"])
def test_runner_that_fails_outside_of_its_answers_costs_no_more_than_its_session(
    base: str, fails: str
) -> None:
    path = Path(base).with_name("fragile.py")
    path.write_text(FRAGILE)
    told = f"ValueError: bad {fails} \\({path}:"
    with served(f"fragile:{fails}", base, "--load", str(path)) as server:
        for refused in {"bind": (True, True), "close": (False, False), "make": (False, True)}[fails]:
            if refused:
                with pytest.raises((PolicyError, ModelError), match=told):
                    client(base)
            else:
                with client(base) as runner:
                    assert runner.evaluate() == 1
        while not Path(f"{base}.in").exists():  # it says what went wrong before it makes the next pair
            os.sched_yield()
        server.send_signal(signal.SIGTERM)
        code, said = ended(server)
    assert code == 0
    assert f"ValueError: bad {fails} (" in said
    assert "Traceback" not in said


def test_what_is_no_exception_goes_back_too(base: str) -> None:
    spec = policy(base, "class Odd(BaseException): pass\ndef decide(obs):\n    raise Odd('bad')\n")
    with served(spec, base), client(base) as runner:
        for _ in range(2):
            with pytest.raises(ModelError, match="Odd: bad"):
                runner.evaluate()


def test_class_is_made_once_for_the_first_client(base: str) -> None:
    """The runner that shows early that the spec is sound is not made in vain."""
    spec = policy(base, "class decide:\n    count = 0\n    def __init__(self): decide.count += 1\n"
                        "    def __call__(self, obs): return decide.count == 1\n")  # fmt: skip
    with served(spec, base), client(base) as runner:
        assert runner.evaluate() == 1


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert "--inline=pipe:/tmp/ch" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["const:1"], ["const:1", "-pipe", "x", "-jso"]])
def test_usage_errors(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match=r"^serve: "):
        main(arguments)


def test_unknown_point(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^decision point: expected one of inline, .*, got 'outline'"):
        main(["const:1", "--pipe", f"{tmp_path}/ch", "--point", "outline"])


def test_killed_client_process(base: str) -> None:
    """A real process that dies by a signal in the middle of a session."""
    with served("const:1", base):
        with other_client(f"pipe:{base}") as child:
            child.kill()
        with client(base) as runner:
            assert runner.evaluate() == 1


def test_a_warning_is_one_line_in_our_form(tmp_path: Path) -> None:
    """A model that names no columns, and a refusal behind it, so that the server ends by itself."""
    (tmp_path / "m.onnx").write_bytes(small_mlp(named=False).SerializeToString())
    done = passpilot("serve", "onnx:m.onnx?map=x:*", "--pipe", "none/ch", cwd=tmp_path)
    first, second = done.err.splitlines()
    assert first.startswith("passpilot: warning: model m.onnx: input 'x': expected the names of its columns")
    assert second.startswith("passpilot: error: ")
