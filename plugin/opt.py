# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot opt`: opt, with advisors.

Flags that are not ours are LLVM's own (``-inline-threshold=50``, ``-pass-remarks=inline``, ``-mcpu=...``) and
go to LLVM's parser.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.plugin.arguments import Parser
from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from passpilot.plugin.module import Advisor, Module

LEVELS: Final = ("O0", "O1", "O2", "O3", "Os", "Oz")

ADVISORS: Final = {"inline": "passpilot.passes.inline:InlineAdvisor"}
"""The advisor of each decision point that this command reaches; imported when asked for."""

EPILOG: Final = """\
example:
  passpilot opt in.bc -passes='default<Oz>' --inline=python:policy.py:decide --stats -o out.bc

All other options are LLVM's own, as in opt: -inline-threshold=50, -pass-remarks=inline, -mcpu=znver4, ...
RUNNER is scheme:target[?key=value&...]: python:FILE:NAME, onnx:MODEL, pipe:BASE, replay:LOG, random:SEED,
const:0, const:1, default."""


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    # numpy's BLAS would start threads that nobody here has work for.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    parser = make_parser()
    ours, llvm = split_options(list(argv), parser)
    options = parser.parse_args(ours)
    warnings.showwarning = _print_warning
    warnings.simplefilter("always", PasspilotWarning)
    return _run(options, llvm)


def make_parser() -> Parser:
    """The parser of our options and of those that opt itself has; each with one or two dashes."""
    parser = Parser(
        "passpilot opt",
        description="Optimize LLVM IR as opt does, with the decisions of its passes advised.",
        epilog=EPILOG,
        add_help=False,
    )
    add = parser.option
    parser.add_argument("input", nargs="?", default="-", metavar="IN", help="a .ll or .bc file; - for stdin")
    add("help", "h", action="help", help="show this text")
    add("version", action="store_true", help="passpilot's version and LLVM's")
    add("passes", "p", metavar="PIPELINE", help="textual pipeline, such as 'default<Oz>'")
    for level in LEVELS:
        add(level, dest="levels", action="append_const", const=level, help=f"as -passes='default<{level}>'")
    add("o", dest="output", metavar="OUT", help="output file; - (the default) for stdout")
    add("S", dest="assembly", action="store_true", help="write LLVM assembly")
    add("f", dest="force", action="store_true", help="write bitcode to a terminal, too")
    add("disable-output", action="store_true", help="write no module")
    add("disable-verify", action="store_true", help="do not run the verifier")
    add("verify-each", action="store_true", help="verify after each pass")
    add("strip-debug", action="store_true", help="drop debug information first")
    add("mtriple", default="", metavar="TRIPLE", help="override the target triple")
    add("data-layout", default="", metavar="LAYOUT", help="override the data layout")
    add("aa-pipeline", default="default", metavar="PIPELINE", help="alias analyses to use")
    add("debug-pass-manager", action="store_true", help="print each pass and analysis that runs")
    add("load-pass-plugin", action="append", default=[], metavar="SO", help="load passes of an LLVM plugin")
    add("pass-remarks-output", default="", metavar="F", help="write remarks to a file")
    add("pass-remarks-filter", default="", metavar="REGEX", help="only remarks of these passes")
    add("pass-remarks-format", default="yaml", metavar="FORMAT", help="yaml (default) or bitstream")
    add("pass-remarks-with-hotness", action="store_true", help="remarks with profile counts")
    add("print-passes", action="store_true", help="list LLVM's passes")
    _add_advice(add)
    parser.traceback_option()
    return parser


def _add_advice(add: Callable[..., None]) -> None:
    add("inline", metavar="RUNNER", help="ask RUNNER about each call site")
    add("advise", action="append", default=[], metavar="POINT=RUNNER", help="the same for any decision point")
    add(
        "load", action="append", default=[], metavar="FILE.py", help="register the features and runners in it"
    )
    add("log", metavar="F", help="write every decision to a log (see passpilot log)")
    add("on-error", choices=("fail", "default"), help="what a failing runner does")
    add("timeout", type=float, metavar="S", help="seconds to wait for another process (10)")
    add(
        "size-budget",
        type=float,
        metavar="FACTOR",
        help="let the default decide once the module is FACTOR times its size (4); 0: no limit",
    )
    add("stats", action="store_true", help="print decisions and times, and LLVM's statistics")


def split_options(argv: list[str], parser: argparse.ArgumentParser) -> tuple[list[str], list[str]]:
    """Our arguments, and those of LLVM with the values that belong to them."""
    known = parser._option_string_actions
    ours: list[str] = []
    llvm: list[str] = []
    rest = iter(argv)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if argument == "-" or not argument.startswith("-"):
            ours.append(argument)
        elif name in known:
            ours.append(argument)
            takes_value = known[name].nargs is None
            if takes_value and not equals and (value := next(rest, None)) is not None:
                # Joined, so that argparse does not take a value such as -foo for an option.
                ours[-1] = f"{argument}={value}"
        else:
            llvm.append(argument)
            if not equals and _takes_value(name) and (value := next(rest, None)) is not None:
                llvm.append(value)
    if "-stats" in ours or "--stats" in ours:
        llvm.append("-stats")
    return ours, llvm


def _takes_value(name: str) -> bool:
    from passpilot.plugin import _core

    return _core.option_kind(name.lstrip("-")) == _core.OptionKind.TAKES_VALUE


def _run(options: argparse.Namespace, llvm: list[str]) -> int:
    if options.version:
        from passpilot.plugin.cli import version

        print(version())
        return 0
    from passpilot.plugin import _core

    if options.print_passes:
        print(_core.pass_names(), end="")
        return 0
    pipeline = _pipeline(options)
    _check_outputs(options)
    if llvm:
        _set_llvm_options(llvm)
    advisor = _advisor(options)
    try:
        _compile(options, pipeline, advisor)
    finally:
        if advisor is not None:
            advisor.close()
    return 0


def _set_llvm_options(arguments: list[str]) -> None:
    """Hand LLVM its options, tried in a child first.

    LLVM writes what is wrong with a value to the standard error, and ends the process for some.
    """
    from passpilot.plugin.module import llvm_options

    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if child == 0:
            _try_llvm_options(arguments, told.fileno())
        _, status = os.waitpid(child, 0)
        told.seek(0)
        text = told.read().decode("utf-8", "replace").strip()
    if status:
        text = text.removeprefix("passpilot: ").removeprefix("error: ")
        raise UsageError(f"opt: {text or 'LLVM does not take ' + ' '.join(arguments)}")
    llvm_options(arguments)


def _try_llvm_options(arguments: list[str], told: int) -> NoReturn:
    from passpilot.plugin.module import llvm_options

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(told, 2)
        llvm_options(arguments)
        os._exit(0)
    except InputError as error:
        os.write(2, str(error).removesuffix("LLVM option: ").encode())
    finally:
        os._exit(1)


def _pipeline(options: argparse.Namespace) -> str:
    levels: list[str] = options.levels or []
    if len(levels) > 1:
        raise UsageError(f"opt: expected one optimization level, got -{' -'.join(levels)}")
    if levels and options.passes is not None:
        raise UsageError(f"opt: expected -{levels[0]} or -passes, got both; use 'default<{levels[0]}>,...'")
    return f"default<{levels[0]}>" if levels else options.passes or ""


def _advisor(options: argparse.Namespace) -> Advisor | None:
    """The advisor that the flags ask for; at most one, of the point inline."""
    for file in options.load:
        from passpilot.plugin.load import load_file

        load_file(file)
    wanted = [("inline", options.inline)] if options.inline is not None else []
    for text in options.advise:
        point, equals, runner = text.partition("=")
        if not equals or point not in ADVISORS:
            msg = f"opt: --advise: expected POINT=RUNNER with POINT among {', '.join(ADVISORS)}, got {text!r}"
            raise UsageError(msg)
        wanted.append((point, runner))
    if len(wanted) > 1:
        raise UsageError("opt: expected one runner for the point inline, got two")
    if not wanted:
        if given := _advice_keywords(options):
            flag = f"--{next(iter(given)).replace('_', '-')}"
            raise UsageError(
                f"opt: {flag}: expected an advisor that it is for, got none; add --inline=default"
            )
        return None
    from importlib import import_module

    point, runner = wanted[0]
    module, _, name = ADVISORS[point].partition(":")
    advisor: Advisor = getattr(import_module(module), name)(runner, **_advice_keywords(options))
    return advisor


def _advice_keywords(options: argparse.Namespace) -> dict[str, object]:
    """The keywords of the advisor that are on the command line."""
    names = ("log", "on_error", "timeout", "size_budget")
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _check_outputs(options: argparse.Namespace) -> None:
    """Make sure that no two outputs are one file."""
    output = None if options.disable_output else options.output or "-"
    outputs = [("-o", output), ("--log", options.log), ("-pass-remarks-output", options.pass_remarks_output)]
    owners: dict[str, str] = {}
    for flag, path in outputs:
        if not path or (path != "-" and os.path.exists(path) and not os.path.isfile(path)):
            continue
        place = path if path == "-" else os.path.realpath(path)
        if (owner := owners.setdefault(place, flag)) != flag:
            raise UsageError(f"opt: {flag}: expected a file of its own, got {path}, which {owner} writes")


def _compile(options: argparse.Namespace, pipeline: str, advisor: Advisor | None) -> None:
    from passpilot.plugin.module import Module, optimize
    from passpilot.plugin.progress import progress

    module = Module.read(
        options.input,
        mtriple=options.mtriple,
        data_layout=options.data_layout,
        verify=not options.disable_verify,
        strip_debug=options.strip_debug,
    )
    with progress(f"{options.input} {pipeline}"):
        optimize(
            module,
            pipeline,
            [advisor] if advisor is not None else [],
            aa_pipeline=options.aa_pipeline,
            verify=not options.disable_verify,
            verify_each=options.verify_each,
            debug_pass_manager=options.debug_pass_manager,
            pass_plugins=options.load_pass_plugin,
            remarks_output=options.pass_remarks_output,
            remarks_filter=options.pass_remarks_filter,
            remarks_format=options.pass_remarks_format,
            remarks_with_hotness=options.pass_remarks_with_hotness,
        )
    if advisor is not None:
        advisor.close()  # what fails here must fail before anything is written
    _write(options, module)
    if options.stats:
        from passpilot.plugin import _core

        if advisor is not None:
            print(advisor.report(), file=sys.stderr)
        print(_core.statistics(), end="", file=sys.stderr)


def _write(options: argparse.Namespace, module: Module) -> None:
    if options.disable_output or _prints_pipeline():
        return
    from passpilot.plugin.files import write_file

    output = options.output or "-"
    if output == "-" and not options.assembly and not options.force and sys.stdout.isatty():
        msg = "expected a file or pipe for bitcode, got a terminal; use -o OUT, -S for assembly, or -f"
        warnings.warn(msg, PasspilotWarning, stacklevel=2)
        return
    write_file(output, module.assembly() if options.assembly else module.bitcode())


def _prints_pipeline() -> bool:
    from passpilot.plugin import _core

    return _core.prints_pipeline()


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: object = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    kind = "" if issubclass(category, PasspilotWarning) else f"{category.__name__}: "
    print(f"passpilot: warning: {kind}{message}", file=sys.stderr)
