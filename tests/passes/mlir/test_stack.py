# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-stack`: what is asked, what it answers by default, and that programs compute the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from passpilot import MLIR_STACK, Observation, mlir
from passpilot.errors import AdviceError, PipelineError
from tests.passes.mlir.chains import Chain
from tests.passes.mlir.linalg import Maker, parsed, run
from tests.plugin.native.mlir.tools import stock, written

TEXT: Final = """
func.func private @g(memref<4xf32>)
func.func @f(%n: index, %m: memref<?x?xf32>) -> memref<3xi8> {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() {alignment = 64 : i64} : memref<1000xvector<2xf64>>
  %c = memref.alloc(%n) : memref<?xf32>
  %r = memref.rank %m : memref<?x?xf32>
  %d = memref.alloc(%r) : memref<?xf32>
  %e = memref.alloc() : memref<3xi8>
  %x = memref.alloc() : memref<8xcomplex<f32>>
  %l = memref.alloc() : memref<10000xf64>
  %zero = arith.constant 0 : index
  %z = memref.load %b[%zero] : memref<1000xvector<2xf64>>
  func.call @g(%a) : (memref<4xf32>) -> ()
  memref.dealloc %l : memref<10000xf64>
  return %e : memref<3xi8>
}
"""
MLIRS: Final = "promote-buffers-to-stack"
BUFFERIZED: Final = (
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},"
    "canonicalize"
)


def piped(text: str, *passes: str, runner: Any = None) -> str:
    module = parsed(text)
    advisors = [] if runner is None else [MLIR_STACK.advisor(runner)]
    mlir.run_pipeline(module, f"builtin.module(func.func({','.join(passes)}))", advisors)
    return str(module)


@pytest.mark.parametrize("options", ["", "{runner=default}", "{limit=0}", "{runner=default limit=100000000}"])
def test_the_default_is_mlirs(options: str) -> None:
    texts = [TEXT, *(bufferized(Chain(seed).program().text) for seed in range(4))]
    assert sum(piped(text, MLIRS).count("alloca(") for text in texts) > 4
    for text in texts:
        assert piped(text, f"advised-stack{options}") == piped(text, MLIRS)


def test_all_and_none() -> None:
    assert piped(TEXT, "advised-stack{runner=const:0}") == str(parsed(TEXT))
    every = piped(TEXT, "advised-stack{runner=const:1}")
    assert every == piped(TEXT, f"{MLIRS}{{max-alloc-size-in-bytes=65536}}")
    assert every.count("alloca(") == 4
    assert every.count("alignment = 64") == 1
    assert piped(TEXT, "advised-stack{runner=const:1 limit=15999}").count("alloca(") == 3


def test_what_is_seen() -> None:
    seen: list[dict[str, float]] = []

    def decide(obs: Observation) -> bool:
        seen.append(
            {
                name: obs[name].item()
                for name in ("bytes", "rank", "uses", "loads", "is_small", "bytes_before")
            }
        )
        assert obs["buffers"].item() == 4
        return str(obs.site).startswith("%")

    piped(TEXT, "advised-stack", runner=decide)
    assert [row["bytes"] for row in seen] == [16, 16000, 0, 64]
    assert [row["is_small"] for row in seen] == [1, 0, 1, 1]
    assert [row["bytes_before"] for row in seen] == [0, 16, 16016, 16016]
    assert seen[1] == {"bytes": 16000, "rank": 1, "uses": 1, "loads": 1, "is_small": 0, "bytes_before": 16}


def test_wrong_answers_and_options() -> None:
    with pytest.raises(AdviceError, match="mlir-stack advisor at decision 0"):
        piped(TEXT, "advised-stack", runner=lambda _: 2)
    with pytest.raises(PipelineError, match="expected a limit from 0 to 268435456, got -1"):
        piped(TEXT, "advised-stack{limit=-1}")


def test_stock_mlir_opt_writes_the_same(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", TEXT)
    for options in ("", "{runner=random:3}"):
        done = stock(f"func.func(advised-stack{options})", source, cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.out.decode().strip() == piped(TEXT, f"advised-stack{options}").strip()


def bufferized(text: str) -> str:
    module = parsed(text)
    mlir.run_pipeline(module, f"builtin.module({BUFFERIZED})")
    return str(module)


def check(seed: int, kind: type[Chain] | type[Maker]) -> bool:
    """Whether the decisions have changed a program, which computes the same."""
    program = kind(seed).program()
    text = bufferized(program.text)
    advised = piped(text, f"advised-stack{{runner=random:{seed}}}")
    expected = run(parsed(program.text), program.arrays)
    np.testing.assert_array_equal(run(parsed(advised), program.arrays), expected)
    return advised != str(parsed(text))


def test_what_is_computed_does_not_depend_on_the_place() -> None:
    assert sum(check(seed, Chain) for seed in range(8)) > 2


@pytest.mark.soak
@pytest.mark.parametrize("start", range(0, 460, 20))
def test_random_places(start: int) -> None:
    assert sum(check(seed, Chain) + check(seed, Maker) for seed in range(start, start + 20))
