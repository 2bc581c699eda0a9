# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how much smaller programs of the corpus are with `advised-outliner` and `advised-outline`.

Every program is compiled by default<Oz> for x86-64, where the outliner does not run by itself. Then the
outliner runs everywhere but in functions that a policy closes: ``random:SEED`` for every seed, of which the
best counts, and fixed rules. For each program, the rule that is best on the others is applied to it: what a
fixed policy gains on programs that it was not selected on. The figures are bytes of .text. The programs of
the best seed and of the rule are linked and run: their output must be the corpus's. Writes
bench/results/outline.json.

usage: bench_outline.py [SEEDS [PROGRAM ...]]      (20 picosat libyaml lua lz4 box2d re2)
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.bench_advised_pipeline import check, text_size  # noqa: E402
from passpilot import OUTLINE, OUTLINER, Module, emit, optimize  # noqa: E402
from tests.corpus.build import build  # noqa: E402
from tests.corpus.programs import programs  # noqa: E402

if TYPE_CHECKING:
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike
    from tests.corpus.programs import Program

DEFAULT: Final = ("picosat", "libyaml", "lua", "lz4", "box2d", "re2")


def outside_loops(obs: Observation) -> bool:
    """Functions without loops."""
    return obs["loop_depth"].item() == 0


def not_hot(obs: Observation) -> bool:
    """Functions none of whose blocks runs more than ten times per call."""
    return obs["hottest"].item() <= 10


def repetitive(obs: Observation) -> bool:
    """Functions with a repeated sequence of eight instructions."""
    return obs["longest"].item() >= 8


RULES: Final[Mapping[str, Callable[[Observation], bool]]] = {
    "everywhere": lambda _: True,
    "outside loops": outside_loops,
    "not in hot functions": not_hot,
    "where much is repeated": repetitive,
}


def outlined(start: Module, runner: RunnerLike) -> bytes:
    """The object of a copy of the module, outlined where a runner allows it."""
    advisors = [OUTLINER.advisor("const:1"), OUTLINE.advisor(runner)]
    return emit(start.copy(), advisors=advisors, relocation_model="pic")


def measure(program: Program, seeds: int) -> tuple[dict[str, int], Module]:
    """The sizes of one program, by policy, and the program."""
    start = Module.read(program.whole("Oz"))
    optimize(start, "default<Oz>")
    sizes = {"-Oz": text_size(emit(start.copy(), relocation_model="pic"))}
    for name, rule in RULES.items():
        sizes[name] = text_size(outlined(start, rule))
    made = {seed: text_size(outlined(start, f"random:{seed}")) for seed in range(seeds)}
    best = min(made, key=made.__getitem__)
    check(program, f"seed {best}", outlined(start, f"random:{best}"))
    sizes["best of random"] = made[best]
    print(program.name, sizes, file=sys.stderr, flush=True)
    return sizes, start


def held_out(found: Mapping[str, Mapping[str, int]], program: str) -> str:
    """The rule that makes the other programs smallest."""
    others = [sizes for name, sizes in found.items() if name != program]
    return min(RULES, key=lambda rule: statistics.geometric_mean(each[rule] / each["-Oz"] for each in others))


def main() -> None:
    """Measure, print, and write the figures."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    names = sys.argv[2:] or DEFAULT
    if problems := build(names):
        sys.exit("\n".join(problems))
    measured = {name: measure(programs()[name], seeds) for name in names}
    found = {name: sizes for name, (sizes, _) in measured.items()}
    columns = [*RULES, "best of random"]
    table = Table("program", "-Oz", *columns, "selected rule", title=".text relative to -Oz")
    relative: list[list[float]] = []
    for name, sizes in found.items():
        rule = held_out(found, name)
        check(programs()[name], rule, outlined(measured[name][1], RULES[rule]))
        relative.append([sizes[each] / sizes["-Oz"] for each in (*columns, rule)])
        table.add_row(name, f"{sizes['-Oz']}", *(f"{each:.3f}" for each in relative[-1]))
    means = [statistics.geometric_mean(column) for column in zip(*relative, strict=True)]
    table.add_row("geometric mean", "", *(f"{each:.3f}" for each in means))
    Console(width=120).print(table)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "outline.json").write_text(json.dumps({"seeds": seeds, "bytes": found}, indent=1))


if __name__ == "__main__":
    main()
