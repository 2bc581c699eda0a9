# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`UnitCompiler`: makes an object of a unit of a corpus, with clang's own code generator."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from passpilot.plugin.errors import CompilationError, Error, InputError, restated
from passpilot.plugin.files import read_regular
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.arguments import for_object
from passpilot.training.corpus.layout import CorpusUnit
from passpilot.training.evaluation.competitors import CompileWay
from passpilot.training.evaluation.levels import arguments_at, bitcode_at
from passpilot.training.rewards import allocated_bytes
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.timing.commands import Commands

SECTIONS: Final = ("-ffunction-sections", "-fdata-sections")
"""So that the linker can drop what is not used; on all sides."""

_OURS: Final = "PASSPILOT_"


_ANSWER: Final = 60.0
"""Seconds in which clang must say its version."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The compilers that an evaluation uses."""

    version: str
    linkers: dict[str, str]
    """clang for C and for C++."""
    strip: str
    """llvm-strip."""

    @classmethod
    def find(cls) -> Toolchain:
        """The distribution's own.

        Raises:
            InputError: clang, lld or llvm-strip is missing.
        """
        linkers = {}
        for language, name in (("c", f"clang-{MAJOR}"), ("c++", f"clang++-{MAJOR}")):
            path = shutil.which(name)
            if path is None:
                msg = f"eval: {name} is not on the PATH; sudo apt-get install clang-{MAJOR}"
                raise InputError(msg)
            linkers[language] = path
        version = _output_of([linkers["c"], "--version"]).partition("\n")[0]
        lld = _output_of([linkers["c"], "-print-prog-name=ld.lld"]).strip()
        if shutil.which(lld) is None:
            raise InputError(f"eval: expected lld, got none; sudo apt-get install lld-{MAJOR}")
        strip = shutil.which(f"llvm-strip-{MAJOR}")
        if strip is None:
            msg = f"eval: llvm-strip-{MAJOR} is not on the PATH; sudo apt-get install llvm-{MAJOR}"
            raise InputError(msg)
        return cls(version, linkers, strip)


def _output_of(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_ANSWER, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"eval: expected {words[0]} to run, got: {error}") from error
    return done.stdout


@dataclass(frozen=True, slots=True)
class CompiledUnit:
    path: str
    size: int
    """Its bytes that are loaded; 0 if the link compiles it."""
    seconds: float
    """The processor time of its compilation, of all ways together."""
    is_cached: bool


class CachedObject(NamedTuple):
    """An object, and the processor time that its compilation took."""

    data: bytes
    seconds: float

    def packed(self) -> bytes:
        """As a cache keeps it."""
        return struct.pack("<d", self.seconds) + self.data

    @classmethod
    def unpacked(cls, packed: bytes) -> CachedObject:
        """What `packed` gave."""
        return cls(packed[8:], struct.unpack("<d", packed[:8])[0])


@dataclass
class UnitCompiler:
    """Compiles units.

    Attributes:
        commands: runs clang.
        toolchain: clang; its version is part of the keys of the cache.
        plugin: the path of the plugin.
        deadline: the seconds that one compilation may take.
        cache: for the objects of baselines.
        scratch: a folder for units at other levels.
        lto: whether units are compiled for link-time optimization.
    """

    commands: Commands
    toolchain: Toolchain
    plugin: str
    deadline: float
    cache: CompileCache
    scratch: str
    lto: bool = False
    _levelled: dict[tuple[str, str], Path | Error] = field(default_factory=dict)

    def prepare(self, wanted: Iterable[tuple[CorpusUnit, CompileWay]], jobs: int) -> None:
        """Write the units that are needed at other levels, `jobs` at once; call it while no thread runs.

        An error appears when the unit is compiled.
        """
        missing: dict[tuple[str, str], Path] = {}
        for unit, way in wanted:
            key = unit.name, way.level
            if unit.level == way.level or key in self._levelled or key in missing or not unit.arguments:
                continue
            if way.plugin or self._known(unit, way) is None:
                missing[key] = unit.bitcode
        modules = bitcode_at([(level, path) for (_, level), path in missing.items()], jobs)
        for key, module in zip(missing, modules, strict=True):
            self._levelled[key] = module if isinstance(module, Error) else self._written(module)

    def forget(self) -> None:
        """Remove the units that `prepare` has written."""
        for module in self._levelled.values():
            if isinstance(module, Path):
                module.unlink(missing_ok=True)
        self._levelled.clear()

    def _written(self, data: bytes) -> Path:
        descriptor, path = tempfile.mkstemp(".bc", dir=self.scratch)
        with open(descriptor, "wb") as file:
            file.write(data)
        return Path(path)

    def _known(self, unit: CorpusUnit, way: CompileWay) -> bytes | None:
        try:
            return self.cache.find(self._key(unit, way))
        except InputError:
            return None

    def _key(self, unit: CorpusUnit, way: CompileWay) -> str:
        words = [f"{unit.level} to {way.level}", *self._words(unit, way)]
        return self.cache.key(self.toolchain.version, words, _read(unit, unit.bitcode))

    def _words(self, unit: CorpusUnit, way: CompileWay) -> list[str]:
        arguments = unit.arguments if unit.level == way.level else arguments_at(way.level, unit.arguments)
        sections = [flag for flag in SECTIONS if flag not in arguments]
        return [*for_object(arguments, bitcode=self.lto), *sections, *way.flags]

    def link_flags(self, way: CompileWay) -> list[str]:
        """The flags of a link that compiles the units of a way."""
        plugin = ["-Xlinker", f"--load-pass-plugin={self.plugin}"] if way.plugin else []
        options = [flag for flag in way.flags if flag != "-mllvm"]
        return ["-flto", *plugin, *(f"-Wl,-mllvm,{option}" for option in options)]

    def compile(
        self, unit: CorpusUnit, ways: Sequence[CompileWay], output: str, logs: Mapping[str, str]
    ) -> CompiledUnit:
        """Write the smallest object that the ways make; ways but the first may fail.

        `logs` are the paths of the decision logs to write, by point.

        Raises:
            Error: clang fails or takes too long, or the unit cannot be read.
        """
        best: CompiledUnit | None = None
        seconds = 0.0
        for number, way in enumerate(ways):
            path = f"{output}.{number}.o"
            try:
                compiled = self._one(unit, way, path, logs if not number else {})
            except CompilationError:
                if best is None:
                    raise
                continue
            seconds += compiled.seconds
            if best is None or compiled.size < best.size:
                best = compiled
        assert best is not None, "a competitor has a way"
        return CompiledUnit(best.path, best.size, seconds, best.is_cached)

    def _one(self, unit: CorpusUnit, way: CompileWay, output: str, logs: Mapping[str, str]) -> CompiledUnit:
        if not unit.arguments:
            raise InputError(f"{unit.name}: expected its arguments in {unit.name}.cmd, got none")
        words = self._words(unit, way)
        if way.plugin:
            compiled = self._run(unit, [*words, f"-fpass-plugin={self.plugin}"], way, output, logs)
            return self._compiled(output, compiled, is_cached=False)
        key = self._key(unit, way)
        if packed := self.cache.find(key):
            known = CachedObject.unpacked(packed)
            Path(output).write_bytes(known.data)
            return self._compiled(output, known, is_cached=True)
        compiled = self._run(unit, words, way, output, {})
        self.cache.keep(key, compiled.packed())
        return self._compiled(output, compiled, is_cached=False)

    def _compiled(self, output: str, made: CachedObject, *, is_cached: bool) -> CompiledUnit:
        size = 0 if self.lto else allocated_bytes(made.data)
        return CompiledUnit(output, size, made.seconds, is_cached)

    def _source(self, unit: CorpusUnit, level: str) -> Path:
        if unit.level == level:
            return unit.bitcode
        path = self._levelled[unit.name, level]
        if isinstance(path, Error):
            raise restated(path, f"{unit.name}: {path}")
        return path

    def _run(
        self,
        unit: CorpusUnit,
        words: Sequence[str],
        way: CompileWay,
        output: str,
        logs: Mapping[str, str],
    ) -> CachedObject:
        environment = environment_of(way)
        if logs:
            environment[f"{_OURS}LOG"] = ";".join(f"{point}={path}" for point, path in logs.items())
        clang, source = self.toolchain.linkers["c"], os.fspath(self._source(unit, way.level))
        command = [clang, *words, "-x", "ir", source, "-o", output]
        done = self.commands.run(command, self.deadline, environment=environment)
        done.check(f"{unit.name}: expected an object", self.deadline)
        return CachedObject(_read(unit, Path(output)), done.seconds)


def environment_of(way: CompileWay) -> dict[str, str]:
    """The environment of a compilation or a link."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, **way.environment}


def _read(unit: CorpusUnit, path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise InputError(f"{unit.name}: expected to read {path}, got: {error.strerror}") from error
