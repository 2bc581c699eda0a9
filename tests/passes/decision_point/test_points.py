# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Points that other distributions' passes declare: found when they are asked for, and never by a look."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.point import find_point, is_known
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.passes.point_search import search, search_point
from passpilot.plugin.errors import PeerError, RegistrationError, UsageError
from passpilot.runners.remote import wire
from tests.command import PASSPILOT
from tests.fixtures.registry import Offer

pytestmark = pytest.mark.usefixtures("restored_registries")

DECLARING: Final = """
from dataclasses import dataclass
import passpilot
POINT = passpilot.DecisionPoint(
    "{point}",
    features=[passpilot.TensorSpec("n", "int64", (1,))],
    advice=passpilot.TensorSpec("yes", "int64", (1,)),
    default=lambda values: 0,
)

@passpilot.llvm.module_pass("theirs")
@dataclass(frozen=True)
class Theirs:
    def run(self, module):
        POINT.ask({{"n": 1}})
        return False
"""
BROKEN: Final = ("broken", "no_such_package_of_anyones:Pass")
LL: Final = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"

Package = Callable[[str], tuple[str, str]]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Writes a package whose pass `theirs` declares the given point; returns its entry point."""

    def write(point: str) -> tuple[str, str]:
        name = f"declares_{point.replace('-', '_')}"
        (tmp_path / f"{name}.py").write_text(DECLARING.format(point=point))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return "theirs", f"{name}:Theirs"

    return write


def test_a_look_scans_nothing(offer: Offer) -> None:
    offer.nothing()
    assert not is_known("theirs")
    with pytest.raises(UsageError, match=r"expected one of inline, .* got 'theirs'"):
        find_point("theirs")


def test_a_remote_hello_imports_nothing(offer: Offer) -> None:
    offer.nothing()
    line = json.loads(wire.hello(find_point("inline"))) | {"point": "theirs"}
    with pytest.raises(PeerError, match=r"expected one of inline, .* got 'theirs'"):
        wire.read_hello(json.dumps(line).encode())


@pytest.mark.parametrize("point", ["theirs", "their-question"])
def test_a_point_that_is_asked_for_is_found_beside_a_broken_package(
    offer: Offer, package: Package, point: str
) -> None:
    offer("passpilot.passes", BROKEN, package(point))
    assert not is_known(point)
    with PointAdvisor(point, "const:1") as advisor:
        assert advisor.point == point
    assert search_point(point) == find_point(point)


def test_the_pass_of_the_same_name_is_imported_alone(offer: Offer, package: Package) -> None:
    offer("passpilot.passes", ("another", "another_package:Pass"), package("theirs"))
    assert search("theirs")
    assert "another_package" not in sys.modules


def test_what_may_be_the_cause_is_told(offer: Offer) -> None:
    offer("passpilot.passes", BROKEN)
    with pytest.raises(RegistrationError, match="'broken' of entry point no_such_package_of_anyones:Pass"):
        search("theirs")
    offer("passpilot.passes")
    assert not search("theirs")


def test_a_broken_package_concerns_nobody_who_does_not_ask_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "site" / "broken-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[passpilot.passes]\n{} = {}\n".format(*BROKEN))
    (tmp_path / "in.ll").write_text(LL)
    command: list[str | Path] = [
        PASSPILOT,
        "opt",
        "in.ll",
        "-passes=default<O1>",
        "-o",
        "out.bc",
        "--inline=const:0",
    ]
    done = subprocess.run(
        [*command, "--log", "a=b.log"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a=b.log").is_file()
