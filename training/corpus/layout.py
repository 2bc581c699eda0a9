# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Corpus`: a folder of modules before optimization, in MLGO's layout, and the programs that they make.

The folder has

* `corpus_description.json`: `{"modules": ["src/lapi.c", ...], "has_thinlto": false}`, perhaps with
  `"global_command_override"`, arguments that replace those of all modules;
* `NAME.bc`: the module;
* `NAME.cmd`: the arguments of `clang -cc1`, each with a NUL behind it, without input and output;
* `NAME.thinlto.bc`: the index for ThinLTO, if there is one.

Source of these: mlgo-utils of LLVM. Two more files are passpilot's own: `passpilot.json` (versions, hashes,
origins, duplicates; `CorpusFacts`) and `programs.json` (`CorpusProgram`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import is_below, is_inner, make_folder, read_regular, write_file
from passpilot.plugin.json_and_toml import read_json, typed_record
from passpilot.plugin.origin import warn_user
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus import arguments as cc1
from passpilot.training.corpus.carried import Carried
from passpilot.training.corpus.link_files import link_folder, refusal

DESCRIPTION: Final = "corpus_description.json"
FACTS: Final = "passpilot.json"
PROGRAMS: Final = "programs.json"
INNER: Final = "corpus"
"""The folder of a package's corpus in that of a package."""

UNSPECIFIED: Final = "<UNSPECIFIED>"
"""What mlgo-utils writes as override where people must put the arguments in."""

PACKAGE: Final = ":"
"""Between the names of a package and of its program."""

SUFFIXES: Final = (".bc", ".cmd", ".thinlto.bc")
"""How the files of a module end."""

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class CorpusUnit:
    """One module of a corpus.

    Attributes:
        name: its name in the corpus, a path such as ``src/lapi.c``.
        bitcode: the file of its bitcode.
        arguments: those of ``clang -cc1``, without input and output; empty if they are unknown.
        thinlto: the file of its index for ThinLTO, if there is one.
    """

    name: str
    bitcode: Path
    arguments: tuple[str, ...]
    thinlto: Path | None = None

    def read(self) -> bytes:
        """The bitcode."""
        return read_regular(self.bitcode)

    @property
    def level(self) -> str:
        """The optimization level, such as ``Oz``."""
        return cc1.optimization_level(self.arguments)

    @property
    def relocation_model(self) -> str:
        """The code generator's, such as ``pic`` or ``static``."""
        return cc1.relocation_model(self.arguments)

    @property
    def function_sections(self) -> bool:
        """Whether every function gets a section of its own."""
        return "-ffunction-sections" in self.arguments

    @property
    def data_sections(self) -> bool:
        """Whether every variable gets a section of its own."""
        return "-fdata-sections" in self.arguments

    @property
    def triple(self) -> str:
        """The target triple; empty if it is unknown."""
        return cc1.value_of(self.arguments, "-triple")


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A command that exercises a program: arguments, folder, and the hash of its standard output."""

    arguments: tuple[str, ...] = ()
    directory: str = ""
    stdout_sha256: str = ""


@dataclass(frozen=True, slots=True)
class CorpusProgram:
    """One program, and how it is linked.

    Attributes:
        name: its name.
        language: ``c`` or ``c++``.
        compiler: the command that links it, ``cc`` or ``c++``, or ``ld`` for a linker itself.
        objects: the modules that are linked as objects, in order.
        libraries: the modules of static archives, per archive, in order.
        foreign: inputs that are not in the corpus.
        arguments: the rest of the link command, without output, inputs, -flto, and options about size.
        runs: commands that exercise it.
        directory: where the link ran; paths in `arguments` may be relative to it.
        refused: why it must not be linked, as it names files outside of the corpus; empty if it does not.
        linker: the name of the build's linker, such as ``arm-none-eabi-ld``; empty for clang's choice.
    """

    name: str
    language: str
    compiler: str
    objects: tuple[str, ...]
    libraries: tuple[tuple[str, ...], ...] = ()
    foreign: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    runs: tuple[ProgramRun, ...] = ()
    directory: str = ""
    refused: str = ""
    linker: str = ""

    @property
    def is_library(self) -> bool:
        """Whether it stands for the archives of a build that links nothing."""
        return "-nostdlib" in self.arguments and not self.directory

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.objects, *chain.from_iterable(self.libraries))))


@dataclass(frozen=True, slots=True)
class UnitOrigin:
    """Where a module comes from; unknown parts are empty.

    Attributes:
        sha256: of the bitcode.
        language: ``c`` or ``c++``.
        code_sha256: of the machine code in the object that the build made; see `code_hash`.
        source: the source file.
        command: the compiler's command line.
        directory: where the command ran.
        output: the object that the build made.
    """

    sha256: str
    language: str = ""
    code_sha256: str = ""
    source: str = ""
    command: tuple[str, ...] = ()
    directory: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """What passpilot knows of a corpus beside the layout of MLGO."""

    compiler: str = ""
    """The name and version of the compiler, as the modules have it."""
    target: str = ""
    origins: Mapping[str, UnitOrigin] = field(default_factory=dict, metadata={"key": "modules"})
    duplicates: Mapping[str, str] = field(default_factory=dict)
    """Modules that were dropped, by name, and the equal ones that were kept."""
    format: int = FORMAT


@dataclass(frozen=True)
class Corpus:
    """A corpus; `Corpus.read` reads it, `write` writes it."""

    folder: Path
    units: Mapping[str, CorpusUnit]
    programs: Sequence[CorpusProgram] = ()
    facts: CorpusFacts = field(default_factory=CorpusFacts)
    override: tuple[str, ...] | None = None
    """Arguments that replace those of all modules."""

    @classmethod
    def read(cls, folder: str | os.PathLike[str], root: str = "") -> Corpus:
        """Read a corpus, also one that mlgo-utils made. No module is read.

        A folder that `passpilot corpus debian` has made is one corpus of all packages in it: names of modules
        begin with ``PACKAGE/``, those of programs with ``PACKAGE:``. The links of its programs may read files
        of the corpus, and below `root` if it is not empty.

        Raises:
            InputError: the folder is not a corpus, a file in it is wrong, or it is for another LLVM.
        """
        path, carried = Path(folder), Carried()
        inner = [] if (path / DESCRIPTION).exists() else sorted(path.glob(f"*/{INNER}/{DESCRIPTION}"))
        parts = {file.parents[1].name: cls._read(file.parent, root, carried) for file in inner}
        found = _joined(path, parts) if parts else cls._read(path, root, carried)
        if problem := carried.problem(f"corpus {path}"):
            warn_user(problem)
        return found

    @classmethod
    def _read(cls, path: Path, root: str, carried: Carried) -> Corpus:
        place = str(path / DESCRIPTION)
        if not (path / DESCRIPTION).exists():
            got = _other(path) if path.exists() else "no such folder"
            raise InputError(f"{path}: expected the folder of a corpus, got {got}")
        description = typed_record(read_json(place), _Description, place)
        override = description.global_command_override or None
        if override == (UNSPECIFIED,):
            key = "global_command_override"
            raise InputError(f"{place}: {key}: expected arguments of clang -cc1, got {UNSPECIFIED}")
        for name in description.modules:
            check_name(path, name, f"{place}: modules")
        override = carried.compilation(override) if override else None
        units = {name: _unit(path, name, override, carried) for name in description.modules}
        facts = _read_facts(path / FACTS)
        _check_version(path, facts, units)
        programs = _read_programs(path / PROGRAMS, units, carried, root)
        return cls(path, units, programs, facts, override)

    def write(self) -> None:
        """Write the corpus to `folder`; modules that are elsewhere are copied into it.

        The description is written last: without it, the folder is no corpus.

        Raises:
            InputError: a file cannot be read or written.
        """
        for unit in self.units.values():
            stem = os.path.join(self.folder, unit.name)
            make_folder(os.path.dirname(stem))
            _copy(unit.bitcode, f"{stem}.bc")
            if unit.thinlto:
                _copy(unit.thinlto, f"{stem}.thinlto.bc")
            if self.override is None:
                write_file(f"{stem}.cmd", command_bytes(unit.arguments))
        make_folder(os.fspath(self.folder))
        _write_json(self.folder / FACTS, _facts_value(self.facts))
        _write_json(self.folder / PROGRAMS, {"programs": list(map(_program_value, self.programs))})
        thinlto = [unit.thinlto is not None for unit in self.units.values()]
        description: dict[str, object] = {"modules": list(self.units), "has_thinlto": any(thinlto)}
        if self.override is not None:
            description["global_command_override"] = list(self.override)
        _write_json(self.folder / DESCRIPTION, description)


def _joined(folder: Path, parts: Mapping[str, Corpus]) -> Corpus:
    """One corpus of those of packages, whose modules stay where they are."""
    units: dict[str, CorpusUnit] = {}
    programs: list[CorpusProgram] = []
    origins: dict[str, UnitOrigin] = {}
    duplicates: dict[str, str] = {}
    for package, part in parts.items():
        units |= {f"{package}/{name}": replace(u, name=f"{package}/{name}") for name, u in part.units.items()}
        programs += (_of_package(package, part, program) for program in part.programs)
        origins |= {f"{package}/{name}": origin for name, origin in part.facts.origins.items()}
        duplicates |= {f"{package}/{a}": f"{package}/{b}" for a, b in part.facts.duplicates.items()}
    names = [{part.facts.compiler for part in parts.values()}, {part.facts.target for part in parts.values()}]
    compiler, target = (each.pop() if len(each) == 1 else "" for each in names)
    return Corpus(folder, units, programs, CorpusFacts(compiler, target, origins, duplicates))


def _of_package(package: str, part: Corpus, program: CorpusProgram) -> CorpusProgram:
    return replace(
        program,
        name=f"{package}{PACKAGE}{program.name}",
        objects=tuple(f"{package}/{name}" for name in program.objects),
        libraries=tuple(tuple(f"{package}/{name}" for name in group) for group in program.libraries),
        directory="" if program.is_library else link_folder(program, str(part.folder)),
    )


def command_bytes(arguments: Sequence[str]) -> bytes:
    """The contents of a `.cmd` file."""
    return b"".join(argument.encode("utf-8", "surrogateescape") + b"\0" for argument in arguments)


def command_arguments(data: bytes) -> tuple[str, ...]:
    """The arguments in a `.cmd` file."""
    words = data.decode("utf-8", "surrogateescape").split("\0")
    return tuple(words[:-1] if not words[-1] else words)


@dataclass(frozen=True, slots=True)
class _Description:
    modules: tuple[str, ...]
    global_command_override: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Programs:
    programs: tuple[CorpusProgram, ...] = ()


def check_name(folder: Path, name: str, where: str) -> None:
    """Refuse names that lead out of the folder, also by a link: a corpus may come from elsewhere.

    Raises:
        InputError: the name is such a one.
    """
    if not is_inner(name) or not all(is_below(folder / f"{name}{suffix}", folder) for suffix in SUFFIXES):
        raise InputError(f"{where}: expected names of files in the folder, got {name!r}")


def _other(path: Path) -> str:
    """What is there instead of a corpus."""
    if not path.is_dir():
        return "a file"
    if (path / "commands").is_dir():
        return "a recording; `passpilot corpus extract` makes a corpus of it"
    inner = sorted(entry.name for entry in path.iterdir() if (entry / DESCRIPTION).is_file())
    if inner:
        return f"a folder of corpora: {', '.join(inner)}"
    return "another folder; `passpilot corpus extract` makes one"


def _unit(folder: Path, name: str, override: tuple[str, ...] | None, carried: Carried) -> CorpusUnit:
    arguments: tuple[str, ...] = override or ()
    if override is None:
        try:
            arguments = carried.compilation(command_arguments(read_regular(folder / f"{name}.cmd")))
        except OSError:
            arguments = ()  # one broken unit does not end a run over all; `corpus verify` names it
    thinlto = folder / f"{name}.thinlto.bc"
    return CorpusUnit(name, folder / f"{name}.bc", arguments, thinlto if os.path.exists(thinlto) else None)


def _read_facts(path: Path) -> CorpusFacts:
    if not path.exists():
        return CorpusFacts()
    facts = typed_record(read_json(path), CorpusFacts, str(path))
    if facts.format != FORMAT:
        raise InputError(f"{path}: expected format {FORMAT}, got {facts.format}; use a newer passpilot")
    return facts


def _read_programs(
    path: Path, units: Mapping[str, CorpusUnit], carried: Carried, root: str
) -> tuple[CorpusProgram, ...]:
    if not path.exists():
        return ()
    programs = typed_record(read_json(path), _Programs, str(path)).programs
    for program in programs:
        if missing := [name for name in program.modules if name not in units]:
            raise InputError(f"{path}: {program.name}: expected modules of the corpus, got {missing[0]!r}")
    kept = map(carried.program, programs)
    return tuple(replace(each, refused=refusal(each, str(path.parent), root)) for each in kept)


def clang_major(compiler: str) -> str:
    """The major version in a text such as ``Debian clang version 22.1.8``; empty for other compilers."""
    words = compiler.split()
    if "clang" in words and "version" in words[:-1]:
        return words[words.index("version") + 1].partition(".")[0]
    return ""


def _check_version(folder: Path, facts: CorpusFacts, units: Mapping[str, CorpusUnit]) -> None:
    """Refuse a corpus of another LLVM; one without `passpilot.json` says it by clang's own folder."""
    major, got = clang_major(facts.compiler), facts.compiler
    if not major and units:
        got = cc1.value_of(next(iter(units.values())).arguments, "-resource-dir")
        major = os.path.basename(got).partition(".")[0]
    if major and major != str(MAJOR):
        raise InputError(
            f"corpus {folder}: expected one of clang {MAJOR}, got one of {got}; extract it again"
        )


def _facts_value(facts: CorpusFacts) -> dict[str, object]:
    modules = {
        name: {key: value for key, value in asdict(origin).items() if value}
        for name, origin in facts.origins.items()
    }
    return {
        "format": FORMAT,
        "compiler": facts.compiler,
        "target": facts.target,
        "modules": modules,
        "duplicates": dict(facts.duplicates),
    }


def _program_value(program: CorpusProgram) -> dict[str, object]:
    value = asdict(program)
    del value["refused"]
    for name in ("directory", "linker"):
        if not value[name]:
            del value[name]
    return value


def _write_json(path: Path, value: object) -> None:
    write_file(os.fspath(path), json.dumps(value, indent=1) + "\n")


def _copy(source: Path, target: str) -> None:
    if os.path.abspath(source) == os.path.abspath(target):
        return
    try:
        data = read_regular(source)
    except OSError as error:
        raise InputError(f"{source}: expected a file that can be read, got: {error.strerror}") from error
    write_file(target, data)
