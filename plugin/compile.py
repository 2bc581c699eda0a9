# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of `optimize` and `emit`, under the names of opt's and llc's flags, and LLVM's own options.

Rarely used ones are in dataclasses: `PipelineOptions` for opt's rarer flags, `Remarks` for the file of
remarks that both may write.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import OutputFile, check_output

FileType = Literal["obj", "asm", "null"]

DEADLINE: Final = 300.0
"""The seconds that an isolated compilation may take unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """The file for the remarks of LLVM's passes: the flags ``-pass-remarks-*`` of opt and llc."""

    output: str = ""
    """The path; empty for no file."""
    filter: str = ""
    """A regular expression: only remarks of passes with matching names; empty for all remarks."""
    format: str = "yaml"
    """``yaml`` or ``bitstream``."""
    with_hotness: bool = False
    """Whether remarks have profile counts, including those that ``-pass-remarks`` prints."""

    @property
    def core(self) -> _core.RemarkOptions:
        """The options as the core takes them; raises InputError for a path of another user's link."""
        if self.output:
            check_output(self.output)
        options = _core.RemarkOptions()
        options.file, options.filter = self.output, self.filter
        options.format, options.with_hotness = self.format, self.with_hotness
        return options


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """The rarer flags of opt, under opt's names."""

    aa_pipeline: str = "default"
    """The alias analyses, as pipeline text."""
    verify_each: bool = False
    """Whether the verifier runs after every pass."""
    debug_pass_manager: bool = False
    """Whether the pass manager prints the passes that it runs."""
    pass_plugins: Sequence[str] = ()
    """Paths of LLVM pass plugins to load first."""
    as_clang: bool = False
    """Whether ``default<LEVEL>`` is clang's pipeline of that level, not opt's: at -Oz clang vectorizes
    straight-line code."""
    functions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Decisions about functions by their names, in the words of a decision file: ``{"f": ["optsize"]}``."""


PLAIN: Final = PipelineOptions()
NO_REMARKS: Final = Remarks()


@contextmanager
def whole_remarks(options: _core.PipelineOptions | _core.EmitOptions) -> Iterator[None]:
    """Let a child process write the remarks into a file that appears at the end, unless the block fails."""
    remarks = options.remarks
    path = remarks.file
    if not path or path == "-" or (os.path.exists(path) and not _is_plain(path)):
        yield
        return
    with OutputFile(path) as file:
        remarks.file = f"/proc/self/fd/{file.fd}"
        options.remarks = remarks
        yield


def _is_plain(path: str) -> bool:
    """Whether the path names a regular file, not an open descriptor of this process."""
    return os.path.isfile(path) and not path.startswith(("/dev/", "/proc/"))


def deadline_of(function: str, isolated: bool, deadline: float | None) -> float | None:
    """The deadline of a compilation in a child process; None for one in this process.

    Raises:
        InputError: there is a deadline without a child process, or it is not a number above 0.
    """
    if deadline is not None and not isolated:
        raise InputError(f"{function}: a deadline has no effect without isolated=True")
    if deadline is not None and not deadline > 0:
        raise InputError(f"{function}: expected a deadline of more than 0 seconds, got {deadline}")
    if not isolated:
        return None
    return DEADLINE if deadline is None else deadline


def file_type(name: str) -> _core.FileType:
    """The core's file type for a value of llc's flag -filetype.

    Raises:
        InputError: there is no such file type.
    """
    if name not in get_args(FileType):
        known = " or ".join(map(repr, get_args(FileType)))
        raise InputError(f"emit: expected filetype {known}, got {name!r}")
    return _core.FileType[name.upper()]


def llvm_options(arguments: Sequence[str], *, forget: Sequence[str] = ()) -> None:
    """Set LLVM's own options, such as ``-inline-threshold=50``, for this process.

    A call first resets the options that it names to LLVM's defaults; other options keep their values. Those
    in `forget`, such as ``-regalloc``, are as if an earlier call had not given them.

    Raises:
        InputError: LLVM refuses an option, or another thread compiles and reads the options.
    """
    _core.parse_options(list(arguments), list(forget))
    _SET.difference_update(map(_name, forget))
    _SET.update(map(_name, arguments))
    call = tuple(arguments), tuple(forget)
    _CALLS.pop(call, None)  # as the last one: a call resets the options that it names
    _CALLS[call] = None


_SET: Final[set[str]] = set()
"""The names of the options that `llvm_options` has set."""

_CALLS: Final[dict[tuple[tuple[str, ...], tuple[str, ...]], None]] = {}
"""The arguments of `llvm_options`, by their last call."""


def options_set() -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The arguments of the calls of `llvm_options` that made LLVM's options what they are."""
    return list(_CALLS)


def unset_options(options: Iterable[str], arguments: Iterable[str] = ()) -> list[str]:
    """Options, as NAME or NAME=VALUE, as flags; without those that `llvm_options` or the arguments set."""
    known = _SET.union(map(_name, arguments))
    return [f"-{option}" for option in options if _name(option) not in known]


def _name(option: str) -> str:
    return option.lstrip("-").partition("=")[0]
