# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ladder`: what to switch on in the builds of programs, and the decisions on top of it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import make_folder, write_file
from passpilot.training.corpus.layout import Corpus, CorpusProgram, ProgramRun
from passpilot.training.ladder.ladder import Ladder, LadderResult, LadderRow
from passpilot.training.ladder.levers import LEVERS, Allowed, LeverSet
from passpilot.training.ladder.picture import waterfall_picture
from passpilot.training.ladder.program_build import ProgramBuild
from passpilot.training.ladder.tables import ladder_markdown
from passpilot.training.tuning.build import recorded_corpus
from passpilot.training.tuning.reward import run_command
from passpilot.training.tuning.tune import tune

REWARDS: Final[Mapping[str, str]] = {
    "allocated": "allocated",
    "text": "text",
    "file": "stripped",
    "compressed": "xz",
}
"""What can be made small, and the size that counts for it."""

BUILDS: Final = 2 * len(LEVERS) + 3
"""The most builds of a ladder."""

SUFFIX: Final = ".ladder"
"""Of the files of a ladder, in front of ``.json``, ``.md`` and ``.svg``."""


@dataclass(frozen=True, slots=True)
class LadderStep:
    """Where a ladder is: what is built now, or the row that has become known."""

    program: str
    """The program's name."""
    lever: str
    """The name of the lever."""
    builds: int
    """The builds so far."""
    row: LadderRow | None = None
    """What is known of the lever; None while it is built."""


def ladder(
    corpus: str | os.PathLike[str] = "",
    *,
    build: Sequence[str] = (),
    program: Sequence[str] = (),
    root: str = "",
    allow: Sequence[str] = (),
    reward: str = "allocated",
    run: Sequence[str] = (),
    brief: bool = False,
    search: Mapping[str, object] | None = None,
    output: str = "",
    jobs: int = 0,
    step: Callable[[LadderStep], object] = lambda _: None,
    done: Callable[[LadderResult], object] = lambda _: None,
) -> list[LadderResult]:
    """Measure what the levers of a build are worth to programs, and take what is allowed.

    Args:
        corpus: the folder of a corpus, or what `passpilot tune -o` has written.
        build: the command of a build, which is recorded.
        program: the names of the programs, if not all.
        root: links may read files below this folder, not only of the corpus.
        allow: groups or names of levers that lose something, ``all`` for all but hardening.
        reward: ``allocated``, ``text``, ``file`` or ``compressed``.
        run: commands whose instructions are counted, such as ``{} FILE``; the recorded runs by default.
        brief: measure no lever alone, and count no instructions, which takes half of the time.
        search: arguments of `tune` that search decisions on top; None takes those in the corpus's folder.
        output: a folder for tables, pictures and decision files.
        jobs: compilations at once; as many as processors by default.
        step: called before each build, and with each row.
        done: called with the ladder of a program as soon as it is there.

    Raises:
        Error: an argument is wrong, or something cannot be built, compiled or linked.
    """
    if bool(corpus) == bool(build):
        raise UsageError("ladder: expected a corpus or the command of a build")
    if reward not in REWARDS:
        raise UsageError(f"ladder: expected a reward of {', '.join(REWARDS)}, got {reward!r}")
    allowed = Allowed.parse(allow)
    runs = [ProgramRun(run_command("--run", command)[1:], os.getcwd()) for command in run]
    folder = recorded_corpus(build, output) if build else os.fspath(corpus)
    whole = Corpus.read(_corpus_in(folder), "/" if build else root)
    found = []
    with tempfile.TemporaryDirectory(prefix="passpilot-ladder-") as scratch:
        for each in _chosen(whole, program):
            made = os.path.join(scratch, "objects")
            os.mkdir(made)
            each = replace(each, runs=tuple(runs) or each.runs)
            work = ProgramBuild(whole, each, made, jobs or len(os.sched_getaffinity(0)))
            climb = _Climb(work, output or folder, search, output, brief)
            result = climb.run(allowed, REWARDS[reward], step)
            if output:
                write_ladder(result, output)
            found.append(result)
            done(result)
            shutil.rmtree(made)
    return found


def write_ladder(result: LadderResult, folder: str) -> None:
    """Write the table, the picture and the page of a ladder into a folder."""
    stem = os.path.join(folder, f"{result.program}{SUFFIX}")
    result.write(f"{stem}.json")
    write_file(f"{stem}.svg", waterfall_picture(result))
    write_file(f"{stem}.md", ladder_markdown(result, f"{result.program}{SUFFIX}.svg"))


def _corpus_in(folder: str) -> str:
    """The corpus itself, or the one in the folder that `passpilot tune -o` has written."""
    inner = os.path.join(folder, "corpus")
    return inner if os.path.isdir(inner) else folder


def _chosen(corpus: Corpus, names: Sequence[str]) -> Iterator[CorpusProgram]:
    known = {program.name: program for program in corpus.programs}
    if not known:
        raise InputError(f"ladder: expected a linked program in {corpus.folder}, got none")
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"ladder: --program: expected one of {', '.join(sorted(known))}, got {name}{hint}"
            )
    yield from (known[name] for name in names or known)


@dataclass
class _Climb:
    """The ladder of one program.

    Attributes:
        folder: where a decision file may be.
        search: arguments of `tune`; None for no search.
        output: where files are written; empty for nowhere.
        brief: whether levers are not measured alone, and no instructions are counted.
    """

    build: ProgramBuild
    folder: str
    search: Mapping[str, object] | None
    output: str
    brief: bool

    def run(self, allowed: Allowed, reward: str, step: Callable[[LadderStep], object]) -> LadderResult:
        name = self.build.program.name
        if self.output:
            make_folder(self.output)
        decide: Callable[[LeverSet], str] | None = None
        if self.search is not None:
            decide = self._searched
        elif os.path.isfile(self._decisions):
            decide = self._known
        climb = Ladder(
            self.build,
            allowed,
            reward,
            decide,
            os.path.join(self.output, f"{name}{SUFFIX}.search") if self.output else "",
            lambda builds, lever: step(LadderStep(name, lever, builds)),
            lambda row: step(LadderStep(name, row.lever, -1, row)),
            self.brief,
        )
        return climb.run(compiler=self.build.corpus.facts.compiler)

    @property
    def _decisions(self) -> str:
        return os.path.abspath(os.path.join(self.folder, f"{self.build.program.name}.decisions"))

    def _known(self, _: LeverSet) -> str:
        """The decision file that is there."""
        return self._decisions

    def _searched(self, levers: LeverSet) -> str:
        """A decision file that `tune` has found for the build with these levers."""
        return searched_decisions(self.build, levers, self.output or self.build.scratch, self.search or {})


def searched_decisions(
    build: ProgramBuild, levers: LeverSet, place: str, search: Mapping[str, object]
) -> str:
    """Search decisions for a build with levers, by `tune` with more arguments.

    Returns the path of the decision file, in the folder `place`.
    """
    name = build.program.name
    with tempfile.TemporaryDirectory(prefix="passpilot-levers-") as scratch:
        folder = os.path.join(scratch, "corpus")
        build.corpus_with(levers, folder)
        tune(
            corpus=folder,
            root="/",
            program=[name],
            lto=levers.lto == "full",
            options=levers.options,
            output=place,
            **search,  # type: ignore[arg-type]
        )
    return os.path.abspath(os.path.join(place, f"{name}.decisions"))
