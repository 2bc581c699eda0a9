# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's two doors, `passpilot mlir-opt` and stock mlir-opt with the plugin: the same bytes and results.

`identity` runs all of MLIR's points, their policies and native passes on all modules of the tests, and
compares the bytes of the two. `random` makes modules, takes random decisions in both, and compares what they
compute with what the module computes without. Both write bench/results/mlir.json and go on where they ended;
wrong cases are tried again. Exit code 1 if a case is wrong.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bench.lib import ROOT, command, read, write
from passpilot import mlir
from passpilot.errors import Error
from tests.command import Done, passpilot
from tests.corpus.modules import MODULES, unpacked
from tests.passes.mlir import linalg
from tests.passes.mlir.chains import Chain
from tests.passes.mlir.programs import Program, executed
from tests.passes.mlir.test_stack import BUFFERIZED
from tests.plugin.native.mlir.tools import CALLS, stock

RECORD: Final = "mlir.json"
TRIALS: Final = 460
"""... with random advice, of a point in a door."""
BATCH: Final = 20
"""Modules in one call of a tool in `random`, and generated modules of a kind in `identity`."""

SPLIT: Final = "// -----\n"
Run = Callable[[str], list[Any]]
"""What `main` of a module gives."""

POLICY: Final = """\
def decide(obs):
    return obs["callee_operations"].item() < 3 or obs["caller_height"].item() > 1
"""
RUNNERS: Final = ("", "default", "const:0", "const:1", "random:7")
INLINE: Final = tuple(
    f"advised-inline{{engine={engine} {f'runner={runner}' * bool(runner)}}},symbol-dce"
    for engine in ("bottom-up", "mark-and-run")
    for runner in (*RUNNERS, "python:policy.py:decide")
)
OTHERS: Final = tuple(
    f"func.func({name}{{{runner and f'runner={runner}'}}})"
    for name in ("advised-tile", "advised-fuse", "advised-stack")
    for runner in RUNNERS
    if (name, runner) != ("advised-tile", "const:1")  # is no size of all its loops
)
NATIVE: Final = ("inline,canonicalize,cse,symbol-dce", "")
FORMS: Final = (
    ("--mlir-print-op-generic", "--mlir-print-debuginfo"),
    (),
    ("--emit-bytecode",),
)
"""The first for all pipelines, all of them for those of MLIR's own passes."""


def modules(folder: Path) -> Iterator[tuple[str, str]]:
    """All modules of the tests, by name."""
    for name, make in (
        ("calls", calls),
        ("operations", operations),
        ("chains", chains),
        ("buffers", buffers),
    ):
        yield f"{BATCH} {name}", SPLIT.join(make(seed)[0] for seed in range(BATCH))
    for path in sorted(ROOT.glob("*_tests/**/*.mlir")):
        yield str(path.relative_to(ROOT)), path.read_text()
    for name in MODULES:
        yield name, unpacked(name, folder).text
    yield "tests' calls", CALLS


def identity(rows: dict[str, Any]) -> None:
    """The bytes of all modules, by pipeline."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.py").write_text(POLICY)
        for module, text in modules(folder):
            (folder / "in.mlir").write_text(text)
            for pipeline in (*NATIVE, *INLINE, *(OTHERS if "linalg." in text or "memref." in text else ())):
                row = rows.setdefault(f"identity, {pipeline or 'no pass'}", {"done": {}, "wrong": {}})
                if module not in row["done"]:
                    forms = FORMS if pipeline in NATIVE else FORMS[:1]
                    if SPLIT in text:  # locations have other names then
                        forms = (("--mlir-print-op-generic", "--split-input-file"),)
                    wrong = filter(None, (differs(pipeline, form, folder) for form in forms))
                    judge(row, module, ", ".join(wrong), text.count(SPLIT) + 1)
            write(RECORD, rows)


def differs(pipeline: str, form: tuple[str, ...], folder: Path) -> str:
    """How the bytes of the two doors differ; empty if they do not."""
    theirs, ours = both(pipeline, form, folder)
    if ours.code or theirs.code:
        return f"{form}: {(ours if ours.code else theirs).err[-300:]}"
    return "" if ours.out == theirs.out else f"{form}: other bytes"


def both(pipeline: str, form: tuple[str, ...], folder: Path) -> tuple[Done, Done]:
    """What stock mlir-opt makes of in.mlir, and what passpilot mlir-opt makes of it."""
    theirs = stock(pipeline, Path("in.mlir"), "-o", "-", *form, cwd=folder)
    flags = (
        f"--pass-pipeline=builtin.module({pipeline})",
        "-o",
        "-",
        *form,
        *["-f"] * ("--emit-bytecode" in form),
    )
    return theirs, passpilot("mlir-opt", "in.mlir", *flags, cwd=folder)


def judge(row: dict[str, Any], case: str, wrong: str, count: int = 1) -> None:
    """Count the modules of a case, if they are right."""
    row["date"] = time.strftime("%Y-%m-%d", time.gmtime())
    row["wrong"].pop(case, None)
    if wrong:
        row["wrong"][case] = wrong
        print(f"{case}: {wrong}", file=sys.stderr)
    else:
        row["done"][case] = count


def calls(seed: int) -> tuple[str, Run]:
    """A module with calls, and how to run such a module."""
    return Program(seed).text(), lambda text: executed(linalg.parsed(text))


def operations(seed: int) -> tuple[str, Run]:
    """The same of an operation of linalg, for its tiles."""
    return of_arrays(linalg.Maker(seed).program())


def chains(seed: int) -> tuple[str, Run]:
    """The same of several operations, for what is fused."""
    return of_arrays(Chain(seed).program())


def buffers(seed: int) -> tuple[str, Run]:
    """The same after bufferization, for what is on the stack."""
    text, run = chains(seed)
    module = linalg.parsed(text)
    mlir.run_pipeline(module, f"builtin.module({BUFFERIZED})")
    return f"{module}", run


def of_arrays(program: linalg.Program) -> tuple[str, Run]:
    return program.text, lambda text: linalg.run(linalg.parsed(text), program.arrays).ravel().tolist()


ENGINES: Final = tuple(
    f"engine={engine} default-pipeline={first}"
    for engine in ("bottom-up", "mark-and-run")
    for first in ("canonicalize", "none")
)
POINTS: Final[dict[str, tuple[Callable[[int], tuple[str, Run]], Callable[[int], str]]]] = {
    "mlir-inline": (calls, lambda n: f"advised-inline{{runner=random:{n} {ENGINES[n // BATCH % 4]}}}"),
    "mlir-tile": (operations, lambda n: f"func.func(advised-tile{{runner=random:{n}}})"),
    "mlir-fuse": (chains, lambda n: f"func.func(advised-fuse{{runner=random:{n}}})"),
    "mlir-stack": (buffers, lambda n: f"func.func(advised-stack{{runner=random:{n}}})"),
}


def by_random(rows: dict[str, Any], count: int) -> None:
    """What modules compute after random decisions; the doors get several at once."""
    with tempfile.TemporaryDirectory() as name:
        for point, (make, pipeline) in POINTS.items():
            row = rows.setdefault(f"random, {point}", {"done": {}, "wrong": {}, "changed": 0})
            for first in range(0, count, BATCH):
                seeds = [n for n in range(first, min(first + BATCH, count)) if str(n) not in row["done"]]
                if seeds:
                    of_batch(row, {n: make(n) for n in seeds}, pipeline(first), Path(name))
                    write(RECORD, rows)


def of_batch(row: dict[str, Any], made: dict[int, tuple[str, Run]], pipeline: str, folder: Path) -> None:
    """Judge modules after random decisions, and count those that they have changed."""
    (folder / "in.mlir").write_text(SPLIT.join(text for text, _ in made.values()))
    theirs, ours = both(pipeline, ("--split-input-file",), folder)
    assert (theirs.code, ours.code) == (0, 0), (theirs.err, ours.err)
    pairs = zip(theirs.out.decode().split(SPLIT), ours.out.decode().split(SPLIT), strict=True)
    for (seed, (text, run)), (their, our) in zip(made.items(), pairs, strict=True):
        wrong = "" if our == their else "other bytes in stock mlir-opt"
        try:
            wrong = wrong or ("" if run(our) == run(text) else "another result")
        except (Error, RuntimeError) as error:
            wrong = str(error)
        row["changed"] += not wrong and our.strip() != str(linalg.parsed(text)).strip()
        judge(row, str(seed), wrong)


@command
def main(sweep: str = "all", *, count: int = TRIALS) -> None:
    """`sweep` is ``identity``, ``random`` or ``all``."""
    print(f"MLIR {mlir.bindings().version}")
    rows = read(RECORD, {})
    if sweep in ("identity", "all"):
        identity(rows)
    if sweep in ("random", "all"):
        by_random(rows, count)
    raise SystemExit(any(row["wrong"] for row in rows.values()))
