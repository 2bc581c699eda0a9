# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot attach` and compilers that break the protocol, die, hang, or leave things behind."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import psutil
import pytest

from passpilot.cli.attach import main
from passpilot.plugin.errors import Error, InputError, ModelError, PeerError, SpecMismatchError
from passpilot.runners.attach.answers import Answers
from passpilot.runners.attach.interactive import InteractiveChannel
from tests.runners import fake_compiler
from tests.runners.fake_compiler import CONTEXT, HEADER, STREAM

SOON = "--timeout=0.1"
LATE = "--timeout=60"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a fake opt; nothing may be left behind of whatever is done there."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("NOTE", str(tmp_path / "note"))
    program = tmp_path / "opt"
    program.write_text(f"#!{sys.executable} -IS\n{Path(fake_compiler.__file__).read_text()}")
    program.chmod(0o700)
    before = left()
    yield tmp_path
    assert left() == before
    assert list(temporary.iterdir()) == []


def left() -> tuple[int, int, int, object]:
    """Descriptors, threads, children, and what is done on a signal."""
    process = psutil.Process()
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    return process.num_fds(), threading.active_count(), len(process.children(recursive=True)), handlers


def attach(folder: Path, *fault: object, flags: tuple[str, ...] = (LATE,), runner: str = "const:1") -> int:
    command = [str(folder / "opt"), *map(str, fault)]
    return main([f"--inline={runner}", *flags, "--", *command])


def policy(folder: Path, text: str) -> str:
    (folder / "policy.py").write_text(text)
    return f"python:{folder / 'policy.py'}:decide"


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("count", [1, 2, 12])
def test_sessions_follow_each_other(folder: Path, capfd: pytest.CaptureFixture[str], count: int) -> None:
    assert attach(folder, "sessions", count, flags=("--stats",)) == 0
    out, err = capfd.readouterr()
    assert out.split() == ["2"] * count
    assert f"{2 * count} decisions" in err
    assert f" {count} session{'s' * (count != 1)}\n" in err


def test_a_message_byte_by_byte(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert attach(folder, "trickles") == 0
    assert capfd.readouterr().out == "1\n"


@pytest.mark.parametrize("code", [0, 3])
def test_never_opens(folder: Path, capfd: pytest.CaptureFixture[str], code: int) -> None:
    assert attach(folder, "exits", code) == code
    assert ("runner const:1 was never asked" in capfd.readouterr().err) == (code == 0)


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_passed_on(folder: Path, code: int) -> None:
    assert attach(folder, "exits after", code) == code


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_dies_between_messages(
    folder: Path, capfd: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    assert attach(folder, "dies", int(number)) == 128 + number
    assert f"the compiler died: {signal.strsignal(number)}\n" in capfd.readouterr().err


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.soak)])
def test_dies_at_every_byte(folder: Path, step: int) -> None:
    """Of what follows the header, or at every sixth, which is within each of its parts."""
    within_header = range(0, len(fake_compiler.HEADER), 23 * step)
    after = range(len(fake_compiler.HEADER) - 1, len(STREAM) + 1, step)
    assert {attach(folder, "dies within", size) for size in (*within_header, *after)} == {137}


@pytest.mark.parametrize("size", [1, len(fake_compiler.HEADER) - 1, len(STREAM) - 30, len(STREAM) - 1])
def test_ends_well_within_a_message(folder: Path, size: int) -> None:
    with pytest.raises(
        PeerError, match=r"^inline channel: expected a whole message, got its end after \d+ bytes$"
    ):
        attach(folder, "exits within", size)


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_session_that_ends_after_any_byte(tmp_path: Path, step: int) -> None:
    """Between messages it is a session; within one it is an error, if the compiler calls it a success."""
    question = fake_compiler.question
    messages = (HEADER, CONTEXT, question(0), question(1), b'{"context":"f"}\n', question(0))
    said = b"".join(messages)
    begins = list(accumulate(map(len, messages), initial=0))
    for size in {*range(0, len(said) + 1, step), *begins}:
        answers = Answers("inline", "const:1")
        channel = InteractiveChannel(f"{tmp_path}/{size}", answers, 60.0, lambda: None)
        channel.start()
        ends = fake_compiler.opened(f"{tmp_path}/{size}")
        for message, begin in zip(messages, begins, strict=False):
            os.write(ends[1], message[: max(0, size - begin)])
            if message.startswith(b'{"observation"') and size >= begin + len(message):
                assert int.from_bytes(os.read(ends[0], 8), sys.byteorder) == 1
        for end in ends:
            os.close(end)
        channel.stop()
        left = size - max(begin for begin in begins if begin <= size)
        assert channel.failure is None
        if left:
            told = f"inline channel: expected a whole message, got its end after {left} bytes"
            assert str(channel.cut) == told
        else:
            assert channel.cut is None
        answers.close()


@pytest.mark.parametrize("size", [1, len(fake_compiler.HEADER) - 1, len(STREAM) - 30, len(STREAM) - 1])
def test_half_a_message(folder: Path, size: int) -> None:
    with pytest.raises(PeerError, match=r"expected the rest of a message within 0.1 s, got \d+ bytes of it"):
        attach(folder, "stalls", size, flags=(SOON,))


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (("garbage", 1), "expected LLVM's interactive protocol, got b'\\\\x93garbage'"),
        (("garbage", 9999), "expected LLVM's interactive protocol, got b'\\\\x93garbage"),
        (("endless line",), r"expected LLVM's interactive protocol, got b'\{\{\{"),
        (("only asks",), "asks and does not read|then a wait for the answer|instead of"),
        (("second header",), "a second header before the end of the first session.*--thinlto-jobs=1"),
        (("header behind a question",), "the header of another one behind a question.*--thinlto-jobs=1"),
        (("skips a number", 4), "got observation 4 instead of 2"),
        (("skips a number", 0), "got observation 0 instead of 2"),
        (("no newline",), "expected a newline after the tensors"),
        (("other header",), "expected the header of the sessions before"),
        (("no header",), "expected a header with features and advice"),
        (
            ("other advice",),
            "expected a compiler that wants inlining_decision as int64\\[1\\], got one that wants",
        ),
    ],
    ids=lambda value: value[0].replace(" ", "-") if isinstance(value, tuple) else "",
)
def test_breaks_the_protocol(folder: Path, fault: tuple[object, ...], text: str) -> None:
    with pytest.raises(Error, match=text):
        attach(folder, *fault)


def test_floods_stderr(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert attach(folder, "floods") == 0
    assert len(capfd.readouterr().err) == 160 << 16


def test_ignores_sigterm(folder: Path) -> None:
    with pytest.raises(PeerError, match="got b'garbage'"):
        attach(folder, "ignores")


@pytest.mark.parametrize("code", [0, 3])
def test_leaves_a_process_that_holds_the_channel(folder: Path, code: int) -> None:
    assert attach(folder, "forks", code) == code
    pid, ends = int((folder / "note").read_text()), time.monotonic() + 60
    while not gone(pid):
        assert time.monotonic() < ends, "attach left it"
        os.sched_yield()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_us(folder: Path, number: signal.Signals) -> None:
    note, main_thread = folder / "note", threading.get_ident()

    def interrupt() -> None:
        while not note.exists() or not note.read_text().endswith(" "):
            os.sched_yield()
        signal.pthread_kill(main_thread, number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        code = attach(folder, "waits")
    except KeyboardInterrupt:
        code = 130
    thread.join()
    assert code == 128 + number
    assert gone(int(note.read_text()))


def test_an_ignored_signal_stays_ignored(folder: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        decide = policy(folder, "import os\ndef decide(obs):\n    os.kill(os.getpid(), 1)\n    return 1\n")
        assert attach(folder, "exits after", 3, runner=f"{decide}?features=node_count") == 3
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("raise ValueError('no idea')", r"at decision 0: ValueError: no idea \(.*policy.py:2\)$"),
        ("return 0.5", r"at decision 0: advice: expected a bool or an integer 0 or 1, got float 0.5"),
        ("return 2", "got int 2"),
        ("return float('nan')", "got float nan"),
        ("import sys; sys.exit(4)", "SystemExit: 4"),
        ("return obs.site", "obs.site: expected a decision function inside the compiler"),
        ("return obs['cost_estimate']", "expected one of the tensors that were declared"),
    ],
)
def test_a_failing_policy_ends_the_compiler(folder: Path, body: str, text: str) -> None:
    runner = f"{policy(folder, f'def decide(obs):{chr(10)}    {body}{chr(10)}')}?features=node_count"
    with pytest.raises(Error, match=text):
        attach(folder, "waits", runner=runner)


@pytest.mark.parametrize("body", ["raise ValueError('no idea')", "return 2"])
def test_a_failing_policy_leaves_it_to_llvm(
    folder: Path, capfd: pytest.CaptureFixture[str], body: str
) -> None:
    runner = f"{policy(folder, f'def decide(obs):{chr(10)}    {body}{chr(10)}')}?features=node_count"
    assert attach(folder, "sessions", 2, flags=("--on-error=default",), runner=runner) == 0
    out, err = capfd.readouterr()
    assert out == "2\n2\n"
    assert re.search(
        r"4 of 4 decisions fell back to the default; the first: inline advisor at decision 0: ", err
    )


def test_an_absent_peer_leaves_it_to_llvm(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    flags = ("--on-error=default", SOON)
    assert attach(folder, "sessions", 1, flags=flags, runner=f"pipe:{folder}/absent") == 0
    out, err = capfd.readouterr()
    assert out == "2\n"
    assert "2 of 2 decisions fell back" in err
    assert "expected a model server, got none" in err


def test_a_policy_that_does_not_return(folder: Path) -> None:
    text = "import threading\nended = threading.Event()\ndef decide(obs):\n    ended.wait()\n"
    runner = f"{policy(folder, text)}?features=node_count"
    with pytest.raises(ModelError, match=r"at decision 0: expected an answer within 0.2 s, got none"):
        attach(folder, "waits", flags=(SOON,), runner=runner)
    (waiting,) = (each for each in threading.enumerate() if each.name == "passpilot-inline channel")
    from passpilot.plugin.load import load_file

    load_file(folder / "policy.py").ended.set()
    waiting.join()


def test_a_newer_compilers_feature_is_bound_by_name(folder: Path) -> None:
    decide = policy(folder, "def decide(obs):\n    return 0\ndecide.features = ('brand_new', 'node_count')\n")
    with pytest.raises(SpecMismatchError, match="got brand_new"):
        attach(folder, "waits", runner=decide)
    program = folder / "opt"
    program.write_text(program.read_text().replace('"callee_users"', '"brand_new"'))
    text = "def decide(obs):\n    return obs['brand_new'] == 7 and obs['node_count'] == 5\n"
    (folder / "newer.py").write_text(f"{text}decide.features = ('brand_new', 'node_count')\n")
    assert attach(folder, "exits after", 0, runner=f"python:{folder}/newer.py:decide") == 0


def test_a_missing_feature_is_refused_by_name(folder: Path) -> None:
    runner = f"{policy(folder, 'def decide(obs): return 1')}?features=cost_estimate,node_count"
    with pytest.raises(Error, match="cost_estimate is wanted as int64\\[1\\] and not offered"):
        attach(folder, "waits", runner=runner)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("missing/opt", "missing/opt: expected a program that can be run, got: No such file or directory"),
        ("folder/opt", "Permission denied"),
        ("text/opt", "Exec format error"),
    ],
)
def test_a_program_that_cannot_be_run(folder: Path, program: str, text: str) -> None:
    (folder / "folder" / "opt").mkdir(parents=True)
    (folder / "text").mkdir()
    (folder / "text" / "opt").write_text("no program")
    (folder / "text" / "opt").chmod(0o700)
    with pytest.raises(InputError, match=text):
        main(["--inline=const:1", "--", str(folder / program)])


def test_a_compiler_that_is_quicker_than_we_are(tmp_path: Path) -> None:
    answers = Answers("inline", "const:1")
    channel = InteractiveChannel(f"{tmp_path}/ch", answers, 60.0, lambda: None)
    ends = fake_compiler.stream(f"{tmp_path}/ch", STREAM)
    channel.start()
    assert int.from_bytes(os.read(ends[0], 8), sys.byteorder) == 1
    assert [fake_compiler.ask(ends, fake_compiler.question(number)) for number in (1, 2)] == [1, 1]
    for end in ends:
        os.close(end)
    channel.stop()
    assert channel.failure is channel.cut is None
    assert (answers.decisions, answers.sessions) == (3, 1)
