# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot mlir-opt`: mlir-opt, with passes in Python and advisors."""

from __future__ import annotations

import contextlib
import io
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from passpilot.cli.advice import Advice, close_advisors, load_files, make_advisors
from passpilot.cli.llvm_options import check_text
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import check_outputs, prepare, print_version, refuses_terminal
from passpilot.cli.parser import Parser, record
from passpilot.cli.progress import progress
from passpilot.plugin.errors import CompilationError, Error, InputError, PassError, UsageError
from passpilot.plugin.files import write_file
from passpilot.plugin.interrupt import prompt_interrupt
from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.mlir.expected import ExpectedDiagnostics
from passpilot.plugin.mlir.source import SPLIT, read_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from passpilot.plugin.asking import AdvisorLike
    from passpilot.plugin.mlir.diagnostics import Diagnostic
    from passpilot.plugin.mlir.source import Source

EPILOG: Final = f"""\
example:
  passpilot mlir-opt in.mlir --pass-pipeline='builtin.module(func.func(cse),inline)' -o out.mlir

The MLIR is that of the installed Python bindings; see `passpilot doctor`.
{RUNNERS}"""

FAILURES: Final = (InputError, CompilationError, PassError)
"""The errors that end the compilation of one part of an input."""


BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


class PrintingOptions(NamedTuple):
    """The flags that control how and when the IR is printed."""

    mlir_print_op_generic: bool
    mlir_print_debuginfo: bool
    mlir_print_local_scope: bool
    mlir_elide_elementsattrs_if_larger: int | None
    mlir_print_ir_before_all: bool
    mlir_print_ir_after_all: bool
    mlir_print_ir_after_change: bool
    mlir_print_ir_after_failure: bool
    mlir_print_ir_module_scope: bool

    @staticmethod
    def add_to(parser: Parser) -> None:
        """Add these options."""
        add = parser.option
        add("mlir-print-op-generic", action="store_true", help="print operations in the generic form")
        add("mlir-print-debuginfo", action="store_true", help="print locations")
        add("mlir-print-local-scope", action="store_true", help="print without aliases")
        elide = "print ... for element attributes of more than N elements"
        add("mlir-elide-elementsattrs-if-larger", type=int, metavar="N", help=elide)
        add("mlir-print-ir-before-all", action="store_true", help="print the IR before each pass")
        add("mlir-print-ir-after-all", action="store_true", help="print the IR after each pass")
        changed = "print the IR after each pass that has changed it"
        add("mlir-print-ir-after-change", action="store_true", help=changed)
        add(
            "mlir-print-ir-after-failure",
            action="store_true",
            help="print the IR after a pass that has failed",
        )
        add("mlir-print-ir-module-scope", action="store_true", help="print the whole module in these cases")

    def around_passes(self) -> dict[str, bool]:
        """The keywords of the bindings for printing around passes; empty to print nothing."""
        after = (
            self.mlir_print_ir_after_all,
            self.mlir_print_ir_after_change,
            self.mlir_print_ir_after_failure,
        )
        wanted = {
            "print_before_all": self.mlir_print_ir_before_all,
            "print_after_all": any(after),  # the other two only work with this one
            "print_after_change": self.mlir_print_ir_after_change,
            "print_after_failure": self.mlir_print_ir_after_failure,
        }
        return wanted if any(wanted.values()) else {}


class MlirOptOptions(NamedTuple):
    """The command line of `passpilot mlir-opt`."""

    printing: PrintingOptions
    advice: Advice
    input: str
    version: bool
    print_passes: bool
    output: str
    pass_pipeline: str
    dump_pass_pipeline: bool
    split_input_file: bool
    verify_diagnostics: bool
    allow_unregistered_dialect: bool
    emit_bytecode: bool
    force: bool
    """Whether bytecode may go to a terminal."""
    emit_llvm: bool
    verify_each: bool
    mlir_timing: bool
    mlir_pass_statistics: bool
    mlir_disable_threading: bool


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    prepare()
    options = _parsed(argv)
    if options.version:
        print_version()
        print(f"  MLIR of {bindings().root} {bindings().version}")
        return 0
    load_files(options.advice)
    if options.print_passes:
        from passpilot.passes.mlir.pipeline import listing

        print(listing(), end="")
        return 0
    _check(options)
    sources = read_sources(options.input, split=options.split_input_file)
    if options.advice.log and len(sources) > 1:
        raise UsageError(f"mlir-opt: --log: expected one module for one log, got an input of {len(sources)}")
    advisors = make_advisors(options.advice)
    try:
        return _run(options, sources, advisors)
    finally:
        close_advisors(advisors)


def _parsed(argv: Sequence[str]) -> MlirOptOptions:
    # --verify-each alone means true; argparse would take the next argument as its value
    flags = [f"{each}=true" if each.lstrip("-") == "verify-each" else each for each in argv]
    values = make_parser().values(flags)
    check_text("mlir-opt", values)
    return record(
        MlirOptOptions,
        values,
        printing=record(PrintingOptions, values),
        advice=Advice.of("mlir-opt", values),
        verify_each=BOOLEANS[str(values["verify_each"])],
    )


def _check(options: MlirOptOptions) -> None:
    """Make sure that the options do not contradict each other.

    Raises:
        UsageError: they do.
    """
    if options.emit_llvm and (options.emit_bytecode or options.split_input_file):
        got = "--emit-bytecode" if options.emit_bytecode else "--split-input-file"
        raise UsageError(f"mlir-opt: --emit-llvm: expected one module of LLVM IR to write, got {got}")
    check_outputs(options.advice, ("-o", options.output))


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        "passpilot mlir-opt",
        description="Run MLIR's passes as mlir-opt does, with passes in Python and advice from runners.",
        epilog=EPILOG,
        add_help=False,
    )
    add = parser.option
    parser.add_argument("input", nargs="?", default="-", metavar="IN", help="MLIR; - (the default) for stdin")
    add("help", "h", action="help", help="show this text")
    add("version", action="store_true", help="passpilot's version and that of MLIR's bindings")
    add("print-passes", action="store_true", help="list the passes in Python")
    add("o", dest="output", default="-", metavar="OUT", help="output file; - (the default) for stdout")
    text = "pipeline, such as 'builtin.module(func.func(cse),inline)'"
    add("pass-pipeline", default="builtin.module()", metavar="TEXT", help=text)
    add("dump-pass-pipeline", action="store_true", help="print the pipeline with all options to stderr")
    add("split-input-file", action="store_true", help="compile parts between lines of // ----- separately")
    add("verify-diagnostics", action="store_true", help="check diagnostics by expected-error {{...}}")
    add("allow-unregistered-dialect", action="store_true", help="allow operations of unknown dialects")
    add("emit-bytecode", action="store_true", help="write bytecode")
    add("f", dest="force", action="store_true", help="write bytecode to a terminal, too")
    add("emit-llvm", action="store_true", help="lower the result to LLVM IR, and write that")
    with parser.group("printing"):
        PrintingOptions.add_to(parser)
    _pass_options(parser)
    inline, who = "mlir-inline={}".format, "ask RUNNER about each call; same as --advise mlir-inline=RUNNER"
    with parser.group("advice"):
        add("inline", dest="advise", action="append", default=[], type=inline, metavar="RUNNER", help=who)
    parser.table_options("mlir-opt")
    parser.traceback_option()
    return parser


def _pass_options(parser: Parser) -> None:
    add = parser.option
    add("verify-each", default="true", choices=tuple(BOOLEANS), help="verify after each pass (the default)")
    add("mlir-timing", action="store_true", help="print how long each pass took")
    add("mlir-pass-statistics", action="store_true", help="print what passes have counted")
    add("mlir-disable-threading", action="store_true", help="run in one thread")


class _Compilation(NamedTuple):
    """The common settings for all parts of an input."""

    options: MlirOptOptions
    advisors: Sequence[AdvisorLike]
    mlir: Any
    pipeline: Callable[..., Any]


def _run(options: MlirOptOptions, sources: Sequence[Source], advisors: Sequence[AdvisorLike]) -> int:
    from passpilot.passes.mlir.pipeline import Pipeline

    shared = _Compilation(options, advisors, bindings(), Pipeline)
    text = Pipeline(options.pass_pipeline, _context(shared))  # raises an error in the text at once
    if options.dump_pass_pipeline:
        print(text, file=sys.stderr)
    if options.verify_diagnostics:
        return _verify(shared, sources)
    made: list[bytes] = []
    failed: list[Error] = []
    for source in sources:  # all of them, to report all errors
        try:
            made.append(_compiled(shared, source, partial(_print_diagnostic, source)))
        except FAILURES as error:
            failed.append(error)
    if failed:
        raise failed[0]
    close_advisors(advisors)  # an error here must come before anything is written
    _write(options, made)
    if options.advice.stats:
        for advisor in advisors:
            print(advisor.report(), file=sys.stderr)
    return 0


def _print_diagnostic(source: Source, diagnostic: Diagnostic) -> None:
    print(source.shown(diagnostic), end="", file=sys.stderr, flush=True)


def _verify(shared: _Compilation, sources: Sequence[Source]) -> int:
    """Compile all parts, and compare their diagnostics with the comments; returns the exit code."""
    complaints: list[str] = []
    made: list[bytes] = []
    for source in sources:
        expected = ExpectedDiagnostics(source)
        with contextlib.suppress(*FAILURES):  # the comments may expect a failure
            made.append(_compiled(shared, source, expected.meet))
        complaints += [*expected.complaints, *expected.missing()]
    print(*complaints, sep="\n", end="\n" if complaints else "", file=sys.stderr)
    if complaints:
        return 1
    close_advisors(shared.advisors)
    _write(shared.options, made)
    return 0


def _compiled(shared: _Compilation, source: Source, tell: Callable[[Diagnostic], None]) -> bytes:
    """Compile one source; returns the output."""
    context = _context(shared)
    pipeline = _pipeline(shared, context)
    module = source.parse(shared.mlir, context, tell)
    with progress(f"{source.name} {shared.options.pass_pipeline}"), prompt_interrupt():
        pipeline.run(module.operation, shared.advisors, tell=tell)
    return _rendered(shared.options, module.operation)


def _context(shared: _Compilation) -> Any:
    context = shared.mlir.ir.Context()
    context.allow_unregistered_dialects = shared.options.allow_unregistered_dialect
    one_thread = shared.options.mlir_disable_threading or shared.options.printing.around_passes()
    context.enable_multithreading(not one_thread)  # MLIR prints from one thread only
    return context


def _pipeline(shared: _Compilation, context: Any) -> Any:
    options = shared.options
    pipeline = shared.pipeline(options.pass_pipeline, context)
    pipeline.manager.enable_verifier(options.verify_each)
    if prints := options.printing.around_passes():
        whole = options.printing.mlir_print_ir_module_scope
        pipeline.manager.enable_ir_printing(print_module_scope=whole, **prints)
    if options.mlir_timing:
        pipeline.manager.enable_timing()
    if options.mlir_pass_statistics:
        pipeline.manager.enable_statistics()
    return pipeline


def _rendered(options: MlirOptOptions, operation: Any) -> bytes:
    if options.emit_llvm:
        from passpilot.passes.mlir.lower import lower

        return lower(operation).encode("utf-8", "surrogateescape")
    file = io.BytesIO()
    if options.emit_bytecode:
        operation.write_bytecode(file)
        return file.getvalue()
    printing = options.printing
    operation.print(
        file=file,
        binary=True,
        print_generic_op_form=printing.mlir_print_op_generic,
        enable_debug_info=printing.mlir_print_debuginfo,
        use_local_scope=printing.mlir_print_local_scope,
        large_elements_limit=printing.mlir_elide_elementsattrs_if_larger,
    )
    return file.getvalue().rstrip(b"\n") + b"\n"


def _write(options: MlirOptOptions, made: Sequence[bytes]) -> None:
    binary = options.emit_bytecode and not options.force
    if binary and refuses_terminal(options.output, "bytecode", "-o OUT, or -f"):
        return
    write_file(options.output, (SPLIT + b"\n").join(made))
