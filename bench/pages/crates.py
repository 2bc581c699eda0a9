# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the table of docs/rust.md of the record bench/results/crates.json.

usage: python -m bench.pages.crates [--check]
"""

from __future__ import annotations

from typing import Final

from bench.lib import command, read
from bench.pages.markdown import replaced, table, write_or_check

PAGE: Final = "docs/rust.md"
HEADS: Final = ("crate", "tests that pass", '`lto = "off"`', '`lto = "fat"`')


def ratio(found: float | None) -> str:
    return "not run" if found is None else f"{found:.3f}"


@command
def main(*, check: bool = False) -> None:
    rows = [
        (f"{name} {row['version']}", str(row["tests"]), *(ratio(row.get(lto)) for lto in ("off", "fat")))
        for name, row in read("crates.json").items()
    ]
    write_or_check({PAGE: replaced(PAGE, "bench.pages.crates", table(HEADS, rows))}, check=check)
