# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot llc`: llc, with advisors."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.llvm_options import set_llvm_options
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import check_outputs, prepare, print_reports, print_version, refuses_terminal
from passpilot.cli.parser import Parser, count_of, flag, option, part, several
from passpilot.cli.tool_options import (
    ModuleOptions,
    RemarkOptions,
    level_flags,
    only_level,
    read_options,
    switch,
    tool_parser,
)
from passpilot.plugin.errors import InputError, PasspilotWarning, UsageError
from passpilot.plugin.toolchain import CODEGEN_LEVELS
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from passpilot.cli.advice import Advice, AdviceFlags
    from passpilot.plugin import _core
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
-stop-after=finalize-isel, -pass-remarks=regalloc, ... passpilot's own -unwind=faults makes unwind tables
exact where the program can stop, and nowhere else: about half as large.
{RUNNERS}"""


class AssemblyOptions(NamedTuple):
    """Options of assembly output and of inline assembly."""

    asm_verbose: bool = switch(True, "comments in the assembly (true)")
    preserve_as_comments: bool = switch(True, "keep comments of inline assembly (true)")
    show_mc_encoding: bool = switch(False, "encodings in the assembly (false)")
    dwarf_directory: bool | None = switch(None, ".file directives with a directory (by target)")
    output_asm_variant: int | None = option(
        type=count_of("a variant"), metavar="N", help="syntax variant of the assembly"
    )
    binutils_version: str = option(default="", metavar="V", help="the oldest binutils to satisfy")
    include_paths: tuple[str, ...] = several("I", metavar="DIR", help="for .include")
    printer_options: tuple[str, ...] = several("M", metavar="OPT", help="for the printer")


_REPORT: Final = "compare the cost of the allocation with LLVM's default, function by function"


class LlcOptions(NamedTuple):
    """The command line of `passpilot llc` without LLVM's own options."""

    advice: AdviceFlags
    decisions: str | None
    module: ModuleOptions = part(ModuleOptions)
    levels: tuple[str, ...] = level_flags(CODEGEN_LEVELS, "the optimization level, of code generation (-O2)")
    output: str = option("o", default="", metavar="OUT", help="the output; - for stdout")
    """Empty for llc's default name."""
    filetype: str = option(
        choices=("asm", "obj", "null"), default="asm", help="assembly (default), object or nothing"
    )
    x: str = option(choices=("", "ir"), default="", help="language of the input: ir")
    disable_simplify_libcalls: bool = flag("treat no function as one of the C library")
    discard_value_names: bool = flag("drop the names of values first")
    split_dwarf_file: str = option(default="", metavar="F", help="name of the .dwo file in the DWARF")
    split_dwarf_output: str = option(default="", metavar="F", help="write the .dwo file")
    report: str = option(default="", metavar="F.json", help=f"{_REPORT}; `passpilot report` shows it")
    report_mca: bool = flag("add llvm-mca's cycles per call to the report")
    assembly: AssemblyOptions = part(AssemblyOptions, "assembly")
    remarks: RemarkOptions = part(RemarkOptions, "remarks")


def main(argv: Sequence[str]) -> int:
    prepare()
    options, llvm = read_options("llc", make_parser(), LlcOptions, _checked(argv))
    if options.module.version:
        print_version()
        return 0
    return _run(options, llvm)


def make_parser() -> Parser:
    """The parser of the advice flags and of llc's own flags."""
    text = "Generate code as llc does, and let runners advise the register allocator."
    return tool_parser("llc", LlcOptions, text, "a .ll or .bc file; - for stdin", EPILOG)


def _checked(argv: Iterable[str]) -> Iterable[str]:
    """The arguments; refuses options that only stock llc has."""
    for argument in argv:
        name = argument.partition("=")[0]
        if argument.startswith("-") and name.lstrip("-") in ABSENT:
            raise UsageError(
                f"llc: expected an option of passpilot llc, got {name}; llc-{MAJOR} itself has it"
            )
        yield argument


def _run(options: LlcOptions, llvm: list[str]) -> int:
    from passpilot.plugin import _core
    from passpilot.plugin.module import Module

    level = CODEGEN_LEVELS.index(only_level("llc", options.levels) or "O2")
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
    if options.decisions:
        set_llvm_options("llc", (), _core.decided_options(options.decisions, module.source_file))
    options.advice.load_files()
    advice = options.advice.resolve()
    if advice.policy:
        triple = options.module.mtriple or module.triple
        advice.policy.check_target(triple)
        set_llvm_options("llc", (), advice.policy.options(triple))
    options = options._replace(output=options.output or _default_output(options, module))
    _check(options, advice)
    if options.report_mca:
        _compile_twice(options, module, level, llvm, advice)
    else:
        _compile(options, module, level, llvm, advice)
    return 0


def _check(options: LlcOptions, advice: Advice) -> None:
    others = (("-split-dwarf-output", options.split_dwarf_output), ("--report", options.report))
    output = None if _prints_nothing(options) else options.output
    check_outputs(advice, ("-o", output), *others, remarks=options.remarks.pass_remarks_output)
    if options.report_mca and not options.report:
        raise UsageError("llc: --report-mca has no effect without a report; add --report=F.json")


def _compile_twice(
    options: LlcOptions, module: Module, level: int, llvm: Sequence[str], advice: Advice
) -> None:
    """Compile with logs, and replay the decisions for llvm-mca."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="passpilot-") as folder:
        logs = {point: advice.logs.get(point) or f"{folder}/{point}.log" for point in advice.runners}
        for path in logs.values():
            if "?" in path or (os.path.exists(path) and not os.path.isfile(path)):
                text = f"expected a plain file for --report-mca to read again, got {path}"
                raise UsageError(f"llc: --log: {text}")
        replay = advice._replace(runners={point: f"replay:{path}" for point, path in logs.items()}, logs={})
        _compile(options, module, level, llvm, advice._replace(logs=logs), replay)


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

    assembly, emit = options.assembly, _core.EmitOptions()
    emit.filetype, emit.opt_level = file_type(options.filetype), level
    emit.output_name = options.output
    emit.verify = not options.module.disable_verify
    emit.simplify_libcalls = not options.disable_simplify_libcalls
    emit.asm_verbose, emit.preserve_as_comments = assembly.asm_verbose, assembly.preserve_as_comments
    emit.show_mc_encoding, emit.dwarf_directory = assembly.show_mc_encoding, assembly.dwarf_directory
    emit.output_asm_variant, emit.binutils_version = assembly.output_asm_variant, assembly.binutils_version
    emit.include_paths, emit.printer_options = list(assembly.include_paths), list(assembly.printer_options)
    emit.split_dwarf_file = options.split_dwarf_file
    emit.split_dwarf_output = bool(options.split_dwarf_output)
    emit.remarks = options.remarks.remarks().core
    emit.costs = bool(options.report)
    return emit


def _compile(
    options: LlcOptions,
    module: Module,
    level: int,
    llvm: Sequence[str],
    advice: Advice,
    replay: Advice | None = None,
) -> None:
    """Compile, and write the outputs; `replay` repeats the decisions for llvm-mca."""
    from passpilot.cli.progress import compiling
    from passpilot.passes.emit import generate

    before = module.copy() if options.report else None
    files: dict[str, bytes] = {}
    with advice.advisors() as advisors:  # an error of closing them must come before anything is written
        wanted = _emit_options(options, level)
        with compiling(f"{options.module.input} -O{level}"):
            emitted = generate(module, wanted, advisors)
            if before is not None:
                report = _report(before, wanted, emitted, llvm, replay)
                files[options.report] = _for_people(report) if _shows(options.report) else report
    _write(options, emitted, files)
    if options.advice.stats:
        print_reports(advisors)


def _report(
    before: Module,
    wanted: _core.EmitOptions,
    emitted: _core.Emitted,
    llvm: Sequence[str],
    replay: Advice | None,
) -> bytes:
    """The report on an advised compilation; `before` is the module before it."""
    from passpilot.passes.report.allocation import allocation_report

    if not emitted.costs:
        msg = "--report: no function was allocated by the greedy allocator (as at -O0): the report is empty"
        warnings.warn(msg, PasspilotWarning, stacklevel=2)
    if replay is None:
        return allocation_report(before, wanted, emitted.costs, None, llvm)
    with replay.advisors() as advisors:
        return allocation_report(before, wanted, emitted.costs, advisors, llvm)


def _shows(path: str) -> bool:
    return path == "-" and sys.stdout.isatty()


def _for_people(report: bytes) -> bytes:
    import json

    from passpilot.passes.report.table import table_of
    from passpilot.plugin.failures import utf8

    return utf8(table_of(json.loads(report)))


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
