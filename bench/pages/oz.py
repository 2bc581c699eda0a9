# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/oz-results.md and its plots of what bench.measure.policies.{oz,targets,aims} have recorded.

usage: python -m bench.pages.oz [--check]

With --check it writes no page, and fails if a file is not what it would write.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import geometric_mean
from typing import Any, Final

from bench.lib import command, read
from bench.lib.targets import TARGETS, Sizes
from bench.measure.policies import aims, targets
from bench.measure.policies.levers import LINKS
from bench.measure.policies.oz import CODE, PLAIN, POLICY, RECORD, ratios
from bench.pages import debian
from bench.pages.dots import dots
from bench.pages.markdown import table, write_or_check
from passpilot.training.ladder.ladder import SIZES
from tests.corpus.programs import all_programs

PAGE: Final = "docs/oz-results.md"
PLOT: Final = "docs/images/oz-results.svg"
NAMES: Final = {POLICY: "`@oz`", CODE: "`@oz --unwind=full`"}

Rows = dict[str, Any]


def cell(values: Mapping[str, float]) -> str:
    """A geometric mean, and the largest of a program."""
    return f"{geometric_mean(values.values()):.3f} (largest {max(values.values()):.3f})" if values else "-"


def means(record: Rows) -> str:
    rows = []
    for reference in LINKS:
        for name, shown in NAMES.items():
            cells = [cell(ratios(record, reference, name, size)) for size in SIZES]
            count = cell(ratios(record, reference, name, "instructions"))
            rows.append([reference, shown, *cells, count])
    return table(["against", "", *SIZES.values(), "instructions"], rows)


def by_program(record: Rows, reference: str) -> str:
    """The ratios of all four sizes, by program."""
    rows = []
    for program, sides in sorted(record[reference].items()):
        cells = [f"{sides[name][size] / sides[PLAIN][size]:.3f}" for name in NAMES for size in SIZES]
        rows.append([program, all_programs()[program].domain, f"{sides[PLAIN]['allocated']:,}", *cells])
    heads = [f"{shown} {head}" for shown in NAMES.values() for head in SIZES.values()]
    return table(["program", "field", f"bytes of {reference}", *heads], rows)


def plot(record: Rows) -> str:
    """All four sizes of all programs, against both references."""
    rows = {
        f"{program} {reference}": {
            head: sides[POLICY][size] / sides[PLAIN][size] for size, head in SIZES.items()
        }
        for reference in LINKS
        for program, sides in sorted(record[reference].items())
    }
    return dots("@oz relative to the best flags without it", list(SIZES.values()), rows, left=160)


def other_targets(record: targets.Record) -> str:
    """The means of all sizes by target, and the loaded bytes of every program."""
    means, rows = [], []
    for target in filter(record.get, TARGETS):
        found = targets.ratios(record, target)
        cells = [cell({name: row[size] for name, row in found.items()}) for size in Sizes._fields]
        means.append([target, *cells])
        ratio = {name: f"{row['allocated']:.3f}" for name, row in found.items()}
        rows.append([target, *(ratio.get(name, "-") for name in targets.PROGRAMS)])
    heads = [SIZES.get(size, size) for size in Sizes._fields]
    return f"{table(['target', *heads], means)}\n{table(['allocated', *targets.PROGRAMS], rows)}"


def aims_table(record: dict[str, aims.Row]) -> str:
    """Every aim in its own size, by program."""
    found = aims.ratios(record)
    rows = [
        [
            f"`@oz?aim={aim}`",
            SIZES[size],
            cell({name: row[aim] for name, row in found.items()}),
            *(f"{row[aim]:.3f}" for row in found.values()),
        ]
        for aim, size in aims.SIZES.items()
    ]
    return table(["policy", "size", "mean", *found], rows)


def page(record: Rows) -> str:
    validation = read(aims.RECORD)
    languages = [all_programs()[name].lang for name in record["R1"]]
    count, plain = len(languages), languages.count("c")
    return f"""\
# What @oz is worth

This page has the sizes and run times of `@oz` on programs that nobody had looked at.

These are {count} test programs of the corpus, {plain} in C and {count - plain} in C++.
[The policy `@oz`](policies.md) was made on training programs, and nobody had looked at the size of a test
program before. It stands against the best flags that need no passpilot, with the same flags on both sides:

| reference | flags of both sides |
| --- | --- |
| R1 | `-Oz -ffunction-sections -fdata-sections`, linked by lld with `--gc-sections --icf=safe` |
| R2 | R1 with `-flto`, without asynchronous unwind tables, and with relative relocations |

*allocated* is what a program loads: code, constants, data, unwind tables and relocations; *.text* is its
machine code; *stripped* is the file without symbols, *xz* that file compressed; *instructions* are those that
its run executes, counted by valgrind. Means are geometric. All programs printed what they should. `@oz`
writes [smaller unwind tables](unwind.md); with `--unwind=full` beside it, LLVM's own stay, and the gain is
that of code alone.

{means(record)}
## All sizes by program

![The four sizes of every program](images/oz-results.svg)

{by_program(record, "R1")}
{by_program(record, "R2")}
## Packages of Debian

`python -m bench.sweeps.debian` builds source packages of Debian by their own rules; nothing was tuned on
them. The first table has `@oz` against R1 with the same flags, over all programs and libraries that a
package installs: the mean of the packages, with the smallest, the median and the largest ratio in
parentheses, for all, by language, and by section of the archive. [Their own
tests](reliability.md#packages-of-debian) ran with the same builds.

{debian.sizes(debian.read_rows())}
## Other targets

These are objects of programs in C, with a section for every function and variable, relative to clang's
`-Oz`: means, and the largest of a program. [Some targets have levers of their
own](policies.md#other-targets), which were chosen on training programs. Of these programs, lcms2, metis
and wavpack are of the corpus's test part, which had been used for the tables above, and the others of
its validation part. The C libraries are picolibc, glibc and wasi-libc. *linked* is what a link of the
objects alone loads: calls become shorter on RISC-V, and numbers in wasm. In an object for Arm,
`.ARM.exidx` counts, with 8 bytes for every function; a link merges most of them. A program that has no
figure was not measured.

{other_targets(read(targets.RECORD))}
On wasm32, most of the gain is from `-write-wasm-ifs`, which is ours: LLVM writes all conditions as blocks
with branches out of them, and an `if` is shorter. LLVM has no machine outliner there. On RV32, machine LICM
stays off although one training program grows by 1.9 % with that, because the mean of the seven validation
programs is 0.976 with it off and 0.979 with it on.

## Aims

These are the recipes with an aim on {len(validation)} validation programs for x86-64. The table has the size
that an aim is for, relative to `@oz` without an aim, with the flags of R1 on both sides. For `rom` neither
side has unwind tables.

{aims_table(validation)}
`@oz` has no model for inlining, where [searches of a program](tuning-results.md) find most. What its levers
are worth one by one is in the policy's card, `policies/oz/card.md`.

`python -m bench.pages.oz` made this page of `oz.json`, `debian.jsonl`, `targets.json` and `aims.json` in
`bench/results`, which `python -m bench.measure.policies.oz`, `python -m bench.sweeps.debian`,
`python -m bench.measure.policies.targets` and `python -m bench.measure.policies.aims` measured.
"""


@command
def main(*, check: bool = False) -> None:
    record = read(RECORD)
    plots = {PLOT: plot(record), debian.PLOT: debian.plot(debian.read_rows())}
    write_or_check({PAGE: page(record), **plots}, check=check)
