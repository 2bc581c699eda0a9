# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ProgramBuild`: builds a program of a corpus with sets of levers, as clang, lld and the plugin would."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.plugin.files import read_regular, write_file
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.arguments import for_object
from passpilot.training.corpus.front_end import FrontEnd
from passpilot.training.corpus.layout import Corpus, CorpusProgram, CorpusUnit
from passpilot.training.corpus.link_files import link_folder
from passpilot.training.ladder.levers import Lever, LeverSet
from passpilot.training.timing.commands import CommandPool, Commands
from passpilot.training.timing.instructions import COUNTER, executed_instructions
from passpilot.training.tuning.tuned_program import link_driver, link_words

DEADLINE: Final = 1800.0
"""The seconds that a compilation or a link may take."""

RUN_DEADLINE: Final = 60.0
"""The seconds that a run of the program may take."""

_OURS: Final = "PASSPILOT_"


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A program that was linked."""

    path: str
    seconds: float
    """The processor time of compiling and linking."""


@dataclass
class ProgramBuild:
    """Builds one program; an object is made once.

    Attributes:
        scratch: a folder for objects and programs.
        jobs: compilations at once.
    """

    corpus: Corpus
    program: CorpusProgram
    scratch: str
    jobs: int
    commands: Commands = field(default_factory=Commands)
    _made: dict[str, float] = field(init=False, default_factory=dict)
    _units: dict[tuple[str, ...], dict[str, CorpusUnit]] = field(init=False, default_factory=dict)
    _printed: dict[int, str] = field(init=False, default_factory=dict)
    _lock: Lock = field(init=False, default_factory=Lock)

    @cached_property
    def identity(self) -> str:
        """A hash of the units and the link."""
        facts = self.corpus.facts.origins
        units = [facts[name].sha256 if name in facts else name for name in self.program.modules]
        return _hash(self.corpus.facts.compiler, *units, repr(self.program))

    def refusal(self, lever: Lever) -> str:
        """Why a lever is nothing for this program; empty if it is."""
        arguments = self.program.arguments
        shared = "-shared" in arguments
        if lever.only and shared:
            return "for executables"
        if lever.only == "pie" and ("-no-pie" in arguments or "-static" in arguments):
            return "for position independent executables"
        if lever.in_front_end and (
            missing := [name for name in self.program.modules if not self._source(name)]
        ):
            return f"needs the sources, such as {missing[0]}: build with {' '.join(lever.compiling)} to see"
        return ""

    def _source(self, name: str) -> str:
        """The source that a unit was made of; empty if it is no longer there."""
        origin = self.corpus.facts.origins.get(name)
        if origin is None or not origin.command or not os.path.isdir(origin.directory):
            return ""
        path = os.path.join(origin.directory, origin.source)
        return path if os.path.isfile(path) else ""

    def units(self, levers: LeverSet) -> Mapping[str, CorpusUnit]:
        """The units of the program as the front end makes them with these levers.

        Raises:
            CompilationError: the front end fails.
        """
        flags = levers.front_end
        if flags not in self._units:
            names = self.program.modules
            if flags:
                with ThreadPoolExecutor(self.jobs) as pool:
                    found = list(pool.map(lambda name: self._front_end(name, flags), names))
            else:
                found = [self.corpus.units[name] for name in names]
            self._units[flags] = dict(zip(names, found, strict=True))
        return self._units[flags]

    def _front_end(self, name: str, flags: tuple[str, ...]) -> CorpusUnit:
        """A unit whose source the front end compiles again with more flags."""
        origin = self.corpus.facts.origins[name]
        clang = f"clang++-{MAJOR}" if origin.language == "c++" else f"clang-{MAJOR}"
        front_end = FrontEnd(_found(clang), origin.directory, os.environ)
        jobs = front_end.jobs([origin.command[0], *flags, *origin.command[1:]])
        job = next(
            (job for job in jobs if os.path.basename(job.source) == os.path.basename(origin.source)), None
        )
        if job is None:
            raise InputError(f"{name}: expected clang to compile {origin.source}, got other sources")
        path = os.path.join(self.scratch, f"{_hash(name, *flags)}.bc")
        write_file(path, front_end.bitcode(job))
        return replace(self.corpus.units[name], bitcode=Path(path), arguments=job.recorded)

    def corpus_with(self, levers: LeverSet, folder: str) -> None:
        """Write a corpus of the program, as a build with these levers would have recorded it.

        Options of code generation, and those of passpilot, are left out.
        """
        sections = [flag for flag in levers.compiling if flag.endswith("-sections")]
        units = {
            name: replace(unit, arguments=(*unit.arguments, *sections))
            for name, unit in self.units(levers).items()
        }
        dropped = ("-Wl,--gc-sections", "-Wl,--icf=")  # which every search has
        linking = [flag for lever in levers.levers for flag in lever.linking if not flag.startswith(dropped)]
        program = replace(self.program, arguments=(*self.program.arguments, *linking))
        origins = {
            name: self.corpus.facts.origins[name] for name in units if name in self.corpus.facts.origins
        }
        facts = replace(self.corpus.facts, origins=origins, duplicates={})
        Corpus(Path(folder), units, [program], facts).write()

    def build(self, levers: LeverSet) -> BuiltProgram:
        """Compile and link the program.

        Raises:
            Error: a unit does not compile, or the program does not link.
        """
        units = self.units(levers)
        commands = Commands()  # which end with the pool's block if it fails, or at Ctrl-C
        with CommandPool(self.jobs, commands) as pool:
            made = pool.map(lambda unit: self._object(unit, levers, commands), units.values())
            paths = dict(zip(units, made, strict=True))
        image = os.path.join(self.scratch, "image")
        words = self._link_words(levers, paths, image)
        directory = link_folder(self.program, str(self.corpus.folder))
        done = self.commands.run(words, DEADLINE, directory=directory, environment=self._environment(levers))
        done.check(f"{self.program.name}: expected a program", DEADLINE)
        return BuiltProgram(image, sum(self._made[path] for path in paths.values()) + done.seconds)

    def instructions(self, path: str) -> int | None:
        """The instructions that the program's runs execute; None without runs or valgrind.

        Raises:
            CompilationError: a run fails, or takes too long.
        """
        if not self.program.runs or not shutil.which(COUNTER[0]):
            return None
        total = 0
        for number, run in enumerate(self.program.runs):
            words, folder = [path, *run.arguments], run.directory or None
            count, done = executed_instructions(self.commands, words, RUN_DEADLINE, folder)
            done.check(f"{self.program.name}: expected a run to succeed", RUN_DEADLINE)
            expected = self._printed.setdefault(number, run.stdout_sha256 or done.stdout_sha256)
            if done.stdout_sha256 != expected:
                got = f"{expected[:12]}, got {done.stdout_sha256[:12]}"
                raise CompilationError(f"{self.program.name}: expected the output with sha256 {got}")
            total += count
        return total

    def _link_words(self, levers: LeverSet, paths: Mapping[str, str], image: str) -> list[str]:
        plugin = []
        if levers.passpilot and levers.lto:
            plugin = ["-Xlinker", f"--load-pass-plugin={llvm_plugin()}"]
        words = link_words(self.program, ["-fuse-ld=lld", *levers.linking], paths.__getitem__)
        return [link_driver(self.program), *plugin, *words, "-o", image]

    def _object(self, unit: CorpusUnit, levers: LeverSet, commands: Commands) -> str:
        """The path of a unit's object; it is compiled if it has not been."""
        if not unit.arguments:
            raise InputError(f"{unit.name}: expected its arguments in {unit.name}.cmd, got none")
        words = [*for_object(unit.arguments), *levers.compiling]
        ours = [
            f"{name}={value}"
            for name, value in levers.passpilot.items()
            if name != "unwind" or not levers.lto  # then the link writes the tables
        ]
        if levers.lto:
            words = [word for word in words if word != "-emit-obj"]
            words += [f"-flto={levers.lto}", "-flto-unit", "-emit-llvm-bc"]
        if ours:
            words.append(f"-fpass-plugin={llvm_plugin()}")
        decisions = read_regular(levers.decisions) if levers.decisions else b""
        path = os.path.join(self.scratch, f"{_hash(str(unit.bitcode), *words, *ours, _hash(decisions))}.o")
        with self._lock:
            made = path in self._made
        if not made:
            clang = _found(f"clang-{MAJOR}")
            command = [clang, *words, "-x", "ir", os.fspath(unit.bitcode), "-o", path]
            done = commands.run(command, DEADLINE, environment=self._environment(levers))
            done.check(f"{unit.name}: expected an object", DEADLINE)
            with self._lock:
                self._made[path] = done.seconds
        return path

    def _environment(self, levers: LeverSet) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        ours = {f"{_OURS}{name.upper().replace('-', '_')}": value for name, value in levers.passpilot.items()}
        return {**kept, **ours}


def _hash(*words: str | bytes) -> str:
    digest = hashlib.sha256()
    for word in words:
        digest.update((word if isinstance(word, bytes) else os.fsencode(word)) + b"\0")
    return digest.hexdigest()[:24]


def _found(compiler: str) -> str:
    """The path of a compiler.

    Raises:
        InputError: it is not installed.
    """
    if path := shutil.which(compiler):
        return path
    raise InputError(f"ladder: {compiler} is not on the PATH; sudo apt-get install clang-{MAJOR}")
