# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Estimates the cycles of functions: llvm-mca's throughput of their blocks, weighted by block frequency.

The input is LLVM's assembly with comments, which name the blocks. Each block becomes one llvm-mca region; its
reciprocal throughput is the least number of cycles that its instructions need.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.version import MAJOR

MCA: Final = f"llvm-mca-{MAJOR}"
DEADLINE: Final = 600.0
"""Seconds that llvm-mca may take for a module."""

_FUNCTION: Final = re.compile(r"\s-- Begin function (.+)$")
_SYNTAX: Final = re.compile(r"\s*\.(intel|att)_syntax\b")
_END: Final = re.compile(r"\s-- End function")
_BLOCK: Final = re.compile(r"(?:\S*BB\d+_|\s*(?:#|//|;|@|!)\s*%bb\.)(\d+):")
_COMMENT: Final = re.compile(r"\s*(?:#|//|;|@|!)")


def block_throughput(
    assembly: str, flags: Sequence[str], frequencies: Mapping[str, Mapping[int, float]]
) -> dict[str, float]:
    """Cycles per call of each function: the sum of its blocks' reciprocal throughput times frequency.

    Args:
        assembly: LLVM's assembly with comments.
        flags: llvm-mca's target: ``-mtriple=``, ``-mcpu=``, ``-mattr=``.
        frequencies: function -> block number -> executions per call.

    Raises:
        InputError: llvm-mca is not installed, takes too long, or does not support the processor.
    """
    blocks: list[tuple[str, int]] = []
    marked = "\n".join([*_marked(assembly, blocks), ""])
    cycles: dict[str, float] = {}
    for region in _regions(marked, flags):
        name, block = blocks[int(str(region["Name"]))]
        weight = frequencies.get(name, {}).get(block, 0.0)
        cycles[name] = cycles.get(name, 0.0) + weight * float(region["SummaryView"]["BlockRThroughput"])
    return cycles


def _marked(assembly: str, blocks: list[tuple[str, int]]) -> Iterator[str]:
    """The lines of functions, with llvm-mca's marks around each block.

    Appends (function, block number) to `blocks`; the name of a region is the block's index in that list.
    """
    function, comment, open_region = "", "#", False
    for line in assembly.splitlines():
        if _SYNTAX.match(line):
            yield line
        if found := _FUNCTION.search(line):
            function = found[1].strip('"')
        begins = _BLOCK.match(line) if function else None
        ends = _END.search(line)
        if (begins or ends) and open_region:
            yield f"{comment} LLVM-MCA-END"
            open_region = False
        if begins:
            if mark := _COMMENT.match(line):
                comment = mark[0].strip()
            yield f"{comment} LLVM-MCA-BEGIN {len(blocks)}"
            blocks.append((function, int(begins[1])))
            open_region = True
        if ends:
            function = ""
        if open_region and not begins and _is_instruction(line):
            yield line


def _is_instruction(line: str) -> bool:
    text = line.strip()
    return line[:1] in "\t " and bool(text) and not text.startswith(".") and not _COMMENT.match(line)


def _regions(assembly: str, flags: Sequence[str]) -> list[dict[str, dict[str, float]]]:
    program = shutil.which(MCA)
    if program is None:
        package = f"llvm-{MAJOR}"
        raise InputError(f"--report-mca: {MCA} is not on the PATH; install the package {package}")
    views = ["-json", "-iterations=1", "-all-views=false", "-summary-view"]
    command = [program, *flags, *views, "-skip-unsupported-instructions=any"]
    try:
        done = subprocess.run(
            command,
            input=assembly,
            capture_output=True,
            errors="surrogateescape",
            timeout=DEADLINE,
            check=False,
        )
        regions: list[dict[str, dict[str, float]]] = json.loads(done.stdout)["CodeRegions"]
    except subprocess.TimeoutExpired:
        raise InputError(f"{MCA}: expected it to end within {DEADLINE:g} s, got silence") from None
    except (ValueError, KeyError, TypeError):
        text = " ".join(done.stderr.split())[-300:]
        msg = f"{MCA} {' '.join(flags)}: expected a processor it can judge, got: {text}; use -mcpu="
        raise InputError(msg) from None
    return regions
