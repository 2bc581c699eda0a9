# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gather_decisions`: gathers the decisions of modules or logs in shards, by parts and programs.

FOLDER/train/lua.parquet  FOLDER/validation/expat.parquet  FOLDER/data.json
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Final, TypeVar

import numpy as np

from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import Error, InputError, UsageError
from passpilot.plugin.files import make_folder, write_file
from passpilot.plugin.json_and_toml import read_json
from passpilot.plugin.load import load_file
from passpilot.runners.plurals import counted
from passpilot.runners.spec import check_runner_spec
from passpilot.training.corpus.layout import Corpus
from passpilot.training.corpus.partition import PARTS, SplitFile, programs_of
from passpilot.training.data.flips import FlipSettings, gather_flips
from passpilot.training.data.gather import Taught, TaughtModule, Teaching, gather, logged_decisions
from passpilot.training.data.shards import SUFFIX, DecisionRows, ShardWriter
from passpilot.training.machines.local import machines

DESCRIPTION: Final = "data.json"
UNFINISHED: Final = "unfinished.json"
"""What a call that was ended has finished; the same call goes on behind it."""
FORMAT: Final = 1
_BESIDE: Final = {"output", "timeout", "engine", "address", "jobs", "callbacks", "command"}
"""Arguments that do not change what is collected."""
T = TypeVar("T")
_ODD: Final = re.compile(r"[^\w.+-]")


@dataclass(slots=True)
class CollectedProgram:
    """What there is of a program."""

    part: str
    modules: int = 0
    decisions: int = 0
    changed: int = 0
    """Decisions that are not the compiler's own."""
    teachers: dict[str, int] = field(default_factory=dict)
    """How many modules a teacher has made smallest."""

    def add(self, rows: DecisionRows, teacher: str) -> None:
        """Count the decisions of a module."""
        self.modules += 1
        self.decisions += len(rows)
        default = search_point(rows.schema.point).default.name
        if default in {spec.name for spec in rows.schema.features}:
            own, advice = rows.tensors[default], rows.tensors[rows.schema.advice.name]
            self.changed += int(np.sum(own.reshape(-1) != advice.reshape(-1)))
        if teacher:
            self.teachers[teacher] = self.teachers.get(teacher, 0) + 1


@dataclass(slots=True, repr=False)
class Collected:
    """What was collected; as text, the sums of the parts."""

    programs: dict[str, CollectedProgram] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    arguments: dict[str, object] = field(default_factory=dict)
    """Those of the call, if the same call may go on with what was collected."""

    @classmethod
    def begun(cls, folder: str, arguments: dict[str, object]) -> Collected:
        """What the same call has collected before it was ended; nothing if there was none.

        Raises:
            InputError: another call has begun the folder.
        """
        arguments = json.loads(json.dumps(arguments))
        path = os.path.join(folder, UNFINISHED)
        if not os.path.exists(path):
            return cls(arguments=arguments)
        with contextlib.suppress(InputError, ValueError, TypeError, KeyError, AttributeError):
            found: Any = read_json(path)
            if found["arguments"] == arguments:
                programs = {name: CollectedProgram(**value) for name, value in found["programs"].items()}
                return cls(programs, list(found["left_out"]), arguments)
        raise InputError(
            f"{folder}: expected a new folder, got one that another call of train data has begun; "
            "repeat that call to go on, or give --force to replace it"
        )

    def left(self, wanted: Iterable[T], program: Callable[[T], str], step: Steps) -> list[T]:
        """What is wanted of programs that are not finished; `step` counts that."""
        found = [one for one in wanted if program(one) not in self.programs]
        step.total = len(found)
        return found

    def keep(self, folder: str) -> None:
        """Write what is finished, for a call that goes on.

        Raises:
            InputError: the file cannot be written.
        """
        value = {"arguments": self.arguments, **self.described()}
        write_file(os.path.join(folder, UNFINISHED), json.dumps(value) + "\n")

    def described(self) -> dict[str, object]:
        """What the files of the folder say about it."""
        programs = {name: asdict(program) for name, program in self.programs.items()}
        return {"programs": programs, "left_out": list(dict.fromkeys(self.problems))}

    def sums(self) -> dict[str, CollectedProgram]:
        sums: dict[str, CollectedProgram] = {}
        for program in self.programs.values():
            total = sums.setdefault(program.part, CollectedProgram(program.part))
            total.modules += program.modules
            total.decisions += program.decisions
            total.changed += program.changed
        return sums

    def __repr__(self) -> str:
        decisions = sum(program.decisions for program in self.programs.values())
        return f"Collected({counted(len(self.programs), 'program')}, {counted(decisions, 'decision')})"

    def __str__(self) -> str:
        return "\n".join(
            f"{part:10} "
            f"{counted(sum(program.part == part for program in self.programs.values()), 'program')}, "
            f"{counted(total.modules, 'module')}, {counted(total.decisions, 'decision')}, "
            f"{total.changed:,} not the compiler's own"
            for part, total in self.sums().items()
        )


def gather_decisions(
    inputs: Sequence[str] = (),
    output: str = "data",
    *,
    corpus: str = "",
    program: Sequence[str] = (),
    split: str = "",
    part: str = "train",
    point: str = "inline",
    teacher: Sequence[str] = (),
    flips: int = 0,
    lto: bool = False,
    budget: float = 1e6,
    root: str = "",
    reward: str = "native-size",
    passes: str = "",
    at: Mapping[str, str] | None = None,
    load: Sequence[str] = (),
    timeout: float = 600.0,
    engine: str = "local",
    address: str = "",
    jobs: int = 0,
    callbacks: Sequence[Callable[[int, int], object]] = (),
    command: str = "",
) -> Collected:
    """Compile modules with teachers and keep all decisions in shards, as `passpilot train data` does.

    The arguments are the options of the command. `inputs` are modules, or logs; `output` is a new folder, or
    one that the same call has begun; `at` has pipelines by extension points.

    Args:
        callbacks: functions that are called with how many modules or programs are done, and of how many.
        command: what the description says was called.

    Raises:
        UsageError: the arguments do not go together.
        Error: a file cannot be read or written, or nothing is decided.
    """
    given = {name: value for name, value in locals().items() if name not in _BESIDE}
    list(map(load_file, load))
    teachers, step = _known(teacher or ("default",)), Steps(callbacks)
    logs = _logs(inputs, output, corpus, program, part, teachers, flips, lto)
    parts, rest = (_parts(split, corpus, inputs), "") if split else (None, part)
    earlier = Collected.begun(output, given)
    if logs:
        collected = collect_logs(logs, point, output, part)
    elif flips:
        source = Corpus.read(corpus, root)
        left = earlier.left(wanted_programs(source, program), str, step)
        with machines(engine, address, jobs, load) as where:
            how = FlipSettings(flips, budget, lto=lto, teacher=teachers[0], deadline=timeout, machines=where)
            collected = collect_flips(source, left, how, output, parts, rest, step, earlier)
    else:
        every = chosen_modules(inputs, corpus, program, passes)
        modules = earlier.left(every, lambda module: module.program, step)
        with machines(engine, address, jobs, load) as where:
            teaching = Teaching(point, teachers, at or {}, reward, deadline=timeout, machines=where)
            collected = collect(modules, teaching, output, parts, rest, step, earlier)
    write_description(output, collected, command, () if logs else teachers)
    return collected


def _known(teachers: Sequence[str]) -> tuple[str, ...]:
    """The teachers, whose schemes somebody knows."""
    for text in teachers:
        check_runner_spec(text)
    return tuple(teachers)


def _parts(split: str, corpus: str, inputs: Sequence[str]) -> SplitFile:
    if missing := next((path for path in inputs if not os.path.exists(path)), ""):
        raise InputError(f"train data: expected modules, got {missing}: No such file or directory")
    return SplitFile.of(split, programs_of(Corpus.read(corpus)) if corpus else {*map(program_of, inputs)})


def _logs(
    inputs: Sequence[str],
    output: str,
    corpus: str,
    program: Sequence[str],
    part: str,
    teachers: Sequence[str],
    flips: int,
    lto: bool,
) -> list[str]:
    """Check arguments of `gather_decisions`; the inputs that are logs."""
    logs = [path for path in inputs if path.endswith(".log")]
    who = "train data"
    if part not in PARTS:
        raise InputError(f"part: expected one of {', '.join(PARTS)}, got {part!r}")
    if bool(inputs) == bool(corpus):
        raise UsageError(f"{who}: give modules, logs or --corpus=DIR, one of them")
    if logs and len(logs) < len(inputs):
        raise UsageError(f"{who}: give logs or modules, not both")
    there = os.listdir(output) if os.path.exists(output) else []
    if there and UNFINISHED not in there:
        raise InputError(f"{output}: expected a new folder, got one with files")
    if flips and (len(teachers) > 1 or not corpus):
        raise UsageError(f"{who}: --flips works with --corpus and at most one --teacher")
    if program and not corpus:
        raise UsageError(f"{who}: --program works only with --corpus")
    if lto and not flips:
        raise UsageError(f"{who}: --lto works only with --flips")
    return logs


class Steps:
    """Counts its calls, and calls functions with the number so far and the total."""

    def __init__(self, callbacks: Sequence[Callable[[int, int], object]]) -> None:
        self._callbacks = callbacks
        self.done = self.total = 0

    def __call__(self) -> None:
        self.done += 1
        for callback in self._callbacks:
            callback(self.done, self.total)


def wanted_programs(corpus: Corpus, programs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The named programs of a corpus, all if none is named, with their modules.

    Raises:
        InputError: the corpus lacks a program.
    """
    known = programs_of(corpus)
    if unknown := [name for name in programs if name not in known]:
        raise InputError(f"{corpus.folder}: expected a program among {', '.join(known)}, got {unknown[0]}")
    return {name: known[name] for name in programs or known}


def chosen_modules(
    inputs: Sequence[str], corpus: str, program: Sequence[str], passes: str
) -> list[TaughtModule]:
    """The modules that a command names: in files, or in the folder of a corpus.

    Raises:
        InputError: the folder is no corpus, or the corpus lacks a program.
    """
    if corpus:
        return corpus_modules(Corpus.read(corpus), program, passes)
    return loose_modules(inputs, passes)


def corpus_modules(corpus: Corpus, programs: Sequence[str], pipeline: str) -> list[TaughtModule]:
    """The modules of programs of a corpus, every module once; all programs if none is named.

    Raises:
        InputError: the corpus lacks a program.
    """
    modules: dict[str, TaughtModule] = {}
    for program, names in wanted_programs(corpus, programs).items():
        for name in names:
            unit = corpus.units[name]
            passes = pipeline or f"default<{unit.level if unit.arguments else 'Oz'}>"
            modules.setdefault(name, TaughtModule(program, name, str(unit.bitcode), passes))
    return list(modules.values())


def loose_modules(paths: Sequence[str], pipeline: str) -> list[TaughtModule]:
    """Modules in files, every file once; the program of a module is the folder of its file."""
    once: dict[str, str] = {}
    for path in paths:
        once.setdefault(os.path.realpath(path), path)
    modules = [
        TaughtModule(program_of(path), path, path, pipeline or "default<Oz>") for path in once.values()
    ]
    return sorted(modules, key=lambda module: module.program)


def program_of(path: str) -> str:
    """The name of the folder of a file."""
    return os.path.basename(os.path.dirname(os.path.abspath(path))) or "program"


def collect(
    modules: Sequence[TaughtModule],
    teaching: Teaching,
    folder: str,
    split: SplitFile | None,
    part: str,
    step: Callable[[], object] = lambda: None,
    earlier: Collected | None = None,
) -> Collected:
    """Compile modules with teachers, and write their decisions into shards.

    Args:
        modules: those of a program stand together.
        teaching: how they are compiled.
        folder: where the shards come.
        split: says which programs come into which part.
        part: that of programs which `split` does not name; if empty, they are left out.
        step: called after every module.
        earlier: what the modules are added to; it is kept after every program.

    Raises:
        InputError: a shard cannot be written, or no module gives a decision.
    """
    parts = split.by_program() if split else {}
    wanted = [module for module in modules if parts.get(module.program, part)]
    programs = (
        (program, gather(list(same), teaching, step))
        for program, same in groupby(wanted, key=lambda module: module.program)
    )
    return _some(_written(programs, folder, parts, part, earlier))


def collect_flips(
    corpus: Corpus,
    programs: Sequence[str],
    flips: FlipSettings,
    folder: str,
    split: SplitFile | None,
    part: str,
    step: Callable[[], object] = lambda: None,
    earlier: Collected | None = None,
) -> Collected:
    """Flip LLVM's inlining decisions in programs of a corpus, and write what that tells into shards.

    Raises:
        InputError: a program is unknown, a shard cannot be written, or nothing could be flipped.
    """
    parts = split.by_program() if split else {}
    known = wanted_programs(corpus, programs) if programs or not earlier else {}
    wanted = [name for name in known if parts.get(name, part)]
    taught = ((name, gather_flips(corpus, [name], flips, step)) for name in wanted)
    return _some(_written(taught, folder, parts, part, earlier))


def collect_logs(paths: Sequence[str], point: str, folder: str, part: str) -> Collected:
    """Write the decisions of logs into shards; the program of a log is the folder of its file.

    Raises:
        Error: a log cannot be read, or a shard not be written.
    """

    def logged(program: str, logs: Iterable[str]) -> Iterator[Taught]:
        for path in logs:
            rows = logged_decisions(path, point, program, path)
            yield Taught(TaughtModule(program, path, path, ""), rows, "", {})

    programs = groupby(sorted(paths, key=program_of), key=program_of)
    return _written(((program, logged(program, logs)) for program, logs in programs), folder, {}, part)


def _written(
    programs: Iterable[tuple[str, Iterable[Taught | Error]]],
    folder: str,
    parts: Mapping[str, str],
    part: str,
    earlier: Collected | None = None,
) -> Collected:
    """Write what the modules of programs teach into shards, one program after the other."""
    collected = earlier or Collected()
    for program, modules in programs:
        place = os.path.join(folder, parts.get(program, part))
        writer: ShardWriter | None = None
        for module in modules:
            if isinstance(module, Error):
                collected.problems.append(str(module))
                continue
            if module.problem:
                collected.problems.append(module.problem)
            counts = collected.programs.setdefault(program, CollectedProgram(parts.get(program, part)))
            if writer is None:
                path = os.path.join(place, f"{_ODD.sub('_', program)}{SUFFIX}")
                writer = ShardWriter(path, module.rows.schema)
            writer.add(module.rows)
            counts.add(module.rows, module.teacher)
        if writer is not None and writer.decisions:
            make_folder(place)
            writer.close()
            if collected.arguments:
                collected.keep(folder)
    return collected


def _some(collected: Collected) -> Collected:
    """What was collected, unless that is nothing."""
    if not any(program.decisions for program in collected.programs.values()):
        nothing = "the modules ask nothing; --passes or --at names the pass of a point that is a pass's"
        why = collected.problems[0] if collected.problems else nothing
        raise InputError(f"train data: expected decisions of modules, got none: {why}")
    return collected


def write_description(folder: str, collected: Collected, command: str, teachers: Sequence[str]) -> None:
    """Write what the folder has, for the cards of models.

    Raises:
        InputError: the file cannot be written.
    """
    value = {"format": FORMAT, "command": command, "teachers": list(teachers), **collected.described()}
    write_file(os.path.join(folder, DESCRIPTION), json.dumps(value, indent=1) + "\n")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, UNFINISHED))
