# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import contextlib
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from passpilot.features.mlir.tile import FEATURES, TILE_SIZES
from passpilot.passes.mlir.pipeline import run_pipeline
from passpilot.passes.mlir.tile import MLIR_TILE
from passpilot.plugin.errors import AdviceError, PasspilotWarning, PolicyError
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike
from tests.passes.mlir.linalg import Maker, parsed, run

PIPELINE: Final = "builtin.module(func.func(advised-tile))"
MATMUL: Final = """
!c = tensor<64x32xf32>
func.func @multiply(%a: tensor<64x48xf32>, %b: tensor<48x32xf32>, %c: !c) -> !c {
  %r = linalg.matmul ins(%a, %b : tensor<64x48xf32>, tensor<48x32xf32>)
                     outs(%c : !c) -> !c
  func.return %r : !c
}
"""
CONVOLUTION: Final = """
!i = tensor<1x?x?x3xf16>
!o = tensor<1x?x?x8xf16>
func.func @convolve(%i: !i, %f: tensor<3x3x3x8xf16>, %o: !o) -> !o {
  %z = arith.constant 0.0 : f16
  %e = linalg.fill ins(%z : f16) outs(%o : !o) -> !o
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
       ins(%i, %f : !i, tensor<3x3x3x8xf16>) outs(%e : !o) -> !o
  func.return %r : !o
}
"""
GENERIC: Final = """
#a = affine_map<(i, j, k) -> (i, j, k)>
#b = affine_map<(i, j, k) -> ({indices}, j)>
#c = affine_map<(i, j, k) -> (j)>
func.func @f(%a: tensor<8x6x5xi32>, %b: tensor<8x6xi32>, %c: tensor<6xi32>) -> tensor<6xi32> {{
  %r = linalg.generic {{indexing_maps = [#a, #b, #c],
                       iterator_types = ["reduction", "parallel", "reduction"]}}
       ins(%a, %b : tensor<8x6x5xi32>, tensor<8x6xi32>) outs(%c : tensor<6xi32>) {{
  ^bb0(%x: i32, %y: i32, %o: i32):
    %p = arith.muli %x, %y : i32
    %s = arith.{operation} %p, %o : i32
    linalg.yield %s : i32
  }} -> tensor<6xi32>
  func.return %r : tensor<6xi32>
}}
"""

Seen = dict[str, list[float]]


def observed(text: str, *sizes: int) -> list[Seen]:
    """What a policy sees that answers with these sizes, then with 0."""
    seen: list[Seen] = []
    answers = iter(sizes)

    def keep(obs: Observation) -> int:
        seen.append({row.spec.name: obs[row.spec.name].reshape(-1).tolist() for row in FEATURES})
        return TILE_SIZES.index(next(answers, 0))

    tiled(text, keep)
    return seen


def tiled(text: str, policy: RunnerLike, pipeline: str = PIPELINE) -> str:
    module = parsed(text)
    with MLIR_TILE.advisor(policy) as advisor:
        run_pipeline(module, pipeline, [advisor])
    return str(module)


def test_features_of_a_matmul() -> None:
    rows = observed(MATMUL, 16, 0, 4)
    assert [row["loop"] for row in rows] == [[0], [1], [2]]
    assert [row["sizes"][:3] for row in rows] == [[0, 0, 0], [16, 0, 0], [16, 0, 0]]
    assert rows[2] == {
        "loop": [2],
        "extent": [48],
        "is_dynamic": [0],
        "is_reduction": [1],
        "operands_indexed": [2],
        "operands_contiguous": [1],
        "loops": [3],
        "parallel_loops": [2],
        "extents": [64, 32, 48] + [0] * 9,
        "dynamic": [0] * 12,
        "reductions": [0, 0, 1] + [0] * 9,
        "planned": [0],
        "sizes": [16] + [0] * 11,
        "inputs": [2],
        "outputs": [1],
        "ranks": [2, 2, 2, 0],
        "shapes": [64, 48, 0, 0, 0, 0, 48, 32, 0, 0, 0, 0, 64, 32, 0, 0, 0, 0] + [0] * 6,
        "element_bits": [32, 32, 32, 0],
        "element_is_float": [1, 1, 1, 0],
        "is_tensor": [1],
        "is_contraction": [1],
        "is_convolution": [0],
        "iterations": [64 * 32 * 48],
        "flops": [2 * 64 * 32 * 48],
        "bytes": [4 * (64 * 48 + 48 * 32 + 64 * 32)],
        "intensity": [64 * 32 * 48 / 2 / (64 * 48 + 48 * 32 + 64 * 32)],
        "body_operations": [2],
        "body_arithmetic": [2],
        "body_multiplications": [1],
        "body_divisions": [0],
        "body_math": [0],
        "body_indices": [0],
        "loop_depth": [0],
        "producers": [0],
        "consumers": [0],
        "mask": [int(size < 48) for size in TILE_SIZES],
    }


def test_features_of_a_convolution_whose_size_is_not_known() -> None:
    fill, *_ = rows = observed(CONVOLUTION)
    assert (fill["loop"], fill["inputs"], fill["ranks"], fill["consumers"]) == ([1], [1], [0, 4, 0, 0], [1])
    height = next(row for row in rows if row["is_convolution"] == [1])
    assert [height[name] for name in ("loop", "extent", "is_dynamic")] == [[1], [0], [1]]
    assert height["mask"] == [1] * len(TILE_SIZES)
    assert height["extents"][:7] == [1, 0, 0, 8, 3, 3, 3]
    assert height["dynamic"][:7] == [0, 1, 1, 0, 0, 0, 0]
    assert height["reductions"][:7] == [0, 0, 0, 0, 1, 1, 1]
    assert height["element_bits"] == [16, 16, 16, 0]
    assert [height[name] for name in ("iterations", "flops", "bytes", "intensity")] == [[0]] * 4
    assert [height[name] for name in ("operands_indexed", "producers")] == [[2], [1]]
    filter_height = next(row for row in rows if row["loop"] == [4])
    assert filter_height["mask"] == [int(size < 3) for size in TILE_SIZES]


def test_tiles_are_of_the_sizes_that_are_advised() -> None:
    def eights(obs: Observation) -> int:
        assert str(obs.site).startswith("%0 = linalg.matmul")
        return TILE_SIZES.index(0 if obs["loop"] == 1 else 8)

    text = tiled(MATMUL, eights)
    assert text.count("scf.for") == 2
    assert "tensor<8x8xf32>, tensor<8x32xf32>" in text
    twice = tiled(text, lambda obs: TILE_SIZES.index(2) if obs["loop_depth"] == 2 and obs["loop"] == 1 else 0)
    assert "tensor<8x8xf32>, tensor<8x2xf32>" in twice


def test_an_operation_in_the_body_of_another_is_tiled_with_it() -> None:
    text = """
    #m = affine_map<(i) -> (i)>
    func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
      %c = arith.constant 3 : index
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [#m], iterator_types = ["parallel"]} outs(%a : tensor<8xf32>) {
      ^bb0(%x: f32):
        %f = linalg.fill ins(%x : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
        %v = tensor.extract %f[%c] : tensor<4xf32>
        linalg.yield %v : f32
      } -> tensor<8xf32>
      func.return %r : tensor<8xf32>
    }"""
    assert tiled(text, "const:2").count("scf.for") == 2


@pytest.mark.parametrize("runner", ["default", "const:0"])
def test_nothing_changes_where_nothing_is_tiled(runner: str) -> None:
    assert tiled(CONVOLUTION, runner) == str(parsed(CONVOLUTION))
    module = parsed(CONVOLUTION)
    run_pipeline(module, PIPELINE)
    assert str(module) == str(parsed(CONVOLUTION))


def test_a_size_beyond_the_loop_is_refused() -> None:
    with pytest.raises(AdviceError, match=r"(?s)mlir-tile.*multiply.*expected .* got .*7"):
        tiled(MATMUL, lambda _: TILE_SIZES.index(64))


def test_the_pass_may_name_its_runner(tmp_path: Path) -> None:
    module = parsed(MATMUL)
    run_pipeline(module, "builtin.module(func.func(advised-tile{runner=random:4}))")
    assert str(module) == tiled(MATMUL, "random:4")
    assert "scf.for" in str(module)
    log = str(tmp_path / "log")
    logged = parsed(CONVOLUTION)
    with MLIR_TILE.advisor("random:5", log=log) as advisor:
        run_pipeline(logged, PIPELINE, [advisor])
    assert tiled(CONVOLUTION, f"replay:{log}") == str(logged) != str(parsed(CONVOLUTION))


def test_a_policy_that_raises_leaves_the_module_as_it_is() -> None:
    def fail(_: Observation) -> int:
        raise KeyError("size")

    module = parsed(MATMUL)
    with MLIR_TILE.advisor(fail) as advisor, pytest.raises(PolicyError, match="KeyError"):
        run_pipeline(module, PIPELINE, [advisor])
    assert str(module) == str(parsed(MATMUL))


@pytest.mark.parametrize(
    ("indices", "operation", "asked"),
    [("i", "addi", 3), ("i", "subi", 1), ("7 - i", "addi", 0)],
)
def test_loops_that_must_stay_are_not_asked_about(indices: str, operation: str, asked: int) -> None:
    """Loops of a reduction whose order matters, and indices that MLIR's tiling gets wrong."""
    seen: list[int] = []

    def keep(obs: Observation) -> int:
        seen.append(int(obs["loop"][0]))
        return 0

    with contextlib.ExitStack() as stack:
        if not asked:
            stack.enter_context(pytest.warns(PasspilotWarning, match="never asked"))
        tiled(GENERIC.format(indices=indices, operation=operation), keep)
    assert len(seen) == asked


def check(seed: int) -> bool:
    """Whether anything was tiled; what is computed is the same."""
    program = Maker(seed).program()
    module = parsed(program.text)
    run_pipeline(module, f"builtin.module(advised-tile{{runner=random:{seed}}})")
    changed = "scf.for" in str(module)
    np.testing.assert_array_equal(run(module, program.arrays), run(parsed(program.text), program.arrays))
    return changed


@pytest.mark.parametrize("start", range(4))
def test_what_is_computed_does_not_depend_on_sizes(start: int) -> None:
    assert sum(map(check, range(start, 24, 4))) > 2


@pytest.mark.soak
@pytest.mark.parametrize("start", range(40, 600, 20))
def test_what_is_computed_does_not_depend_on_sizes_at_length(start: int) -> None:
    assert sum(map(check, range(start, start + 20))) > 10
