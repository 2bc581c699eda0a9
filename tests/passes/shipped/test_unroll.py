# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.llvm.unroll import FACTORS, FEATURES
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.unroll import UNROLL
from passpilot.plugin.compile import PipelineOptions
from passpilot.plugin.errors import AdviceError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation

ADVISED: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "advised.ll"

Seen = dict[str, list[float]]


def observed(pipeline: str = "advised-unroll", source: Path | bytes = ADVISED) -> list[Seen]:
    """What a policy sees of the loops of the input, each value as numpy's `tolist` gives it."""
    seen: list[Seen] = []

    def keep(obs: Observation) -> int:
        seen.append({row.spec.name: obs[row.spec.name].reshape(-1).tolist() for row in FEATURES})
        return 0

    optimize(Module.read(source), pipeline, [UNROLL.advisor(keep)])
    return seen


@pytest.mark.parametrize(
    "hint", ["", "i32 3", '!"llvm.loop.mustprogress"', '!"llvm.loop.vectorize.width", i32 2']
)
def test_only_a_factor_of_the_source_decides(hint: str) -> None:
    text = ADVISED.read_text().replace('!"llvm.loop.unroll.count", i32 3', hint)
    assert len(observed(source=text.encode())) == 2
    text = ADVISED.read_text().replace('!"llvm.loop.unroll.count", i32 3', '!"llvm.loop.unroll.enable"')
    assert len(observed(source=text.encode())) == 1


def test_features_of_a_loop() -> None:
    (loop,) = observed()
    costs = [loop.pop(name)[0] for name in ("size", "throughput", "latency")]
    assert 0 < costs[0] < costs[2], "a division is slow"
    assert costs[1] > 0
    assert loop.pop("iterations") == pytest.approx([32.0], rel=0.01), "as branch probabilities have it"
    assert loop.pop("frequency")[0] > 7
    assert loop == {
        "trip_count": [7],
        "max_trip_count": [7],
        "trip_multiple": [7],
        "is_countable": [1],
        "depth": [2],
        "blocks": [1],
        "exits": [1],
        "latch_exits": [1],
        "phis": [2],
        "instructions": [8],
        "loads": [1],
        "stores": [0],
        "calls": [0],
        "branches": [1],
        "floating_point": [0],
        "divisions": [1],
        "function_instructions": [18],
        "for_size": [0],
        "mask": [1, 1, 1, 1, 0],
    }


COUNTED: Final = """
define void @f(ptr %p) {{
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %to = getelementptr i64, ptr %p, i64 %i
  store volatile i64 %i, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, {count}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("count", "mask"),
    [
        (2, [1, 1, 1, 0, 0]),
        (3, [1, 1, 1, 0, 0]),
        (4, [1, 1, 1, 1, 0]),
        (7, [1, 1, 1, 1, 0]),
        (8, [1, 1, 1, 1, 1]),
    ],
)
def test_factors_up_to_the_trip_count_are_allowed(count: int, mask: list[int]) -> None:
    (loop,) = observed(source=COUNTED.format(count=count).encode())
    assert (loop["trip_count"], loop["mask"]) == ([count], mask)


@pytest.mark.parametrize(
    ("stores", "mask"),
    [(100, [1, 1, 1, 1, 1]), (200, [1, 1, 1, 1, 0]), (400, [1, 1, 1, 0, 0]), (600, [1, 1, 0, 0, 0])],
)
def test_a_factor_is_allowed_up_to_the_size_of_the_unrolled_body(stores: int, mask: list[int]) -> None:
    """The size of the body times the factor counts, not the body alone."""
    store = "  store volatile i64 %i, ptr %to\n"
    (loop,) = observed(source=COUNTED.format(count=64).replace(store, store * stores).encode())
    assert stores < loop["size"][0] < stores + 8
    assert loop["mask"] == mask


def test_every_row_is_observed() -> None:
    (loop,) = observed()
    assert list(loop) == [row.spec.name for row in FEATURES]
    assert [FACTORS[place] for place in (0, 1)] == [0, 1]


def test_what_the_metadata_says_already_is_not_asked() -> None:
    def four(obs: Observation) -> int:
        assert obs.site is not None
        return FACTORS.index(4)

    module = Module.read(ADVISED)
    with UNROLL.advisor(four) as advisor:
        optimize(module, "advised-unroll,advised-unroll", [advisor])
        assert advisor.stats.decisions == 1
    function = module.function("nest")
    assert function is not None
    outer, inner = function.loops
    assert outer.metadata is None
    assert inner.metadata == (..., ("llvm.loop.unroll.count", module.constant("i32 4")))


def test_more_copies_than_iterations_are_refused() -> None:
    with pytest.raises(AdviceError, match=r"nest.*expected a column that mask allows, got 4"):
        optimize(Module.read(ADVISED), "advised-unroll", [UNROLL.advisor("const:4")])


def test_random_factors_leave_valid_code() -> None:
    made = set()
    for seed in range(4):
        module = Module.read(ADVISED)
        with UNROLL.advisor(f"random:{seed}") as advisor:
            at = {"vectorizer-start": "advised-unroll"}
            optimize(module, "default<O2>", [advisor], at=at, options=PipelineOptions(verify_each=True))
            assert advisor.stats.decisions > 0
        made.add(module.bitcode())
    assert len(made) > 1, "the factors matter"
