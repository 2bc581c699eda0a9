# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot mlir-opt`: mlir-opt, with passes in Python and advisors."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from passpilot.cli.advice import Advice, AdviceFlags
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import check_outputs, prepare, print_version, refuses_terminal
from passpilot.cli.parser import Parser, count_of, flag, option, part, record
from passpilot.cli.progress import compiling
from passpilot.cli.tool_options import switch, tool_parser
from passpilot.plugin.errors import CompilationError, Error, InputError, PassError, UsageError, restated
from passpilot.plugin.files import write_file
from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.mlir.expected import ExpectedDiagnostics
from passpilot.plugin.mlir.source import SPLIT, Source, read_sources

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor
    from passpilot.plugin.mlir.diagnostics import Diagnostic

EPILOG: Final = f"""\
example:
  passpilot mlir-opt in.mlir --pass-pipeline='builtin.module(func.func(cse),inline)' -o out.mlir

The MLIR is that of the installed Python bindings; see `passpilot doctor`.
{RUNNERS}"""

FAILURES: Final = (InputError, CompilationError, PassError)
"""The errors that end the compilation of one part of an input."""


class PrintingOptions(NamedTuple):
    """The flags that control how and when the IR is printed."""

    mlir_print_op_generic: bool = flag("print operations in the generic form")
    mlir_print_debuginfo: bool = flag("print locations")
    mlir_print_local_scope: bool = flag("print without aliases")
    mlir_elide_elementsattrs_if_larger: int | None = option(
        type=count_of("elements"),
        metavar="N",
        help="print ... for element attributes of more than N elements",
    )
    mlir_print_ir_before_all: bool = flag("print the IR before each pass")
    mlir_print_ir_after_all: bool = flag("print the IR after each pass")
    mlir_print_ir_after_change: bool = flag("print the IR after each pass that has changed it")
    mlir_print_ir_after_failure: bool = flag("print the IR after a pass that has failed")
    mlir_print_ir_module_scope: bool = flag("print the whole module in these cases")

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
    advice: AdviceFlags
    input: str
    version: bool = flag("print versions: passpilot's, LLVM's, and that of MLIR's bindings")
    print_passes: bool = flag("list passes: those in Python")
    output: str = option("o", default="-", metavar="OUT", help="the output; - (the default) for stdout")
    pass_pipeline: str = option(
        default="builtin.module()",
        metavar="TEXT",
        help="pipeline, such as 'builtin.module(func.func(cse),inline)'",
    )
    dump_pass_pipeline: bool = flag("print the pipeline with all options to stderr")
    split_input_file: bool = flag("compile parts between lines of // ----- separately")
    verify_diagnostics: bool = flag("check diagnostics by expected-error {{...}}")
    allow_unregistered_dialect: bool = flag("allow operations of unknown dialects")
    emit_bytecode: bool = flag("write bytecode")
    force: bool = flag("write to a terminal: bytecode", "f")
    emit_llvm: bool = flag("lower the result to LLVM IR, and write that")
    printing: PrintingOptions = part(PrintingOptions, "printing")
    verify_each: bool = switch(True, "verify after each pass; true unless given")
    mlir_timing: bool = flag("print how long each pass took")
    mlir_pass_statistics: bool = flag("print what passes have counted")
    mlir_disable_threading: bool = flag("run in one thread")


def main(argv: Sequence[str]) -> int:
    prepare()
    options = _parsed(argv)
    if options.version:
        print_version()
        print(f"  MLIR of {bindings().root} {bindings().version}")
        return 0
    if options.advice.load and sys.stderr:
        faulthandler.enable(all_threads=False)  # names the line of a pass whose mistake MLIR ends by abort()
    options.advice.load_files()
    if options.print_passes:
        from passpilot.passes.mlir.pipeline import listing

        print(listing(), end="")
        return 0
    advice = options.advice.resolve()
    _check(options, advice)
    sources = read_sources(options.input, split=options.split_input_file)
    if advice.logs and len(sources) > 1:
        raise UsageError(f"mlir-opt: --log: expected one module for one log, got an input of {len(sources)}")
    outputs = _run(options, sources, advice)
    if outputs is None:
        return 1
    binary = options.emit_bytecode and not options.force
    if not (binary and refuses_terminal(options.output, "bytecode", "-o OUT, or -f")):
        write_file(options.output, (SPLIT + b"\n").join(outputs))
    return 0


def _parsed(argv: Sequence[str]) -> MlirOptOptions:
    values = make_parser().values(argv)
    return record(MlirOptOptions, values, advice=AdviceFlags.of("mlir-opt", values))


def _check(options: MlirOptOptions, advice: Advice) -> None:
    """Make sure that the options do not contradict each other."""
    if options.emit_llvm and (options.emit_bytecode or options.split_input_file):
        got = "--emit-bytecode" if options.emit_bytecode else "--split-input-file"
        raise UsageError(f"mlir-opt: --emit-llvm: expected one module of LLVM IR to write, got {got}")
    check_outputs(advice, ("-o", options.output))


def make_parser() -> Parser:
    text = "Run MLIR's passes as mlir-opt does, with passes in Python and advice from runners."
    parser = tool_parser("mlir-opt", MlirOptOptions, text, "MLIR; - (the default) for stdin", EPILOG)
    parser.for_others = (
        "; passes are written --pass-pipeline='builtin.module({0})', those of functions "
        "'builtin.module(func.func({0}))'"
    )
    who = "ask RUNNER about each call site; same as --advise mlir-inline=RUNNER"
    with parser.group("advice"):
        parser.option(
            "inline", dest="advise", action="append", type="mlir-inline={}".format, metavar="RUNNER", help=who
        )
    return parser


class _Compilation(NamedTuple):
    options: MlirOptOptions
    advisors: Sequence[Advisor]
    mlir: Any
    pipeline: Callable[..., Any]


def _run(options: MlirOptOptions, sources: Sequence[Source], advice: Advice) -> list[bytes] | None:
    """Compile all parts of an input; None if diagnostics are not as the comments expect."""
    from passpilot.passes.mlir.pipeline import Pipeline

    with advice.advisors() as advisors:  # an error of closing them must come before anything is written
        shared = _Compilation(options, advisors, bindings(), Pipeline)
        text = Pipeline(options.pass_pipeline, _context(shared))  # raises an error in the text at once
        if options.dump_pass_pipeline:
            print(text, file=sys.stderr)
        if options.verify_diagnostics:
            return _verify(shared, sources)
        outputs: list[bytes] = []
        failed: list[Error] = []
        for source in sources:  # all of them, to report all errors
            shown: list[str] = []
            try:
                outputs.append(
                    _compiled(shared, source, partial(_print_diagnostic, source, shown), exceptions=False)
                )
            except FAILURES as error:
                failed.append(_without(error, shown))
        if failed:
            raise failed[0]
    if options.advice.stats:
        for advisor in advisors:
            print(advisor.report(), file=sys.stderr)
    return outputs


def _print_diagnostic(source: Source, shown: list[str], diagnostic: Diagnostic) -> None:
    shown.append(diagnostic.message)
    print(source.shown(diagnostic), end="", file=sys.stderr, flush=True)


def _without(error: Error, shown: Sequence[str]) -> Error:
    """The error without the words of a diagnostic that was printed."""
    for message in shown:
        text = str(error).replace(f"got: {message} (", "got the error above (")
        if text != str(error):
            return restated(error, text)
    return error


def _verify(shared: _Compilation, sources: Sequence[Source]) -> list[bytes] | None:
    """Compile all parts, and compare their diagnostics with the comments; None if they differ."""
    complaints: list[str] = []
    outputs: list[bytes] = []
    for source in sources:
        expected = ExpectedDiagnostics(source)
        with contextlib.suppress(*FAILURES):  # the comments may expect a failure
            outputs.append(_compiled(shared, source, expected.meet))
        complaints += [*expected.complaints, *expected.missing()]
    print(*complaints, sep="\n", end="\n" if complaints else "", file=sys.stderr)
    return None if complaints else outputs


def _compiled(
    shared: _Compilation, source: Source, tell: Callable[[Diagnostic], None], *, exceptions: bool = True
) -> bytes:
    """Compile one source; returns the output. An exception of a pass is told as a diagnostic if asked."""
    context = _context(shared)
    pipeline = _pipeline(shared, context)
    module = source.parse(shared.mlir, context, tell)
    with compiling(f"{source.name} {shared.options.pass_pipeline}"):
        pipeline.run(module.operation, shared.advisors, tell=tell, exceptions=exceptions)
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
    pipeline.verify_each(options.verify_each)
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
    return file.getvalue() + b"\n"
