# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot attach --inline=R ... -- COMPILER ARGS`: runs an unmodified compiler and answers its questions.

The compiler is the distribution's own, in a process of its own; its interactive mode, which MLGO's training
uses, asks over FIFOs. Nothing is loaded into it. Its standard streams are ours, and so is its exit code.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final

from passpilot.cli.advice import RUNNERS
from passpilot.cli.outputs import prepare
from passpilot.cli.parser import Parser
from passpilot.features.catalogue import HOOKED, TOOLS
from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError
from passpilot.plugin.load import load_file
from passpilot.plugin.version import MAJOR
from passpilot.runners.attach.child import Child, waking

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from passpilot.runners.attach.answers import Answers
    from passpilot.runners.attach.child import Wake
    from passpilot.runners.attach.interactive import Interactive

_TOOL: Final = re.compile(rf"(?:.+-)?({'|'.join(map(re.escape, TOOLS))})(?:\+\+)?(?:-[0-9.]+)?")
_JOBS: Final = "--thinlto-jobs"
_LOOK_EVERY: Final = 1.0


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the compiler's exit code, or 128 and the number of the signal it died of."""
    prepare()
    end = argv.index("--") if "--" in argv else len(argv)
    options, unknown = _parser().parse_known_args(argv[:end])
    if unknown:
        raise UsageError(f"attach: expected its own options, then -- and a compiler, got {unknown[0]!r}")
    command = list(argv[end + 1 :])
    runners = _checked(options, command)
    for file in options.load:
        load_file(file)
    with ExitStack() as stack:
        answers = list(_answers(options, runners, stack))
        code = _attach(command, answers, options.timeout)
    for each in answers:
        if code == 0:
            for text in each.complaints():
                warnings.warn(text, PasspilotWarning, stacklevel=1)
        if options.stats:
            print(each.report(), file=sys.stderr)
    return code


def _parser() -> Parser:
    parser = Parser(
        "passpilot attach",
        description="Run an unmodified opt, llc, clang or ld.lld, and answer the questions of its passes.",
        epilog="example:\n  passpilot attach --inline=python:policy.py:decide"
        f" -- opt-{MAJOR} -O2 in.bc -o out.bc\n"
        f"  passpilot attach --evict=random:7 --stats -- clang-{MAJOR} -O2 -c in.c -o out.o\n\n{RUNNERS}",
    )
    parser.usage = "passpilot attach [options] -- COMPILER ARGS..."
    for point, row in HOOKED.items():
        parser.option(point, metavar="RUNNER", help=f"ask RUNNER {row.question}")
    parser.option("load", metavar="FILE.py", action="append", default=[], help="run this file first")
    failing = "what a failing runner does: end the compiler (fail), or leave --inline to LLVM (default)"
    parser.option("on-error", choices=("fail", "default"), default="fail", help=failing)
    waits = "seconds that a message of the compiler, and each wait of a runner, may take (10)"
    parser.option("timeout", metavar="S", type=float, default=10.0, help=waits)
    parser.option("stats", action="store_true", help="print decisions and times")
    parser.traceback_option()
    return parser


def _checked(options: argparse.Namespace, command: Sequence[str]) -> dict[str, str]:
    """The runner of each advised point.

    Raises:
        UsageError: there is none, or it does not fit the compiler.
    """
    if not command:
        raise UsageError("attach: expected a compiler after --, got none; see `passpilot attach --help`")
    runners = {point: getattr(options, point) for point in HOOKED if getattr(options, point) is not None}
    reached = TOOLS[_tool(command[0])]
    points = [point for point, row in HOOKED.items() if row.function in reached]
    flags = " or ".join(f"--{point}" for point in points)
    if not runners:
        raise UsageError(f"attach: expected a runner, got none; add {flags}")
    for point in runners:
        if point not in points:
            raise UsageError(f"attach: --{point}: expected a point of {command[0]}, {flags}")
        row = HOOKED[point]
        if options.on_error == "default" and not row.interactive.default:
            telling = " or ".join(f"--{each.name}" for each in HOOKED.values() if each.interactive.default)
            raise UsageError(
                f"attach: --on-error=default: expected {telling} alone, got --{point}, where LLVM's "
                f"interactive protocol does not tell what LLVM would do; use `passpilot {row.command}`"
            )
    return runners


def _tool(program: str) -> str:
    """Which of the tools a program is, by its name or that of the file which it links to."""
    for name in (program, os.path.realpath(which(program) or program)):
        if match := _TOOL.fullmatch(Path(name).name):
            return match[1]
    raise UsageError(f"attach: expected one of {', '.join(TOOLS)}, got {program!r}")


def _answers(options: argparse.Namespace, runners: Mapping[str, str], stack: ExitStack) -> Iterator[Answers]:
    from passpilot.runners.attach.answers import Answers

    for point, runner in runners.items():
        default = options.on_error == "default"
        answers = Answers(
            point, runner, default_on_error=default, timeout=options.timeout, timed=options.stats
        )
        stack.callback(answers.close)
        yield answers


def _attach(command: Sequence[str], answers: Sequence[Answers], timeout: float) -> int:
    """Run the compiler to its end; returns its exit code.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        Error: the compiler, or a runner, broke the rules; the compiler has been ended.
    """
    with waking() as wake, ExitStack() as stack:
        folder, channels = _channels(answers, timeout, wake, stack)
        child = Child(_command(command, answers, folder))
        stack.callback(child.stop)  # before the channels, without which it would hang
        for channel in channels:
            channel.start()
        return _watch(child, channels, timeout, wake)


def _channels(
    answers: Sequence[Answers], timeout: float, wake: Wake, stack: ExitStack
) -> tuple[str, list[Interactive]]:
    """The private folder of the FIFOs, and who answers there."""
    from passpilot.runners.attach.interactive import Interactive

    channels = []
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="passpilot-"))
        folder = os.path.realpath(folder)  # as /proc tells it
        for each in answers:
            channels.append(Interactive(f"{folder}/{each.point.name}", each, timeout, wake))
            stack.callback(channels[-1].stop)
    except OSError as error:
        msg = f"attach: expected a folder for FIFOs, got: {error.strerror} ({error.filename}); set TMPDIR"
        raise InputError(msg) from error
    return folder, channels


def _command(command: Sequence[str], answers: Sequence[Answers], folder: str) -> list[str]:
    """The command with what makes its passes ask."""
    tool, arguments = _tool(command[0]), list(command[1:])
    flags: list[str] = []
    for each in answers:
        how = HOOKED[each.point.name].interactive
        flags += (flag.format(f"{folder}/{each.point.name}") for flag in how.flags)
        named = any(how.lifted.partition("=")[0] in argument for argument in arguments)
        flags += [how.lifted] * (bool(how.lifted) and not named)
        flags += [how.default] * each.wants_default
    if tool in ("clang", "ld.lld"):
        flags = [word for flag in flags for word in ("-mllvm", flag)]
    if tool == "ld.lld" and not any(_JOBS in argument for argument in arguments):
        flags.append(f"{_JOBS}=1")
    first = arguments[:1] if arguments[:1] == ["-cc1"] else []
    if tool == "clang" and not first:  # where it only links, nobody reads them
        flags = ["--start-no-unused-arguments", *flags, "--end-no-unused-arguments"]
    return [command[0], *first, *flags, *arguments[len(first) :]]


def _watch(child: Child, channels: Sequence[Interactive], timeout: float, wake: Wake) -> int:
    """Wait for the end of the compiler, of our patience, or of the user's."""
    while not child.ended:
        number = wake.wait(child.fd, min(_LOOK_EVERY, timeout / 16))
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if number:
            return 128 + number
        for channel in channels:
            if error := channel.failure or channel.overdue():
                raise error
    code = child.finish()
    for channel in channels:
        channel.stop()
        if code == 0 and (error := channel.failure or channel.cut):
            raise error
    return code if code >= 0 else _killed(-code)


def _killed(number: int) -> int:
    """Say which signal ended the compiler, as a shell does; returns the exit code."""
    print(f"passpilot attach: the compiler died: {signal.strsignal(number)}", file=sys.stderr)
    return 128 + number
