# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of `passpilot compare` as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Final

from passpilot.passes.report.allocation import processor_flags
from passpilot.plugin.failures import for_terminal
from passpilot.runners.plurals import size_change
from passpilot.training.comparison import OPT_LEVEL, Compared, Measured, total
from passpilot.training.evaluation.tables import aligned

BASELINE: Final = "LLVM"
"""The name of the contender without a runner."""

TOTAL: Final = "total"
HEADINGS: Final = (
    "module",
    "who",
    "allocated",
    "change",
    ".text",
    "file",
    "xz",
    "IR",
    "decisions",
    "as LLVM",
    "seconds",
)
LEFT: Final = 2
"""The number of columns that are aligned to the left."""


@dataclass(frozen=True)
class Comparison:
    pipeline: str
    llvm: Sequence[str]
    contenders: Sequence[str]
    modules: Sequence[Compared]
    logged: bool
    """Whether the logs are kept."""

    @cached_property
    def totals(self) -> list[Measured]:
        """The sums over all modules, by contender."""
        return [total(rows) for rows in zip(*(module.rows for module in self.modules), strict=True)]

    @property
    def targets(self) -> list[str]:
        """The targets of code generation, each as llc's flags."""
        triples = dict.fromkeys(module.triple for module in self.modules)
        return [" ".join((f"-mtriple={triple}", *processor_flags(triple, self.llvm))) for triple in triples]


def table_text(comparison: Comparison) -> str:
    """A table for people: per module and in total, one line for each contender."""
    sources = [module.source for module in comparison.modules]
    if any(map(os.path.isabs, sources)):
        sources = list(map(os.path.abspath, sources))
    folder = os.path.commonpath(list(map(os.path.dirname, sources)))
    names = [os.path.relpath(source, folder or None) for source in sources]
    rows: list[tuple[str, ...]] = [HEADINGS]
    tables = (*(module.rows for module in comparison.modules), comparison.totals)
    for name, measured in zip((*names, TOTAL), tables, strict=True):
        for index, row in enumerate(measured):
            rows.append((name if not index else "", str(index or BASELINE), *_cells(row, measured[0])))
    lines = map(for_terminal, aligned(rows, LEFT))
    return "\n".join([*_legend(comparison, folder), "", *lines, ""])


def _cells(row: Measured, base: Measured) -> Iterator[str]:
    yield f"{row.allocated:,}"
    yield "" if row is base or not base.allocated else size_change(row.allocated / base.allocated)
    yield from (f"{value:,}" for value in (row.text, row.file, row.xz, row.instructions))
    yield f"{row.decisions:,}"
    yield f"{row.agreed / row.decisions:.1%}" if row.decisions else "-"
    yield "-" if row.seconds is None else f"{row.seconds:.3f}"


def _legend(comparison: Comparison, folder: str) -> Iterator[str]:
    where = for_terminal(f", modules of {folder}") if folder else ""
    yield f"-passes={comparison.pipeline}, then llc -O{OPT_LEVEL} {', '.join(comparison.targets)}{where}"
    yield f"{BASELINE}  LLVM's own decisions"
    for index, name in enumerate(comparison.contenders[1:], 1):
        yield f"{index:<{len(BASELINE)}}  {for_terminal(name)}"


def json_text(comparison: Comparison) -> str:
    def results(rows: Sequence[Measured], *, logged: bool) -> list[dict[str, object]]:
        return [
            _fields(name, row, logged=logged) for name, row in zip(comparison.contenders, rows, strict=True)
        ]

    table = {
        "pipeline": comparison.pipeline,
        "targets": comparison.targets,
        "llvm_options": comparison.llvm,
        "contenders": comparison.contenders,
        "modules": [
            {
                "module": module.source,
                "triple": module.triple,
                "results": results(module.rows, logged=comparison.logged),
            }
            for module in comparison.modules
        ],
        "total": results(comparison.totals, logged=False),
    }
    return json.dumps(table, indent=1) + "\n"


def _fields(name: str, row: Measured, *, logged: bool) -> dict[str, object]:
    fields = {"contender": name, **asdict(row)}
    if not logged:
        del fields["logs"]
    return fields


def csv_text(comparison: Comparison) -> str:
    """One line per module and contender, then the totals, whose module is empty."""
    out = io.StringIO()
    modules = [(module.source, module.rows) for module in comparison.modules]
    fields = [
        {"module": source, **_fields(name, row, logged=False)}
        for source, rows in (*modules, ("", comparison.totals))
        for name, row in zip(comparison.contenders, rows, strict=True)
    ]
    writer = csv.DictWriter(out, fields[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(fields)
    return out.getvalue()
