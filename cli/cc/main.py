# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc`, `passpilot c++`: clang and clang++ with advisors.

The process becomes clang (exec), except for --record. passpilot's options reach the plugin
through the environment, which compiler and linker share; the flags that load the plugin come before the
other arguments. A build runs this command for every file, so it imports nothing slow: no typing, pathlib or
argparse.
"""

from __future__ import annotations

import os
import signal
import sys

from passpilot.cli.cc.clang_arguments import COMPILERS, Command
from passpilot.cli.cc.level_note import note_level
from passpilot.cli.cc.options import Options, help_text
from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import installed
from passpilot.plugin.version import MAJOR

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, NoReturn

INSTALL: Final = f"sudo apt-get install {{}}-{MAJOR}"


def c(argv: Sequence[str]) -> int:
    """Run `passpilot cc`; returns only where it does not become clang."""
    if len(argv) > 1 and argv[0].startswith("--record=") and not argv[1].startswith("-"):
        from passpilot.cli.cc.record import run_linker

        if (code := run_linker(argv)) is not None:
            return code
    return _run("cc", f"clang-{MAJOR}", argv)


def cxx(argv: Sequence[str]) -> int:
    """Run `passpilot c++`; returns only where it does not become clang++."""
    return _run("c++", f"clang++-{MAJOR}", argv)


def _run(name: str, clang: str, argv: Sequence[str]) -> int:
    options = Options(name, argv)
    become_other_llvm(name, options, argv)
    if options.help:
        print(help_text(name, clang))
        return 0
    arguments = options.rest
    compiler = find_program(clang)
    if not compiler:
        raise InputError(f"{name}: {clang} is not on the PATH; {INSTALL.format('clang')}")
    if arguments and _names_compiler(arguments[0]):
        clang = arguments.pop(0)
        compiler = _checked(name, clang, compiler)
    arguments, whole = _expanded(arguments)
    command = Command(whole)
    added = _added(name, options, command, compiler)
    options.check_readers(loads=bool(added))
    if "-Xlinker" in added:
        _refuse_other_compilers(name, whole)
    note_level(name, options, command, whole)
    _note_unasked(options, command, added)
    environment = {**os.environ, **options.environment()}
    if (options.best_of > 1 or options.tries > 1) and command.makes_objects and not command.is_unoptimized:
        from passpilot.cli.cc.best_of import choose_policy

        loading = added or _loading(installed("libpasspilot.so"))
        if choose_policy(options, compiler, [clang, *loading, *arguments], environment):
            added = loading
    if added:
        from passpilot.cli.cc.log_names import make_folders, refuse_shared_files, unit_name

        make_folders(options)
        refuse_shared_files(name, options, compiler, [clang, *whole])
        environment["PASSPILOT_UNIT"] = unit_name(arguments)
    try:
        if folder := options.value("record"):
            from passpilot.cli.cc.record import RecordedRun, run_recorded

            run = RecordedRun(name, compiler, [clang, *arguments], added, environment, options.advice())
            return run_recorded(folder, run, command)
        return become(compiler, [clang, *added, *arguments], environment)
    except OSError as error:
        raise InputError(f"{name}: expected to run {compiler}, got: {error.strerror}") from error


def _note_unasked(options: Options, command: Command, added: Sequence[str]) -> None:
    """With --stats, say that nothing is asked at the points whose runner is `default`."""
    if options.stats and command.generates_code and not added:
        from passpilot.features.catalogue import HOOKED
        from passpilot.passes.decision_counts import words_of

        for point in HOOKED:
            if options.value(point) == "default":
                text = f"{point} advisor default: {words_of(point).nobody}; nothing was asked"
                print(text, file=sys.stderr)


def _expanded(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments for clang, and those that it gets after it has read response files.

    A response file that is no regular file, such as a pipe, can be read only once: clang gets what is in it.
    """
    if not any(argument.startswith("@") for argument in arguments):
        return arguments, arguments
    from passpilot.training.corpus.recorded.response_files import expanded

    arguments = expanded(arguments, wanted=lambda path: not os.path.isfile(path))
    return arguments, expanded(arguments)


def become_other_llvm(name: str, options: Options, argv: Sequence[str]) -> None:
    """With --llvm, be the passpilot of that LLVM, if this is another one.

    Raises:
        InputError: it is not there.
    """
    if (llvm := options.value("llvm")) in ("", str(MAJOR)):
        return
    from passpilot.plugin.toolchain import command

    program = str(command(int(llvm)))
    try:
        become(program, [program, name, *argv], {**os.environ})
    except OSError as error:
        raise InputError(f"{name}: expected to run {program}, got: {error.strerror}") from error


def become(compiler: str, arguments: list[str], environment: dict[str, str]) -> NoReturn:
    """Be the compiler from now on."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores, and so would clang
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(compiler, arguments, environment)


def _added(name: str, options: Options, command: Command, compiler: str) -> list[str]:
    """The arguments that load the plugin, if this command needs it."""
    if not command.generates_code or not options.asks(command.is_unoptimized):
        return []
    plugin = installed("libpasspilot.so")
    return _loading(plugin, _link(name, options, command, compiler, plugin) if command.links else [])


def _loading(plugin: str, link: Sequence[str] = ()) -> list[str]:
    return [
        "--start-no-unused-arguments",
        f"-fpass-plugin={plugin}",
        *link,
        "--end-no-unused-arguments",
    ]


def _link(name: str, options: Options, command: Command, compiler: str, plugin: str) -> list[str]:
    """The arguments that make the linker load the plugin, if it may compile bitcode."""
    load = ["-Xlinker", f"--load-pass-plugin={plugin}"]
    if command.linker_is_lld and not command.for_wasm:
        return load
    if not command.is_lto:
        return []
    if not command.linker and not command.for_wasm:
        _require_lld(name, compiler)
        return ["-fuse-ld=lld", *load]
    text = f"{name}: expected lld for link-time optimization, got {command.linker}"
    remedy = "give -fuse-ld=lld"
    if command.for_wasm:
        text = f"{name}: expected a linker that loads plugins for link-time optimization, got wasm-ld"
        remedy = "remove -flto"
    if options.value("on-error") != "default":
        raise InputError(f"{text}; {remedy}, or give --on-error=default to link without advice")
    print(f"passpilot: warning: {text}; the link is not advised", file=sys.stderr)
    return []


def _refuse_other_compilers(name: str, arguments: list[str]) -> None:
    """Refuse the linker's cache, whose objects had other advice, and other compilers, which ask nobody."""
    for option in ("--thinlto-cache-dir", "thinlto-distributor"):
        if any(option in argument for argument in arguments):
            raise InputError(f"{name}: an advised link cannot have {option}; remove it")


def _require_lld(name: str, compiler: str) -> None:
    beside = os.path.join(os.path.dirname(os.path.realpath(compiler)), "ld.lld")
    if not os.path.exists(beside) and not find_program("ld.lld"):
        raise InputError(
            f"{name}: expected lld for link-time optimization, got none; {INSTALL.format('lld')}"
        )


def find_program(program: str) -> str:
    """The path of a program on the PATH; empty if there is none."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, program)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return ""


def _names_compiler(argument: str) -> bool:
    """Whether the first argument is the compiler, as compiler launchers get it."""
    plain = os.path.basename(argument).rstrip("0123456789.").rstrip("-").rsplit("-", 1)[-1]
    return plain in COMPILERS and (
        os.access(argument, os.X_OK) if "/" in argument else bool(find_program(argument))
    )


def _checked(name: str, named: str, ours: str) -> str:
    path = named if "/" in named else find_program(named)
    if os.path.realpath(path) != os.path.realpath(ours):
        expected = f"clang-{MAJOR}, which is {os.path.realpath(ours)}"
        hint = (
            f"only its optimizer asks: configure the build for clang-{MAJOR}, put `passpilot build` in front "
            "of it, or name no compiler"
        )
        raise InputError(f"{name}: expected {expected}, got {named}; {hint}")
    return path
