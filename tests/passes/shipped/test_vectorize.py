# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.llvm.vectorize import FEATURES, LARGEST, VECTOR_PLANS
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.vectorize import VECTORIZE
from passpilot.plugin.compile import PipelineOptions
from passpilot.plugin.errors import AdviceError, PasspilotWarning
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock
from tests.passes.shipped.advice import of_seeds

INPUT: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "vectorizable.ll"
AT: Final = {"vectorizer-start": "advised-vectorize"}

Seen = dict[str, dict[str, list[float]]]


def observed(source: Path = INPUT) -> Seen:
    """What a policy sees of the loops, by the names of their functions."""
    seen: Seen = {}

    def keep(obs: Observation) -> int:
        values = {row.spec.name: obs[row.spec.name].reshape(-1).tolist() for row in FEATURES}
        seen[getattr(obs.site, "function").name] = values  # noqa: B009 - a Loop
        return 0

    optimize(Module.read(source), "advised-vectorize", [VECTORIZE.advisor(keep)])
    return seen


def picked(values: dict[str, list[float]], names: str) -> list[float]:
    return [values[name][0] for name in names.split()]


def plans(values: dict[str, list[float]]) -> list[tuple[int, int]]:
    return [plan for plan, allowed in zip(VECTOR_PLANS, values["mask"], strict=True) if allowed]


def test_only_loops_that_can_be_vectorized_are_asked_about() -> None:
    assert list(observed()) == ["add", "exact", "backwards", "distant"], "the hint in the source decides"


@pytest.mark.parametrize(
    ("hint", "is_asked"),
    [
        ('!"llvm.loop.vectorize.enable", i1 true', False),
        ('!"llvm.loop.interleave.count", i32 2', False),
        ('!"llvm.loop.isvectorized", i32 1', False),
        ('!"llvm.loop.unroll.count", i32 2', True),
        ('!"my.llvm.loop.vectorize.width", i32 2', True),
        ('i32 2, !"llvm.loop.vectorize.width"', True),
    ],
)
def test_what_counts_as_a_hint_of_the_source(hint: str, is_asked: bool, tmp_path: Path) -> None:
    source = tmp_path / "in.ll"
    text = INPUT.read_text().replace('!"llvm.loop.vectorize.width", i32 2', hint)
    source.write_text(text.replace("!{!0, !1}", '!{!0, !8, !1}\n!8 = !{!"llvm.loop.mustprogress"}'))
    assert ("hinted" in observed(source)) is is_asked


def test_features_of_loops() -> None:
    seen = observed()
    accesses = "consecutive reversed strided invariant irregular bytes"
    assert picked(seen["add"], accesses) == [3, 0, 0, 0, 0, 12]
    assert picked(seen["backwards"], accesses) == [0, 1, 0, 0, 0, 2]
    values = "inductions reductions recurrences is_exact safe_bits conversions narrowest_bits widest_bits"
    assert picked(seen["add"], values) == [1, 0, 0, 0, 0, 0, 32, 32]
    assert picked(seen["exact"], values) == [1, 1, 0, 1, 0, 0, 32, 32]
    assert picked(seen["backwards"], values) == [1, 1, 0, 0, 0, 1, 16, 32]
    assert picked(seen["distant"], values) == [1, 0, 0, 0, 256, 0, 32, 32]
    assert picked(seen["add"], "llvm_width llvm_interleave register_bits") == [4, 2, 128]
    assert picked(seen["exact"], "llvm_width llvm_interleave") == [1, 1]
    assert picked(seen["backwards"], "trip_count footprint") == [20, 40.0]


def test_a_plan_keeps_results_trip_counts_and_sizes() -> None:
    seen = observed()
    assert plans(seen["add"]) == list(VECTOR_PLANS[:-1]), "all but the largest"
    assert plans(seen["exact"]) == [(0, 0), (1, 1)]
    assert max(width * count for width, count in plans(seen["backwards"])) == 16
    assert {width * count for width, count in plans(seen["distant"])} == {0, 1, 2, 4, 8}


def test_a_large_body_has_few_plans(tmp_path: Path) -> None:
    statements = "".join(f"p[i + {i} * 1000] ^= q[i] * {i + 3} + {i};" for i in range(60))
    source = stock.clang(
        f"void f(int *restrict p, int *restrict q) {{ for (int i = 0; i < 999; ++i) {{{statements}}} }}",
        tmp_path / "large.bc",
    )
    module = Module.read(source)
    optimize(module, "function(sroa,instcombine<no-verify-fixpoint>,simplifycfg,loop-simplify,loop-rotate)")
    (tmp_path / "large.bc").write_bytes(module.bitcode())
    (values,) = observed(tmp_path / "large.bc").values()
    (size,) = values["size"]
    assert LARGEST / 4 < size < LARGEST
    assert {count for width, count in plans(values) if width <= 4} <= {0, 1, 2}


def test_every_row_is_observed() -> None:
    assert list(observed()["add"]) == [row.spec.name for row in FEATURES]


COMPUTED_JUMP: Final = """
define i32 @jump(ptr %p, i64 %n, ptr %to) {
entry:
  indirectbr ptr %to, [label %loop, label %exit]
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %at = getelementptr i32, ptr %p, i64 %i
  %value = load i32, ptr %at
  %more = add i32 %sum, %value
  %next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %next, %n
  br i1 %again, label %loop, label %exit
exit:
  %result = phi i32 [ 0, %entry ], [ %more, %loop ]
  ret i32 %result
}
"""


def test_a_loop_behind_a_computed_jump_is_not_asked_about(tmp_path: Path) -> None:
    """It cannot have a preheader, without which LLVM's analysis for remarks crashes."""
    (tmp_path / "jump.ll").write_text(COMPUTED_JUMP)
    with pytest.warns(PasspilotWarning, match="was never asked"):
        assert observed(tmp_path / "jump.ll") == {}


def test_an_order_that_matters_is_kept() -> None:
    choice = VECTOR_PLANS.index((4, 1))
    with pytest.raises(AdviceError, match=rf"exact.*expected a column that mask allows, got {choice}"):
        optimize(Module.read(INPUT), "advised-vectorize", [VECTORIZE.advisor(f"const:{choice}")])


@pytest.mark.parametrize("flags", [(), ("-g",)], ids=["plain", "debug"])
def test_the_default_changes_nothing_also_if_it_is_asked(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Debug information, as a copy of the function must leave no trace in its context either."""
    text = "float a[99]; int f(int *p, int n) { int s = n; for (int i = 0; i < n; ++i) s += p[i]; return s; }"
    source = stock.clang(text, tmp_path / "plain.bc", *flags)
    module = Module.read(source)
    with VECTORIZE.advisor("const:0", log=str(tmp_path / "decisions.log")) as advisor:
        optimize(module, "default<O3>", [advisor], at=AT)
        assert advisor.stats.decisions == 1
    assert module.bitcode() == stock.run("opt", "-O3", source, "-o", "-")


def test_random_plans_leave_valid_code() -> None:
    made = set()
    for seed in range(6):
        module = Module.read(INPUT)
        with VECTORIZE.advisor(f"random:{seed}") as advisor:
            optimize(module, "default<O2>", [advisor], at=AT, options=PipelineOptions(verify_each=True))
            assert advisor.stats.decisions == 3, "O2 unrolls the loop of 20 iterations before"
        made.add(module.bitcode())
    assert len(made) > 3, "the plans matter"


def test_random_answers_keep_the_output() -> None:
    outcome = of_seeds("vectorize", [1], ["csmith", "libsvm"])
    assert outcome.wrong == []
    assert outcome.decisions > 100


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("first", range(1, 301, 50))
def test_random_answers_keep_the_output_of_many_programs(first: int) -> None:
    assert of_seeds("vectorize", range(first, first + 50)).wrong == []


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("seed", range(1, 21))
def test_random_answers_keep_the_output_of_the_corpus(seed: int) -> None:
    from tests.corpus.programs import programs

    assert of_seeds("vectorize", [seed], list(programs())).wrong == []
