# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc --policy=@tiny?tries=N`: the smallest object of the first N recipes."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.training.rewards import allocated_bytes
from tests.command import passpilot
from tests.policies.test_doors import text_of

pytestmark = pytest.mark.usefixtures("tiny")


def size_of(policy: str, here: Path) -> int:
    """The machine code of the object that a policy makes."""
    text_of(passpilot("cc", f"--policy={policy}", "-Oz", "-MMD", "-c", "calls.c", "-o", "out.o", cwd=here))
    assert (here / "out.d").read_text().startswith("out.o:")
    assert sorted(path.name for path in here.iterdir()) == ["calls.bc", "calls.c", "out.d", "out.o"]
    return allocated_bytes((here / "out.o").read_bytes())


def test_more_tries_are_never_larger(tiny: Path, here: Path) -> None:
    single = [size_of(f"@tiny?recipe={number}", here) for number in (1, 2, 3)]
    tried = [size_of(f"@tiny?tries={number}", here) for number in (1, 2, 3, 9)]
    assert tried == [min(single[: number + 1]) for number in range(3)] + [min(single)]
    assert len(set(single)) > 1
    assert size_of(str(tiny), here) == single[0]


@pytest.mark.soak
def test_the_object_is_the_recipes(tiny: Path, here: Path) -> None:
    objects = []
    for number in (1, 2):
        size_of(f"@tiny?recipe={number}", here)
        objects.append((here / "out.o").read_bytes())
    size_of(f"{tiny}?tries=2", here)
    assert (here / "out.o").read_bytes() == min(objects, key=allocated_bytes)
