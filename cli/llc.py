# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot llc`: llc, with advisors."""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.advice import (
    Advice,
    chosen_policy,
    close_advisors,
    log_paths,
    make_advisors,
    runner_specs,
)
from passpilot.cli.llvm_options import check_text, set_llvm_options, split_options
from passpilot.cli.module_options import ModuleOptions, RemarkOptions
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import check_outputs, prepare, print_reports, print_version, refuses_terminal
from passpilot.cli.parser import Parser, record
from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError
from passpilot.plugin.toolchain import CODEGEN_LEVELS
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from passpilot.plugin import _core
    from passpilot.plugin.asking import AdvisorLike
    from passpilot.plugin.module import Module

ABSENT: Final = (
    *("compile-twice", "enable-new-pm", "load-pass-plugin", "p", "pass-remarks-hotness-threshold", "passes"),
    *("print-mir2vec", "print-mir2vec-vocab", "regalloc-npm", "run-pass", "save-stats", "time-compilations"),
    *("time-trace", "time-trace-file", "time-trace-granularity", "verify-each"),
)
"""Options of the stock llc tool that `passpilot llc` lacks."""

EPILOG: Final = f"""\
example:
  passpilot llc in.bc -O2 -filetype=obj --evict=python:policy.py:decide --stats -o out.o

All other options are LLVM's own, as in llc: -mcpu=znver4, -mattr=+avx2, -march=, -relocation-model=pic,
-stop-after=finalize-isel, -pass-remarks=regalloc, ...
{RUNNERS}"""


class AssemblyOptions(NamedTuple):
    """Options of assembly output and of inline assembly."""

    asm_verbose: bool
    preserve_as_comments: bool
    show_mc_encoding: bool
    dwarf_directory: bool | None
    output_asm_variant: int | None
    binutils_version: str
    include_paths: tuple[str, ...]
    printer_options: tuple[str, ...]

    @staticmethod
    def add_to(parser: Parser) -> None:
        """Add these options."""
        add = parser.option
        switch = {"nargs": "?", "const": "true", "type": _boolean, "metavar": "BOOL"}
        add("asm-verbose", default=True, help="comments in the assembly (true)", **switch)
        add("preserve-as-comments", default=True, help="keep comments of inline assembly (true)", **switch)
        add("show-mc-encoding", default=False, help="encodings in the assembly (false)", **switch)
        add("dwarf-directory", help=".file directives with a directory (by target)", **switch)
        add("output-asm-variant", type=int, metavar="N", help="syntax variant of the assembly")
        add("binutils-version", default="", metavar="V", help="the oldest binutils to satisfy")
        add("I", dest="include_paths", action="append", default=[], metavar="DIR", help="for .include")
        add("M", dest="printer_options", action="append", default=[], metavar="OPT", help="for the printer")


class LlcOptions(NamedTuple):
    """The command line of `passpilot llc` without LLVM's own options."""

    module: ModuleOptions
    assembly: AssemblyOptions
    remarks: RemarkOptions
    advice: Advice
    levels: tuple[str, ...]
    """The flags -O0, -O1, ... that are given, without the dash."""
    output: str
    """Empty for llc's default name."""
    filetype: str
    x: str
    """The language of the input; empty to take it from the file name."""
    disable_simplify_libcalls: bool
    discard_value_names: bool
    split_dwarf_file: str
    split_dwarf_output: str
    report: str
    report_mca: bool
    decisions: str | None


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    prepare()
    options, llvm = _parsed(argv)
    if options.module.version:
        print_version()
        return 0
    return _run(options, llvm)


def _parsed(argv: Sequence[str]) -> tuple[LlcOptions, list[str]]:
    """The parsed options, and the arguments for LLVM."""
    parser = make_parser()
    ours, llvm = split_options(_checked(argv), parser)
    values = parser.values(ours)
    check_text("llc", values)
    options = record(
        LlcOptions,
        values,
        module=record(ModuleOptions, values),
        assembly=record(AssemblyOptions, values),
        remarks=record(RemarkOptions, values),
        advice=Advice.of("llc", values),
    )
    return options, llvm


def _checked(argv: Iterable[str]) -> Iterable[str]:
    """The arguments; refuses options that only stock llc has."""
    for argument in argv:
        name = argument.partition("=")[0]
        if argument.startswith("-") and name.lstrip("-") in ABSENT:
            raise UsageError(
                f"llc: expected an option of passpilot llc, got {name}; llc-{MAJOR} itself has it"
            )
        if re.match("--?O", argument) and argument.lstrip("-") not in CODEGEN_LEVELS:
            raise UsageError(f"llc: expected -{', -'.join(CODEGEN_LEVELS)}, got {argument!r}")
        yield argument


def make_parser() -> Parser:
    """The parser of the advice flags and of llc's own flags."""
    parser = Parser(
        "passpilot llc",
        description="Generate code as llc does, and let runners advise the register allocator.",
        epilog=EPILOG,
        add_help=False,
    )
    add = parser.option
    ModuleOptions.add_to(parser)
    for level in CODEGEN_LEVELS:
        add(
            level,
            dest="levels",
            action="append_const",
            const=level,
            default=[],
            help="how hard to optimize (-O2)",
        )
    add("o", dest="output", default="", metavar="OUT", help="output file; - for stdout")
    kinds = ("asm", "obj", "null")
    add("filetype", choices=kinds, default="asm", help="assembly (default), object or nothing")
    add("x", choices=("", "ir"), default="", help="language of the input: ir")
    add("disable-simplify-libcalls", action="store_true", help="treat no function as one of the C library")
    add("discard-value-names", action="store_true", help="drop the names of values first")
    add("split-dwarf-file", default="", metavar="F", help="name of the .dwo file in the DWARF")
    add("split-dwarf-output", default="", metavar="F", help="write the .dwo file")
    with parser.group("assembly"):
        AssemblyOptions.add_to(parser)
    with parser.group("remarks"):
        RemarkOptions.add_to(parser)
    parser.table_options("llc")
    report = "compare the cost of the allocation with LLVM's default, function by function"
    add("report", default="", metavar="F.json", help=f"{report}; `passpilot report` shows it")
    add("report-mca", action="store_true", help="add llvm-mca's cycles per call to the report")
    parser.traceback_option()
    return parser


def _boolean(text: str) -> bool:
    values = {"true": True, "1": True, "": True, "false": False, "0": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(f"expected true or false, got {text!r}")
    return values[text.lower()]


def _run(options: LlcOptions, llvm: list[str]) -> int:
    from passpilot.passes.policy import flags_beside
    from passpilot.plugin import _core
    from passpilot.plugin.module import Module

    level = _level(options)
    set_llvm_options("llc", llvm)
    if _core.target_help(options.module.mtriple):
        return 0
    path = options.module.input
    if path.endswith(".mir") and options.x != "ir":
        raise InputError(f"{path}: expected LLVM IR or bitcode, got machine IR; llc-{MAJOR} itself reads it")
    module = Module.read(
        path,
        mtriple=options.module.mtriple,
        verify=False,  # done by the code generation
        discard_value_names=options.discard_value_names,
        for_codegen=True,
    )
    if options.decisions and (decided := _core.decided_options(options.decisions, module.source_file)):
        llvm = [*llvm, *flags_beside(llvm, decided)]
        set_llvm_options("llc", llvm)
    if policy := chosen_policy(options.advice):
        policy.check_target(options.module.mtriple or module.triple)
        llvm = [*llvm, *policy.flags(llvm)]
        set_llvm_options("llc", llvm)
    options = options._replace(output=options.output or _default_output(options, module))
    _check(options)
    if options.report_mca:
        return _measured(options, module, level, llvm)
    _advised(options, module, level, _Measuring(llvm, None))
    return 0


def _measured(options: LlcOptions, module: Module, level: int, llvm: list[str]) -> int:
    """Compile with logs, and replay the decisions for llvm-mca."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="passpilot-") as folder:
        logs = _log_paths(options.advice, folder)
        logging = options.advice._replace(log=tuple(f"{point}={path}" for point, path in logs.items()))
        runners = {point: f"replay:{path}" for point, path in logs.items()}
        replaying = options.advice._replace(runners=runners, advise=(), log=())
        _advised(options._replace(advice=logging), module, level, _Measuring(llvm, replaying))
    return 0


def _log_paths(advice: Advice, folder: str) -> dict[str, str]:
    """A log path for every advised point: the user's, or else one in `folder`."""
    runners = runner_specs(advice)
    given = log_paths(advice, runners)
    logs = {point: given.get(point) or f"{folder}/{point}.log" for point in runners}
    for path in logs.values():
        if "?" in path or (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"llc: --log: expected a plain file for --report-mca to read again, got {path}")
    return logs


def _advised(options: LlcOptions, module: Module, level: int, measuring: _Measuring) -> None:
    advisors = make_advisors(options.advice)
    try:
        _compile(options, module, _emit_options(options, level), advisors, measuring)
    finally:
        close_advisors(advisors)


def _check(options: LlcOptions) -> None:
    others = (("-split-dwarf-output", options.split_dwarf_output), ("--report", options.report))
    output = None if _prints_nothing(options) else options.output
    check_outputs(options.advice, ("-o", output), *others, remarks=options.remarks.pass_remarks_output)
    if options.report_mca and not options.report:
        raise UsageError("llc: --report-mca: expected a report to add to, got none; add --report=F.json")


class _Measuring(NamedTuple):
    """What a report needs besides the options of the compilation."""

    llvm: list[str]
    """LLVM's own options."""
    replay: Advice | None
    """The advice that replays the decisions for llvm-mca, or None."""


def _level(options: LlcOptions) -> int:
    levels = options.levels or ("O2",)
    if len(levels) > 1:
        raise UsageError(f"llc: expected one optimization level, got -{' -'.join(levels)}")
    return CODEGEN_LEVELS.index(levels[0])


def _default_output(options: LlcOptions, module: Module) -> str:
    """The path that llc would write to."""
    stem = options.module.input
    if stem == "-" or options.filetype == "null":
        return "-"
    windows = re.search("-(windows|win32)", options.module.mtriple or module.triple)
    suffix = ".s" if options.filetype == "asm" else ".obj" if windows else ".o"
    return (stem[:-3] if stem.endswith((".bc", ".ll")) else stem) + suffix


def _emit_options(options: LlcOptions, level: int) -> _core.EmitOptions:
    from passpilot.plugin import _core
    from passpilot.plugin.compile import file_type

    assembly, made = options.assembly, _core.EmitOptions()
    made.filetype, made.opt_level = file_type(options.filetype), level
    made.output_name = options.output.encode("utf-8", "replace").decode()
    made.verify = not options.module.disable_verify
    made.simplify_libcalls = not options.disable_simplify_libcalls
    made.asm_verbose, made.preserve_as_comments = assembly.asm_verbose, assembly.preserve_as_comments
    made.show_mc_encoding, made.dwarf_directory = assembly.show_mc_encoding, assembly.dwarf_directory
    made.output_asm_variant, made.binutils_version = assembly.output_asm_variant, assembly.binutils_version
    made.include_paths, made.printer_options = list(assembly.include_paths), list(assembly.printer_options)
    made.split_dwarf_file = options.split_dwarf_file
    made.split_dwarf_output = bool(options.split_dwarf_output)
    made.remarks = options.remarks.remarks().core
    return made


def _compile(
    options: LlcOptions,
    module: Module,
    wanted: _core.EmitOptions,
    advisors: Sequence[AdvisorLike],
    measuring: _Measuring,
) -> None:
    from passpilot.cli.progress import progress
    from passpilot.plugin.compile import generate

    before = module.copy() if options.report else None
    wanted.costs = before is not None
    files: dict[str, bytes] = {}
    with progress(f"{options.module.input} -{(*options.levels, 'O2')[0]}"):
        emitted = generate(module, wanted, advisors)
        if before is not None:
            report = _report(before, wanted, emitted, measuring)
            files[options.report] = _for_people(report) if _shows(options.report) else report
    close_advisors(advisors)  # an error here must come before anything is written
    _write(options, emitted, files)
    if options.advice.stats:
        print_reports(advisors)


def _report(
    before: Module, wanted: _core.EmitOptions, emitted: _core.Emitted, measuring: _Measuring
) -> bytes:
    """The report on an advised compilation; `before` is the module before it."""
    from passpilot.passes.report.allocation import allocation_report

    if not emitted.costs:
        msg = "--report: no function was allocated by the greedy allocator (as at -O0): the report is empty"
        warnings.warn(msg, PasspilotWarning, stacklevel=2)
    replaying = make_advisors(measuring.replay) if measuring.replay is not None else None
    try:
        data = allocation_report(before, wanted, emitted.costs, replaying, measuring.llvm)
    finally:
        close_advisors(replaying or [])
    return data


def _shows(path: str) -> bool:
    """Whether an output goes to a terminal."""
    return path == "-" and sys.stdout.isatty()


def _for_people(report: bytes) -> bytes:
    """A report as the table that `passpilot report` prints."""
    import json

    from passpilot.passes.report.table import table_of

    return table_of(json.loads(report)).encode()


def _prints_nothing(options: LlcOptions) -> bool:
    """Whether -filetype=null writes to standard output; with -o, it makes an empty file, as llc does."""
    return bool(options.filetype == "null" and options.output == "-")


def _write(options: LlcOptions, emitted: _core.Emitted, files: dict[str, bytes]) -> None:
    from passpilot.plugin.files import write_files

    binary = options.filetype == "obj"
    refused = binary and refuses_terminal(options.output, "an object", "-o OUT, or -filetype=asm")
    if not refused and not _prints_nothing(options):
        files[options.output] = emitted.code
    if options.split_dwarf_output:
        files[options.split_dwarf_output] = emitted.split_dwarf
    write_files(files)
