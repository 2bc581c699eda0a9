# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Report`: collects what the page shows, from files of all kinds that passpilot writes."""

from __future__ import annotations

import json
import math
import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, cast

from passpilot.features.log.reader import read_log
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.training.evaluation.results import FORMAT, check_result
from passpilot.training.report.document import page
from passpilot.training.report.logs import LoggedRun, Strings, add_log
from passpilot.training.report.names import demangled
from passpilot.training.report.results import (
    cost_of,
    decided_run,
    object_sizes,
    sizes_of,
    tune_of,
    whole_sizes,
)
from passpilot.training.tuning.decision_file import HEAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Json = Mapping[str, object]

_HEAD: Final = 1 << 16


class Report:
    """What one page shows.

    Attributes:
        limit: the most decisions of a run that the page holds; all are counted.
    """

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self._strings = Strings()
        self._logged: list[LoggedRun] = []
        self._decided: list[dict[str, object]] = []
        self._evaluations: list[dict[str, object]] = []
        self._tunes: list[dict[str, object]] = []
        self._sizes: list[dict[str, object]] = []
        self._costs: list[dict[str, object]] = []
        self._names: list[str] = []

    def add(self, path: str) -> None:
        """Add a file, or a folder of logs.

        Raises:
            InputError: the file cannot be read, or is none of the known kinds.
            LogError: a log is malformed.
        """
        name = os.path.basename(os.path.abspath(path))
        self._names.append(name)
        if os.path.isdir(path):
            self._add_folder(path, name)
            return
        head = _head(path)
        if head.startswith(HEAD.encode()):
            self._add_decisions(path, name)
        elif _is_log(head):
            add_log(self._logged, path, name, self.limit, self._strings)
        else:
            self.add_result(name, _json_of(path))

    def add_result(self, name: str, raw: Json) -> None:
        """Add a result: of `passpilot tune`, `passpilot eval` or `passpilot llc --report`.

        Raises:
            InputError: it is none of these.
        """
        if raw.get("format") == FORMAT:
            check_result(f"report {name}", raw)
            self._evaluations.append({"name": name, "raw": raw})
        elif "curve" in raw:
            self._tunes.append(tune_of(name, raw))
            if isinstance(functions := raw.get("functions"), dict):
                sides = [cast("Json", functions.get(side) or {}) for side in ("before", "after")]
                self._sizes.append(sizes_of(name, *sides))
        elif isinstance(raw.get("functions"), list):
            self._costs.append(cost_of(name, raw))
        else:
            raise InputError(f"report {name}: expected {_KINDS}, got JSON with {', '.join(list(raw)[:6])}")

    def add_objects(self, before: str, after: str) -> None:
        """Add the sizes of the functions in two objects or programs.

        Raises:
            InputError: one cannot be read, or is not ELF.
        """
        self._names += [os.path.basename(before), os.path.basename(after)]
        sizes = sizes_of(os.path.basename(after), object_sizes(before), object_sizes(after))
        self._sizes.append({**sizes, "labels": [os.path.basename(before), os.path.basename(after)]})

    def _add_folder(self, path: str, name: str) -> None:
        """Add all logs in a folder: those of the same point are one run."""
        files = sorted(str(file) for file in Path(path).rglob("*.log"))
        if not files:
            raise InputError(f"report {path}: expected a folder with logs, got no file *.log in it")
        runs: dict[tuple[str, ...], LoggedRun] = {}
        for file in files:
            reader = read_log(file)
            key = tuple(str(spec) for spec in reader.features), tuple(spec.name for spec in reader.features)
            if (run := runs.get(flat := tuple(chain(*key)))) is None:
                run = runs[flat] = LoggedRun(name, reader, self._strings)
            run.add(reader, os.path.relpath(file, path), self.limit, set())
        self._logged += runs.values()

    def _add_decisions(self, path: str, name: str) -> None:
        run, units = decided_run(name, path, self._strings)
        self._decided.append(run)
        whole = whole_sizes(path)
        start, text = whole or (0, 0)
        self._tunes.append(
            {"name": name, "curve": [], "start": start, "text": text, "reward": "", "units": units}
        )

    def _searches(self) -> list[dict[str, object]]:
        """The searches and decision files; the units of a search come once, though its file is there, too."""
        shown: list[object] = []
        searches = []
        for each in sorted(self._tunes, key=lambda tune: not tune["curve"]):
            units = cast("list[dict[str, object]]", each["units"])
            new = [unit for unit in units if unit not in shown]
            shown += new
            searches.append({**each, "units": new})
        return searches

    def to_html(self, title: str = "") -> bytes:
        """The page."""
        return page(title or self._title(), self.to_json())

    def to_json(self) -> dict[str, object]:
        """The data of the page."""
        texts = [_shown(text) for text in self._strings.numbers]
        return {
            "about": self._about(),
            "strings": texts,
            "demangled": demangled({*texts, *self._function_names()}),
            "runs": [*(run.to_json() for run in self._logged), *self._decided],
            "evaluations": self._evaluations,
            "tunes": self._searches(),
            "sizes": self._sizes,
            "costs": self._costs,
        }

    def _function_names(self) -> Iterator[str]:
        for sizes in self._sizes:
            yield from cast("Sequence[str]", sizes["names"])
        for cost in self._costs:
            yield from (str(row["name"]) for row in cast("Sequence[Json]", cost["functions"]))
        for evaluation in self._evaluations:
            for program in cast("Sequence[Json]", cast("Json", evaluation["raw"])["programs"]):
                yield from cast(
                    "Sequence[str]", cast("Json", program.get("functions") or {}).get("names", ())
                )

    def _title(self) -> str:
        kinds = {
            "evaluation": self._evaluations,
            "search": self._tunes,
            "decisions": [*self._logged, *self._decided],
            "sizes": self._sizes,
            "register allocation": self._costs,
        }
        found = [kind for kind, parts in kinds.items() if parts and self._names]
        if not found:
            return "Report"
        more = len(self._names) - 1
        names = (
            " and ".join(self._names) if more == 1 else self._names[0] + (f" and {more} more" if more else "")
        )
        return f"{found[0].capitalize()}: {names}"

    def _about(self) -> str:
        shown = ", ".join(self._names[:_MOST_NAMES])
        more = len(self._names) - _MOST_NAMES
        return f"From {shown}{f' and {more} more' if more > 0 else ''}." if shown else ""


_MOST_NAMES: Final = 6

_KINDS: Final = (
    "a decision log, a decision file, or the JSON of `passpilot tune --result`, `passpilot eval` or "
    "`passpilot llc --report`"
)


def _shown(text: str) -> str:
    """A name whose bytes are not UTF-8, with marks in their places: JSON has no others."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _head(path: str) -> bytes:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            return file.read(_HEAD) or b""
    except OSError as error:
        raise InputError(f"report {path}: expected {_KINDS}, got: {error.strerror}") from error


def _is_log(head: bytes) -> bool:
    """Whether a file begins with the header of a decision log."""
    line = head.partition(b"\n")[0]
    return line.startswith(b"{") and b'"features"' in line


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    """A number; JSON can have one that no float holds."""
    return value if math.isfinite(value := float(text)) else _refused(text)


def _json_of(path: str) -> Json:
    try:
        raw = json.loads(read_regular(path), parse_constant=_refused, parse_float=_finite)
    except OSError as error:
        raise InputError(f"report {path}: expected {_KINDS}, got: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"report {path}: expected {_KINDS}, got another file") from error
    if not isinstance(raw, dict):
        raise InputError(f"report {path}: expected {_KINDS}, got JSON of another kind")
    return raw
