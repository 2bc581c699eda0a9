# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Command`: finds out from clang's arguments whether clang compiles, links, and needs the plugin.

Clang's own parser would take another process. If an argument is not certain to matter (an option for a part
of clang), the answers here are those that load the plugin.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

# fmt: off
NO_CODE: Final = frozenset((
    "-E", "-M", "-MM", "-fsyntax-only", "-cc1", "-cc1as", "-cc1gen-reproducer", "-dumpversion",
    "-dumpmachine", "--version", "--preprocess", "--dependencies", "--user-dependencies",
    "--analyze", "--precompile",
))
"""Options with which clang compiles nothing to code."""

NO_LINK: Final = frozenset(("-c", "-S", "--compile", "--assemble", "-emit-ast"))

WITH_VALUE: Final = frozenset((
    "-o", "-x", "-I", "-D", "-U", "-L", "-l", "-F", "-T", "-u", "-z", "-e", "-B", "-A", "-G",
    "-target", "-arch", "-framework", "-rpath", "-dumpdir", "-working-directory", "-include",
    "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-isysroot", "-iwithprefix",
    "-iwithprefixbefore", "-include-pch", "-MF", "-MT", "-MQ", "-MJ", "-mllvm", "-mmlir", "-Xclang",
    "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xanalyzer", "-Xopenmp-target", "-Xarch_host",
    "-Xarch_device", "-Xthinlto-distributor", "--param", "--output", "--language",
    "--include-directory", "--include", "--define-macro", "--undefine-macro", "--library-directory",
    "--for-linker", "--for-assembler", "--config", "--sysroot",
))
"""Options whose value is the next argument."""
# fmt: on

COMPILERS: Final = ("clang", "clang++", "cc", "c++", "gcc", "g++")
"""The ends of compilers' names, without their versions."""

FOR_PARTS: Final = ("-Xclang", "-mllvm", "--config")
"""Prefixes of arguments that may switch optimization on unseen."""

DEEPEST: Final = 16
"""The deepest nesting of response files; it ends the recursion if a file names itself."""


class Command:
    """The work that a command line gives clang. `linker` is empty for clang's default."""

    def __init__(self, arguments: Iterable[str]) -> None:
        self.linker, self._lto, self._level = "", False, "0"
        self._stops_before_link = self._no_code = self._unknown_level = self._makes_object = False
        self._prints_commands = False
        self._inputs: list[str] = []
        self._output = ""
        rest = iter(arguments)
        for argument in rest:
            self._read(argument)
            if argument == "--":
                self._inputs += rest
                return
            if argument in WITH_VALUE:
                value = next(rest, "")
                if argument in ("-o", "--output"):
                    self._output = value

    def _read(self, argument: str) -> None:
        if not argument.startswith("-") or argument == "-":
            self._inputs.append(argument)
        self._no_code |= argument in NO_CODE or argument.startswith(("-print-", "--print-"))
        self._stops_before_link |= argument in NO_LINK
        self._prints_commands |= argument == "-###"
        self._makes_object |= argument in ("-c", "--compile")
        self._makes_object &= argument not in ("-S", "--assemble", "-emit-llvm")
        self._unknown_level |= argument.startswith(FOR_PARTS)
        self._read_level(argument)
        if argument.startswith("-flto") and argument[5:6] in ("", "="):
            self._lto = True
        elif argument == "-fno-lto":
            self._lto = False
        elif argument.startswith("-o") and argument != "-o":
            self._output = argument.removeprefix("-o")
        elif argument.startswith(("-fuse-ld=", "--ld-path=")):
            self.linker = argument.partition("=")[2]

    def _read_level(self, argument: str) -> None:
        if argument.startswith(("-O", "--optimize")) and not argument.startswith("-ObjC"):
            self._level = argument.removeprefix("--optimize=").removeprefix("-O")

    @property
    def generates_code(self) -> bool:
        """Whether clang compiles or links."""
        return bool(self._inputs) and not self._no_code

    @property
    def links(self) -> bool:
        """Whether clang runs the linker."""
        return self.generates_code and not self._stops_before_link

    @property
    def makes_machine_code(self) -> bool:
        """Whether clang links, or makes objects."""
        return not self._prints_commands and (self.links or (self.generates_code and self._makes_object))

    @property
    def object(self) -> str:
        """The object file that the command makes of one source; empty if it does anything else."""
        if not self.generates_code or not self._makes_object or self._lto or len(self._inputs) != 1:
            return ""
        source = self._inputs[0]
        stem = os.path.splitext(os.path.basename(source))[0]
        return "" if source == "-" else self._output or f"{stem}.o"

    @property
    def is_lto(self) -> bool:
        """Whether there is link-time optimization."""
        return self._lto

    @property
    def linker_is_lld(self) -> bool:
        """Whether the arguments choose lld, which compiles bitcode even without -flto."""
        return os.path.basename(self.linker).startswith(("lld", "ld.lld"))

    @property
    def is_unoptimized(self) -> bool:
        """Whether everything is compiled at -O0, where LLVM asks no advisor."""
        return self._level == "0" and not (self._unknown_level or self._lto or self.linker_is_lld)


def expanded(arguments: Iterable[str], depth: int = 0) -> Iterator[str]:
    """The arguments, and after the name of a response file (@FILE) the arguments in it.

    Words are split at blanks and quotes; the arguments that matter here contain neither.
    """
    for argument in arguments:
        yield argument
        if argument.startswith("@") and depth < DEEPEST:
            yield from expanded(_words(argument[1:]), depth + 1)


def _words(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().replace('"', " ").replace("'", " ").split()
    except OSError:  # clang takes @FILE as the name of an input
        return []
