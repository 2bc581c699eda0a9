# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of the guides to MLIR run unchanged in stock mlir-opt."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

from passpilot.features.log.reader import LoggedDecision, read_log
from passpilot.plugin.toolchain import mlir_plugin
from tests.command import PASSPILOT, run
from tests.passes.mlir.passes import TEXT
from tests.plugin.native.mlir.tools import CALLS, MLIR_OPT, written

DOCS: Final = Path(__file__).parents[4] / "docs"
OURS: Final = re.compile(r"--(load|advise|log|inline)(?=[ =])")


def python_of(guide: str) -> dict[str, str]:
    """The Python files that a guide shows, by name."""
    pieces = re.findall(r"```python\n(# (\w+\.py)\n.*?)```", (DOCS / guide).read_text(), re.DOTALL)
    return {name: piece for piece, name in pieces}


def as_stock(command: str) -> list[str]:
    """The arguments of `passpilot mlir-opt` as those of mlir-opt: our options have our prefix, with a `=`."""
    words = shlex.split(re.sub(r"(--passpilot-\w+) ", r"\1=", OURS.sub(r"--passpilot-\1", command)))
    return [str(MLIR_OPT), f"--load-pass-plugin={mlir_plugin()}", *words[1:]]


def test_the_guide_in_stock_mlir_opt(tmp_path: Path) -> None:
    written(tmp_path, "in.mlir", TEXT)
    for name, text in python_of("mlir.md").items():
        written(tmp_path, name, text)
    text = (DOCS / "mlir.md").read_text()
    commands = re.findall(r"^passpilot (mlir-opt in.*)", text, re.MULTILINE)
    assert len(commands) == 4
    made: dict[str, bytes] = {}
    for command in commands:
        done = run(*as_stock(command), cwd=tmp_path)
        assert done.code == 0, done.err
        made[command] = done.out + (tmp_path / shlex.split(command)[-1]).read_bytes()
    assert b"big 2\n" in made[commands[0]]
    assert (tmp_path / "again.mlir").read_bytes() == (tmp_path / "out.mlir").read_bytes()
    for log in ("cold.log", "inline.log"):
        assert list(read_log(str(tmp_path / log)))


def test_the_custom_feature_in_both_doors(tmp_path: Path) -> None:
    written(tmp_path, "in.mlir", CALLS)
    written(tmp_path, "multiplications.py", python_of("mlir-inlining.md")["multiplications.py"])
    pipeline = "--pass-pipeline='builtin.module(advised-inline{default-pipeline=none})'"
    advice = "--load multiplications.py --inline random:3 --log x.log"
    command = f"mlir-opt in.mlir {pipeline} {advice} -o out.mlir"
    seen = []
    for door in (as_stock(command), [PASSPILOT, *shlex.split(command)]):
        done = run(*door, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        seen.append([(each.caller, each.callee, rows(each)) for each in read_log(str(tmp_path / "x.log"))])
    assert seen[0] == seen[1]
    assert {tensors["multiplications"][0] for *_, tensors in seen[0]} == {0, 1}
    assert {(caller, callee) for caller, callee, _ in seen[0]} > {("middle", "leaf")}


def rows(decision: LoggedDecision) -> dict[str, list[int]]:
    """The tensors of a decision."""
    return {name: value.tolist() for name, value in decision.tensors.items()}
