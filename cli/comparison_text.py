# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of `passpilot compare` as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from passpilot.passes.report.allocation import processor_flags
from passpilot.plugin.failures import for_terminal
from passpilot.training.comparison import OPT_LEVEL, total
from passpilot.training.evaluation.tables import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from passpilot.training.comparison import Compared, Measured, Recipe

BASELINE: Final = "LLVM"
"""The name of the contender without a runner."""

TOTAL: Final = "total"
HEADINGS: Final = ("module", "who", ".text", "change", "IR", "decisions", "as LLVM", "seconds")
LEFT: Final = 2
"""The number of columns that are aligned to the left."""


@dataclass(frozen=True)
class Comparison:
    """All results."""

    recipe: Recipe
    llvm: Sequence[str]
    """LLVM's own options."""
    contenders: Sequence[str]
    modules: Sequence[Compared]
    logged: bool
    """Whether the logs are kept."""

    @cached_property
    def totals(self) -> list[Measured]:
        """The sums over all modules, by contender."""
        return [total([each.rows[index] for each in self.modules]) for index in range(len(self.contenders))]

    @property
    def targets(self) -> list[str]:
        """The targets of code generation, each as llc's flags."""
        triples = dict.fromkeys(each.triple for each in self.modules)
        return [" ".join((f"-mtriple={triple}", *processor_flags(triple, self.llvm))) for triple in triples]


def table_text(made: Comparison) -> str:
    """A table for people: per module and in total, one line for each contender."""
    folder = os.path.commonpath([os.path.dirname(each.source) for each in made.modules])
    names = [os.path.relpath(each.source, folder or None) for each in made.modules]
    rows: list[tuple[str, ...]] = [HEADINGS]
    for name, measured in zip(
        (*names, TOTAL), (*(each.rows for each in made.modules), made.totals), strict=True
    ):
        for index, row in enumerate(measured):
            rows.append((name if not index else "", str(index or BASELINE), *_cells(row, measured[0])))
    return "\n".join([*_legend(made, folder), "", *map(for_terminal, aligned(rows, LEFT)), ""])


def _cells(row: Measured, base: Measured) -> Iterator[str]:
    yield f"{row.text:,}"
    yield "" if row is base or not base.text else f"{row.text / base.text - 1:+.2%}"
    yield f"{row.instructions:,}"
    yield f"{row.decisions:,}"
    yield f"{row.agreed / row.decisions:.1%}" if row.decisions else "-"
    yield "-" if row.seconds is None else f"{row.seconds:.3f}"


def _legend(made: Comparison, folder: str) -> Iterator[str]:
    where = for_terminal(f", modules of {folder}") if folder else ""
    yield f"-passes={made.recipe.pipeline}, then llc -O{OPT_LEVEL} {', '.join(made.targets)}{where}"
    yield f"{BASELINE}  LLVM's own decisions"
    for index, name in enumerate(made.contenders[1:], 1):
        yield f"{index:<{len(BASELINE)}}  {for_terminal(name)}"


def json_text(made: Comparison) -> str:
    """One object with everything."""
    return (
        json.dumps(
            {
                "pipeline": made.recipe.pipeline,
                "targets": made.targets,
                "llvm_options": made.llvm,
                "contenders": made.contenders,
                "modules": [
                    {
                        "module": each.source,
                        "triple": each.triple,
                        "results": [
                            _fields(name, row, logged=made.logged)
                            for name, row in zip(made.contenders, each.rows, strict=True)
                        ],
                    }
                    for each in made.modules
                ],
                "total": [
                    _fields(name, row, logged=False)
                    for name, row in zip(made.contenders, made.totals, strict=True)
                ],
            },
            indent=1,
        )
        + "\n"
    )


def _fields(name: str, row: Measured, *, logged: bool) -> dict[str, object]:
    fields: dict[str, object] = {
        "contender": name,
        "text": row.text,
        "instructions": row.instructions,
        "decisions": row.decisions,
        "agreed": row.agreed,
        "seconds": row.seconds,
    }
    return {**fields, "logs": dict(row.logs)} if logged else fields


def csv_text(made: Comparison) -> str:
    """One line per module and contender, then the totals, whose module is empty."""
    out = io.StringIO()
    fields = [
        {"module": source, **_fields(name, row, logged=False)}
        for source, rows in (*((each.source, each.rows) for each in made.modules), ("", made.totals))
        for name, row in zip(made.contenders, rows, strict=True)
    ]
    writer = csv.DictWriter(out, fields[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(fields)
    return out.getvalue()
