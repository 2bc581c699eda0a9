# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot opt`: opt, with advisors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.advice import Advice, chosen_policy, close_advisors, load_files, make_advisors
from passpilot.cli.llvm_options import check_text, set_llvm_options, split_options
from passpilot.cli.module_options import ModuleOptions, RemarkOptions
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import check_outputs, prepare, print_reports, print_version, refuses_terminal
from passpilot.cli.parser import Parser, record
from passpilot.plugin.errors import UsageError
from passpilot.plugin.toolchain import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.plugin.asking import AdvisorLike
    from passpilot.plugin.module import Module

EPILOG: Final = f"""\
example:
  passpilot opt in.bc -passes='default<Oz>' --inline=python:policy.py:decide --stats -o out.bc

All other options are LLVM's own, as in opt: -inline-threshold=50, -pass-remarks=inline, -mcpu=znver4, ...
{RUNNERS}"""


class OptOptions(NamedTuple):
    """The command line of `passpilot opt` without LLVM's own options."""

    module: ModuleOptions
    remarks: RemarkOptions
    advice: Advice
    passes: str | None
    levels: tuple[str, ...]
    """The flags -O0, -O1, ... that are given, without the dash."""
    at: tuple[str, ...]
    decisions: str | None
    output: str | None
    assembly: bool
    force: bool
    """Whether bitcode may go to a terminal."""
    disable_output: bool
    verify_each: bool
    strip_debug: bool
    data_layout: str
    aa_pipeline: str
    debug_pass_manager: bool
    load_pass_plugin: tuple[str, ...]
    print_passes: bool


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    prepare()
    options, llvm = _parsed(argv)
    return _run(options, llvm)


def _parsed(argv: Sequence[str]) -> tuple[OptOptions, list[str]]:
    """The parsed options, and the arguments for LLVM."""
    parser = make_parser()
    ours, llvm = split_options(argv, parser)
    values = parser.values(ours)
    check_text("opt", values)
    options = record(
        OptOptions,
        values,
        module=record(ModuleOptions, values),
        remarks=record(RemarkOptions, values),
        advice=Advice.of("opt", values),
    )
    return options, llvm


def make_parser() -> Parser:
    """The parser of the advice flags and of opt's own flags."""
    parser = Parser(
        "passpilot opt",
        description="Optimize LLVM IR as opt does, and let runners advise its passes.",
        epilog=EPILOG,
        add_help=False,
    )
    add = parser.option
    ModuleOptions.add_to(parser)
    add("passes", "p", metavar="PIPELINE", help="textual pipeline, such as 'default<Oz>'")
    for level in LEVELS:
        add(
            level,
            dest="levels",
            action="append_const",
            const=level,
            default=[],
            help=f"as -passes='default<{level}>'",
        )
    add("o", dest="output", metavar="OUT", help="output file; - (the default) for stdout")
    add("S", dest="assembly", action="store_true", help="write LLVM assembly")
    add("f", dest="force", action="store_true", help="write bitcode to a terminal, too")
    add("disable-output", action="store_true", help="write no module")
    add("verify-each", action="store_true", help="verify after each pass")
    add("strip-debug", action="store_true", help="drop debug information first")
    add("data-layout", default="", metavar="LAYOUT", help="override the data layout")
    add("aa-pipeline", default="default", metavar="PIPELINE", help="alias analyses to use")
    add("debug-pass-manager", action="store_true", help="print each pass and analysis that runs")
    add("load-pass-plugin", action="append", default=[], metavar="SO", help="load passes of an LLVM plugin")
    add("print-passes", action="store_true", help="list LLVM's passes, and those in Python")
    with parser.group("remarks"):
        RemarkOptions.add_to(parser)
    parser.table_options("opt")
    parser.traceback_option()
    return parser


def _run(options: OptOptions, llvm: list[str]) -> int:
    if options.module.version:
        print_version()
        return 0
    if options.print_passes:
        _print_passes(options)
        return 0
    pipeline, at = _pipeline(options), _at(options)
    load_files(options.advice)
    output = None if options.disable_output else options.output or "-"
    check_outputs(options.advice, ("-o", output), remarks=options.remarks.pass_remarks_output)
    policy = chosen_policy(options.advice)
    set_llvm_options("opt", [*llvm, *(policy.flags(llvm) if policy else ())])
    advisors = make_advisors(options.advice)
    try:
        _compile(options, pipeline, at, advisors)
    finally:
        close_advisors(advisors)
    return 0


def _pipeline(options: OptOptions) -> str:
    levels = options.levels
    if len(levels) > 1:
        raise UsageError(f"opt: expected one optimization level, got -{' -'.join(levels)}")
    if levels and options.passes is not None:
        raise UsageError(f"opt: expected -{levels[0]} or -passes, got both; use 'default<{levels[0]}>,...'")
    return f"default<{levels[0]}>" if levels else options.passes or ""


def _at(options: OptOptions) -> dict[str, str]:
    """The pipeline texts by extension point."""
    texts: dict[str, str] = {}
    for given in options.at:
        point, equals, text = given.partition("=")
        if not (point and equals and text):
            raise UsageError(f"opt: --at: expected POINT=PIPELINE, got {given!r}")
        if point in texts:
            raise UsageError(f"opt: --at: expected one pipeline for {point}, got two; join them by a comma")
        texts[point] = text
    return texts


def _print_passes(options: OptOptions) -> None:
    from passpilot.passes.python.pipeline import listing
    from passpilot.plugin import _core

    load_files(options.advice)
    print(_core.pass_names(), listing(), sep="", end="")


def _compile(
    options: OptOptions, pipeline: str, at: Mapping[str, str], advisors: Sequence[AdvisorLike]
) -> None:
    from passpilot.cli.progress import progress
    from passpilot.passes.optimize import optimize
    from passpilot.plugin.compile import PipelineOptions
    from passpilot.plugin.module import Module

    module = Module.read(
        options.module.input,
        mtriple=options.module.mtriple,
        data_layout=options.data_layout,
        verify=not options.module.disable_verify,
        strip_debug=options.strip_debug,
    )
    with progress(f"{options.module.input} {pipeline}"):
        optimize(
            module,
            pipeline,
            advisors,
            at=at,
            verify=not options.module.disable_verify,
            options=PipelineOptions(
                aa_pipeline=options.aa_pipeline,
                verify_each=options.verify_each,
                debug_pass_manager=options.debug_pass_manager,
                pass_plugins=options.load_pass_plugin,
            ),
            remarks=options.remarks.remarks(),
            decisions=options.decisions or "",
            policy=options.advice.policy,
        )
    close_advisors(advisors)  # an error here must come before anything is written
    _write(options, module)
    if options.advice.stats:
        print_reports(advisors)


def _write(options: OptOptions, module: Module) -> None:
    if options.disable_output or _prints_pipeline():
        return
    from passpilot.plugin.files import write_file

    output = options.output or "-"
    wanted = options.assembly or options.force
    if not wanted and refuses_terminal(output, "bitcode", "-o OUT, -S for assembly, or -f"):
        return
    write_file(output, module.assembly() if options.assembly else module.bitcode())


def _prints_pipeline() -> bool:
    from passpilot.plugin import _core

    return _core.prints_pipeline()
