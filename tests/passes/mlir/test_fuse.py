# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from passpilot.features.mlir.fuse import FEATURES
from passpilot.passes.mlir import fuse
from passpilot.passes.mlir.fuse import FUSION, MLIR_FUSE
from passpilot.passes.mlir.pipeline import run_pipeline
from passpilot.plugin.errors import CompilationError, PasspilotWarning, PolicyError
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike
from tests.passes.mlir.chains import Chain
from tests.passes.mlir.linalg import parsed, run

PIPELINE: Final = "builtin.module(func.func(advised-fuse))"
INPUT: Final = Path(__file__).parents[3] / "lit_tests" / "mlir" / "Inputs" / "fusible.mlir"


def fused(text: str, policy: RunnerLike = "", pipeline: str = PIPELINE) -> str:
    module = parsed(text)
    if policy:
        with MLIR_FUSE.advisor(policy) as advisor:
            run_pipeline(module, pipeline, [advisor])
    else:
        run_pipeline(module, pipeline)
    return str(module)


def by_mlir(text: str) -> str:
    return fused(text, pipeline=f"builtin.module(func.func({FUSION}))")


def test_no_cast_stays_behind_a_fusion_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse, "FUSION", "one-shot-bufferize")  # which knows no casts
    module = parsed(INPUT.read_text())
    before = str(module)
    with (
        MLIR_FUSE.advisor("const:0") as advisor,
        pytest.raises(CompilationError, match=r"advised-fuse at .*: expected MLIR to fuse, got: "),
    ):
        run_pipeline(module, PIPELINE, [advisor])
    assert "unrealized_conversion_cast" not in str(module)
    assert "linalg.generic" in before


def test_features_of_pairs() -> None:
    seen: list[dict[str, float]] = []

    def keep(obs: Observation) -> int:
        assert "linalg.generic" in str(obs.site)
        seen.append({row.spec.name: obs[row.spec.name].item() for row in FEATURES})
        return 0

    fused(INPUT.read_text(), keep)
    scale, total = seen
    assert scale == {
        "producer_iterations": 8,
        "consumer_iterations": 48,
        "computed": 6,
        "bytes": 32,
        "is_dynamic": 0,
        "rank": 1,
        "element_bits": 32,
        "element_is_float": 1,
        "operand": 1,
        "is_transposed": 1,
        "producer_inputs": 1,
        "consumer_inputs": 2,
        "producer_arithmetic": 2,
        "consumer_arithmetic": 1,
        "producer_math": 1,
        "consumer_math": 0,
        "producer_flops": 16,
        "consumer_flops": 48,
        "reductions": 0,
        "is_contraction": 0,
        "consumer_loops": 2,
        "loop_depth": 0,
    }
    assert [total[name] for name in ("computed", "bytes", "operand", "reductions")] == [1, 192, 0, 1]


@pytest.mark.parametrize(
    ("read", "broadcast"), [("(i, j) -> (i)", 1), ("(i, j) -> (j)", 1), ("(i) -> (i)", 0)]
)
def test_a_tensor_that_is_broadcast_is_transposed(read: str, broadcast: int) -> None:
    loops = read.partition(" ->")[0]
    shape, kinds = ("8x8", '"parallel", "parallel"') if "j" in loops else ("8", '"parallel"')
    text = f"""
        #own = affine_map<(i) -> (i)>
        #read = affine_map<{read}>
        #all = affine_map<{loops} -> {loops}>
        func.func @f(%a: tensor<8xf32>, %b: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
          %made = linalg.generic {{indexing_maps = [#own, #own], iterator_types = ["parallel"]}}
              ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>) {{
          ^bb0(%x: f32, %o: f32):
            %n = arith.negf %x : f32
            linalg.yield %n : f32
          }} -> tensor<8xf32>
          %used = linalg.generic {{indexing_maps = [#read, #all], iterator_types = [{kinds}]}}
              ins(%made : tensor<8xf32>) outs(%b : tensor<{shape}xf32>) {{
          ^bb0(%x: f32, %o: f32):
            %s = arith.addf %x, %x : f32
            linalg.yield %s : f32
          }} -> tensor<{shape}xf32>
          func.return %used : tensor<{shape}xf32>
        }}"""
    asked: list[float] = []

    def look(obs: Observation) -> int:
        asked.append(obs["is_transposed"].item())
        return 0

    fused(text, look)
    assert asked == [broadcast]


IN_A_LOOP: Final = """
#all = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
!t = tensor<?x4xf64>
!u = tensor<4x?xf64>
func.func @main(%a: !t, %b: !t, %c: !u, %z: index, %n: index) -> !u {
  %r = scf.for %i = %z to %n step %n iter_args(%d = %c) -> (!u) {
    %made = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%a, %b : !t, !t) outs(%a : !t) {
    ^bb0(%x: f64, %y: f64, %o: f64):
      %s = arith.subf %x, %y : f64
      linalg.yield %s : f64
    } -> !t
    %used = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]}
        ins(%made : !t) outs(%d : !u) {
    ^bb0(%x: f64, %o: f64):
      %e = math.exp %x : f64
      %q = math.sqrt %e : f64
      %t = arith.addf %q, %x : f64
      linalg.yield %t : f64
    } -> !u
    scf.yield %used : !u
  }
  func.return %r : !u
}
"""


def test_features_of_a_pair_in_a_loop_whose_size_is_not_known() -> None:
    seen: list[dict[str, float]] = []

    def keep(obs: Observation) -> int:
        seen.append({row.spec.name: obs[row.spec.name].item() for row in FEATURES})
        return 0

    fused(IN_A_LOOP, keep)
    assert seen == [
        {
            "producer_iterations": 0,
            "consumer_iterations": 0,
            "computed": 0,
            "bytes": 0,
            "is_dynamic": 1,
            "rank": 2,
            "element_bits": 64,
            "element_is_float": 1,
            "operand": 0,
            "is_transposed": 1,
            "producer_inputs": 2,
            "consumer_inputs": 1,
            "producer_arithmetic": 1,
            "consumer_arithmetic": 3,
            "producer_math": 0,
            "consumer_math": 2,
            "producer_flops": 0,
            "consumer_flops": 0,
            "reductions": 0,
            "is_contraction": 0,
            "consumer_loops": 2,
            "loop_depth": 1,
        }
    ]


@pytest.mark.parametrize(("answers", "left"), [((1, 1), 1), ((0, 1), 2), ((1, 0), 2), ((0, 0), 3)])
def test_pairs_are_fused_as_told(answers: tuple[int, ...], left: int) -> None:
    told = iter(answers)
    text = fused(INPUT.read_text(), lambda _: next(told))
    assert text.count("linalg.generic") == left
    assert "unrealized_conversion_cast" not in text


@pytest.mark.parametrize("seed", range(8))
def test_the_default_is_that_of_mlirs_own_pass(seed: int) -> None:
    text = Chain(seed).program().text
    assert fused(text) == fused(text, "default") == fused(text, "const:1") == by_mlir(text)


def test_a_tensor_that_is_used_twice_is_not_asked_about() -> None:
    text = INPUT.read_text().replace("ins(%scaled, %c :", "ins(%scaled, %row :")
    asked: list[float] = []

    def keep(obs: Observation) -> int:
        asked.append(obs["operand"].item())
        return 1

    fused(text, keep)
    assert asked == [0], "MLIR fuses no producer with two uses"
    assert fused(text, "const:1") == by_mlir(text)


def used(producer: str, result: str = "%made") -> str:
    """An elementwise operation on a row that another one has made."""
    return f"""
        #own = affine_map<(i) -> (i)>
        #all = affine_map<(i, j) -> (i, j)>
        #row = affine_map<(i, j) -> (i)>
        func.func @f(%a: tensor<8x6xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {{
          {producer}
          %used = linalg.generic {{indexing_maps = [#own, #own], iterator_types = ["parallel"]}}
              ins({result} : tensor<8xf32>) outs(%b : tensor<8xf32>) {{
          ^bb0(%x: f32, %o: f32):
            %n = arith.negf %x : f32
            linalg.yield %n : f32
          }} -> tensor<8xf32>
          func.return %used : tensor<8xf32>
        }}"""


SUM: Final = """
    %made = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<8x6xf32>) outs(%b : tensor<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %s = arith.addf %x, %o : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>"""
ORDERED: Final = """
    %made = linalg.generic {indexing_maps = [#own, #own], iterator_types = ["reduction"]}
        ins(%b : tensor<8xf32>) outs(%b : tensor<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %s = arith.addf %x, %o : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>"""
NAMED: Final = "%made = linalg.exp ins(%b : tensor<8xf32>) outs(%b : tensor<8xf32>) -> tensor<8xf32>"


TWO: Final = """
    %made:2 = linalg.generic {indexing_maps = [#own, #own, #own], iterator_types = ["parallel"]}
        ins(%b : tensor<8xf32>) outs(%b, %b : tensor<8xf32>, tensor<8xf32>) {
    ^bb0(%x: f32, %o: f32, %p: f32):
      %s = arith.addf %x, %x : f32
      %t = arith.mulf %x, %x : f32
      linalg.yield %s, %t : f32, f32
    } -> (tensor<8xf32>, tensor<8xf32>)"""


@pytest.mark.parametrize("result", [0, 1])
def test_a_producer_of_which_one_result_is_used_is_asked_about(result: int) -> None:
    text = used(TWO, f"%made#{result}")
    asked: list[float] = []

    def keep(obs: Observation) -> int:
        asked.append(obs["is_transposed"].item())
        return 0

    kept = fused(text, keep)
    assert (kept.count("linalg.generic"), asked) == (2, [0])
    assert by_mlir(text).count("linalg.generic") == 1
    assert fused(text, "const:1") == by_mlir(text)


@pytest.mark.parametrize("producer", [SUM, ORDERED, NAMED], ids=["sum", "ordered", "named"])
def test_a_producer_that_mlir_never_fuses_is_not_asked_about(producer: str) -> None:
    text = used(producer)
    with pytest.warns(PasspilotWarning, match="mlir-fuse advisor: runner const:0 was never asked"):
        kept = fused(text, "const:0")
    assert kept == fused(text) == by_mlir(text)


def test_the_pass_may_name_its_runner(tmp_path: Path) -> None:
    text = Chain(3).program().text
    named = fused(text, pipeline="builtin.module(func.func(advised-fuse{runner=random:4}))")
    assert named == fused(text, "random:4")
    log = str(tmp_path / "log")
    module = parsed(text)
    with MLIR_FUSE.advisor("random:5", log=log) as advisor:
        run_pipeline(module, PIPELINE, [advisor])
    assert fused(text, f"replay:{log}") == str(module)


def test_a_policy_that_raises_leaves_the_module_as_it_is() -> None:
    def fail(_: Observation) -> int:
        raise KeyError("bytes")

    module = parsed(INPUT.read_text())
    with MLIR_FUSE.advisor(fail) as advisor, pytest.raises(PolicyError, match="KeyError"):
        run_pipeline(module, PIPELINE, [advisor])
    assert str(module) == str(parsed(INPUT.read_text()))


def check(seed: int) -> bool:
    """Whether a pair was kept apart; what is computed is the same."""
    program = Chain(seed).program()
    module = parsed(program.text)
    run_pipeline(module, f"builtin.module(advised-fuse{{runner=random:{seed}}})")
    kept = str(module).count("linalg.generic") > by_mlir(program.text).count("linalg.generic")
    np.testing.assert_array_equal(run(module, program.arrays), run(parsed(program.text), program.arrays))
    return kept


@pytest.mark.parametrize("start", range(2))
def test_what_is_computed_does_not_depend_on_fusion(start: int) -> None:
    assert sum(map(check, range(start, 24, 2))) > 2


@pytest.mark.soak
@pytest.mark.parametrize("start", range(40, 600, 20))
def test_what_is_computed_does_not_depend_on_fusion_at_length(start: int) -> None:
    assert sum(map(check, range(start, start + 20))) > 3
