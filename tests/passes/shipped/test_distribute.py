# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import warnings
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.llvm.distribute import FEATURES
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.distribute import DISTRIBUTE
from passpilot.plugin.compile import PipelineOptions
from passpilot.plugin.errors import PolicyError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock
from tests.passes.shipped.advice import of_seeds

INPUT: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "distributable.ll"
AT: Final = {"vectorizer-start": "advised-distribute"}
INDIRECT: Final = """
void f(int *restrict count, const unsigned char *restrict at, int *restrict p, int n) {
  for (int i = 0; i < n; ++i) { count[at[i]]++; p[i] = p[i] * 3 + 1; }
}
"""

Seen = dict[str, dict[str, float]]


def observed() -> Seen:
    """What a policy sees of the loops, by the names of their functions."""
    seen: Seen = {}

    def keep(obs: Observation) -> int:
        values = {row.spec.name: obs[row.spec.name].item() for row in FEATURES}
        seen[getattr(obs.site, "function").name] = values  # noqa: B009 - a Loop
        return 0

    optimize(Module.read(INPUT), "advised-distribute", [DISTRIBUTE.advisor(keep)])
    return seen


def test_features_of_loops() -> None:
    seen = observed()
    assert list(seen) == ["parts", "overlap"], "LLVM can distribute no others, or the source decides"
    names = (
        "dependences",
        "backward",
        "parts",
        "vectorizable",
        "vectorized",
        "is_checked",
        "loads",
        "stores",
    )
    assert [seen["parts"][name] for name in names] == [2, 1, 2, 1, 1, 0, 3, 2]
    assert [seen["overlap"][name] for name in names] == [3, 1, 2, 1, 1, 1, 3, 2]
    assert seen["parts"]["after"] == seen["parts"]["before"] + 4, "both parts count and branch"


@pytest.mark.parametrize(
    ("hint", "is_asked"),
    [('!"llvm.loop.distribute.followup_all"', False), ('!"llvm.loop.unroll.disable"', True)],
)
def test_any_hint_about_distribution_decides(hint: str, is_asked: bool) -> None:
    text = INPUT.read_text().replace('!"llvm.loop.mustprogress"', hint)
    module = Module.read(text.encode())
    with DISTRIBUTE.advisor("const:1") as advisor:
        optimize(module, "advised-distribute", [advisor])
    assert advisor.stats.decisions == 1 + is_asked
    assert str(module).count('!"llvm.loop.distribute.enable", i1 true') == 1, "all share the node"


def test_every_row_is_observed() -> None:
    assert list(observed()["parts"]) == [row.spec.name for row in FEATURES]


@pytest.mark.parametrize("answer", [False, True])
def test_the_answer_is_obeyed_without_a_warning(answer: bool, tmp_path: Path) -> None:
    source = stock.clang(INDIRECT, tmp_path / "indirect.bc", "-g")
    module = Module.read(source)
    with DISTRIBUTE.advisor(lambda _: answer) as advisor, warnings.catch_warnings():
        warnings.simplefilter("error")
        optimize(module, "default<O3>", [advisor], at=AT)
        assert advisor.stats.decisions == 1
    assert (b"store <4 x i32>" in module.assembly()) == answer
    if not answer:
        assert module.bitcode() == stock.run("opt", "-O3", source, "-o", "-")


def test_random_answers_leave_valid_code() -> None:
    made = set()
    for seed in range(6):
        module = Module.read(INPUT)
        with DISTRIBUTE.advisor(f"random:{seed}") as advisor:
            optimize(module, "default<O2>", [advisor], at=AT, options=PipelineOptions(verify_each=True))
            assert advisor.stats.decisions == 2
        made.add(module.bitcode())
    assert len(made) > 1, "the answers matter"


def test_failing_policy_leaves_an_error() -> None:
    def fail(_: Observation) -> int:
        raise ValueError("no luck")

    with pytest.raises(PolicyError, match="no luck"):
        optimize(Module.read(INPUT), "advised-distribute", [DISTRIBUTE.advisor(fail)])


def test_random_answers_keep_the_output() -> None:
    outcome = of_seeds("distribute", [1], ["csmith", "libsvm"])
    assert outcome.wrong == []
    assert outcome.decisions > 20


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("first", range(1, 301, 50))
def test_random_answers_keep_the_output_of_many_programs(first: int) -> None:
    assert of_seeds("distribute", range(first, first + 50)).wrong == []


@pytest.mark.soak
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("seed", range(1, 21))
def test_random_answers_keep_the_output_of_the_corpus(seed: int) -> None:
    from tests.corpus.programs import programs

    assert of_seeds("distribute", [seed], list(programs())).wrong == []
