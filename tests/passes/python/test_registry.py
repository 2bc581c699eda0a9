# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of passes in Python: what is refused, and by which words."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from passpilot.passes.python import api as llvm
from passpilot.passes.python import pipeline_text
from passpilot.passes.python.registry import LLVM, MLIR
from passpilot.plugin.errors import InputError, RegistrationError
from passpilot.plugin.load import load_file
from tests.fixtures.registry import Offer

HERE = Path(__file__).name


pytestmark = pytest.mark.usefixtures("restored_registries")


@dataclass(frozen=True)
class Plain:
    """Does nothing.

    At length.
    """

    limit: int = 3
    verbose: bool = False

    def run(self, _: object) -> bool:
        return False


def test_a_decorated_class_is_found() -> None:
    made = llvm.function_pass("test-plain", required=True)(Plain)
    assert made is Plain
    found = LLVM.find("test-plain")
    assert found
    assert (found.kind, found.level, found.required, found.doc) == (Plain, "function", True, "Does nothing.")
    assert str(found) == "test-plain{limit=int verbose}"
    assert found in LLVM.known()


@pytest.mark.parametrize("level", ["module", "cgscc", "function", "loop"])
def test_each_level_has_a_decorator(level: str) -> None:
    for required in (False, True):
        getattr(llvm, f"{level}_pass")("test-level", required=required)(Plain)
        found = LLVM.find("test-level")
        assert found
        assert (found.level, found.required) == (level, required)
        llvm.unregister("test-level")
    getattr(llvm, f"{level}_pass")("test-level")(Plain)
    assert not LLVM["test-level"].required


def test_a_name_has_one_owner() -> None:
    llvm.function_pass("test-twice")(Plain)
    with pytest.raises(RegistrationError) as caught:
        llvm.loop_pass("test-twice")(Plain)
    second, first = map(int, re.findall(rf"{HERE}:(\d+)", str(caught.value)))
    assert second == first + 2
    assert "expected a new name, got one that the pass at " in str(caught.value)


def test_passes_are_listed_by_level_and_name() -> None:
    for level in ("loop", "function", "cgscc", "module"):
        for name in ("test-b", "test-a"):
            getattr(llvm, f"{level}_pass")(f"{name}-{level}")(Plain if name == "test-b" else Derived)
    lines = [line for line in pipeline_text.listing().splitlines() if not line.startswith("  advised-")]
    options = "{limit=int verbose}"
    assert lines == [
        line
        for title, level in (
            ("Module", "module"),
            ("CGSCC", "cgscc"),
            ("Function", "function"),
            ("Loop", "loop"),
        )
        for line in (
            f"{title} passes in Python:",
            f"  test-a-{level}{options}",
            f"  test-b-{level}{options}  Does nothing.",
        )
    ]
    assert pipeline_text.listing().endswith("Does nothing.\n")


def test_names_of_shipped_passes_are_taken_before_they_are_imported() -> None:
    assert LLVM.find("advised-slp")
    LLVM.unregister("advised-slp")
    owner = "the entry point passpilot.passes.shipped.slp:AdvisedSLP"
    with pytest.raises(RegistrationError, match=f"expected a new name, got one that {owner} owns"):
        llvm.function_pass("advised-slp")(Plain)
    assert LLVM.find("advised-slp")


def test_imported_passes_of_ours_stay_when_all_is_restored() -> None:
    shipped = LLVM.find("advised-size")
    llvm.function_pass("test-plain")(Plain)
    LLVM.restore({})
    assert LLVM.get("advised-size") is shipped
    assert "test-plain" not in LLVM


def test_a_class_without_a_docstring_has_no_line() -> None:
    llvm.function_pass("test-derived")(Derived)
    found = LLVM.find("test-derived")
    assert found
    assert found.doc == ""


GRAMMAR = (
    *(
        "module",
        "cgscc",
        "function",
        "loop",
        "loop-mssa",
        "machine-function",
        "coro-cond",
        "repeat",
        "devirt",
    ),
    *("require", "invalidate", "default", "default-x", "thinlto", "thinlto-x", "lto", "lto-like", "fatlto"),
)
"""Words of LLVM's pipeline text."""


@pytest.mark.parametrize("name", ["instcombine", "print", "aa", *GRAMMAR])
def test_names_of_llvm_are_taken(name: str) -> None:
    with pytest.raises(RegistrationError, match="expected a new name, got one that LLVM itself owns"):
        llvm.function_pass(name)(Plain)
    assert LLVM.find(name) is None


@pytest.mark.parametrize(
    "name", ["", "MyPass", "my_pass", "-x", "x-", "x--y", "1x", "x\n", "a b", "a{", "a,b", "é", 3]
)
def test_names_are_kebab_case(name: str) -> None:
    with pytest.raises(RegistrationError, match=rf"at .*{HERE}:\d+: expected a name in kebab-case"):
        llvm.function_pass(name)


def test_a_decorator_without_a_name() -> None:
    with pytest.raises(RegistrationError, match=rf"at .*{HERE}:\d+: expected a name .* <class .*Plain'>"):
        llvm.function_pass(Plain)  # type: ignore[arg-type]


@dataclass
class Thawed:
    def run(self, _: object) -> bool:
        return False


class NoDataclass:
    def run(self, _: object) -> bool:
        return False


@dataclass(frozen=True)
class Derived(Plain):
    pass


class Undecorated(Plain):
    pass


@dataclass(frozen=True)
class Idle:
    pass


@dataclass(frozen=True)
class Lonely:
    def run(self) -> bool:
        return False


@dataclass(frozen=True)
class Deferred:
    async def run(self, _: object) -> bool:
        return False


@dataclass(frozen=True)
class Generated:
    def run(self, _: object) -> Iterator[bool]:
        yield False


@dataclass(frozen=True)
class OddField:
    names: tuple[str, ...] = ()

    def run(self, _: object) -> bool:
        return False


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Thawed, "expected a frozen dataclass, got a dataclass that is not frozen, Thawed; write"),
        (NoDataclass, "expected a frozen dataclass, got a plain class, NoDataclass; write"),
        (Undecorated, "expected a frozen dataclass, got a plain class, Undecorated"),
        (Idle, "expected a method run.self, unit., got none"),
        (Lonely, "expected a method run.self, unit., got run.self. -> 'bool'"),
        (Deferred, "expected a method run.self, unit., got <function"),
        (Generated, "expected a method run.self, unit., got <function"),
        (OddField, "expected bool, int, .* as the type of names"),
        (Plain(), "expected a class, got Plain"),
    ],
)
def test_classes_that_do_not_fit(kind: type, told: str) -> None:
    with pytest.raises(RegistrationError, match=rf"^pass 'test-odd' at .*{HERE}:\d+: {told}"):
        llvm.function_pass("test-odd")(kind)
    assert LLVM.find("test-odd") is None


def test_a_derived_class_is_a_pass_of_its_own() -> None:
    llvm.function_pass("test-base")(Plain)
    llvm.function_pass("test-derived")(Derived)
    with pytest.raises(RegistrationError, match="expected a class under a decorator"):
        llvm.register(Undecorated)


def test_a_pass_can_go_and_come_back() -> None:
    llvm.function_pass("test-back")(Plain)
    llvm.register(Plain)
    llvm.unregister("test-back")
    assert LLVM.find("test-back") is None
    with pytest.raises(RegistrationError, match="expected a registered pass, got none"):
        llvm.unregister("test-back")
    llvm.register(Plain)
    assert LLVM.find("test-back")
    with pytest.raises(RegistrationError, match="expected a class under a decorator"):
        llvm.register(Idle)


def test_a_pass_of_a_module_that_is_imported_already_is_found_again() -> None:
    found = LLVM.find("advised-unroll")
    assert found
    llvm.unregister("advised-unroll")
    assert LLVM.find("advised-unroll") is found
    llvm.unregister("advised-unroll")
    assert found in LLVM.known()


def test_a_loaded_file_registers_its_passes(tmp_path: Path) -> None:
    source = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "import enum\n"
        "from passpilot.passes.python.api import function_pass\n\n"
        "class Mode(enum.Enum):\n    A = 'a'\n\n"
        '@function_pass("test-loaded")\n'
        "@dataclass(frozen=True, slots=True)\n"
        "class Loaded:\n"
        "    mode: Mode = Mode.A\n\n"
        "    def run(self, function):\n        return False\n"
    )
    path = tmp_path / "mine.py"
    path.write_text(source)
    load_file(path)
    found = LLVM.find("test-loaded")
    assert found
    assert found.origin == f"{path}:9"
    other = tmp_path / "other.py"
    other.write_text(source)
    with pytest.raises(RegistrationError, match=rf"'test-loaded' at {other}:9: .* that the pass at {path}:9"):
        load_file(other)
    other.write_text(source.replace("test-loaded", "test-other").replace("mode: Mode", "mode: Unknown"))
    with pytest.raises(RegistrationError, match=r"other\.py:9: expected types of fields"):
        load_file(other)
    other.write_text("import passpilot.passes.python.api\npasspilot.passes.python.api.no_such\n")
    with pytest.raises(InputError, match="AttributeError"):
        load_file(other)


def test_an_entry_point_is_imported_when_its_name_is_used(
    offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(LLVM.group, ("test-entry", f"{Plain.__module__.partition('.')[0]}:Theirs"))
    assert LLVM.find("test-nobody") is None
    module = ModuleType(Plain.__module__.partition(".")[0])
    vars(module)["Theirs"] = Plain
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(
        RegistrationError, match=r"expected a class that a decorator of passpilot\.llvm names"
    ):
        LLVM.find("test-entry")
    llvm.function_pass("test-entry")(Plain)
    found = LLVM.find("test-entry")
    assert found
    assert found.kind is Plain
    assert found in LLVM.known()


def test_the_name_of_an_entry_point_is_taken(offer: Offer) -> None:
    offer(LLVM.group, ("test-entry", "no_such_module_at_all:f"))
    assert "test-entry" in LLVM.names()
    with pytest.raises(RegistrationError, match="one that the entry point no_such_module_at_all:f owns"):
        llvm.function_pass("test-entry")(Plain)


def test_entry_points_that_do_not_work(offer: Offer) -> None:
    offer(LLVM.group, ("test-entry", "no_such_module_at_all:f"))
    with pytest.raises(RegistrationError, match="expected it to be imported, got ModuleNotFoundError"):
        LLVM.find("test-entry")
    with pytest.raises(RegistrationError, match="expected it to be imported"):
        LLVM.known()


def test_a_name_belongs_to_one_distribution(offer: Offer) -> None:
    offer(LLVM.group, ("test-entry", "one:f"), ("test-entry", "two:f"))
    with pytest.raises(RegistrationError, match="point one:f and two:f: expected one distribution that has"):
        LLVM.find("test-entry")


def test_llvm_passes_scan_no_entry_points(offer: Offer) -> None:
    offer.nothing()
    for name in ("default<O2>", "instcombine", "function", "loop-unroll<O2>", "print<domtree>", "Nobody"):
        assert LLVM.find(name.partition("<")[0]) is None


def test_own_passes_are_found_without_a_scan(offer: Offer) -> None:
    offer.nothing()
    for registry, name in ((LLVM, "advised-size"), (LLVM, "advised-unroll"), (MLIR, "advised-tile")):
        definition = registry.find(name)
        assert definition is not None
        assert definition.name == name


def test_the_public_modules_can_be_imported() -> None:
    assert import_module("passpilot.llvm") is llvm
    assert import_module("passpilot.ir") is import_module("passpilot.plugin.ir")
