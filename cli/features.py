# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot features`: prints the feature table of a decision point."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser, flag, record, shared
from passpilot.features.point import Feature, find_point, find_table
from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import UsageError
from passpilot.plugin.load import load_file

_EXAMPLE = """\
example:
  passpilot features --load policy.py --json
  passpilot features --point evict
  passpilot features --proto > inline.proto
"""


class FeaturesOptions(NamedTuple):
    point: str = shared("point", "inline unless given", default="inline")
    json: bool = shared("json", "one object, specs in LLVM's form")
    proto: bool = flag("print a .proto file: messages and a service getAdvice")
    load: tuple[str, ...] = shared("load")


def main(argv: Sequence[str]) -> int:
    options = record(FeaturesOptions, make_parser().values(argv))
    if options.json and options.proto:
        raise UsageError("features: choose --json or --proto")
    for path in options.load:
        load_file(path)
    show = _print_json if options.json else _print_proto if options.proto else _print_text
    with quiet_pipe():
        show(search_point(options.point).name)
    return 0


def make_parser() -> Parser:
    parser = Parser(
        "passpilot features",
        description="Print what a decision point offers to a model: name, type and shape, meaning.",
        epilog=_EXAMPLE,
    )
    parser.add_fields(FeaturesOptions)
    parser.traceback_option()
    return parser


def _print_text(name: str) -> None:
    rows = find_table(name)
    names = max(len(row.spec.name) for row in rows)
    types = max(len(str(row.spec)) for row in rows)
    for row in rows:
        print(f"{row.spec.name:{names}}  {row.spec!s:{types}}  {_meaning(row)}".rstrip())
    advice = find_point(name).advice
    print(f"advice: {advice.name} {advice}")


def _meaning(row: Feature) -> str:
    return f"{row.doc} ({row.origin})".lstrip() if row.origin else row.doc


def _print_proto(name: str) -> None:
    from passpilot.features.proto import proto_text

    print(proto_text(find_point(name)))


def _print_json(name: str) -> None:
    rows = [{**row.spec.to_json(), "doc": row.doc, "origin": row.origin or None} for row in find_table(name)]
    print(json.dumps({"point": name, "features": rows, "advice": find_point(name).advice.to_json()}))
