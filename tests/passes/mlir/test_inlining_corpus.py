# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real modules under advised inlining: what MLIR's own inliner makes of them, and what they compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.passes.mlir.api import run_pipeline
from passpilot.passes.mlir.lower import lower
from tests.corpus.modules import LARGE, MODULES, unpacked
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import calls

EACH = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] * (name == LARGE)) for name in MODULES]
)


def piped(text: str, *passes: str) -> object:
    """A module after passes."""
    module = parsed(text)
    run_pipeline(module, f"builtin.module({','.join(passes)})")
    return module


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])
def test_all_accepted_is_what_mlir_does(name: str, engine: str, tmp_path: Path) -> None:
    text = unpacked(name, tmp_path).text
    native = piped(text, "inline")
    advised = piped(text, f"advised-inline{{runner=const:1 engine={engine}}}")
    assert str(advised) == str(native)
    assert calls(native)
    assert not any(calls(native).values())
    refused = piped(text, f"advised-inline{{runner=const:0 engine={engine} default-pipeline=none}}")
    assert str(refused) == str(parsed(text))


@EACH
def test_results_are_those_of_jax(name: str, tmp_path: Path) -> None:
    program = unpacked(name, tmp_path)
    expected = program.run(lower(parsed(program.text)))
    others = ("runner=random:3 engine=mark-and-run", "runner=random:4 default-pipeline=cse")
    for options in ("runner=random:2", *others):
        module = piped(program.text, f"advised-inline{{{options}}}")
        assert any(calls(module).values())
        assert program.run(lower(module)) == expected
