# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generated modules under advised inlining, against MLIR's own inliner and against what they compute."""

from __future__ import annotations

from typing import Any

import pytest

from passpilot.passes.mlir.api import run_pipeline
from passpilot.passes.mlir.inline import MLIR_INLINE
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import Program, calls, executed

pytestmark = pytest.mark.filterwarnings("ignore:.*was never asked")  # some have no call to inline

ENGINES = ("bottom-up", "mark-and-run")


def inlined(text: str, options: str) -> Any:
    """A module after `advised-inline`."""
    module = parsed(text)
    run_pipeline(module, f"builtin.module(advised-inline{{{options}}})")
    assert module.operation.verify()
    return module


def check_refusal(text: str, engine: str, native: Any) -> None:
    """Where everything is refused nothing changes; where nothing is asked, it is MLIR's own inliner."""
    refused = parsed(text)
    with MLIR_INLINE.advisor("const:0") as advisor:
        options = f"engine={engine} {'default-pipeline=none' if engine == 'bottom-up' else ''}"
        run_pipeline(refused, f"builtin.module(advised-inline{{{options}}})", [advisor])
        if advisor.stats.decisions and engine == "bottom-up":  # what is unused goes, as in MLIR
            assert calls(refused).items() <= calls(parsed(text)).items()
        elif advisor.stats.decisions:
            assert str(refused) == str(parsed(text))
        else:
            assert calls(refused) == calls(native)


def check(seed: int) -> None:
    """All that holds for any module."""
    text = Program(seed).text()
    native = parsed(text)
    run_pipeline(native, "builtin.module(inline)")
    computed = executed(parsed(text))
    for engine in ENGINES:
        assert calls(inlined(text, f"runner=const:1 engine={engine}")) == calls(native)
        check_refusal(text, engine, native)
        for pipeline in ("canonicalize", "none"):
            options = f"runner=random:{seed} engine={engine} default-pipeline={pipeline}"
            assert executed(inlined(text, options)) == computed
    options = f"runner=const:1 default-pipeline={'none' if seed % 2 else 'canonicalize,cse'}"
    assert executed(inlined(text, options)) == computed


@pytest.mark.parametrize("first", range(0, 12, 4))
def test_generated_modules(first: int) -> None:
    for seed in range(first, first + 4):
        check(seed)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 500, 20))
def test_five_hundred_generated_modules(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)
