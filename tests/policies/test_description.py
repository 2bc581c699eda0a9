# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot policies`: the lines that describe a policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.cli.policies import lines_of
from passpilot.runners.policy.bundle import PolicyBundle, find_bundle


@pytest.fixture
def bundle(tiny: Path) -> PolicyBundle:
    found = find_bundle(str(tiny))
    assert isinstance(found, PolicyBundle)
    return found


def card_line(bundle: PolicyBundle, folder: Path, text: str) -> list[str]:
    """The lines below that of the license, for a model card with this text."""
    (folder / "card.md").write_bytes(text.encode("utf-8", "surrogateescape"))
    return list(lines_of(replace(bundle, card=str(folder / "card.md"))))[5:]


def test_another_llvm_is_named(bundle: PolicyBundle) -> None:
    line = list(lines_of(replace(bundle, llvm=21)))[2]
    assert line == "  for -Oz, any target, LLVM 21, which is not this LLVM 22"


def test_targets_and_level(bundle: PolicyBundle) -> None:
    line = list(lines_of(replace(bundle, level="O2", targets=("x86_64", "aarch64"))))[2]
    assert line == "  for -O2, x86_64 and aarch64, LLVM 22"


def test_one_recipe(bundle: PolicyBundle) -> None:
    line = list(lines_of(replace(bundle, recipes=bundle.recipes[:1])))[3]
    assert line.startswith("  decides inline; 1 recipe; ")


def test_a_policy_without_a_card(bundle: PolicyBundle) -> None:
    assert list(lines_of(replace(bundle, card="")))[-1].startswith("  license: ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Head\n\nOne\n two.\n\nThree.\n", ["  One two."]),
        ("\n\n  # Head\n\n## Another\n\nOne.", ["  One."]),
        ("# Only a head\n", []),
        ("", []),
        ("a\udcffb\n", ["  a\ufffdb"]),
    ],
)
def test_the_first_paragraph_of_the_card(
    bundle: PolicyBundle, tmp_path: Path, text: str, shown: list[str]
) -> None:
    assert card_line(bundle, tmp_path, text) == shown


def test_a_long_card_is_not_read_to_its_end(bundle: PolicyBundle, tmp_path: Path) -> None:
    (line,) = card_line(bundle, tmp_path, "x" * (1 << 17))
    assert len(line) == 2 + (1 << 16)
