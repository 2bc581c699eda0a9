# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What measurements, sweeps and pages share: the command, turns, tables, records and bars.

Programs of the corpus (`corpus`), models (`models`), native code (`native`), peers (`peers`) and counts of
instructions (`instructions`) are imported where they are used.
"""

from bench.lib.bars import FOLDER, MEASURES, Bar, Record, read_record, require, settle
from bench.lib.command_line import CHECK, command, running
from bench.lib.records import RESULTS, ROOT, read, write
from bench.lib.tables import geometric_means, show, show_rows
from bench.lib.turns import (
    STARTS,
    Used,
    commands_in_turns,
    in_turns,
    least,
    mean_microseconds,
    medians,
    microseconds,
    ratio,
    seconds,
    slowness,
    starts,
    thread_seconds,
    used,
)

__all__ = [
    "CHECK",
    "FOLDER",
    "MEASURES",
    "RESULTS",
    "ROOT",
    "STARTS",
    "Bar",
    "Record",
    "Used",
    "command",
    "commands_in_turns",
    "geometric_means",
    "in_turns",
    "least",
    "mean_microseconds",
    "medians",
    "microseconds",
    "ratio",
    "read",
    "read_record",
    "require",
    "running",
    "seconds",
    "settle",
    "show",
    "show_rows",
    "slowness",
    "starts",
    "thread_seconds",
    "used",
    "write",
]
