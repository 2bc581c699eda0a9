# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot size`: what of a program is loaded, section by section; what to switch on to make it smaller."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Final

from passpilot.cli.ladder import climb, ladder_options
from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser, count_of
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.files import write_file

REWARD: Final = "allocated"

EPILOG: Final = """\
A file is an ELF, COFF, Mach-O or wasm program or object.
  allocated  what is loaded: all sections of memory but those of zeros
  text       machine code
  stripped   the file without symbols and debug information
  xz         that file, compressed

--ladder measures the programs of a corpus, or of a folder that `passpilot tune -o` has written, with what can
be switched on in their builds: sections, folding, link-time optimization, unwind tables, and more. What
costs nothing is taken; what loses something is named, and taken with --allow. DIR/NAME is one program.

examples:
  passpilot size lua luac
  passpilot size lua --result=sizes.json
  passpilot tune --ladder -o tuned -- make -j2
  passpilot size --ladder tuned/lua --allow=unwind,lto"""


def main(argv: Sequence[str]) -> int:
    prepare()
    values: dict[str, Any] = make_parser().values(argv)
    files, tables, raw = values.pop("files"), values.pop("markdown"), values.pop("result")
    if tables == raw == "-":
        raise UsageError("size: --markdown, --result: expected one for standard output, got both")
    is_ladder, _ = values.pop("ladder"), values.pop("traceback")
    if is_ladder or values["allow"]:
        _ladder(files, tables, raw, values)
        return 0
    plain = {**dict.fromkeys(values), "reward": REWARD}
    if given := next((name for name, value in values.items() if value and value != plain[name]), None):
        raise UsageError(f"size: {'-o' if given == 'output' else f'--{given}'}: expected --ladder beside it")
    _show(files, tables, raw)
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
        if os.path.isfile(files[0]) or not os.path.isdir(folder or "."):
            msg = f"size: expected a corpus for --ladder, got {files[0]}, which has no modules"
            raise UsageError(f"{msg}; `passpilot tune --ladder -o DIR -- make` records one")
        folder, program = folder or ".", (name,)
    climb(tables=tables, raw=raw, corpus=folder, program=program, **values)


def _show(files: Sequence[str], tables: str, raw: str) -> None:
    from passpilot.training.file_sizes import SizeReport

    report = SizeReport.of(files)
    with quiet_pipe():
        if tables:
            write_file(tables, report.markdown())
        if raw:
            write_file(raw, json.dumps(report.to_json(), indent=1) + "\n")
        if "-" not in (tables, raw):
            print("\n".join(map(for_terminal, report.lines())))
