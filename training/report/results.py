# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of `passpilot tune`, `eval` and `llc --report`, and decision files, as the page reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from passpilot.features.log.shown import style_of
from passpilot.features.point import find_point
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.training.report.logs import PageRun, Strings
from passpilot.training.rewards import SIZE_HEADS, symbol_sizes
from passpilot.training.tuning.decision_file import read_decisions
from passpilot.training.tuning.recipes import BROUGHT

Json = Mapping[str, object]

_SIZES: Final = re.compile(r"# .*?(\d+) -> (\d+) bytes(.*)")
"""A comment of a decision file about the size before and after."""


def tune_of(name: str, raw: Json) -> dict[str, object]:
    """The result of a search.

    Raises:
        InputError: a field is missing or of another kind.
    """
    curve, start, text = raw.get("curve"), raw.get("start"), raw.get("text")
    steps = curve if isinstance(curve, list) else []
    fits = all(isinstance(step, list) and len(step) == 3 and all(map(_is_number, step)) for step in steps)
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
        "sizes": _pairs(raw.get("sizes")),
        "brought": _brought(raw.get("brought")),
        "units": [_unit_of(unit) for unit in units] if isinstance(units, list) else [],
    }


def _brought(raw: object) -> dict[str, float]:
    """What the parts of a search have brought, in words, the most first."""
    found = {BROUGHT.get(key, str(key)): gain for key, gain in raw.items()} if isinstance(raw, dict) else {}
    rows = [(words, float(gain)) for words, gain in found.items() if _is_number(gain)]
    return dict(sorted(rows, key=lambda row: -row[1]))


def _pairs(raw: object) -> dict[str, list[float]]:
    """The sizes before and after, by `SIZE_HEADS`."""
    found = raw if isinstance(raw, dict) else {}
    rows = {head: found.get(kind) for kind, head in SIZE_HEADS.items()}
    return {
        head: [float(size) for size in pair]
        for head, pair in rows.items()
        if isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) and pair[0]
    }


def _unit_of(raw: object) -> dict[str, object]:
    """A unit of a search: its name alone, or an object with sizes."""
    if not isinstance(raw, dict):
        return {"name": str(raw)}
    numbers = {key: raw[key] for key in ("start", "text", "calls") if _is_number(raw.get(key))}
    texts = {key: str(raw[key]) for key in ("pipeline", "options") if raw.get(key)}
    return {"name": str(raw.get("name", "")), **numbers, **texts}


def sizes_of(title: str, before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """The functions before and after; those of both sides in one list."""
    names = list(dict.fromkeys((*before, *after)))
    sides = {"before": before, "after": after}
    return {
        "name": title,
        "names": names,
        "functions": {side: [_size(sizes.get(name, 0)) for name in names] for side, sizes in sides.items()},
        "rest": [0, 0],
        "labels": ["Before", "After"],
    }


def _size(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def object_sizes(path: str) -> dict[str, int]:
    """The bytes of every function in an ELF file.

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
        raise InputError(
            f"report {name}: expected the report of `passpilot llc --report`, got another list of functions"
        ) from error
    sums = {side: sum(cast("float", row[side]) for row in rows) for side in ("default", "advised")}
    return {"name": str(raw.get("module", name)), "functions": rows, **sums}


def decided_run(name: str, path: str, strings: Strings) -> tuple[PageRun, dict[str, object]]:
    """The decisions of a decision file as a run, and the file as a search without a curve.

    Raises:
        InputError: the file cannot be read, or a line is not a decision.
    """
    units, sizes = read_decisions(path), _noted_sizes(path)
    point = find_point("inline")
    run = PageRun(name, style_of((point.default, point.advice)), point.name, strings)
    words = run.style.log.words
    rows = [(unit, *row) for unit in units for row in sorted(unit.inline.items())]
    for unit, _, inlined in rows:
        run.count(unit.name, "", words[inlined], words[not inlined])
    run.size = len(rows)
    run.put_texts("log", (unit.name for unit, _, _ in rows))
    run.put_texts("caller", (call.caller for _, call, _ in rows))
    run.put_texts("callee", (call.callee for _, call, _ in rows))
    doc = "The file answers this question about a call of the callee in the caller"
    run.put("number", "number", (call.number for _, call, _ in rows), doc)
    run.put_texts("default", (words[not inlined] for _, _, inlined in rows), "word")
    run.put_texts("advice", (words[inlined] for _, _, inlined in rows), "word")
    shown = [
        _unit_of(
            {
                "name": unit.name,
                **dict(zip(("start", "text"), sizes.get(unit.name, ()), strict=False)),
                "calls": len(unit.inline),
                "pipeline": unit.pipeline,
                "options": " ".join(unit.options),
            }
        )
        for unit in units
    ]
    start, text = sizes.get("", (0, 0))
    return run, {"name": name, "curve": [], "start": start, "text": text, "reward": "", "units": shown}


def _noted_sizes(path: str) -> dict[str, tuple[int, int]]:
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
