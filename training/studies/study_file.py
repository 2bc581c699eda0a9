# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`StudyFile`: trials in a file that grows by whole lines, in the format of Optuna's journal storage.

A line is an operation in JSON, with the numbers that Optuna gives to operations. A trial is one line. Optuna
and optuna-dashboard read the file; this module needs neither. What others have written there stays, and is
left out by `read`. A trial has a hash of what it says, which makes it one trial when files are merged.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.json_and_toml import check_typed_dict, parse_json

CREATE_STUDY, DELETE_STUDY, STUDY_FACT, STUDY_RUN, CREATE_TRIAL = 0, 1, 2, 3, 4
"""Operations; of the attributes of a study, those of its system have the runs."""

MINIMIZE, MAXIMIZE = 1, 2
COMPLETE, FAILED = 1, 3

KEY: Final = "passpilot"
"""The attribute of a trial with its hash."""

WORKER: Final = "passpilot"

SPACE: Final = "space"
"""The fact of a study with what parameters can be: values of texts; ``low``, ``high``, ``log`` of numbers.

Optuna compares trials whose parameters have the same space.
"""

_START: Final = b'{"op_code":'
_MOST_BYTES: Final = 1 << 30
_PATIENCE: Final = 30.0
"""Seconds that another process may write."""

Parameter = str | int | float


@dataclass(frozen=True, slots=True)
class KeptTrial:
    """A trial in a study file.

    Attributes:
        value: its worth; None if it failed.
        parameters: what was tried.
        facts: more about it that JSON can hold.
        when: the time of its end, as ISO 8601 in UTC.
    """

    value: float | None
    parameters: Mapping[str, Parameter]
    facts: Mapping[str, object] = field(default_factory=dict)
    when: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))

    def key(self, study: str) -> str:
        """A hash of what the trial says, without its time."""
        value = None if self.value is None else float(self.value)
        text = json.dumps([study, value, dict(self.parameters), dict(self.facts)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(slots=True)
class KeptStudy:
    """The trials of one program or training.

    Attributes:
        name: tells the program, what is measured, and what it depends on.
        direction: `MINIMIZE` or `MAXIMIZE`.
        facts: what it is about.
        runs: what the searches began with, by their identities.
        trials: by their keys, in their order.
    """

    name: str
    direction: int
    facts: dict[str, object] = field(default_factory=dict)
    runs: dict[str, object] = field(default_factory=dict)
    trials: dict[str, KeptTrial] = field(default_factory=dict)

    @property
    def best(self) -> KeptTrial | None:
        """The best trial; of equal ones the first."""
        values = [trial for trial in self.trials.values() if trial.value is not None]
        sign = 1 if self.direction == MINIMIZE else -1
        return min(values, key=lambda trial: sign * (trial.value or 0), default=None)


class StudyFile:
    """A study file, which may not exist yet; other processes may write to it, too."""

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self._forget()

    def _forget(self) -> None:
        self._studies: list[KeptStudy | None] = []
        self._place, self._lines, self._inode = 0, 0, 0

    def read(self) -> list[KeptStudy]:
        """The studies of passpilot now; none if there is no file.

        Raises:
            InputError: the file cannot be read, or a line is not one of a study.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._expected(f"got: {error.strerror}") from error
        try:
            self._catch_up(fd)
        finally:
            os.close(fd)
        return self._ours()

    def _ours(self) -> list[KeptStudy]:
        return [study for study in self._studies if study and study.facts]

    def study(self, name: str, direction: int, facts: Mapping[str, object]) -> KeptStudy:
        """The study of a name, which is made if it is not there."""
        with self._writing() as write:
            if not any(study and study.name == name for study in self._studies):
                write({"op_code": CREATE_STUDY, "study_name": name, "directions": [direction]})
            number, study = self._numbered(name)
            for key in [key for key in facts if key not in study.facts]:
                write({"op_code": STUDY_FACT, "study_id": number, "user_attr": {key: facts[key]}})
            return study

    def add(self, name: str, trial: KeptTrial) -> None:
        """Add a trial to the study of a name, unless it is there."""
        with self._writing() as write:
            number, study = self._numbered(name)
            if trial.key(name) not in study.trials:
                write(_trial_line(number, study, trial))

    def begin(self, name: str, run: str, first: Callable[[], str]) -> str:
        """What the run of this identity began with; if it is new or has ended, it is what `first` gives."""
        known = self.study(name, MINIMIZE, {}).runs.get(run)
        if known is None:
            self._note(name, run, known := first())
        if not isinstance(known, str):
            raise self._expected(f"got one whose {run} began with {known!r:.40}")
        return known

    def end(self, name: str, run: str) -> None:
        """The run has ended: one of the same identity begins anew."""
        self._note(name, run, None)

    def _note(self, name: str, run: str, first: str | None) -> None:
        with self._writing() as write:
            number, _ = self._numbered(name)
            write({"op_code": STUDY_RUN, "study_id": number, "system_attr": {run: first}})

    def _numbered(self, name: str) -> tuple[int, KeptStudy]:
        for number, study in enumerate(self._studies):
            if study is not None and study.name == name:
                return number, study
        raise self._expected(f"got one without {name}, which was removed")

    # --- Writing -------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Callable[..., None]]:
        """Let the block append operations, while no other process does."""
        try:
            fd = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, 0o666
            )
        except OSError as error:
            raise InputError(f"{self.path}: expected a file to write, got: {error.strerror}") from error
        try:
            self._lock(fd)
            self._catch_up(fd)
            os.ftruncate(fd, self._place)  # a line that a killed process has not written to its end

            def write(*operations: Mapping[str, object]) -> None:
                lines = [_line({**each, "worker_id": WORKER}) for each in operations]
                data = b"".join(lines)
                try:
                    while data:
                        data = data[os.write(fd, data) :]
                except OSError as error:
                    raise InputError(
                        f"{self.path}: expected a file to write, got: {error.strerror}"
                    ) from error
                for line in lines:
                    self._apply(line)

            yield write
        finally:
            os.close(fd)

    def _lock(self, fd: int) -> None:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if time.monotonic() > end:
                    got = f"got one that another process has locked for {_PATIENCE:.0f} s"
                    raise self._expected(got) from error
                time.sleep(0.02)

    # --- Reading -------------------------------------------------------------------------------------------

    def _catch_up(self, fd: int) -> None:
        """Apply the lines that are new; a last one without an end is no line yet."""
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise self._expected("got something else than a regular file")
        if status.st_size > _MOST_BYTES:
            raise self._expected(f"got {status.st_size:,} bytes")
        if status.st_ino != self._inode or status.st_size < self._place:
            self._forget()
            self._inode = status.st_ino
        data = os.pread(fd, status.st_size - self._place, self._place)
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._apply(line + b"\n")
        if not rest.startswith(_START[: len(rest)]):
            raise self._expected("got other text", self._lines + 1)

    def _apply(self, line: bytes) -> None:
        self._lines += 1
        where = f"{self.path}:{self._lines}"
        operation: Any = parse_json(line, where, "a line of a study")
        try:
            _apply(self._studies, operation)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, InputError) as error:
            got = "got a trial that was changed" if isinstance(error, _ChangedError) else "got another one"
            raise self._expected(f"{got}; remove the line, or take another file", self._lines) from error
        self._place += len(line)

    def _expected(self, got: str, line: int = 0) -> InputError:
        where = f"{self.path}:{line}" if line else self.path
        return InputError(f"{where}: expected {'a line of ' if line else ''}a study, {got}")


class _ChangedError(ValueError):
    """A trial is not what its hash says."""


def _apply(studies: list[KeptStudy | None], operation: Any) -> None:
    """Apply an operation to the studies by their numbers."""
    code = operation["op_code"]
    if type(code) is not int:
        raise TypeError
    if code == CREATE_STUDY:
        name, (direction, *_) = str(operation["study_name"]), operation["directions"]
        if not any(study and study.name == name for study in studies):
            studies.append(KeptStudy(name, int(direction)))
        return
    if code not in (DELETE_STUDY, STUDY_FACT, STUDY_RUN, CREATE_TRIAL):
        return  # about single trials of others
    number = operation["study_id"]
    if type(number) is not int or number < 0:
        raise TypeError
    study = studies[number]
    if code == DELETE_STUDY:
        studies[number] = None
    elif study is not None and code == STUDY_FACT:
        study.facts.update(operation["user_attr"])
    elif study is not None and code == STUDY_RUN:
        study.runs.update(operation["system_attr"])
    elif study is not None:
        _apply_trial(study, operation)


def _apply_trial(study: KeptStudy, operation: Mapping[str, Any]) -> None:
    facts = dict(operation.get("user_attrs", {}))
    if (key := facts.pop(KEY, None)) is None:
        return  # somebody else's
    parameters = {
        name: _external(parse_json(operation["distributions"][name], name), value)
        for name, value in operation["params"].items()
    }
    value = operation["value"]
    check_typed_dict(value, float | None, "value")
    trial = KeptTrial(
        value if value is None else float(value), parameters, facts, str(operation["datetime_complete"])
    )
    if trial.key(study.name) != key:
        raise _ChangedError
    study.trials.setdefault(key, trial)


def _external(distribution: Any, value: float) -> Parameter:
    """A parameter of Optuna's distribution by its number there."""
    if distribution["name"] == "CategoricalDistribution":
        chosen = distribution["attributes"]["choices"][int(value)]
        return chosen if isinstance(chosen, str) else str(chosen)
    return int(value) if distribution["name"] == "IntDistribution" else float(value)


def _line(operation: Mapping[str, object]) -> bytes:
    return json.dumps(operation, separators=(",", ":")).encode() + b"\n"


def _trial_line(number: int, study: KeptStudy, trial: KeptTrial) -> dict[str, object]:
    """The operation that makes a trial, which has ended."""
    space: Any = study.facts.get(SPACE, {})
    distributions, parameters = dict[str, str](), dict[str, float]()
    for name, value in trial.parameters.items():
        distribution, parameters[name] = _distribution(value, space.get(name))
        distributions[name] = json.dumps(distribution)
    return {
        "op_code": CREATE_TRIAL,
        "study_id": number,
        "datetime_start": trial.when,
        "datetime_complete": trial.when,
        "state": FAILED if trial.value is None else COMPLETE,
        "value": trial.value,
        "values": None,
        "distributions": distributions,
        "params": parameters,
        "user_attrs": {**trial.facts, KEY: trial.key(study.name)},
        "system_attrs": {},
        "intermediate_values": {},
    }


def _distribution(value: Parameter, space: Any) -> tuple[dict[str, object], float]:
    """Optuna's distribution of a parameter, and the parameter's number there."""
    if isinstance(value, str):
        known = list(space or ()) if value in (space or ()) else [*(space or ()), value]
        return {"name": "CategoricalDistribution", "attributes": {"choices": known}}, known.index(value)
    kind, step = ("Int", 1) if isinstance(value, int) else ("Float", None)
    limits = {"step": step, "low": 0, "high": 1 << 31, "log": False, **(space or {})}
    return {"name": f"{kind}Distribution", "attributes": limits}, value


def merge_studies(paths: Iterable[str], output: str) -> list[KeptStudy]:
    """Write the union of study files; their order does not matter.

    Raises:
        InputError: a file is missing or is no study file, or the output cannot be written.
    """
    union: dict[str, KeptStudy] = {}
    for path in paths:
        for study in existing(path):
            merged = union.setdefault(study.name, KeptStudy(study.name, study.direction))
            merged.facts = _joined(merged.facts, study.facts)
            merged.runs = _joined(merged.runs, study.runs)
            for key, trial in study.trials.items():
                merged.trials[key] = min(trial, merged.trials.get(key, trial), key=lambda each: each.when)
    studies = [union[name] for name in sorted(union)]
    lines: list[bytes] = []
    for number, study in enumerate(studies):
        lines += map(_line, _operations(number, study))
    write_file(output, b"".join(lines))
    return studies


def _joined(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """Both mappings, in any order of the two."""
    values = ((key, [each[key] for each in (one, other) if key in each]) for key in {**one, **other})
    return {key: max(found, key=lambda value: json.dumps(value, sort_keys=True)) for key, found in values}


def _operations(number: int, study: KeptStudy) -> Iterator[dict[str, object]]:
    """What makes a study."""
    by = {"worker_id": WORKER}
    yield {"op_code": CREATE_STUDY, "study_name": study.name, "directions": [study.direction], **by}
    for key, value in sorted(study.facts.items()):
        yield {"op_code": STUDY_FACT, "study_id": number, "user_attr": {key: value}, **by}
    for key, value in sorted(study.runs.items()):
        yield {"op_code": STUDY_RUN, "study_id": number, "system_attr": {key: value}, **by}
    for trial in sorted(study.trials.values(), key=lambda each: (each.when, each.key(study.name))):
        yield {**_trial_line(number, study, trial), **by}


def study_name(about: str, reward: str, digest: str) -> str:
    return f"{about} {reward} {digest[:12]}"


def compiler_version() -> str:
    from passpilot.plugin import _core  # who merges studies needs no LLVM

    return _core.version_text().partition("\n")[0].strip()


def existing(path: str) -> list[KeptStudy]:
    """The studies in a file that must be there.

    Raises:
        InputError: it is not, or it is no study file.
    """
    if not os.path.exists(path):
        raise InputError(f"{path}: expected the file of a study, which --study=FILE writes, got no such file")
    return StudyFile(path).read()


def is_study(path: str) -> bool:
    """Whether a file begins as a study file does."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            return file.read(len(_START)) == _START
    except (OSError, ValueError):
        return False


def best_fact(path: str, about: Mapping[str, object], own: str, fact: str) -> str:
    """A fact of the best trial that has it, in a study with the facts `about`; empty if there is none.

    The study of the name `own` comes first; else it is the one with the last trial, of another compiler,
    source or machine.

    Raises:
        InputError: it is no study file.
    """
    found = [
        KeptStudy(
            study.name,
            study.direction,
            trials={key: each for key, each in study.trials.items() if fact in each.facts},
        )
        for study in existing(path)
        if about.items() <= study.facts.items()
    ]
    found = [study for study in found if study.best]
    if not found:
        return ""
    study = max(found, key=lambda each: (each.name == own, max(one.when for one in each.trials.values())))
    assert study.best is not None
    return str(study.best.facts[fact])
