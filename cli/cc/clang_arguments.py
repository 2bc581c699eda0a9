# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Command`: finds out from clang's arguments whether clang compiles, links, and needs the plugin.

Clang's own parser would take another process. If an argument is not certain to matter (an option for a part
of clang), the answers here are those that load the plugin.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Iterable
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

HEADERS: Final = (".h", ".hh", ".hpp", ".hxx", ".H")
"""The ends of names of headers, which clang precompiles without asking anything."""

COMPILED: Final = (
    ".c", ".i", ".C", ".cc", ".CC", ".cp", ".cpp", ".CPP", ".cxx", ".CXX", ".c++", ".C++", ".ii",
    ".cppm", ".ixx", ".m", ".mi", ".mm", ".mii", ".M", ".cl", ".clcpp", ".cu", ".cui", ".hip", ".hlsl",
    ".ll", ".bc",
)  # fmt: skip
"""The ends of names of files that clang compiles; it assembles or links others."""

COMPILERS: Final = ("clang", "clang++", "cc", "c++", "gcc", "g++")
"""The ends of compilers' names, without their versions."""

FOR_PARTS: Final = ("-Xclang", "-mllvm", "--config")
"""Prefixes of arguments that may switch optimization on unseen."""


class Command:
    """The work that a command line gives clang. `linker` is empty for clang's default, `level` such as ``z``.

    Response files must be expanded.
    """

    def __init__(self, arguments: Iterable[str]) -> None:
        self.linker, self._lto, self.level = "", False, "0"
        self.has_level = self.for_wasm = False
        self._stops_before_link = self._no_code = self._unknown_level = self._makes_object = False
        self._prints_commands = False
        self._has_input = self._has_source = self._compiles = False
        self._language = ""
        rest = iter(arguments)
        for argument in rest:
            self._read(argument)
            if argument == "--":
                self._has_input |= next(rest, None) is not None
                self._has_source |= self._has_input
                self._compiles |= self._has_input
                return
            if argument in WITH_VALUE:
                value = next(rest, "")
                self._language = value if argument == "-x" else self._language
                self.for_wasm = value.startswith("wasm") if argument == "-target" else self.for_wasm

    def _read(self, argument: str) -> None:
        if not argument.startswith("-") or argument == "-":
            self._has_input = True
            known = self._language not in ("", "none")
            self._has_source |= not (self._language if known else argument).endswith(("-header", *HEADERS))
            assembled = self._language.startswith("assembler")
            self._compiles |= not assembled if known else argument.endswith(COMPILED)
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
        elif argument.startswith(("-fuse-ld=", "--ld-path=")):
            self.linker = argument.partition("=")[2]
        elif argument.startswith("--target="):
            self.for_wasm = argument.startswith("--target=wasm")

    def _read_level(self, argument: str) -> None:
        if argument.startswith(("-O", "--optimize")) and not argument.startswith("-ObjC"):
            self.level, self.has_level = argument.removeprefix("--optimize=").removeprefix("-O"), True

    @property
    def generates_code(self) -> bool:
        """Whether clang compiles or links."""
        return self._has_input and self._has_source and not self._no_code

    @property
    def compiles(self) -> bool:
        """Whether clang compiles, and does not only assemble or link."""
        return self.generates_code and self._compiles and not self._prints_commands

    @property
    def links(self) -> bool:
        """Whether clang runs the linker."""
        return self.generates_code and not self._stops_before_link

    @property
    def makes_machine_code(self) -> bool:
        """Whether clang links, or makes objects."""
        return self.makes_objects or (self.links and not self._prints_commands)

    @property
    def makes_objects(self) -> bool:
        """Whether clang is to compile to objects and not to link them."""
        return self.generates_code and self._makes_object and not self._prints_commands

    @property
    def is_unknown(self) -> bool:
        """Whether options for parts of clang may set another level."""
        return self._unknown_level

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
        return self.level == "0" and not (self._unknown_level or self._lto or self.linker_is_lld)
