# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@oz`: levers of code generation that make linked training programs smaller, and lose nothing.

`bench.measure.policies.levers` measures the levers on top of block placement and smaller unwind tables. One
is taken if it saves loaded bytes against both references, and makes neither the loaded bytes nor the
compressed file of a program larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Final

from bench.lib import read, write
from bench.lib.corpus import built
from bench.lib.targets import TARGETS
from bench.measure.policies.levers import (
    BASE,
    LEVERS,
    LINKS,
    OUTLINED,
    PROGRAMS,
    RECORD,
    Record,
    measure_all,
    worth,
)
from passpilot.training.policy_folder import PolicyText, RecipeChoice
from passpilot.training.tuning.recipes import PLACED, SMALLEST
from tools.policies.card import write_with_card
from tools.policies.targets import LEVERS as TARGET_LEVERS
from tools.policies.targets import PROGRAMS as TARGET_PROGRAMS
from tools.policies.targets import RECORD as TARGET_RECORD
from tools.policies.targets import Measure, Step, card, choose
from tools.policies.targets import Record as TargetRecord
from tools.policies.units import SMALL, Unit, data_hash

TABLES: Final = "unwind=linked"
"""In all recipes: it changes no code."""
CONSTANTS: Final = "move-small-constants"
"""For those who keep LLVM's own unwind tables; without effect where there are fewer rows."""
LEAST: Final = 0.0005
"""What a lever must save."""
LARGEST: Final = 1.0005
"""Of a program's ratio with a lever."""
SLOWER: Final = ("disable-lsr",)
"""Options that cost run time, for recipes that are for size alone."""
LEAST_SAVED: Final = "outliner-benefit-threshold"
"""16 is for outlined functions that have unwind entries; without them, whatever saves a byte is taken."""
TOP: Final = "all three"
"""The lever on top of which the others are measured."""


HEAD: Final = """\
`python -m tools.policies oz` made this policy of the levers below, which
`python -m bench.measure.policies.levers` measured on linked training programs: geometric means against `-Oz`
with the flags of both references. A lever with a comma is compared with what stands before it.

"""


TARGET_HEAD: Final = """
For other targets, the levers below were tried one after the other, on top of what was taken before, on the
objects of up to four units of eight training programs in C: geometric means. *linked* is what a link of the
objects alone loads, *largest* the largest ratio of a program's units to -Oz. A lever is taken if it makes the
objects smaller by 0.05 %, and their link not larger by 0.1 %.
"""


def is_taken(record: Record, name: str) -> bool:
    """Whether a lever saves enough, and makes no program larger."""
    for reference in LINKS:
        rows = worth(record, reference, name, TOP)
        mean = geometric_mean(row["allocated"] for row in rows)
        if mean > 1 - LEAST or max(row[size] for row in rows for size in ("allocated", "xz")) > LARGEST:
            return False
    return True


def choice(record: Record) -> str:
    """What the card says: the levers on top of the first three, and which are taken."""
    heads = [f"{reference} {size}" for reference in LINKS for size in ("allocated", "xz")]
    text = f"| lever | {' | '.join(heads)} | taken |\n|{'---|' * (len(heads) + 2)}\n"
    for name in LEVERS:
        base = TOP if name.startswith(f"{TOP}, ") else "nothing"
        means = [
            geometric_mean(row[size] for row in worth(record, reference, name, base))
            for reference in LINKS
            for size in ("allocated", "xz")
        ]
        taken = base == TOP and is_taken(record, name)
        text += f"| {name} | {' | '.join(f'{mean:.4f}' for mean in means)} | {'yes' * taken} |\n"
    return text


def everywhere(taken: Sequence[str]) -> tuple[str, ...]:
    """The options of the first recipe for all targets."""
    return (*PLACED, *(option for option in taken if option not in SLOWER), CONSTANTS, TABLES)


def recipes(taken: Sequence[str], families: Mapping[str, Sequence[str]]) -> list[RecipeChoice]:
    """The recipes by what they are for, of the options that save something.

    Args:
        taken: on all targets.
        families: the options that save something on a target, by its name.
    """
    placed = everywhere(taken)
    smaller = (*PLACED, *taken, CONSTANTS, TABLES)
    never = "enable-machine-outliner=never"
    whole = {name: [each for each in options if "outliner" not in each] for name, options in families.items()}
    outlined = {
        name: options
        if any(each.startswith(LEAST_SAVED) for each in options)
        else [*options, f"{LEAST_SAVED}=1"]
        for name, options in families.items()
    }
    rom = (*smaller[:-1], OUTLINED, f"{LEAST_SAVED}=16", TABLES)
    return [
        RecipeChoice(SMALLEST, placed, targets=_by_triple(families)),
        RecipeChoice(SMALLEST, smaller, targets=_by_triple(families), aim="file"),
        RecipeChoice(SMALLEST, (never, *smaller), targets=_by_triple(whole), aim="compressed"),
        RecipeChoice(SMALLEST, rom, targets=_by_triple(outlined), aim="rom"),
    ]


def _by_triple(families: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return {triple: options for name, options in families.items() for triple in TARGETS[name].triples}


def choose_for_targets(taken: Sequence[str], *, small: bool) -> dict[str, tuple[list[str], list[Step]]]:
    """What is taken for every other target, and all steps."""
    record: TargetRecord = {} if small else read(TARGET_RECORD, {})
    found = {}
    for target in TARGET_LEVERS:
        print(f"oz: {target}, relative to what was taken before: allocated, xz, linked", flush=True)
        measure = Measure(
            target,
            SMALL[:1] if small else TARGET_PROGRAMS,
            record,
            lambda: None if small else write(TARGET_RECORD, record),
        )
        found[target] = choose(everywhere(taken), TARGET_LEVERS[target], measure)
    return found


def make(folder: Path, jobs: int, *, small: bool) -> None:  # noqa: ARG001
    """Measure what has not been measured, choose, and write the policy's folder."""
    record: Record = {} if small else read(RECORD, {})
    measure_all(SMALL if small else PROGRAMS, record, lambda: None if small else write(RECORD, record))
    programs = built(SMALL if small else PROGRAMS)
    options = [
        lever.options[-1]
        for name, lever in LEVERS.items()
        if name.startswith(f"{TOP}, ") and lever.options[-1] not in BASE and is_taken(record, name)
    ]
    print(f"oz: taken {', '.join(options) or 'none'}")
    families = choose_for_targets(options, small=small)
    text = PolicyText(
        name="oz",
        description="Makes programs smaller than -Oz",
        card=HEAD
        + choice(record)
        + TARGET_HEAD
        + card({name: steps for name, (_, steps) in families.items()}),
        data={
            "training programs (bitcode)": data_hash([Unit(each.name, each.whole("Oz")) for each in programs])
        },
    )
    write_with_card(folder, text, {}, recipes(options, {name: kept for name, (kept, _) in families.items()}))
