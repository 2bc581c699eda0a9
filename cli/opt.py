# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot opt`: opt, with advisors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.llvm_options import set_llvm_options
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import check_outputs, prepare, print_reports, print_version, refuses_terminal
from passpilot.cli.parser import Parser, flag, option, part, several
from passpilot.cli.tool_options import (
    ModuleOptions,
    RemarkOptions,
    level_flags,
    only_level,
    read_options,
    switch,
    tool_parser,
)
from passpilot.plugin.errors import UsageError
from passpilot.plugin.origin import warn_user
from passpilot.plugin.toolchain import LEVELS

if TYPE_CHECKING:
    from passpilot.cli.advice import Advice, AdviceFlags
    from passpilot.plugin.module import Module

EPILOG: Final = f"""\
example:
  passpilot opt in.bc -passes='default<Oz>' --inline=python:policy.py:decide --stats -o out.bc

All other options are LLVM's own, as in opt: -inline-threshold=50, -pass-remarks=inline, -mcpu=znver4, ...
{RUNNERS}"""


class OptOptions(NamedTuple):
    """The command line of `passpilot opt` without LLVM's own options."""

    advice: AdviceFlags
    at: tuple[str, ...]
    decisions: str | None
    profile: str | None
    module: ModuleOptions = part(ModuleOptions)
    passes: str | None = option(
        "passes", "p", metavar="PIPELINE", help="textual pipeline: such as 'default<Oz>'"
    )
    levels: tuple[str, ...] = level_flags(LEVELS, "the optimization level; as -passes='default<LEVEL>'")
    output: str | None = option("o", metavar="OUT", help="the output; - (the default) for stdout")
    assembly: bool = flag("write LLVM assembly", "S")
    force: bool = flag("write to a terminal: bitcode", "f")
    disable_output: bool = flag("write no module")
    verify_each: bool = switch(False, "verify after each pass; false unless given")
    strip_debug: bool = flag("drop debug information first")
    data_layout: str = option(default="", metavar="LAYOUT", help="override the data layout")
    aa_pipeline: str = option(default="default", metavar="PIPELINE", help="alias analyses to use")
    debug_pass_manager: bool = flag("print each pass and analysis that runs")
    load_pass_plugin: tuple[str, ...] = several(metavar="SO", help="load passes of an LLVM plugin")
    print_passes: bool = flag("list passes: LLVM's, and those in Python")
    remarks: RemarkOptions = part(RemarkOptions, "remarks")


def main(argv: Sequence[str]) -> int:
    prepare()
    options, llvm = read_options("opt", make_parser(), OptOptions, argv)
    if options.module.version:
        print_version()
        return 0
    if options.print_passes:
        _print_passes(options)
        return 0
    pipeline, at = _pipeline(options), _at(options)
    options.advice.load_files()
    advice = options.advice.resolve()
    if advice.policy and not pipeline and not at:
        warn_user("opt: --policy: expected -O1 to -Oz, or -passes, beside it, got neither; nothing changes")
    output = None if options.disable_output else options.output or "-"
    check_outputs(advice, ("-o", output), remarks=options.remarks.pass_remarks_output)
    set_llvm_options("opt", llvm, advice.policy.options(options.module.mtriple) if advice.policy else ())
    _compile(options, pipeline, at, advice)
    return 0


def make_parser() -> Parser:
    """The parser of the advice flags and of opt's own flags."""
    text = "Optimize LLVM IR as opt does, and let runners advise its passes."
    return tool_parser("opt", OptOptions, text, "a .ll or .bc file; - for stdin", EPILOG)


def _pipeline(options: OptOptions) -> str:
    level, passes = only_level("opt", options.levels), options.passes
    if level and passes is not None:
        raise UsageError(f"opt: expected -{level} or -passes, got both; use 'default<{level}>,...'")
    return f"default<{level}>" if level else passes or ""


def _at(options: OptOptions) -> dict[str, str]:
    texts: dict[str, str] = {}
    for value in options.at:
        point, equals, text = value.partition("=")
        if not (point and equals and text):
            raise UsageError(f"opt: --at: expected POINT=PIPELINE, got {value!r}")
        if point in texts:
            raise UsageError(f"opt: --at: expected one pipeline for {point}, got two; join them by a comma")
        texts[point] = text
    return texts


def _print_passes(options: OptOptions) -> None:
    from passpilot.passes.python.pipeline_text import listing
    from passpilot.plugin import _core

    options.advice.load_files()
    print(_core.pass_names(), listing(), sep="", end="")


def _compile(options: OptOptions, pipeline: str, at: Mapping[str, str], advice: Advice) -> None:
    from passpilot.cli.progress import compiling
    from passpilot.passes.optimize import optimize
    from passpilot.plugin.compile import PipelineOptions
    from passpilot.plugin.module import Module

    verify = not options.module.disable_verify
    with advice.advisors() as advisors:  # an error of closing them must come before anything is written
        module = Module.read(
            options.module.input,
            mtriple=options.module.mtriple,
            data_layout=options.data_layout,
            verify=verify,
            strip_debug=options.strip_debug,
        )
        with compiling(f"{options.module.input} {pipeline}"):
            optimize(
                module,
                pipeline,
                advisors,
                at=at,
                verify=verify,
                options=PipelineOptions(
                    aa_pipeline=options.aa_pipeline,
                    verify_each=options.verify_each,
                    debug_pass_manager=options.debug_pass_manager,
                    pass_plugins=options.load_pass_plugin,
                ),
                remarks=options.remarks.remarks(),
                decisions=options.decisions or "",
                profile=options.profile or "",
                policy=advice.policy or "",
            )
    _write(options, module)
    if options.advice.stats:
        print_reports(advisors)


def _write(options: OptOptions, module: Module) -> None:
    from passpilot.plugin import _core
    from passpilot.plugin.files import write_file

    if options.disable_output or _core.prints_pipeline():
        return
    output = options.output or "-"
    wanted = options.assembly or options.force
    if wanted or not refuses_terminal(output, "bitcode", "-o OUT, -S for assembly, or -f"):
        write_file(output, module.assembly() if options.assembly else module.bitcode())
