# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`read_link`: the inputs, the output and the other arguments of a link by clang's driver, in order.

A link by the linker itself becomes one by the driver (`driver_words`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from passpilot.training.corpus.recorded.response_files import expanded

COMPILING: Final = frozenset(
    (
        "-c",
        "-pipe",
        "-s",
        "-w",
        "-nostdinc",
        "-nostdinc++",
        "-ffunction-sections",
        "-fdata-sections",
        "-fno-function-sections",
        "-fno-data-sections",
        "-pedantic",
        "-ansi",
    )
)
"""Arguments that say nothing about the link, or only about size."""

COMPILING_STARTS: Final = (
    "-D",
    "-U",
    "-I",
    "-O",
    "-M",
    "-W",
    "-g",
    "-std=",
    "-flto",
    "-fno-lto",
    "-fembed-bitcode",
    "-fuse-ld=",
    "--ld-path=",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-save-temps",
    "--save-temps",
)
"""How more such arguments begin; `-Wl,` is no warning."""

DROPPED: Final = frozenset(
    (
        *("-s", "-S", "--strip-all", "--strip-debug"),
        *("--start-group", "--end-group", "-(", "-)", "--start-lib", "--end-lib"),
        *("--whole-archive", "-whole-archive", "--no-whole-archive", "-no-whole-archive"),
        *("--print-map", "-M", "--save-temps", "--print-memory-usage", "--print-gc-sections", "--cref"),
    )
)
DROPPED_STARTS: Final = ("-Map=", "--Map=", "--dependency-file=", "--thinlto-", "--lto-")
DROPPED_WITH_VALUE: Final = ("-Map", "--Map", "--dependency-file")
"""Options of linkers that are dropped: about symbols, the order of inputs, other outputs and LTO."""

LD: Final = "ld"
"""The driver of a link that the build does by a linker itself."""

LINKER: Final = re.compile(r"([\w.]+-)*ld(\.lld|\.bfd|\.gold)?(-[\d.]+)?")
"""The names of linkers for ELF, such as ``arm-none-eabi-ld`` and ``ld.lld-22``."""

_DRIVERS: Final = {
    **dict.fromkeys(("-shared", "--shared", "-Bshareable"), "-shared"),
    **dict.fromkeys(("-r", "-i", "--relocatable"), "-r"),
    **dict.fromkeys(("-pie", "--pie", "-pic-executable"), "-pie"),
    **dict.fromkeys(("-static", "-Bstatic", "-dn", "-non_shared"), "-static"),
}
"""Options of linkers that the driver must see, and its names for them."""

_FILES: Final = re.compile(
    r"(--output|--library(?:-path)?|--script|-[oLlT](?!text|data|bss|rodata|ldata))=?(.*)"
)
"""Options of linkers for files and libraries, whose value is attached or the next argument."""

_LINKER_VALUES: Final = frozenset(
    (
        *("-e", "-u", "-z", "-m", "-y", "-h", "-R", "-a", "-A", "-b", "-c", "-f", "-F", "-G", "-Y", "-I"),
        *("--entry", "--undefined", "--defsym", "-defsym", "-soname", "--soname", "-rpath", "--rpath"),
        *("-rpath-link", "--rpath-link", "-dynamic-linker", "--dynamic-linker", "-init", "-fini"),
        *("--version-script", "--dynamic-list", "-plugin", "--plugin", "-plugin-opt", "--plugin-opt"),
        *("-Ttext", "-Tdata", "-Tbss", "--section-start", "--wrap", "--format", "--oformat", "--sysroot"),
        *("--exclude-libs", "--just-symbols", "--dependency-file", "-Map", "--Map", "--retain-symbols-file"),
    )
)
"""Other options of linkers whose value is the next argument."""

SCRIPT: Final = re.compile(r"(?:-T(?!(?:text|data|bss|ldata|rodata)(?:-segment)?(?:=|$))|--?script=)(.+)")
"""A linker script in the same argument as its option."""


@dataclass(frozen=True, slots=True)
class LinkItem:
    """One part of a link: an input, or an argument that is none.

    Attributes:
        text: the argument, or the input's path, absolute.
        is_input: whether it is an input.
        library: for ``-lNAME``, the folders to search.
        whole: whether all members of an archive are linked.
    """

    text: str
    is_input: bool = False
    library: tuple[str, ...] | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class LinkCommand:
    """A link: its items in order, and the output, absolute."""

    items: tuple[LinkItem, ...]
    output: str


def read_link(arguments: Sequence[str], directory: str, values: frozenset[str]) -> LinkCommand:
    """Read the arguments of clang's driver; `values` are the options whose value is the next argument."""
    return _Reader(directory, values).read(expanded(arguments, directory))


def driver_words(arguments: Iterable[str]) -> list[str]:
    """The arguments of clang's driver for a link that the linker itself does by these."""
    words: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            words.append(argument)
        elif argument in _DRIVERS:
            words.append(_DRIVERS[argument])
        elif argument in _LINKER_VALUES:
            words += ["-Xlinker", argument, "-Xlinker", next(rest, "")]
        elif found := _FILES.fullmatch(argument):
            option = {"--output": "-o", "--library": "-l", "--library-path": "-L", "--script": "-T"}
            words += [option.get(found[1], found[1]), found[2] or next(rest, "")]
        else:
            words += ["-Xlinker", argument]
    position = [] if {"-shared", "-r", "-pie"}.intersection(words) else ["-no-pie"]
    loads = any("dynamic-linker" in word for word in words)
    static = ["-static"] * (position != [] and not loads)
    if not any("-build-id" in word for word in words):  # clang has one of its own
        words += ["-Xlinker", "--build-id=none"]
    return [*words, "-nostdlib", *position, *static]


def linker_of(words: Iterable[str]) -> str:
    """The name of the linker that arguments of clang's driver choose; empty if they choose none."""
    names = [word.partition("=")[2] for word in words if word.startswith(("-fuse-ld=", "--ld-path="))]
    name = os.path.basename(names[-1]) if names else ""
    return name if LINKER.fullmatch(name) or not name else f"ld.{name}"


class _Reader:
    def __init__(self, directory: str, values: frozenset[str]) -> None:
        self._directory, self._values = directory, values
        self._items: list[LinkItem] = []
        self._output = "a.out"
        self._folders: list[str] = []
        self._whole = self._drop_next = self._script_next = self._is_wasm = False

    def read(self, arguments: Sequence[str]) -> LinkCommand:
        pairs = zip(("", *arguments), arguments, strict=False)
        self._is_wasm = any(
            word.startswith("--target=wasm") or (before == "-target" and word.startswith("wasm"))
            for before, word in pairs
        )
        rest = iter(arguments)
        for argument in rest:
            if argument == "--":
                for name in rest:
                    self._add_input(name)
            elif argument == "-Xlinker":
                self._add_linker([next(rest, "")])
            elif argument in self._values:
                self._add_pair(argument, next(rest, ""))
            elif argument.startswith("-") and argument != "-":
                self._add_option(argument)
            else:
                self._add_input(argument)
        scripts = {number + 1 for number, item in enumerate(self._items) if item.text == "-T"}
        items = [self._found(item) if n in scripts else item for n, item in enumerate(self._items)]
        return LinkCommand(tuple(items), self._absolute(self._output))

    def _found(self, script: LinkItem) -> LinkItem:
        """A script where linkers find it: in the folder of the link, or in one of `-L`."""
        name = os.path.relpath(script.text, self._directory)
        places = (script.text, *(os.path.join(folder, name) for folder in self._folders))
        return LinkItem(next(filter(os.path.exists, places), script.text))

    def _add_input(self, path: str) -> None:
        self._items.append(LinkItem(self._absolute(path), is_input=True, whole=self._whole))

    def _add_pair(self, option: str, value: str) -> None:
        if option in ("-o", "--output"):
            self._output = value
        elif option in ("-L", "--library-directory", "-l"):
            self._add_option(f"-{'l' if option == '-l' else 'L'}{value}")
        elif option == "--sysroot":
            self._add_option(f"--sysroot={value}")
        elif option == "-T":
            self._items += [LinkItem(option), LinkItem(self._absolute(value))]
        elif option not in ("-x", "-mllvm", "-Xclang", "-Xpreprocessor", "-Xassembler", "--param") and not (
            option in COMPILING or option.startswith(COMPILING_STARTS)
        ):
            self._items += [LinkItem(option), LinkItem(value)]

    def _add_option(self, argument: str) -> None:
        if argument.startswith("-Wl,"):
            self._add_linker(argument[4:].split(","))
        elif argument.startswith("-o") and argument != "-object":
            self._output = argument[2:]
        elif script := SCRIPT.fullmatch(argument):
            self._add_pair("-T", script[1])
        elif argument.startswith("-L"):
            self._folders.append(self._absolute(argument[2:]))
            self._items.append(LinkItem(f"-L{self._folders[-1]}"))
        elif argument.startswith("-l"):
            self._items.append(LinkItem(argument, library=tuple(self._folders), whole=self._whole))
        elif argument.startswith("--sysroot="):
            self._items.append(LinkItem(f"--sysroot={self._absolute(argument[10:])}"))
        elif not self._is_compiling(argument):
            self._items.append(LinkItem(argument))

    def _is_compiling(self, argument: str) -> bool:
        """Whether an argument says nothing about a link; of wasm, clang runs wasm-opt with the level."""
        is_level = argument.startswith("-O") and self._is_wasm
        return not is_level and (argument in COMPILING or argument.startswith(COMPILING_STARTS))

    def _add_linker(self, words: Sequence[str]) -> None:
        """Add options for the linker itself, without those that are dropped."""
        for word in words:
            script = SCRIPT.fullmatch(word)
            if self._script_next or script:
                self._add_pair("-T", script[1] if script else word)
                self._script_next = False
                continue
            self._script_next = word in ("-T", "-script", "--script")
            if self._drop_next or self._script_next:
                self._drop_next = False
                continue
            if word in ("--whole-archive", "-whole-archive"):
                self._whole = True
            elif word in ("--no-whole-archive", "-no-whole-archive"):
                self._whole = False
            self._drop_next = word in DROPPED_WITH_VALUE
            if word and not (self._drop_next or word in DROPPED or word.startswith(DROPPED_STARTS)):
                self._items.append(LinkItem(f"-Wl,{word}"))

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._directory, path))
