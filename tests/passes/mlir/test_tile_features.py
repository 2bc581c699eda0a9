# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a policy sees of operations that are no matmul: bodies, places, and operands of many kinds."""

from __future__ import annotations

import contextlib
from typing import Final

import pytest

from passpilot.features.mlir.tile import TILE_SIZES
from passpilot.features.mlir.tileable import structured
from passpilot.plugin.errors import PasspilotWarning
from tests.passes.mlir.linalg import parsed
from tests.passes.mlir.test_tile import CONVOLUTION, GENERIC, Seen, observed

BODY: Final = """
#m = affine_map<(i) -> (i)>
func.func @f(%a: tensor<{size}x{type}>, %b: tensor<{size}x{type}>) -> tensor<{size}x{type}> {{
  %r = linalg.generic {{indexing_maps = [#m, #m], iterator_types = ["parallel"]}}
       ins(%a : tensor<{size}x{type}>) outs(%b : tensor<{size}x{type}>) {{
  ^bb0(%x: {type}, %o: {type}):
    {body}
    linalg.yield %v : {type}
  }} -> tensor<{size}x{type}>
  func.return %r : tensor<{size}x{type}>
}}
"""


def test_a_look_at_an_operation_does_not_change_it() -> None:
    module = parsed(CONVOLUTION)
    (function,) = module.body.operations
    before = module.operation.get_asm(print_generic_op_form=True)
    found = [structured(each.operation) for each in function.regions[0].blocks[0].operations]
    assert any(each and each.is_convolution for each in found)
    assert module.operation.get_asm(print_generic_op_form=True) == before


def of_body(body: str, type_: str = "f32") -> Seen:
    (seen,) = observed(BODY.format(body=body, type=type_, size=8))
    return seen


def picked(seen: Seen, names: str) -> list[list[float]]:
    return [seen[name] for name in names.split()]


COUNTS: Final = "body_operations body_arithmetic body_multiplications body_divisions body_math flops"

BODIES: Final = {
    **{f"%v = arith.{name} %x, %o : f32": (1, 1, 0, 1, 0) for name in ("divf", "remf")},
    **{
        f"%v = arith.{name} %x, %o : i32": (1, 1, 0, 1, 0)
        for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi")
    },
    "%v = arith.mulf %x, %o : f32": (1, 1, 1, 0, 0),
    "%v = arith.muli %x, %o : i32": (1, 1, 1, 0, 0),
    "%e = math.exp %x : f32\n%v = math.sqrt %e : f32": (2, 2, 0, 0, 2),
    "%c = arith.constant 1.0 : f32\n%v = arith.addf %x, %c : f32": (2, 1, 0, 0, 0),
    "%w = arith.extf %x : f32 to f64\n%v = arith.truncf %w : f64 to f32": (2, 0, 0, 0, 0),
    "%w = arith.extsi %x : i32 to i64\n%v = arith.trunci %w : i64 to i32": (2, 0, 0, 0, 0),
    "%w = arith.extui %x : i32 to i64\n%v = arith.trunci %w : i64 to i32": (2, 0, 0, 0, 0),
    "%w = arith.fptosi %x : f32 to i32\n%v = arith.sitofp %w : i32 to f32": (2, 0, 0, 0, 0),
    "%w = arith.fptoui %x : f32 to i32\n%v = arith.uitofp %w : i32 to f32": (2, 0, 0, 0, 0),
    "%w = arith.bitcast %x : f32 to i32\n%v = arith.bitcast %w : i32 to f32": (2, 0, 0, 0, 0),
    "%w = arith.index_cast %x : i32 to index\n%v = arith.index_cast %w : index to i32": (2, 0, 0, 0, 0),
    "%w = arith.index_castui %x : i32 to index\n%v = arith.index_castui %w : index to i32": (2, 0, 0, 0, 0),
}
"""How many operations, arithmetic ones, multiplications, divisions and operations of math a body has."""


@pytest.mark.parametrize("body", BODIES)
def test_operations_of_a_body(body: str) -> None:
    seen = of_body(body, "i32" if body.endswith("i32") else "f32")
    expected = BODIES[body]
    assert picked(seen, COUNTS) == [[each] for each in (*expected, 8 * expected[1])]


def test_reads_of_the_loops_numbers() -> None:
    body = """%i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %v = arith.addi %x, %j : i32"""
    assert picked(of_body(body, "i32"), "body_indices body_operations body_arithmetic") == [[1], [3], [1]]


@pytest.mark.parametrize(
    ("type_", "bits", "is_float", "size"),
    [
        ("i1", 1, 0, 1),
        ("i8", 8, 0, 1),
        ("f16", 16, 1, 2),
        ("i33", 33, 0, 5),
        ("f64", 64, 1, 8),
        ("index", 64, 0, 8),
    ],
)
def test_elements(type_: str, bits: int, is_float: int, size: int) -> None:
    seen = of_yield(type_)
    assert picked(seen, "element_bits element_is_float") == [[bits, bits, 0, 0], [is_float, is_float, 0, 0]]
    assert seen["bytes"] == [2 * 8 * size]


def of_yield(type_: str) -> Seen:
    """An operation that copies."""
    (seen,) = observed(BODY.format(body="", type=type_, size=8).replace("%v", "%x"))
    return seen


def test_an_operation_without_arithmetic_has_no_intensity() -> None:
    assert picked(of_yield("f32"), "flops intensity iterations") == [[0], [0], [8]]


@pytest.mark.parametrize(("size", "asked"), [(1, 0), (2, 1)])
def test_a_loop_that_runs_once_is_not_asked_about(size: int, asked: int) -> None:
    with contextlib.ExitStack() as stack:
        if not asked:
            stack.enter_context(pytest.warns(PasspilotWarning, match="never asked"))
        seen = observed(BODY.format(body="", type="f32", size=size).replace("%v", "%x"))
    assert [row["mask"] for row in seen] == [[int(each < size) for each in TILE_SIZES]] * asked


PLACE: Final = """
#m = affine_map<(i) -> (i)>
!t = tensor<8xf32>
func.func @f(%a: !t, %b: !t, %n: index) -> (!t, !t) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %f = arith.constant 0.0 : f32
  %s:2 = scf.for %i = %zero to %n step %one iter_args(%c = %a, %d = %b) -> (!t, !t) {
    %t:2 = affine.for %j = 0 to 4 iter_args(%g = %c, %h = %d) -> (!t, !t) {
      %x = linalg.fill ins(%f : f32) outs(%g : !t) -> !t
      %y = linalg.exp ins(%x : !t) outs(%x : !t) -> !t
      %z = linalg.add ins(%y, %h : !t, !t) outs(%y : !t) -> !t
      affine.yield %y, %z : !t, !t
    }
    scf.yield %t#0, %t#1 : !t, !t
  }
  func.return %s#0, %s#1 : !t, !t
}
"""


def test_the_place_of_an_operation() -> None:
    fill, exp, add = observed(PLACE)
    names = "loop_depth producers consumers inputs outputs"
    assert picked(fill, names) == [[2], [0], [2], [1], [1]]
    assert picked(exp, names) == [[2], [2], [2], [1], [1]]
    assert picked(add, names) == [[2], [2], [0], [2], [1]]


def test_operations_on_memory() -> None:
    text = """
    func.func @f(%a: memref<4x?xi8>, %b: memref<4x?xi8>) {
      linalg.copy ins(%a : memref<4x?xi8>) outs(%b : memref<4x?xi8>)
      func.return
    }"""
    first, second = observed(text)
    names = "is_tensor bytes iterations extents dynamic"
    shape = [[4, 0] + [0] * 10, [0, 1] + [0] * 10]
    assert picked(first, names) == picked(second, names) == [[0], [0], [0], *shape]
    assert picked(first, "operands_indexed operands_contiguous") == [[2], [0]]
    assert picked(second, "operands_indexed operands_contiguous") == [[2], [2]]
    assert (first["mask"], second["mask"]) == (
        [int(size < 4) for size in TILE_SIZES],
        [1] * len(TILE_SIZES),
    )


def test_operands_and_dimensions_beyond_what_is_shown() -> None:
    """Further operands and dimensions are left out of the lists, but count."""
    loops = "a, b, c, d, e, g, h"
    type_ = "tensor<2x3x2x3x2x3x5xf32>"
    names = ", ".join(f"%x{number}" for number in range(5))
    text = f"""
    #all = affine_map<({loops}) -> ({loops})>
    func.func @f({", ".join(f"{each}: {type_}" for each in names.split(", "))}) -> {type_} {{
      %r = linalg.generic {{indexing_maps = [{", ".join(["#all"] * 5)}],
                            iterator_types = [{", ".join(['"parallel"'] * 7)}]}}
           ins(%x0, %x1, %x2, %x3 : {", ".join([type_] * 4)}) outs(%x4 : {type_}) {{
      ^bb0(%p: f32, %q: f32, %s: f32, %t: f32, %o: f32):
        %v = arith.addf %p, %q : f32
        linalg.yield %v : f32
      }} -> {type_}
      func.return %r : {type_}
    }}"""
    *_, last = observed(text)
    names = "inputs outputs ranks shapes element_bits"
    shown = [2, 3, 2, 3, 2, 3]
    assert picked(last, names) == [[4], [1], [7] * 4, shown * 4, [32] * 4]
    assert picked(last, "operands_indexed operands_contiguous loops") == [[5], [5], [7]]
    assert last["bytes"] == [5 * 4 * 2 * 3 * 2 * 3 * 2 * 3 * 5]


def test_convolutions_and_contractions() -> None:
    text = """
    func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<f32>, %d: tensor<3xf32>, %e: tensor<6xf32>)
        -> (tensor<f32>, tensor<6xf32>) {
      %r = linalg.dot ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%c : tensor<f32>) -> tensor<f32>
      %s = linalg.conv_1d ins(%a, %d : tensor<8xf32>, tensor<3xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
      func.return %r, %s : tensor<f32>, tensor<6xf32>
    }"""
    dot, conv, window = observed(text)
    kinds = "is_contraction is_convolution is_reduction parallel_loops"
    assert picked(dot, kinds) == [[1], [0], [1], [0]]
    assert [picked(each, kinds) for each in (conv, window)] == [
        [[0], [1], [0], [1]],
        [[0], [1], [1], [1]],
    ]
    assert dot["ranks"] == [1, 1, 0, 0]
    assert conv["extents"] == window["extents"] == [6, 3] + [0] * 10, "not the size of what both index"


INTEGER: Final = ("addi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui")
FLOATING: Final = ("addf", "mulf", "maximumf", "maxnumf", "minimumf", "minnumf")


@pytest.mark.parametrize("operation", [*INTEGER, *FLOATING, "subi", "subf", "divf", "shli"])
def test_reductions_whose_order_does_not_matter(operation: str) -> None:
    text = GENERIC.format(indices="i", operation=operation)
    if operation.endswith("f"):
        text = text.replace("i32", "f32").replace("muli", "mulf")
    reorderable = operation in (*INTEGER, *FLOATING)
    assert [row["loop"] for row in observed(text)] == ([[0], [1], [2]] if reorderable else [[1]])


def test_an_accumulator_that_is_read_twice_is_in_order() -> None:
    text = GENERIC.format(indices="i", operation="addi")
    twice = text.replace("%p = arith.muli %x, %y", "%p = arith.muli %o, %y")
    assert twice != text
    assert [row["loop"] for row in observed(twice)] == [[1]]
    below = twice.replace("arith.addi %p, %o", "arith.addi %p, %x")
    assert [row["loop"] for row in observed(below)] == [[1]], "the last operation does not read it"


def test_one_reduction_loop_may_be_tiled_in_any_case() -> None:
    """Its tiles run in the order of the loop."""
    text = GENERIC.format(indices="i", operation="subi").replace("(i, j, k) -> (j)>", "(i, j, k) -> (i, j)>")
    text = text.replace('["reduction", "parallel", "reduction"]', '["parallel", "parallel", "reduction"]')
    text = text.replace("tensor<6xi32>", "tensor<8x6xi32>")
    assert [row["is_reduction"] for row in observed(text)] == [[0], [0], [1]]


def test_a_loop_that_is_called_a_reduction_is_one() -> None:
    text = BODY.format(body="", type="f32", size=8).replace("%v", "%x")
    (seen,) = observed(text.replace('"parallel"', '"reduction"'))
    assert picked(seen, "is_reduction parallel_loops") == [[1], [0]]


@pytest.mark.parametrize(
    ("indices", "asked"),
    [
        *((indices, 3) for indices in ("i", "i + 0", "0", "i * 2", "i + k", "i + k * 3")),
        *((indices, 0) for indices in ("1", "i + 1", "i * -1 + 7", "k - i", "i floordiv 2", "i mod 2")),
    ],
)
def test_indices_that_tiling_supports(indices: str, asked: int) -> None:
    text = GENERIC.format(indices=indices, operation="addi").replace(
        "%b: tensor<8x6xi32>", "%b: tensor<?x6xi32>"
    )
    text = text.replace("tensor<8x6x5xi32>, tensor<8x6xi32>", "tensor<8x6x5xi32>, tensor<?x6xi32>")
    with contextlib.ExitStack() as stack:
        if not asked:
            stack.enter_context(pytest.warns(PasspilotWarning, match="never asked"))
        assert len(observed(text)) == asked
