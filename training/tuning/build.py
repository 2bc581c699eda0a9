# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records a build for `tune`, and says how to build with decision files."""

from __future__ import annotations

import glob
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Final

from passpilot.features.catalogue import CHANGING, HOOKED
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import make_folder, write_file
from passpilot.plugin.origin import warn_user
from passpilot.plugin.toolchain import installed
from passpilot.plugin.version import MAJOR
from passpilot.training.corpus.builder import CorpusDraft, build_corpus
from passpilot.training.corpus.recorded.child import ended_by_signals, run_clang
from passpilot.training.corpus.recorded.from_recording import draft_programs
from passpilot.training.corpus.recorded.makefile import after_cleaning
from passpilot.training.corpus.recorded.recorder import COMMANDS
from passpilot.training.corpus.recorded.recording import read_recording

COMPILERS: Final = {"cc": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
"""The names of compilers that a build may seek: those that are not installed are our commands."""

OTHERS: Final = re.compile(
    r"(.*-)?(cc|c\+\+|gcc|g\+\+|tcc|icc|icx|icpx|armcc|armclang|nvcc|hipcc|emcc|em\+\+)(-[\d.]+)?"
)
"""The names of compilers that `passpilot cc` does not stand in for, behind plain ones."""

NAMES: Final = "compilers"
"""The folder of those names; a configured build may keep their paths."""

RECORDING: Final = "recording"
"""The folder of what a build has compiled and linked; the names of its programs are in a file beside it."""

MAKE: Final = ("make", "gmake")


def recorded_corpus(command: Sequence[str], output: str) -> str:
    """Run a build, and make a corpus of what it compiles and links; returns its folder.

    What an earlier run of the same build has compiled stays, as an object does that is up to date.

    Raises:
        InputError: the build fails, or compiles nothing.
    """
    refuse_advice(_variables())
    folder, recording = os.path.join(output, "corpus"), os.path.abspath(os.path.join(output, RECORDING))
    _check_command("tune", command, os.environ["PATH"])
    if os.path.exists(folder) and _is_other_build(command, recording):
        warn_user(f"the command of the build has changed since {folder} was made")
        shutil.rmtree(recording, ignore_errors=True)
    before, began = _recorded(recording), time.time()
    try:
        _record(command, output, recording)
        if advice := read_recording(recording).advice:
            shutil.rmtree(recording)
            refuse_advice(advice, _tree(command))
    except InputError:
        if not os.path.isdir(recording):
            _remove_rest(output)
        raise
    write_file(recording + ".command", _build_text(command))
    draft = _drafted(command, output, recording)
    if not before:
        _note_earlier_objects(draft, began)
    if os.path.exists(folder):
        if _recorded(recording) == before:
            warn_user(f"{shlex.join(command)} compiles nothing new; tuning what {folder} has")
            return folder
        shutil.rmtree(folder)
    built = build_corpus(folder, draft)
    for problem in built.problems:
        warn_user(problem)
    return folder


def _drafted(command: Sequence[str], output: str, recording: str) -> CorpusDraft:
    """What a build has made, after warnings about what in it cannot be searched or compared."""
    draft = draft_programs(recording)
    build = shlex.join(command)
    if changed := _changed(recording):
        raise InputError(
            f"tune: expected {build} to compile {changed}, which has changed, got its old object; clean the "
            "build first"
        )
    if not draft.units:
        hint = "clean the build first"
        if "rustc" in names_in(recording + ".programs") and not os.environ.get("RUSTC_WRAPPER"):
            hint += ", and set RUSTC_WRAPPER=passpilot for the code in Rust"
        shutil.rmtree(recording)
        _remove_rest(output)
        raise InputError(f"tune: expected {build} to compile something, got links alone; {hint}")
    note_other_compilers(recording + ".programs")
    return draft


def _note_earlier_objects(draft: CorpusDraft, began: float) -> None:
    """Warn of objects in the build's folder that are older than its first recording."""
    here = os.path.join(os.path.realpath("."), "")  # others are of libraries
    for program in draft.programs:
        objects = [path for path in program.foreign if path.endswith(".o")]
        if stale := [path for path in objects if _is_older(path, began, here)]:
            warn_user(
                f"{program.name} links {', '.join(stale[:3])}{' and others' * (len(stale) > 3)}, which this "
                "build has not compiled, and the search leaves as it is; clean first to search it, too"
            )


def _is_older(path: str, began: float, folder: str) -> bool:
    with suppress(OSError):
        return os.path.realpath(path).startswith(folder) and os.path.getmtime(path) < began
    return False


def _remove_rest(output: str) -> None:
    """Remove what a build without a recording has left, which is of no use."""
    shutil.rmtree(os.path.join(output, NAMES), ignore_errors=True)
    for kind in ("programs", "command"):
        with suppress(OSError):
            os.remove(os.path.join(output, f"{RECORDING}.{kind}"))
    with suppress(OSError):
        os.rmdir(output)


def _record(command: Sequence[str], output: str, recording: str) -> None:
    """Run a build, and record what its compilers do."""
    with suppress(OSError):
        os.remove(recording + ".programs")
    environment = build_environment(os.path.join(output, NAMES), recording + ".programs", recording)
    in_main = threading.current_thread() is threading.main_thread()  # only there signals are handled
    with ended_by_signals() if in_main else nullcontext():
        code = run_clang("/bin/sh", build_words("tune", command, environment), environment)
    seen = names_in(recording + ".programs")
    if code:
        raise InputError(
            f"tune: expected {shlex.join(command)} to succeed, got exit code {code}"
            f"{_replaced(seen)}{_other_compilers(seen)}"
        )
    if not os.path.isdir(recording):
        raise InputError(nothing_compiled("tune", command, seen))


def refuse_advice(given: Sequence[str], tree: str = "") -> None:
    """Refuse a build that is advised already: the search compares with the compiler's own program.

    Raises:
        InputError: options or variables of passpilot change the code.
    """
    if given:
        raise InputError(
            f"tune: expected a build without advice of its own, got {given[0]}; build with clang alone"
            f"{_without_launchers(tree)}: the search tries what @oz does first, and its file takes the "
            "place of a policy"
        )


def _without_launchers(tree: str) -> str:
    """How a tree of CMake loses the launchers with which an earlier search's decisions were built."""
    with suppress(OSError), open(os.path.join(tree, "CMakeCache.txt"), errors="replace") as file:
        if re.search(r"^CMAKE_CX*_COMPILER_LAUNCHER:.*passpilot", file.read(), re.MULTILINE):
            return f", after cmake -U 'CMAKE_*_COMPILER_LAUNCHER' {shlex.quote(tree)}"
    return ""


def refuse_lto(command: Sequence[str], output: str, *, searched: bool) -> None:
    """Refuse what no decision would reach: single units where lld optimizes the program, and -flto=thin.

    Args:
        command: the build, which `recorded_corpus` has recorded.
        output: its folder.
        searched: whether the program of full link-time optimization is searched, by ``--lto``.

    Raises:
        InputError: units are compiled for such a link.
    """
    recording = os.path.join(output, RECORDING)
    found = {
        word
        for unit in read_recording(recording).units
        if "-ffat-lto-objects" not in unit.arguments
        for word in unit.arguments
        if word.startswith("-flto=")
    }
    again = f"run `passpilot tune --lto ... -- {shlex.join(command)}`"
    if "-flto=thin" in found:
        for folder in (recording, os.path.join(output, "corpus")):  # so that the next call builds again
            shutil.rmtree(folder, ignore_errors=True)
        raise InputError(
            "tune: expected -flto or a build without it, got -flto=thin, whose links decisions do not reach; "
            f"build with -flto, clean the build, and {again.replace('-flto=thin', '-flto')}"
        )
    if found and not searched:
        raise InputError(
            f"tune: expected --lto for a build that links with -flto, got no --lto; {again}, since decisions "
            "for single units do not reach such a link"
        )


def _variables() -> list[str]:
    """The variables of the environment that change the code of every compilation by `passpilot cc`."""
    names = (f"PASSPILOT_{name.upper().replace('-', '_')}" for name in (*HOOKED, *CHANGING))
    return [f"{name}={value}" for name in names if (value := os.environ.get(name, "")) not in ("", "default")]


def _build_text(command: Sequence[str]) -> str:
    """A build's folder and command."""
    return f"{os.getcwd()}: {shlex.join(command)}\n"


def _is_other_build(command: Sequence[str], recording: str) -> bool:
    """Whether another command was recorded, or the same in another folder."""
    with suppress(OSError), open(recording + ".command", encoding="utf-8", errors="surrogateescape") as file:
        return file.read() != _build_text(command)
    return False


def _recorded(recording: str) -> set[tuple[str, int]]:
    """The names and times of the records of all commands of a recording; empty if there is none."""
    with suppress(OSError), os.scandir(os.path.join(recording, COMMANDS)) as records:
        return {(record.name, record.stat().st_mtime_ns) for record in records}
    return set()


def _changed(recording: str) -> str:
    """A file that has changed since the newest compilation that read it; empty if there is none."""
    if not os.path.isdir(recording):
        return ""
    newest = {(unit.source, unit.output): unit for unit in read_recording(recording).units}
    return next(filter(None, (unit.changed() for unit in newest.values())), "")


def nothing_compiled(who: str, command: Sequence[str], seen: Sequence[str]) -> str:
    """The text of an error about a build that has run the programs `seen`, and none of our compilers."""
    seen = [name for name in seen if not is_advised(name)]
    text = f"{who}: expected {shlex.join(command)} to compile something, got nothing"
    if others := _other_compilers(seen):
        return text + others
    names = ", ".join(name for some in COMPILERS.values() for name in some)
    return (
        f"{text}: it ran {', '.join(seen) or 'nothing'}, and none of {names} with or without a version; "
        "clean the build first. A build whose tools are linked statically must call "
        f"`passpilot cc{' --record=DIR' * (who == 'tune')}` itself"
    )


def _other_compilers(seen: Sequence[str]) -> str:
    """What to do about compilers that have run, and cannot be replaced."""
    others = [name for name in seen if OTHERS.fullmatch(name) and not is_advised(name)]
    if not others:
        return ""
    prefix = re.sub(r"-?[^-]+(-[\d.]+)?$", "", others[0])
    target = f"clang --target={prefix}" if "-" in prefix else "clang"
    return f"; passpilot cannot stand in for {', '.join(others)}: configure the build for {target}"


def _replaced(seen: Sequence[str]) -> str:
    """What is said of compilers in whose place clang has run."""
    others = [name for name in seen if _driver_of(name) and "clang" not in name]
    return f"; passpilot ran clang in place of {', '.join(others)}" if others else ""


def other_compilers(programs: str) -> list[str]:
    """The versions of a build's own compilers if they are not clang: its own program is another one.

    `programs` is the file of the programs that the build has run.
    """
    names = names_in(programs)
    if any("clang" in name for name in names if is_advised(name)):
        return []  # another one may only have been tried, as Meson does
    return list(dict.fromkeys(filter(None, map(_other_compiler, names))))


def note_other_compilers(programs: str) -> None:
    """Warn of a build whose own compilers are not clang."""
    if found := other_compilers(programs):
        warn_user(
            f"the build's compiler is not clang, but {' and '.join(found)}; clang-{MAJOR} compiles in its "
            "place: see by `passpilot size` whether your own program is smaller"
        )


def _other_compiler(name: str) -> str:
    """The first line of a compiler's version if the compiler is replaced and not clang; else empty."""
    path = shutil.which(name) if _driver_of(name) and "clang" not in name else None
    if path is None:
        return ""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return "" if "clang" in done.stdout else next(iter(done.stdout.splitlines()), "").strip()


def names_in(path: str) -> list[str]:
    """The names of programs that a build has run."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return list(dict.fromkeys(map(os.path.basename, file.read().splitlines())))
    except FileNotFoundError:
        return []


def is_advised(name: str) -> bool:
    """Whether a program of a build is a compiler that ours replaces, or one of ours."""
    return name == "passpilot" or bool(_driver_of(name) or re.search(r"-clang(\+\+)?(-[\d.]+)?$", name))


def rebuild_line(command: Sequence[str], flags: str, recording: str = "") -> str:
    """The shell command that builds all with arguments for `passpilot cc`, such as ``--decisions=FILE``.

    `flags` are these arguments, quoted for a shell; launchers of CMake take no quotes.
    `recording` is the folder of what the build has done, if it was recorded.
    """
    drivers = {driver: f"passpilot {driver} {flags}" for driver in COMPILERS}
    name, build = os.path.basename(command[0]), shlex.join(command)
    if name == "cmake" and "--build" in command and "--clean-first" not in command:
        build += " --clean-first"
    if driver := _driver_of(name):
        return f"{drivers[driver]} {shlex.join(command[1:])}"
    variables = [f"CC={shlex.quote(drivers['cc'])}", f"CXX={shlex.quote(drivers['c++'])}"]
    own = [word for word in command if re.match(r"(CC|CXX)[:?]{0,3}=", word)]
    if name in MAKE:
        if _names_its_compilers(recording) or any(" " in word.strip() for word in own):
            return after_cleaning(command, f"passpilot build {flags} -- ")
        plain = [word for word in command if word not in own]
        return after_cleaning(plain, more=" ".join(["", *variables]))
    tree = _tree(command)
    if os.path.isdir(os.path.join(tree, "meson-private")):
        return f"{' '.join(variables)} meson setup --wipe {shlex.quote(tree)} && {build}"
    unseen = "-flto" in flags or "-Wl," in flags or shlex.split(flags) != flags.split()  # by launchers
    if not unseen and _is_ours(_configured(tree)):
        launchers = (
            f"-DCMAKE_{language}_COMPILER_LAUNCHER={shlex.quote(drivers[driver].replace(' ', ';'))}"
            for language, driver in (("C", "cc"), ("CXX", "c++"))
        )
        source = f" -S {shlex.quote(found)}" if (found := _source(tree)) else ""
        return f"cmake{source} -B {shlex.quote(tree)} {' '.join(launchers)} && {build}"
    clean = f"{build} -t clean && " * (name == "ninja")
    if name == "cargo" and (wrapper := os.environ.get("RUSTC_WRAPPER")):
        clean = f"cargo clean && RUSTC_WRAPPER={shlex.quote(wrapper)} "
    return f"{clean}passpilot build {flags} -- {build}"


def _is_ours(compiler: str) -> bool:
    """Whether a compiler is the one that `passpilot cc` runs."""
    return bool(compiler) and os.path.realpath(compiler) == os.path.realpath(
        shutil.which(f"clang-{MAJOR}") or ""
    )


def _names_its_compilers(recording: str) -> bool:
    """Whether CC might not replace a build's compilers: they have paths, a target, or flags of CC's own."""
    if not os.path.isdir(recording):
        return False
    with suppress(OSError), open(f"{recording}.programs", encoding="utf-8", errors="replace") as file:
        if any("/" in path and _driver_of(path) for path in file.read().splitlines()):
            return True
    commands = [unit.command for unit in read_recording(recording).units]
    words = {word for command in commands for word in command}
    if any(word.startswith(("--target=", "-target", "--config=", "--sysroot=")) for word in words):
        return True
    return any(command[1:] and command[1].startswith(("-m", "-std=")) for command in commands)


def _driver_of(path: str) -> str:
    """``cc`` or ``c++`` for a compiler that is replaced; empty for other programs."""
    name = re.sub(r"-[\d.]+$", "", os.path.basename(path))
    return next((driver for driver, alike in COMPILERS.items() if name in alike), "")


def _tree(command: Sequence[str]) -> str:
    """The folder that a command of cmake, ninja or meson builds in."""
    for word, following in itertools.pairwise(command):
        if word in ("--build", "-C", "-B"):
            return following
    return "."


def _configured(folder: str) -> str:
    """The compiler for C of a tree that CMake has configured, or the one for C++; empty if it is none."""
    for language in ("C", "CXX"):
        for path in glob.glob(
            os.path.join(glob.escape(folder), f"CMakeFiles/*/CMake{language}Compiler.cmake")
        ):
            with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                if found := re.search(
                    rf'^set\(CMAKE_{language}_COMPILER "(.+)"\)', file.read(), re.MULTILINE
                ):
                    return found[1].replace("++", "")
    return ""


def _source(tree: str) -> str:
    """The folder of the sources of a tree that CMake has configured; empty if it is none."""
    with (
        suppress(OSError),
        open(os.path.join(tree, "CMakeCache.txt"), encoding="utf-8", errors="replace") as file,
    ):
        if found := re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", file.read(), re.MULTILINE):
            return found[1]
    return ""


def build_environment(
    names: str, programs: str, recording: str = "", words: Sequence[str] = ()
) -> Mapping[str, str]:
    """The environment in which compilers are ours, whatever a build calls them.

    Args:
        names: a folder for commands that stand for compilers which are not installed.
        programs: a file that gets the names of all programs that run.
        recording: the folder that gets what they compile and link; empty for none.
        words: more arguments for compilers.
    """
    passpilot = os.path.join(os.path.dirname(sys.executable), "passpilot")
    make_folder(names)
    for tool, alike in COMPILERS.items():
        for name in alike:
            text = f'#!/bin/sh\nexec {shlex.quote(passpilot)} {tool} "$@"\n'
            path = os.path.join(names, name)
            write_file(path, text)
            os.chmod(path, 0o755)
    preloaded = filter(None, (_preload_library(names), os.environ.get("LD_PRELOAD")))
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([*os.get_exec_path(), os.path.abspath(names)]),
        "LD_PRELOAD": ":".join(preloaded),
        "PASSPILOT_COMPILER": passpilot,
        "PASSPILOT_PROGRAMS": programs,
        "PASSPILOT_WORDS": "".join(f"{word}\n" for word in words),
    }
    return {**environment, "PASSPILOT_RECORDING": recording} if recording else environment


def _preload_library(names: str) -> str:
    """The library's path without what separates paths in LD_PRELOAD, for which it gets a link in `names`."""
    library = installed("libpasspilot_preload.so")
    if not re.search(r"[\s:]", library):
        return library
    link = os.path.join(os.path.abspath(names), "preload.so")
    if re.search(r"[\s:]", link):
        raise InputError(f"passpilot: expected a folder without blanks and colons in its path, got {names}")
    with suppress(FileExistsError):
        os.symlink(library, link)
    return link


def _check_command(who: str, command: Sequence[str], path: str) -> None:
    if not shutil.which(command[0], path=path):
        raise InputError(f"{who}: expected a command, got {command[0]}, which is not found or cannot be run")


def build_words(who: str, command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The words that run a build in an environment of `build_environment`.

    Raises:
        InputError: it cannot be started.
    """
    _check_command(who, command, environment["PATH"])
    # The shell has the library, so that the command itself may be a compiler.
    return ["/bin/sh", "-c", 'exec "$@"', "sh", *command]
