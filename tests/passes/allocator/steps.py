# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code from the advised allocator, in this process and by stock tools."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import passpilot
from passpilot.plugin.compile import llvm_options
from tests.plugin.native.stock.tools import made

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from passpilot.runners.spec import RunnerLike

POINTS: Final = ("ra-order", "ra-action", "ra-colour", "ra-split")

VERIFIED: Final = ("-regalloc=advised", "-verify-machineinstrs")


@contextmanager
def advised_allocator(*flags: str) -> Iterator[None]:
    """LLVM's options in this process; later they are as if never given: amdgcn refuses a `-regalloc`."""
    llvm_options(["-regalloc=advised", *flags])
    try:
        yield
    finally:
        llvm_options([], forget=["-regalloc", *(flag.partition("=")[0] for flag in flags)])


def emitted_by(
    source: Path, runners: Mapping[str, RunnerLike], log: Path | None = None, triple: str = ""
) -> bytes:
    """The object of a module whose allocator asks these; `log` is the folder for a log of each point."""
    advisors = [
        passpilot.advisor(point, runner, log=str(log / f"{point}.log") if log else None)
        for point, runner in runners.items()
    ]
    try:
        with advised_allocator("-verify-machineinstrs=1"):
            module = passpilot.Module.read(source, mtriple=triple)
            return passpilot.emit(module, "obj", advisors=advisors, relocation_model="pic")
    finally:
        for advisor in advisors:
            advisor.close()


def advised(text: bytes, runners: Mapping[str, RunnerLike], *, triple: str = "") -> bytes:
    """The assembly of a module's text whose allocator asks these."""
    advisors = [passpilot.advisor(point, runner) for point, runner in runners.items()]
    try:
        with advised_allocator("-verify-machineinstrs=1"):
            return passpilot.emit(passpilot.Module.read(text, mtriple=triple), "asm", advisors=advisors)
    finally:
        for advisor in advisors:
            advisor.close()


def by_stock_llc(source: Path, folder: Path, *flags: str) -> bytes:
    """The object that stock llc makes with the plugin."""
    out = folder / "stock.o"
    common = ("-O2", "-filetype=obj", "-relocation-model=pic", *VERIFIED)
    return made("llc", out, *common, *flags, source)


def random_runners(seed: int) -> dict[str, str]:
    """Four agents that draw among what is legal."""
    return {point: f"random:{seed + number}" for number, point in enumerate(POINTS)}
