# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of the advice options of all commands, of `passpilot cc`, and of the plugins.

Commands take their flags from this table, and `cc` its options and variables. The plugins' flags are in C++
(plugin/native/stock, plugin/native/mlir); a test compares them with the table. `passpilot cc` reads the table
in every compilation, so this module imports almost nothing.
"""

from __future__ import annotations

from passpilot.features.catalogue import HOOKED, Row

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final, Literal

    from passpilot.features.catalogue import HookedPoint, Limit

    Door = Literal["opt", "llc", "mlir-opt", "attach", "compare", "cc", "plugin", "mlir-plugin"]
    Kind = Literal["text", "file", "policy", "choice", "seconds", "number", "count", "flag"]

COMPILING: Final[tuple[Door, ...]] = ("opt", "llc", "mlir-opt", "cc", "plugin", "mlir-plugin")

OF_OTHERS: Final = ("budget", "compiles", "passes", "reward", "search", "update")
"""Options that people give to `cc` and take from other commands; clang has none of these names."""

DOORS: Final[tuple[Door, ...]] = (*COMPILING, "attach", "compare")
"""What takes options: commands (`cc` includes `c++`), and libpasspilot.so and libpasspilot_mlir.so."""

RUNNERS: Final = """\
RUNNER is scheme:target[?key=value&...]: python:FILE:NAME, onnx:MODEL, aot:LIBRARY, pipe:BASE, grpc:HOST:PORT,
replay:LOG, decisions:FILE, random:SEED, const:VALUE, default; or @NAME, the model of a policy."""

FILES: Final = ("onnx", "aot", "replay", "python")
"""Runner schemes whose target is a file."""

SCHEMES: Final = (*FILES, "const", "decisions", "default", "grpc", "pipe", "random")
"""All schemes that are built in; runners/spec.py has their modules."""


class OptionRow(Row):
    """An option that one or more doors take."""

    name: str
    """The name without dashes, such as `on-error`."""
    value: str
    """The word for the value in help texts; empty for a flag; for a choice, all choices joined by `|`."""
    help: str
    doors: tuple[Door, ...]
    kind: Kind = "text"
    """The kind of value; `seconds` are more than 0, a `count` is an integer, a `policy` @NAME or path."""
    several: bool = False
    """Whether all given values count, not only the last one."""
    wording: Mapping[Door, tuple[str, str]] = {}
    """The value and help for doors where they differ."""

    def repeats(self, door: Door) -> bool:
        """Whether all values that a door gets count, not only the last one."""
        return self.several or (door == "compare" and self.name in HOOKED)

    @property
    def keyword(self) -> str:
        """The name in Python."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable that `cc` and the plugins read."""
        return f"PASSPILOT_{self.keyword.upper()}"

    @property
    def choices(self) -> tuple[str, ...]:
        """All values of a choice."""
        return tuple(self.value.split("|")) if self.kind == "choice" else ()

    def said(self, door: Door) -> tuple[str, str]:
        """The value's word and the help text for a door."""
        return self.wording.get(door, (self.value, self.help))


_IN_MLIR: Final[Mapping[str, Mapping[Door, tuple[str, str]]]] = {
    "inline": {"mlir-plugin": ("RUNNER", "ask RUNNER about each call that MLIR may inline")}
}
"""The options of libpasspilot_mlir.so that have the name of one of LLVM's points."""


def _doors(row: HookedPoint, *more: Door) -> tuple[Door, ...]:
    return tuple(door for door in DOORS if door in (row.command, "compare", "cc", "plugin", *more))


def _point(row: HookedPoint) -> OptionRow:
    in_mlir = _IN_MLIR.get(row.name, {})
    attach: tuple[Door, ...] = ("attach",) if row.interactive else ()
    compare = ("RUNNER", f"compare RUNNER, asked {row.question}; may be repeated")
    doors = (*_doors(row, *attach), *in_mlir)
    return OptionRow(
        row.name, "RUNNER", f"ask RUNNER {row.question}", doors, wording={"compare": compare, **in_mlir}
    )


def _limit(row: HookedPoint, limit: Limit) -> OptionRow:
    text = f"{limit.help} ({limit.default:g}); 0: no limit"
    return OptionRow(limit.option, limit.value, text, _doors(row), "count" if limit.whole else "number")


_STATISTICS: Final = "", "print decisions and times, and LLVM's statistics"
_UNWIND: Final = (
    "MODE",
    "write unwind tables that are exact at MODE: faults, shared, linked, calls, exceptions, none or full",
)
_UNASKED: Final = "", "print what the advisors did, and why a runner was never asked"


def _in_plugins(value: str, text: str) -> Mapping[Door, tuple[str, str]]:
    """The words of both plugins, whose options the C++ declares once."""
    return {"plugin": (value, text), "mlir-plugin": (value, text)}


TABLE: Final = (
    *map(_point, HOOKED.values()),
    OptionRow(
        "advise",
        "POINT=RUNNER",
        "ask RUNNER at any decision point, also one of a pass in Python",
        (*COMPILING, "compare"),
        several=True,
        wording={
            "compare": ("POINT=RUNNER", "compare RUNNER, asked at any decision point; may be repeated"),
            "llc": ("POINT=RUNNER", "ask RUNNER at a decision point"),
            **_in_plugins("POINT=RUNNER", "ask RUNNER at a decision point of any pass"),
        },
    ),
    OptionRow(
        "decisions",
        "FILE",
        "apply the decisions that `passpilot tune` has found",
        ("opt", "llc", "cc", "plugin"),
        "file",
        wording={"llc": ("FILE", "generate code with the options that `passpilot tune` has found")},
    ),
    OptionRow(
        "profile",
        "FILE",
        "optimize for size what is cold in this profile, and outline nothing from what is hot",
        ("opt", "cc", "plugin"),
        "file",
    ),
    OptionRow(
        "policy",
        "@NAME",
        "compile with a policy: its models, its pipeline and its options of LLVM's",
        ("opt", "llc", "cc", "plugin"),
        "policy",
        wording={"llc": ("@NAME", "generate code with a policy: its models and its options of LLVM's")},
    ),
    OptionRow(
        "unwind",
        "full|faults|shared|linked|calls|exceptions|none",
        _UNWIND[1],
        ("cc", "plugin"),
        "choice",
        wording=dict.fromkeys(("cc", "plugin"), _UNWIND),
    ),
    OptionRow(
        "best-of",
        "N",
        "compile objects up to N times (4 at most), by themselves and with recipes of @oz; keep the smallest",
        ("cc",),
    ),
    OptionRow(
        "llvm",
        "21|22|23",
        "use this LLVM: its passpilot, in an environment beside this one, compiles",
        ("cc",),
        "choice",
    ),
    OptionRow(
        "record", "FOLDER", "record what is compiled and linked, for passpilot corpus extract", ("cc",)
    ),
    OptionRow(
        "load",
        "FILE.py",
        "register the passes, features, runners and decision points in it",
        DOORS,
        several=True,
    ),
    OptionRow(
        "at",
        "POINT=PIPELINE",
        "run a pipeline at one of LLVM's extension points",
        ("opt", "cc", "plugin"),
        several=True,
    ),
    OptionRow(
        "log",
        "FILE|FOLDER/",
        "write every decision to a log: FILE, or files in FOLDER; POINT=FILE for each of two advisors",
        (*COMPILING, "compare"),
        several=True,
        wording={
            "compare": (
                "FOLDER/",
                "write every decision to a log: files in FOLDER, one per module, contender and point",
            ),
            "cc": (
                "FILE|FOLDER/",
                "write every decision to a log: FILE, or files in FOLDER (made if missing), one per unit",
            ),
        },
    ),
    OptionRow(
        "on-error",
        "fail|default",
        "if a runner fails, end with its error (fail, unless given) or let the compiler decide (default)",
        (*COMPILING, "attach", "compare"),
        "choice",
        wording={
            "attach": (
                "fail|default",
                "if a runner fails, end the compiler (fail, unless given) or, at --inline, let LLVM decide "
                "(default)",
            )
        },
    ),
    OptionRow(
        "timeout",
        "SECONDS",
        "how long to wait: for another process (10)",
        (*COMPILING, "attach", "compare"),
        "seconds",
        wording={
            "attach": (
                "SECONDS",
                "how long to wait: for a message of the compiler, or in a runner (10)",
            )
        },
    ),
    *(_limit(row, row.limit) for row in HOOKED.values() if row.limit),
    OptionRow(
        "stats",
        "",
        "print decisions and times",
        (*COMPILING, "attach"),
        "flag",
        wording={
            "opt": _STATISTICS,
            "llc": _STATISTICS,
            "cc": _UNASKED,
            **_in_plugins("", "print what the advisors did"),
        },
    ),
    OptionRow("traceback", "", "show the whole traceback of an error", ("cc",), "flag"),
)


def options_of(door: Door) -> tuple[OptionRow, ...]:
    return tuple(option for option in TABLE if door in option.doors)
