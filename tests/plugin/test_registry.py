# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Registry`: who owns a name, what packages offer, and that a snapshot brings back what was there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import pytest

from passpilot.plugin.errors import FeatureError, InputError, RegistrationError
from passpilot.plugin.registry import Registry, restore, snapshot
from tests.fixtures.registry import Offer


@dataclass(frozen=True)
class Colour:
    origin: str


RED, BLUE = Colour("a.py:1"), Colour("b.py:2")
OWN = {"grey": "passpilot.plugin.errors:Error"}


@pytest.fixture
def colours() -> Iterator[Registry[Colour]]:
    made = Registry[Colour]("colour", own=OWN, group="passpilot.test_colours")
    yield made
    made.restore({})


def test_a_name_is_taken_until_it_is_given_back(colours: Registry[Colour]) -> None:
    colours.add("red", RED)
    colours.add("red", RED)
    with pytest.raises(RegistrationError) as caught:
        colours.add("red", BLUE)
    text = "colour 'red' at b.py:2: expected a new name, got one that the colour at a.py:1 owns"
    assert str(caught.value) == text
    assert (dict(colours), len(colours), colours["red"]) == ({"red": RED}, 1, RED)
    colours.unregister("red")
    with pytest.raises(RegistrationError, match=r"^colour 'red': expected a registered colour, got none"):
        colours.unregister("red")
    colours.add("red", BLUE)
    assert colours.get("red") is BLUE


def test_passpilots_own_names_are_taken(colours: Registry[Colour]) -> None:
    with pytest.raises(RegistrationError, match=r"'grey' at a.py:1: .* one that passpilot itself owns"):
        colours.add("grey", RED)
    assert colours.import_own("grey") is InputError.__base__


def test_words_and_class_of_the_errors() -> None:
    shades = Registry[Colour]("shade", error=FeatureError, where=" of red", hint="; mix one")
    shades.add("dark", RED)
    with pytest.raises(FeatureError, match=r"a.py:1 owns; mix one$"):
        shades.add("dark", BLUE)
    with pytest.raises(FeatureError, match="shade 'light' of red: expected a registered shade"):
        shades.unregister("light")


def test_looking_imports_nothing(colours: Registry[Colour], offer: Offer) -> None:
    offer("passpilot.test_colours", ("green", "no_such_module:f"))
    colours.add("red", RED)
    assert colours.names() == ["green", "grey", "red"]
    assert colours.added() == {"red"}
    assert "green" not in colours
    entry = colours.entry("green")
    assert entry is not None
    assert colours.entry("violet") is None
    told = "colour 'green' of entry point no_such_module:f: expected it to be imported, got ModuleNotFound"
    with pytest.raises(RegistrationError, match=told):
        colours.imported(entry)


def test_errors_of_passpilots_pass_through_an_import(
    colours: Registry[Colour], offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("passpilot_test_colours")

    def missing(name: str) -> object:
        raise InputError(name)

    vars(module)["__getattr__"] = missing
    monkeypatch.setitem(sys.modules, module.__name__, module)
    offer("passpilot.test_colours", ("green", f"{module.__name__}:f"))
    entry = colours.entry("green")
    assert entry is not None
    with pytest.raises(InputError, match=r"^f$"):
        colours.imported(entry)


def test_a_name_belongs_to_one_package(colours: Registry[Colour], offer: Offer) -> None:
    offer("passpilot.test_colours", ("green", "one:f"), ("green", "two:f"), ("blue", "one:g"))
    told = "'green' of entry point one:f and two:f: expected one distribution that has the name, got 2"
    with pytest.raises(RegistrationError, match=told):
        colours.entry("green")
    assert colours.entry("blue")


def test_entry_points_are_scanned_once(colours: Registry[Colour], offer: Offer) -> None:
    offer("passpilot.test_colours", ("green", "one:f"))
    assert "green" in colours.names()
    offer.nothing(forget=False)
    assert "green" in colours.names()
    offer.nothing()
    with pytest.raises(AssertionError, match="scanned"):
        colours.names()


def test_a_snapshot_brings_back_what_was_there(colours: Registry[Colour]) -> None:
    colours.add("red", RED)
    before = snapshot()
    colours.unregister("red")
    colours.add("blue", BLUE)
    later = Registry[Colour]("later")
    later.add("x", RED)
    restore(before)
    assert dict(colours) == {"red": RED}
    assert dict(later) == {}
