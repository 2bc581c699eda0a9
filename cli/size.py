# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot size`: what of a program is loaded, section by section; what to switch on to make it smaller."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from passpilot.cli.ladder import climb, ladder_options
from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser, count_of
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.files import write_file

if TYPE_CHECKING:
    from passpilot.training.file_sizes import MeasuredFile, SizeReport
    from passpilot.training.growth.growth import GrowthBudget

REWARD: Final = "allocated"

EPILOG: Final = """\
A file is an ELF, COFF, Mach-O or wasm program or object, or an archive.
  allocated  what is loaded: all sections of memory but those of zeros
  text       machine code
  stripped   the file without symbols and debug information
  xz         that file, compressed; - for a file of more than 8 MiB

Of one file, its largest source files (by debug information, symbol table or --map) and symbols follow.
Symbols with the same code count once. --against compares with an earlier build.

--ladder measures the programs of a corpus, or of a folder that `passpilot tune -o` has written, with what can
be switched on in their builds: sections, folding, link-time optimization, unwind tables, and more. What
costs nothing is taken; what loses something is named, and taken with --allow. DIR/NAME is one program.

examples:
  passpilot size lua luac
  passpilot size lua --result=base.json
  passpilot size lua --against=base.json --fail-over=0.5% --markdown=growth.md
  passpilot size firmware.elf --regions=memory.ld
  passpilot tune --ladder -o tuned -- make -j2
  passpilot size --ladder tuned/lua --allow=unwind,lto"""


def main(argv: Sequence[str]) -> int:
    prepare()
    values: dict[str, Any] = make_parser().values(argv)
    files, tables, raw = values.pop("files"), values.pop("markdown"), values.pop("result")
    if tables == raw == "-":
        raise UsageError("size: --markdown, --result: expected one for standard output, got both")
    is_ladder, _ = values.pop("ladder"), values.pop("traceback")
    if is_ladder:
        values.pop("limit")
        for name in ("against", "map", "regions", "fail_over", "inlined"):
            if values.pop(name):
                raise UsageError(f"size: --{name.replace('_', '-')}: expected no --ladder beside it")
        _ladder(files, tables, raw, values)
        return 0
    limit, against, linker_map = values.pop("limit"), values.pop("against"), values.pop("map")
    regions, inlined = values.pop("regions"), values.pop("inlined")
    budget_text = values.pop("fail_over")
    plain = {**dict.fromkeys(values), "reward": REWARD}
    if given := next((name for name, value in values.items() if value and value != plain[name]), None):
        raise UsageError(f"size: {'-o' if given == 'output' else f'--{given}'}: expected --ladder beside it")
    if linker_map and len(files) > 1:
        raise UsageError(f"size: --map: expected one program, got {len(files)} files")
    if inlined and not (against or raw):
        raise UsageError("size: --inlined: expected --against or --result beside it")
    if budget_text and not against:
        raise UsageError("size: --fail-over: expected --against beside it")
    from passpilot.training.file_sizes import SizeReport
    from passpilot.training.growth.growth import GrowthBudget

    budget = GrowthBudget.parse(budget_text) if budget_text else None
    report = SizeReport.of(files, linker_map, regions, inlined)
    if against:
        before = SizeReport.read(against, regions)
        return _compare(report, _pairs(before.files, report.files, against), budget, (tables, raw, limit))
    _show(report, tables, raw, limit)
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot size",
        description="Show how large programs are: what is loaded, code, the file, and the file compressed.\n"
        "With --ladder, show what can be switched on in a build to make its program smaller.",
        epilog=EPILOG,
        old_names={"json": "result"},
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a program or object; with --ladder a corpus"
    )
    add = parser.option
    parser.shared("result", "- for standard output", default="")
    parser.shared("markdown", default="")
    parser.shared("limit", "source files and symbols (20)", type=count_of("rows"), default=20)
    parser.option(
        "against",
        default="",
        metavar="FILE",
        help="show what grew and shrank; FILE is another build, or was written by --result",
    )
    parser.option(
        "fail-over",
        dest="fail_over",
        default="",
        metavar="N%|BYTES",
        help="exit with 1 if what is loaded grew by more than this, with --against",
    )
    parser.option("map", default="", metavar="FILE", help="lld's map of the program, for sizes by object")
    parser.option(
        "regions",
        default="",
        metavar="FILE",
        help="a linker script with MEMORY, or GNU ld's map: what is taken of flash, of RAM and of other "
        "regions, of which --against shows the growth, too",
    )
    parser.option(
        "inlined",
        default="",
        metavar="FOLDER",
        help="logs that `passpilot cc --inline=default --log=FOLDER/` has written in the build: what was "
        "inlined into functions that grew, with --against or --result",
    )
    with parser.group("ladder"):
        ladder_options(parser)
        reward = "allocated, text, file or compressed (allocated)"
        parser.shared("reward", reward, default=REWARD)
        parser.shared("root", default="")
        add(
            "o", dest="output", default="", metavar="DIR", help="the output: a folder for tables and pictures"
        )
        parser.shared("jobs", type=count_of("compilations"), default=0)
    parser.traceback_option()
    return parser


def _ladder(files: Sequence[str], tables: str, raw: str, values: dict[str, Any]) -> None:
    if len(files) > 1:
        raise UsageError(f"size: expected one corpus with --ladder, got {len(files)} files")
    folder, program = files[0], tuple[str, ...]()
    if not os.path.isdir(folder):
        folder, name = os.path.split(folder.rstrip("/"))
        marks = ("corpus", "corpus_description.json")
        if os.path.isfile(files[0]) or not any(os.path.exists(os.path.join(folder, mark)) for mark in marks):
            msg = f"size: expected a corpus for --ladder, or DIR/PROGRAM of one, got {files[0]}"
            raise UsageError(f"{msg}; `passpilot tune --ladder -o DIR -- make` records one")
        program = (name,)
    climb(tables=tables, raw=raw, corpus=folder, program=program, **values)


def _show(report: SizeReport, tables: str, raw: str, limit: int) -> None:
    with quiet_pipe():
        if tables:
            write_file(tables, report.markdown(limit))
        if raw:
            write_file(raw, report.text())
        if "-" not in (tables, raw):
            print("\n".join(map(for_terminal, report.lines(limit))))


def _compare(
    report: SizeReport,
    pairs: Sequence[tuple[MeasuredFile, MeasuredFile]],
    budget: GrowthBudget | None,
    options: tuple[str, str, int],
) -> int:
    """Show what grew; 1 if a file is over the budget."""
    from passpilot.training.growth.growth import Growth
    from passpilot.training.growth.text import growth_blocks, growth_markdown, size_block, verdict

    tables, raw, limit = options
    pages, lines, rows, code = [], [], [], 0
    for before, now in pairs:
        growth, sizes = Growth(before.contents, now.contents), size_block(before.rows, now.rows)
        allowed = budget is None or budget.allows(growth)
        code |= not allowed
        lines += [f"{now.name}: {verdict(growth, budget)}", *sizes.lines()]
        lines += [line for block in growth_blocks(growth, limit) for line in block.lines()] + [""]
        pages.append(growth_markdown(growth, sizes, limit, budget))
        rows.append(growth.to_json() | {"within_budget": allowed})
    with quiet_pipe():
        if tables:
            write_file(tables, "\n".join(pages))
        if raw:
            write_file(raw, report.text(rows))
        if "-" not in (tables, raw):
            print("\n".join(map(for_terminal, lines[:-1])))
    return code


def _pairs(
    old: Sequence[MeasuredFile], new: Sequence[MeasuredFile], against: str
) -> list[tuple[MeasuredFile, MeasuredFile]]:
    """The files with what they were: by name, unless there is one on both sides."""
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    known = {file.name: file for file in old}
    if missing := next((file.name for file in new if file.name not in known), None):
        names = ", ".join(known) or "no file"
        raise InputError(f"{against}: expected the sizes of {missing}, got those of {names}")
    return [(known[file.name], file) for file in new]
