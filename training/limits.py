# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps agents of the service from the files of its machine.

Passes, assembly and code generators may read or write files: that for BPF copies lines of the source files
that debug information names. So agents have only the targets that the service names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from passpilot.training.compiler_pb2 import Start

AGENTS_PASSES: Final = frozenset((
    "default", "thinlto-pre-link", "thinlto", "lto-pre-link", "lto", "devirt", "repeat", "require",
    "invalidate", "coro-cond", "alloc-token", "annotation-remarks", "annotation2metadata",
    "canonicalize-aliases", "cg-profile", "coro-annotation-elide", "coro-cleanup", "coro-early",
    "coro-elide", "coro-split", "cross-dso-cfi", "ee-instrument", "expand-variadics",
    "extra-simple-loop-unswitch-passes", "forceattrs", "globalsplit", "inject-tli-mappings",
    "lowertypetests", "memprof-remove-attributes", "move-auto-init", "name-anon-globals",
    "norecurse-lto-inference", "openmp-opt", "openmp-opt-cgscc", "pgo-icall-prom",
    "simplify-type-tests", "transform-warning", "verify", "wholeprogramdevirt",
))  # fmt: skip
"""What agents may name beside the passes of decision files: LLVM's pipelines, and what these have in them."""


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
    """Refuse pipelines with passes that are not known to read, write, load and print nothing.

    Raises:
        InputError: the start has such a pipeline.
    """
    others = [name for text in (start.pipeline, *start.at.values()) for name in _core.other_passes(text)]
    if got := ", ".join(f"{name:.40}" for name in dict.fromkeys(others) if name not in AGENTS_PASSES):
        msg = f"pipeline: expected optimization passes of LLVM's, or passes of a --load file, got {got}"
        raise InputError(f"{msg}; start the service with --allow-files to permit all passes")
