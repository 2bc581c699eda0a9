# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of `passpilot tune`, `eval` and `llc --report`, and decision files, as the page reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.training.rewards import symbol_sizes
from passpilot.training.tuning.decision_file import read_decisions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.training.report.logs import Strings
    from passpilot.training.tuning.decision_file import UnitDecisions

    Json = Mapping[str, object]

_SIZES: Final = re.compile(r"# .*?(\d+) -> (\d+) bytes(.*)")
"""A comment of a decision file about the size before and after."""


def tune_of(name: str, raw: Json) -> dict[str, object]:
    """The result of a search.

    Raises:
        InputError: a field is missing or of another kind.
    """
    curve, start, text = raw.get("curve"), raw.get("start"), raw.get("text")
    steps = [list(step) for step in curve] if isinstance(curve, list) else []
    fits = all(len(step) == 3 and all(_is_number(each) for each in step) for step in steps)
    if not steps or not fits or not (_is_number(start) and _is_number(text) and start):
        expected = "a result of `passpilot tune --result`"
        raise InputError(f"report {name}: expected {expected}, got one without its curve and sizes")
    units = raw.get("units")
    return {
        "name": name,
        "curve": steps,
        "start": start,
        "text": text,
        "reward": str(raw.get("reward", "")),
        "units": [_unit_of(each) for each in units] if isinstance(units, list) else [],
    }


def _unit_of(raw: object) -> dict[str, object]:
    """A unit of a search: its name alone, or an object with sizes."""
    if not isinstance(raw, dict):
        return {"name": str(raw)}
    numbers = {key: raw[key] for key in ("start", "text", "calls") if _is_number(raw.get(key))}
    texts = {key: str(raw[key]) for key in ("pipeline", "options") if raw.get(key)}
    return {"name": str(raw.get("name", "")), **numbers, **texts}


def sizes_of(name: str, before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """The functions before and after; those of both sides in one list."""
    names = list(dict.fromkeys((*before, *after)))
    sides = {"before": before, "after": after}
    return {
        "name": name,
        "names": names,
        "functions": {side: [_size(sizes.get(each, 0)) for each in names] for side, sizes in sides.items()},
        "rest": [0, 0],
        "labels": ["Before", "After"],
    }


def _size(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def object_sizes(path: str) -> dict[str, int]:
    """The bytes of each function in an ELF file.

    Raises:
        InputError: the file cannot be read, or is not ELF.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(f"report {path}: expected an object or program, got: {error.strerror}") from error
    if data[:4] != b"\x7fELF":
        raise InputError(f"report {path}: expected an ELF object or program, got another file")
    return symbol_sizes(data)


def cost_of(name: str, raw: Json) -> dict[str, object]:
    """The report of `passpilot llc --report`.

    Raises:
        InputError: it is not one.
    """
    try:
        rows = [
            {"name": row["name"], **{side: float(row[side]["cost"]) for side in ("default", "advised")}}
            for row in cast("Sequence[dict[str, dict[str, float]]]", raw["functions"])
        ]
    except (KeyError, TypeError, ValueError) as error:
        got = f"{type(error).__name__} {error}"
        raise InputError(
            f"report {name}: expected the report of `passpilot llc --report`, got: {got}"
        ) from error
    sums = {side: sum(cast("float", row[side]) for row in rows) for side in ("default", "advised")}
    return {"name": str(raw.get("module", name)), "functions": rows, **sums}


def decided_run(name: str, path: str, strings: Strings) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The decisions of a decision file as a run, and its units.

    Raises:
        InputError: the file cannot be read, or a line is not a decision.
    """
    units = read_decisions(path)
    notes = _notes(path)
    rows = [
        (unit.name, call.caller, call.callee, call.number, inlined)
        for unit in units
        for call, inlined in sorted(unit.inline.items())
    ]
    number, words = strings.number, ("no", "inline")
    texts = {
        key: [number(str(row[at])) for row in rows] for at, key in enumerate(("log", "caller", "callee"))
    }
    columns: list[dict[str, object]] = [
        {"key": key, "kind": "text", "values": values} for key, values in texts.items()
    ]
    asked = "The file answers this question about a call of the callee in the caller"
    columns += [
        {"key": "number", "kind": "number", "doc": asked, "values": [row[3] for row in rows]},
        {"key": "default", "kind": "word", "values": [number(words[not row[4]]) for row in rows]},
        {"key": "advice", "kind": "word", "values": [number(words[row[4]]) for row in rows]},
    ]
    run: dict[str, object] = {
        "name": name,
        "point": "inline",
        "site": "call",
        "whose": "LLVM",
        "idle": "no",
        "done": "inlined",
        "total": len(rows),
        "size": len(rows),
        "columns": columns,
        "tallies": [_tally(unit) for unit in units if unit.inline],
    }
    return run, [_searched(unit, notes.get(unit.name)) for unit in units]


def _tally(unit: UnitDecisions) -> dict[str, object]:
    total = len(unit.inline)
    return {"name": unit.name, "total": total, "done": sum(unit.inline.values()), "unlike": total}


def _searched(unit: UnitDecisions, sizes: tuple[int, int] | None) -> dict[str, object]:
    known = {"start": sizes[0], "text": sizes[1]} if sizes else {}
    rest = {"calls": len(unit.inline), "pipeline": unit.pipeline, "options": " ".join(unit.options)}
    return _unit_of({"name": unit.name, **known, **rest})


def whole_sizes(path: str) -> tuple[int, int] | None:
    """The sizes of the whole before and after, from the comments of a decision file."""
    return _notes(path).get("")


def _notes(path: str) -> dict[str, tuple[int, int]]:
    """The sizes in a decision file's comments by unit; those before the first unit under an empty name."""
    found: dict[str, tuple[int, int]] = {}
    unit = ""
    for line in read_regular(path).decode("utf-8", "surrogateescape").split("\n"):
        if line.startswith("unit "):
            unit = line.removeprefix("unit ")
        elif sizes := _SIZES.match(line):
            found.setdefault(unit, (int(sizes[1]), int(sizes[2])))
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
