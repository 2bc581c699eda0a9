# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot llc`: llc, with advisors."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.advice import (
    RUNNERS,
    advice_options,
    close_advisors,
    log_paths,
    make_advisors,
    runner_specs,
)
from passpilot.cli.llvm_options import check_text, set_llvm_options, split_options
from passpilot.cli.options_table import input_options, remark_options, remarks_of
from passpilot.cli.outputs import check_outputs, prepare, print_reports, print_version, refuses_terminal
from passpilot.cli.parser import Parser
from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from passpilot.plugin import _core
    from passpilot.plugin.asking import AdvisorLike
    from passpilot.plugin.module import Module

LEVELS: Final = ("O0", "O1", "O2", "O3")

ABSENT: Final = (
    *("compile-twice", "enable-new-pm", "load-pass-plugin", "p", "pass-remarks-hotness-threshold", "passes"),
    *("print-mir2vec", "print-mir2vec-vocab", "regalloc-npm", "run-pass", "save-stats", "time-compilations"),
    *("time-trace", "time-trace-file", "time-trace-granularity", "verify-each"),
)
"""What stock llc itself, not LLVM's library, has beside the options below."""

EPILOG: Final = f"""\
example:
  passpilot llc in.bc -O2 -filetype=obj --evict=python:policy.py:decide --stats -o out.o

All other options are LLVM's own, as in llc: -mcpu=znver4, -mattr=+avx2, -march=, -relocation-model=pic,
-stop-after=finalize-isel, -pass-remarks=regalloc, ...
{RUNNERS}"""


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    prepare()
    parser = make_parser()
    ours, llvm = split_options(_checked(argv), parser)
    return _run(parser.parse_args(ours), llvm)


def _checked(argv: Iterable[str]) -> Iterable[str]:
    """The arguments, unless one is an option that stock llc has alone."""
    for argument in argv:
        name = argument.partition("=")[0]
        if argument.startswith("-") and name.lstrip("-") in ABSENT:
            raise UsageError(
                f"llc: expected an option of passpilot llc, got {name}; llc-{MAJOR} itself has it"
            )
        if re.match("--?O", argument) and argument.lstrip("-") not in LEVELS:
            raise UsageError(f"llc: expected -{', -'.join(LEVELS)}, got {argument!r}")
        yield argument


def make_parser() -> Parser:
    """The parser of our options and of those that llc itself has; each with one or two dashes."""
    parser = Parser(
        "passpilot llc",
        description="Generate code as llc does, with the decisions of the register allocator advised.",
        epilog=EPILOG,
        add_help=False,
    )
    add = parser.option
    input_options(parser)
    for level in LEVELS:
        add(level, dest="levels", action="append_const", const=level, help="how hard to optimize (-O2)")
    add("o", dest="output", metavar="OUT", help="output file; - for stdout")
    add(
        "filetype",
        choices=("asm", "obj", "null"),
        default="asm",
        help="assembly (default), object or nothing",
    )
    add("x", choices=("", "ir"), default="", help="language of the input: ir")
    add("disable-simplify-libcalls", action="store_true", help="take no function for one of the C library")
    add("discard-value-names", action="store_true", help="drop the names of values first")
    add("split-dwarf-file", default="", metavar="F", help="name of the .dwo file in the DWARF")
    add("split-dwarf-output", default="", metavar="F", help="write the .dwo file")
    _assembly_options(parser)
    remark_options(parser)
    advice_options(parser, "llc")
    limit = "once a live range has been evicted N times (100), only the default may evict it; 0: no limit"
    add("eviction-limit", type=int, metavar="N", help=limit)
    report = "write what the allocation costs, function by function, beside LLVM's default"
    add("report", default="", metavar="F.json", help=report)
    add("report-mca", action="store_true", help="add llvm-mca's cycles per call to the report")
    parser.traceback_option()
    return parser


def _assembly_options(parser: Parser) -> None:
    add = parser.option
    switch = {"nargs": "?", "const": "true", "type": _boolean, "metavar": "BOOL"}
    add("asm-verbose", default=True, help="comments in the assembly (true)", **switch)
    add("preserve-as-comments", default=True, help="keep comments of inline assembly (true)", **switch)
    add("show-mc-encoding", default=False, help="encodings in the assembly (false)", **switch)
    add("dwarf-directory", help=".file directives with a directory (by target)", **switch)
    add("output-asm-variant", type=int, metavar="N", help="syntax of the assembly")
    add("binutils-version", default="", metavar="V", help="the oldest binutils to satisfy")
    add("I", dest="include_paths", action="append", default=[], metavar="DIR", help="for .include")
    add("M", dest="printer_options", action="append", default=[], metavar="OPT", help="of the printer")


def _boolean(text: str) -> bool:
    values = {"true": True, "1": True, "": True, "false": False, "0": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(f"expected true or false, got {text!r}")
    return values[text.lower()]


def _run(options: argparse.Namespace, llvm: list[str]) -> int:
    from passpilot.plugin import _core
    from passpilot.plugin.module import Module

    if options.version:
        print_version()
        return 0
    level = _level(options)
    check_text("llc", options)
    set_llvm_options("llc", llvm)
    if _core.target_help(options.mtriple):
        return 0
    if options.input.endswith(".mir") and options.x != "ir":
        raise InputError(
            f"{options.input}: expected LLVM IR or bitcode, got machine IR; llc-{MAJOR} itself reads it"
        )
    module = Module.read(
        options.input,
        mtriple=options.mtriple,
        verify=False,  # done by the code generation
        discard_value_names=options.discard_value_names,
        for_codegen=True,
    )
    options.output = options.output or _default_output(options, module)
    _check(options)
    if not options.report_mca:
        _advised(options, module, level, _Measuring(llvm, None))
        return 0
    with tempfile.TemporaryDirectory(prefix="passpilot-") as folder:
        _advised(options, module, level, _Measuring(llvm, _log_for_replay(options, folder)))
    return 0


def _advised(options: argparse.Namespace, module: Module, level: int, measuring: _Measuring) -> None:
    advisors = make_advisors("llc", options)
    try:
        _compile(options, module, _emit_options(options, level), advisors, measuring)
    finally:
        close_advisors(advisors)


def _check(options: argparse.Namespace) -> None:
    others = (("-split-dwarf-output", options.split_dwarf_output), ("--report", options.report))
    output = None if _prints_nothing(options) else options.output
    check_outputs("llc", options, ("-o", output), *others)
    if options.report_mca and not options.report:
        raise UsageError("llc: --report-mca: expected a report to add to, got none; add --report=F.json")


def _log_for_replay(options: argparse.Namespace, folder: str) -> argparse.Namespace:
    """Let every advisor write a log; returns the options under which these logs answer again."""
    runners = runner_specs("llc", options)
    logs = log_paths("llc", options, runners)
    logs = {point: logs.get(point) or f"{folder}/{point}.log" for point in runners}
    for path in logs.values():
        if "?" in path or (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"llc: --log: expected a plain file for --report-mca to read again, got {path}")
    options.log = [f"{point}={path}" for point, path in logs.items()]
    replay = {point: f"replay:{path}" for point, path in logs.items()}
    return argparse.Namespace(**{**vars(options), "advise": [], "log": [], **replay})


class _Measuring(NamedTuple):
    """What a report needs beside the compilation's own options."""

    llvm: list[str]
    """LLVM's own options."""
    replay: argparse.Namespace | None
    """The options with which the decisions are taken again, for llvm-mca."""


def _level(options: argparse.Namespace) -> int:
    levels: list[str] = options.levels or ["O2"]
    if len(levels) > 1:
        raise UsageError(f"llc: expected one optimization level, got -{' -'.join(levels)}")
    return LEVELS.index(levels[0])


def _default_output(options: argparse.Namespace, module: Module) -> str:
    """Where llc would write."""
    if options.input == "-" or options.filetype == "null":
        return "-"
    windows = re.search("-(windows|win32)", options.mtriple or module.triple)
    suffix = ".s" if options.filetype == "asm" else ".obj" if windows else ".o"
    stem: str = options.input
    return (stem[:-3] if stem.endswith((".bc", ".ll")) else stem) + suffix


def _emit_options(options: argparse.Namespace, level: int) -> _core.EmitOptions:
    from passpilot.plugin import _core
    from passpilot.plugin.compile import file_type

    made = _core.EmitOptions()
    made.filetype, made.opt_level = file_type(options.filetype), level
    made.output_name = options.output.encode("utf-8", "replace").decode()
    made.verify, made.simplify_libcalls = not options.disable_verify, not options.disable_simplify_libcalls
    made.asm_verbose, made.preserve_as_comments = options.asm_verbose, options.preserve_as_comments
    made.show_mc_encoding, made.dwarf_directory = options.show_mc_encoding, options.dwarf_directory
    made.output_asm_variant, made.binutils_version = options.output_asm_variant, options.binutils_version
    made.include_paths, made.printer_options = options.include_paths, options.printer_options
    made.split_dwarf_file, made.split_dwarf_output = (
        options.split_dwarf_file,
        bool(options.split_dwarf_output),
    )
    made.remarks = remarks_of(options).core
    return made


def _compile(
    options: argparse.Namespace,
    module: Module,
    wanted: _core.EmitOptions,
    advisors: Sequence[AdvisorLike],
    measuring: _Measuring,
) -> None:
    from passpilot.plugin.compile import generate
    from passpilot.plugin.progress import progress

    before = module.copy() if options.report else None
    wanted.costs = before is not None
    files: dict[str, bytes] = {}
    with progress(f"{options.input} -{(options.levels or ['O2'])[0]}"):
        emitted = generate(module, wanted, advisors)
        if before is not None:
            files[options.report] = _report(before, wanted, emitted, measuring)
    close_advisors(advisors)  # what fails here must fail before anything is written
    _write(options, emitted, files)
    if options.stats:
        print_reports(advisors)


def _report(
    before: Module, wanted: _core.EmitOptions, emitted: _core.Emitted, measuring: _Measuring
) -> bytes:
    """The report on an advised compilation of `before`."""
    from passpilot.passes.report.allocation import allocation_report

    if not emitted.costs:
        msg = "--report: no function was allocated by the greedy allocator (as at -O0): the report is empty"
        warnings.warn(msg, PasspilotWarning, stacklevel=2)
    replaying = make_advisors("llc", measuring.replay) if measuring.replay is not None else None
    try:
        data = allocation_report(before, wanted, emitted.costs, replaying, measuring.llvm)
    finally:
        close_advisors(replaying or [])
    return data


def _prints_nothing(options: argparse.Namespace) -> bool:
    """-filetype=null to standard output; a file it names is made, and empty, as by llc."""
    return bool(options.filetype == "null" and options.output == "-")


def _write(options: argparse.Namespace, emitted: _core.Emitted, files: dict[str, bytes]) -> None:
    from passpilot.plugin.files import write_files

    binary = options.filetype == "obj"
    refused = binary and refuses_terminal(options.output, "an object", "-o OUT, or -filetype=asm")
    if not refused and not _prints_nothing(options):
        files[options.output] = emitted.code
    if options.split_dwarf_output:
        files[options.split_dwarf_output] = emitted.split_dwarf
    write_files(files)
