# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the advised allocator asks about fixed programs, and the code that it makes of them.

``python -m tests.passes.allocator.record`` writes the record again: after a change that is meant to
change it, and for another LLVM.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import passpilot
from passpilot.features.log.reader import read_log
from passpilot.plugin import _core
from passpilot.plugin.version import MAJOR
from tests.features.llvm import scarce
from tests.passes.allocation.allocated import TRIPLES
from tests.passes.allocator.steps import POINTS, advised_allocator, random_runners

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE: Final = Path(__file__).parent / "recorded"
RECORD: Final = HERE / "questions.jsonl"

X86: Final = TRIPLES["x86-64"]
AARCH64: Final = TRIPLES["aarch64"]

CASES: Final = {
    f"{name}-{kind}-{seed or 'default'}": (name, triple, seed)
    for name, kind, triple, seed in (
        ("sums", "x86", X86, 0),
        ("sums", "x86", X86, 1),
        ("sums", "x86", X86, 2),
        ("sums", "aarch64", AARCH64, 0),
        ("sums", "ppc64le", TRIPLES["ppc64le"], 0),
        ("sums", "riscv64", TRIPLES["riscv64"], 0),
        ("careful", "x86", X86, 0),
        ("careful", "x86", X86, 3),
        ("careful", "aarch64", AARCH64, 4),
        ("careful", "riscv64", TRIPLES["riscv64"], 0),
        ("holes", "x86", X86, 0),
        ("holes", "x86", X86, 2),
        ("jumps", "x86", X86, 0),
        ("jumps", "x86", X86, 9),
        *(("narrow2", "i386", scarce.I386, seed) for seed in (0, 2)),
        *(("narrow3", "i386", scarce.I386, seed) for seed in (0, 3)),
        *(("narrow5", "i386", scarce.I386, seed) for seed in (0, 5)),
        *(("narrow6", "i386", scarce.I386, seed) for seed in (0, 5)),
        ("long", "x86", X86, 0),
        ("long", "x86", X86, 6),
        ("told", "x86", X86, 0),
        ("told", "x86", X86, 8),
    )
}
"""The program, its target and the seed of the four agents; with 0 the defaults decide."""


def source(name: str, triple: str) -> bytes:
    """A program for a target."""
    if name.startswith("narrow"):
        return scarce.assembly_for_i386(int(name[6:]))
    if name == "long":
        return scarce.long_function(groups=12)
    text = (HERE / f"{name}.ll").read_text(encoding="utf-8")
    if MAJOR < 22:
        text = re.sub(r"(@llvm\.lifetime\.\w+\.p0)\(ptr", r"\1(i64 -1, ptr", text).replace(
            "(i64 -1, ptr)", "(i64, ptr)"
        )
    text = re.sub(r'(?m)^target triple = ".*"$', f'target triple = "{triple}"', text)
    if "riscv64" in triple:  # compressed instructions have eight registers
        text = re.sub(r"(?m)^(define .*\)) {$", r'\1 optsize "target-features"="+m,+d,+c" {', text)
    return text.encode()


def observed(case: str, folder: Path) -> dict[str, dict[str, Any]]:
    """What each tensor of each point held in all questions; how often each opcode is in the code."""
    name, triple, seed = CASES[case]
    runners: Mapping[str, str] = random_runners(seed) if seed else dict.fromkeys(POINTS, "default")
    advisors = [
        passpilot.advisor(point, runners[point], log=str(folder / f"{point}.log")) for point in POINTS
    ]
    with advised_allocator("-verify-machineinstrs=1"):
        module = passpilot.Module.read(source(name, triple))
        code = passpilot.emit(module, "asm", advisors=advisors, relocation_model="pic")
    seen: dict[str, dict[str, Any]] = {
        point: summed(read_log(folder / f"{point}.log").to_arrays()) for point in POINTS
    }
    opcodes = Counter(re.findall(r"(?m)^\t([a-z]\w*|#DEBUG_VALUE)", code.decode()))
    digest = int(hashlib.sha256(code).hexdigest()[:8], 16)
    return {**seen, "code": {**dict(sorted(opcodes.items())), "digest": digest}}


def summed(arrays: Mapping[str, Any]) -> dict[str, list[float]]:
    """By tensor: what it held in all questions; also the number of these."""
    return {name: sums(np.asarray(array, np.float64)) for name, array in arrays.items()}


def sums(array: Any) -> list[float]:
    """The number of questions, the sum, the sum of numbers times their column, and how many are infinite."""
    flat = array.reshape(len(array), -1)
    infinite = np.isinf(flat)
    flat = np.where(infinite, 0, flat)
    by_column = flat.sum(axis=0) @ np.arange(1, flat.shape[1] + 1)
    return [len(flat), round(float(flat.sum()), 2), round(float(by_column), 1), int(infinite.sum())]


def main() -> None:
    """Write the record."""
    lines = [json.dumps({"llvm": llvm_version()})]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            seen = observed(case, Path(folder))
        lines += [json.dumps({"case": case, "of": of, "seen": held}) for of, held in seen.items()]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


def llvm_version() -> str:
    """LLVM's version, such as 22.1.8."""
    return _core.version_text().partition("LLVM version ")[2].split()[0]


def recorded() -> tuple[str, dict[tuple[str, str], dict[str, Any]]]:
    """LLVM's version; by case and point, or "code", what the record says."""
    first, *lines = map(json.loads, RECORD.read_text(encoding="utf-8").splitlines())
    return first["llvm"], {(line["case"], line["of"]): line["seen"] for line in lines}


if __name__ == "__main__":
    main()
