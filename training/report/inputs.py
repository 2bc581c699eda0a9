# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Report`: collects what the page shows, from files of all kinds that passpilot writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Final, cast

from passpilot.features.log.reader import read_log
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import files_below, read_regular
from passpilot.plugin.json_and_toml import parse_json, typed_record
from passpilot.training.evaluation.results import FORMAT, check_result
from passpilot.training.ladder.ladder import FORMAT as LADDER
from passpilot.training.ladder.ladder import LadderResult
from passpilot.training.report.document import page
from passpilot.training.report.logs import LoggedRun, PageRun, Strings, add_log
from passpilot.training.report.names import demangled
from passpilot.training.report.results import cost_of, decided_run, object_sizes, sizes_of, tune_of
from passpilot.training.tuning.decision_file import HEAD

Json = Mapping[str, object]

_HEAD: Final = 1 << 16


class Report:
    """What one page shows.

    Attributes:
        limit: the most decisions of a run that the page holds; all are counted.
    """

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self._names: list[str] = []
        self._strings = Strings()
        self._logged: list[LoggedRun] = []
        self._decided: list[PageRun] = []
        self._evaluations: list[Json] = []
        self._tunes: list[Json] = []
        self._sizes: list[Json] = []
        self._costs: list[Json] = []
        self._ladders: list[LadderResult] = []

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
        try:
            with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
                head = file.read(_HEAD) or b""  # a FIFO has none yet
            if head.startswith(HEAD.encode()):
                run, tune = decided_run(name, path, self._strings)
                self._decided.append(run)
                self._tunes.append(tune)
            elif head.startswith(b"{") and b'"features"' in head.partition(b"\n")[0]:
                add_log(self._logged, path, name, self.limit, self._strings)
            else:
                self.add_result(name, _json_of(path))
        except OSError as error:
            raise InputError(f"report {path}: expected {_KINDS}, got: {error.strerror}") from error

    def add_result(self, name: str, raw: Json) -> None:
        """Add a result: of `passpilot tune`, also of --ladder, `passpilot eval` or `passpilot llc --report`.

        Raises:
            InputError: it is none of these.
        """
        if raw.get("format") == FORMAT:
            check_result(f"report {name}", raw)
            self._evaluations.append({"name": name, "raw": raw})
        elif raw.get("format") == LADDER:
            self._ladders.append(typed_record(raw, LadderResult, f"report {name}"))
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
        files = list(map(str, files_below(path, ".log")))
        if not files:
            known = next(iter(sorted(name for name in os.listdir(path) if name.endswith(".json"))), "")
            hint = f"; did you mean {os.path.join(path, known)!r}?" if known else ""
            raise InputError(f"report {path}: expected a folder with logs, got no file *.log in it{hint}")
        runs: dict[tuple[TensorSpec, ...], LoggedRun] = {}
        for file in files:
            reader = read_log(file)
            key = tuple(reader.features)
            if key not in runs:
                runs[key] = LoggedRun(name, reader, self._strings)
            runs[key].add(reader, os.path.relpath(file, path), self.limit, set())
        self._logged += runs.values()

    def _searches(self) -> list[Json]:
        """The searches and decision files; the units of a search come once, though its file is there, too."""
        shown: list[object] = []
        searches: list[Json] = []
        for tune in sorted(self._tunes, key=lambda tune: not tune["curve"]):
            units = [unit for unit in cast("list[Json]", tune["units"]) if unit not in shown]
            shown += units
            searches.append({**tune, "units": units})
        return searches

    def to_html(self, title: str = "") -> bytes:
        return page(title or self._title(), self.to_json())

    def to_json(self) -> dict[str, object]:
        return {
            "about": self._about(),
            "strings": list(self._strings),
            "demangled": demangled({*self._strings, *self._function_names()}),
            "runs": [run.to_json() for run in (*self._logged, *self._decided)],
            "evaluations": self._evaluations,
            "tunes": self._searches(),
            "sizes": self._sizes,
            "costs": self._costs,
            "ladders": [asdict(each) for each in self._ladders],
        }

    def _function_names(self) -> Iterator[str]:
        """The names of functions that are not among the strings."""
        raws = (cast("Json", evaluation["raw"]) for evaluation in self._evaluations)
        programs = (cast("Sequence[Json]", raw["programs"]) for raw in raws)
        functions = (cast("Json", program.get("functions") or {}) for program in chain(*programs))
        for sizes in (*self._sizes, *functions):
            yield from cast("Sequence[str]", sizes.get("names", ()))
        for cost in self._costs:
            yield from (str(row["name"]) for row in cast("Sequence[Json]", cost["functions"]))

    def _title(self) -> str:
        kinds = {
            "Evaluation": self._evaluations,
            "Search": self._tunes,
            "Decisions": [*self._logged, *self._decided],
            "Sizes": self._sizes,
            "Register allocation": self._costs,
            "Ladder": self._ladders,
        }
        kind = next((kind for kind, parts in kinds.items() if parts), "")
        if not (kind and self._names):
            return "Report"
        first, *more = self._names
        rest = "" if not more else f" and {more[0]}" if len(more) == 1 else f" and {len(more)} more"
        return f"{kind}: {first}{rest}"

    def _about(self) -> str:
        more = len(self._names) - _MOST_NAMES
        names = ", ".join(self._names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        return f"From {names}." if names else ""


_MOST_NAMES: Final = 6

_KINDS: Final = (
    "a decision log, a decision file, or the JSON of `passpilot tune`, `passpilot eval` or "
    "`passpilot llc --report`"
)


def _json_of(path: str) -> Json:
    raw = parse_json(read_regular(path), f"report {path}", _KINDS)
    if not isinstance(raw, dict):
        raise InputError(f"report {path}: expected {_KINDS}, got JSON of another kind")
    return raw
