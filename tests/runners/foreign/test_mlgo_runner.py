# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pipe:BASE?protocol=mlgo` sends the same as stock LLVM to an agent that was written for LLVM."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot.features.point import find_point
from passpilot.plugin.errors import PeerError, RunnerSpecError
from passpilot.runners.base import allocate
from passpilot.runners.foreign.mlgo import MlgoRunner, header_of
from passpilot.runners.spec import make_runner
from tests.command import GENEROUS, Done, passpilot, program, run
from tests.corpus.build import bindir
from tests.passes.allocation.pressure import compiled
from tests.runners.serving.serving import process

AGENT = Path(__file__).with_name("mlgo_agent.py")


@contextlib.contextmanager
def agent(base: Path, how: str, size: int = 0) -> Iterator[Path]:
    """The agent, ready; its record."""
    record = base.with_suffix(".record")
    with process(sys.executable, str(AGENT), str(base), str(record), how, str(size)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield record
        if how in ("default", "first", "minus"):
            assert child.wait(GENEROUS) == 0, child.stderr.read() if child.stderr else ""


def ours(folder: Path, how: str, *command: str) -> tuple[Done, bytes]:
    with agent(folder / "ours", how) as record:
        done = passpilot(*command, cwd=folder)
    return done, record.read_bytes()


def theirs(folder: Path, how: str, tool: str, *flags: str) -> bytes:
    with agent(folder / "theirs", how) as record:
        assert run(bindir() / tool, *flags, cwd=folder).code == 0
    return record.read_bytes()


def lines_of(record: bytes) -> tuple[bytes, bytes]:
    """The header, and all that follows it."""
    header, _, rest = record.partition(b"\n")
    return header + b"\n", rest


@pytest.mark.parametrize("default", [False, True])
def test_inline_is_byte_for_byte_what_opt_says(tmp_path: Path, default: bool) -> None:
    (tmp_path / "in.ll").write_text(program(4))
    how = "default" if default else "first"
    more = ("-inliner-interactive-include-default",) if default else ()
    flags = ("-enable-ml-inliner=release", "-inliner-interactive-channel-base=theirs", *more)
    said = theirs(tmp_path, how, "opt", "in.ll", "-O2", *flags, "-o", "theirs.bc")
    key = "&default=1" if default else ""
    done, told = ours(
        tmp_path, how, "opt", "in.ll", "-O2", f"--inline=pipe:ours?protocol=mlgo{key}", "-o", "ours.bc"
    )
    assert done.code == 0, done.err
    header, rest = lines_of(told)
    assert header == lines_of(said)[0] == header_of(find_point("inline"), default=default).line
    assert rest.count(b'{"observation":') >= 4
    assert told == said
    assert (tmp_path / "ours.bc").read_bytes() == (tmp_path / "theirs.bc").read_bytes()


@pytest.mark.parametrize(
    ("point", "flags"),
    [
        ("evict", ("-regalloc-enable-advisor=release", "-regalloc-evict-interactive-channel-base=theirs")),
        (
            "priority",
            (
                "-regalloc-enable-priority-advisor=release",
                "-regalloc-priority-interactive-channel-base=theirs",
            ),
        ),
    ],
)
def test_allocation_is_byte_for_byte_what_llc_says(
    tmp_path: Path, point: str, flags: tuple[str, ...]
) -> None:
    compiled(tmp_path)
    common = ("pressure.bc", "-O2", "-filetype=obj")
    said = theirs(tmp_path, "first", "llc", *common, *flags, "-o", "theirs.o")
    spec = "pipe:ours?protocol=mlgo"
    done, told = ours(tmp_path, "first", "llc", *common, f"--{point}={spec}", "-o", "ours.o")
    assert done.code == 0, done.err
    assert lines_of(told)[0] == lines_of(said)[0] == header_of(find_point(point), default=False).line
    assert told.count(b'{"observation":') > 10
    assert told == said.removesuffix(b'{"context":"main"}\n')  # passpilot omits contexts without questions
    assert (tmp_path / "ours.o").read_bytes() == (tmp_path / "theirs.o").read_bytes()


def client(base: Path, timeout: float = GENEROUS) -> MlgoRunner:
    return allocate(MlgoRunner(str(base), find_point("inline"), timeout, default=False))


def test_contexts_and_their_counts(tmp_path: Path) -> None:
    with agent(tmp_path / "ch", "first") as record, client(tmp_path / "ch") as runner:
        for name in ("a", "a", "b", "c", "a"):
            if name == "b":
                runner.switch_context("nothing asked")
            runner.switch_context(name)
            assert runner.evaluate() == 1
        assert runner.evaluate() == 1
        runner.close()
    lines = [line for line in record.read_bytes().split(b"\n") if line.startswith((b'{"c', b'{"o'))]
    told = [line.decode().strip("{}").replace('"', "") for line in lines]
    assert told == [
        *("context:a", "observation:0", "context:a", "observation:1", "context:b", "observation:0"),
        *("context:c", "observation:0", "context:a", "observation:2", "observation:3"),
    ]


def test_every_answer_but_0_is_yes_as_in_llvm(tmp_path: Path) -> None:
    with agent(tmp_path / "ch", "minus"), client(tmp_path / "ch") as runner:
        assert [runner.evaluate() for _ in range(2)] == [1, 1]
        runner.close()


@pytest.mark.parametrize("size", range(8))
def test_an_agent_that_dies_within_its_answer(tmp_path: Path, size: int) -> None:
    with agent(tmp_path / "ch", "dies", size), client(tmp_path / "ch") as runner:
        assert runner.evaluate() == 1
        for _ in range(2):
            with pytest.raises(PeerError, match=r"an advice of 8 bytes, got .*, and the peer is gone"):
                runner.evaluate()


@pytest.mark.parametrize("size", [0, 1, 7])
def test_an_agent_that_stops_within_its_answer(tmp_path: Path, size: int) -> None:
    with agent(tmp_path / "ch", "stalls", size), client(tmp_path / "ch", timeout=2) as runner:
        assert runner.evaluate() == 1
        for _ in range(2):
            with pytest.raises(PeerError, match=r"an advice of 8 bytes, got .* before the deadline"):
                runner.evaluate()


def test_an_agent_that_answers_too_much(tmp_path: Path) -> None:
    with agent(tmp_path / "ch", "surplus", 1), client(tmp_path / "ch") as runner:
        assert runner.evaluate() == 1
        with pytest.raises(PeerError, match="an advice of 8 bytes, got more"):
            runner.evaluate()


@pytest.mark.parametrize("how", ["never opens", "dies while opening"])
def test_an_agent_that_does_not_come(tmp_path: Path, how: str) -> None:
    with agent(tmp_path / "ch", how), pytest.raises(PeerError, match="expected an agent of MLGO's protocol"):
        client(tmp_path / "ch", timeout=0.3)


def test_no_agent(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=r"protocol, got none; start a program that makes .*ch.in and"):
        client(tmp_path / "ch", timeout=0.1)


@pytest.mark.parametrize(
    ("spec", "point", "told"),
    [
        ("pipe:ch?protocol=mlgo&default=2", "inline", "expected default=0 or default=1, got '2'"),
        ("pipe:ch?protocol=mlgo&default=1", "evict", "expected default=1 only of inline"),
        ("pipe:ch?protocol=mlgo&serdes=json", "inline", r"keys of the protocol mlgo \(default\), got serdes"),
        ("pipe:ch?protocol=xml", "inline", "a protocol among passpilot, mlgo, mlbridge, got 'xml'"),
        ("pipe:ch?default=1", "inline", r"keys of the protocol passpilot \(serdes\), got default"),
        ("pipe:ch?serdes=xml", "inline", "serdes: expected one of bitstream, json, protobuf, got 'xml'"),
    ],
)
def test_keys_that_do_not_fit(spec: str, point: str, told: str) -> None:
    with pytest.raises(RunnerSpecError, match=told):
        make_runner(spec, find_point(point))
