# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cache`: shows and clears the user's cache of compilations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser, flag, option, record
from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import for_terminal
from passpilot.runners.plurals import counted
from passpilot.training.studies.compile_cache import FOLDER, MOST_BYTES, CompileCache

_EPILOG = f"""\
examples:
  passpilot cache
  passpilot cache --most=500M
  passpilot cache --clear

{FOLDER} names another folder for all commands; if it is empty, nothing is kept.
"""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class CacheOptions(NamedTuple):
    clear: bool = flag("remove all compilations")
    most: str = option(default="", metavar="SIZE", help="remove the oldest until SIZE is left, such as 500M")


def main(argv: Sequence[str]) -> int:
    options = record(CacheOptions, make_parser().values(argv))
    if options.clear and options.most:
        raise UsageError("cache: expected --clear or --most, got both")
    cache = CompileCache.of_user()
    limit = 0 if options.clear else _bytes(options.most) if options.most else None
    before = cache.contents
    after = before if limit is None else cache.prune(limit)
    if gone := before.files - after.files:
        print(f"removed {counted(gone, 'compilation')}, {_text(before.bytes - after.bytes)}")
    with quiet_pipe():
        where = for_terminal(cache.folder) or f"no folder, by {FOLDER}"
        most = _text(MOST_BYTES) if options.clear or limit is None else options.most
        size = f"{_text(after.bytes)} of at most {most}"
        print(f"{where}: {counted(after.files, 'compilation')}, {size}")
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot cache",
        description="Show or clear the cache of compilations, which tune, train evolve and eval share.",
        epilog=_EPILOG,
    )
    parser.add_fields(CacheOptions)
    parser.traceback_option()
    return parser


def _bytes(text: str) -> int:
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if unit not in _UNITS or not number.isascii() or not number.isdigit() or len(number) > 15:
        raise UsageError(f"cache: --most: expected a size such as 500M, got {text!r}")
    return int(number) * _UNITS[unit]


def _text(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"
