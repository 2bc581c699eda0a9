# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps agents of the service from the files of its machine.

Passes, assembly and code generators may read or write files: that for BPF copies lines of the source files
that debug information names. So agents have only the targets that the service names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.training.compiler_pb2 import Start

_NAME: Final = re.compile(r"[\w.-]+")

FILE_PASSES: Final = frozenset(
    ("function-import", "insert-gcov-profiling", "memprof-use", "rewrite-symbols", "sample-profile")
)
"""LLVM's passes that read or write a file that the module, the pipeline or an option of LLVM names."""

FILE_PREFIXES: Final = ("dot-", "view-")
"""How the names of passes begin that write graphs into files; `view-` also starts a program."""


def refuse_assembly_files() -> None:
    """Let this process's assembly read no files, by `.include` or `.incbin`."""
    _core.refuse_assembly_files()


def own_target() -> str:
    """The architecture of this machine, as its triple begins."""
    return _core.processor("generic")[0].partition("-")[0]


def check_target(triple: str, targets: Sequence[str]) -> None:
    """Refuse modules for other targets than these; those without a triple are for this machine.

    Raises:
        InputError: the module is for another target.
    """
    if targets and triple and not triple.startswith(tuple(targets)):
        msg = f"module: expected one for {' or '.join(targets)}, got one for {triple:.60}"
        raise InputError(
            f"{msg}; start the service with --target={triple.partition('-')[0]:.20} to permit it"
        )


def check_passes(start: Start) -> None:
    """Refuse pipelines with passes that read or write files.

    Raises:
        InputError: the start has such a pipeline.
    """
    for text in (start.pipeline, *start.at.values()):
        for name in _NAME.findall(text):
            if name in FILE_PASSES or name.startswith(FILE_PREFIXES):
                msg = f"pipeline: expected passes that use no files, got {name}"
                raise InputError(f"{msg}; start the service with --allow-files to permit it")
