# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units at another optimization level than their front end's."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import Error
from passpilot.plugin.module import Module
from passpilot.training.evaluation.levels import ATTRIBUTES, arguments_at, bitcode_at
from tests import stock

SOURCE = "static int f(int x) { return x * 3; } int g(int x) { return f(x); } int h(int);"
SIZES = {"minsize", "optsize"}


def front_end(folder: Path, level: str) -> Path:
    """The module of the source as the front end makes it at a level."""
    source, target = folder / "f.c", folder / f"{level}.bc"
    source.write_text(SOURCE)
    stock.run(
        "clang", f"-{level}", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", source, "-o", target
    )
    return target


@pytest.mark.parametrize("level", ["Oz", "Os", "O2"])
def test_attributes_are_those_of_the_front_end_at_that_level(tmp_path: Path, level: str) -> None:
    for start in ("Oz", "O2"):
        (made,) = bitcode_at([(level, front_end(tmp_path, start))], 1)
        assert isinstance(made, bytes)
        functions = [each for each in Module.read(made).functions if not each.is_declaration]
        assert len(functions) == 2
        assert all(set(each.attributes) & SIZES == set(ATTRIBUTES.get(level, ())) for each in functions)


def test_a_module_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "bad.bc").write_bytes(b"BC\xc0\xdenonsense")
    good, bad = bitcode_at([("O2", front_end(tmp_path, "Oz")), ("O2", tmp_path / "bad.bc")], 2)
    assert isinstance(good, bytes)
    assert isinstance(bad, Error)


def test_arguments_have_the_level_and_its_vectorizers() -> None:
    arguments = ["-cc1", "-Oz", "-mrelocation-model", "pic", "-vectorize-slp", "-O"]
    assert arguments_at("O2", arguments) == [
        *("-cc1", "-mrelocation-model", "pic"),
        *("-O2", "-vectorize-loops", "-vectorize-slp"),
    ]
    assert arguments_at("Oz", ["-O2", "-vectorize-loops", "-vectorize-slp"]) == ["-Oz", "-vectorize-slp"]


def test_declarations_and_unoptimized_functions_keep_their_attributes(tmp_path: Path) -> None:
    """Clang refuses `optnone` together with `minsize`."""
    source = tmp_path / "f.ll"
    source.write_text(
        "define void @f() {\n call void @g()\n ret void\n}\ndeclare void @g() minsize\n"
        "define void @h() noinline optnone {\n ret void\n}\n"
    )
    (smaller,) = bitcode_at([("Oz", source)], 1)
    assert isinstance(smaller, bytes)
    sizes = {each.name: set(each.attributes) & SIZES for each in Module.read(smaller).functions}
    assert sizes == {"f": SIZES, "g": {"minsize"}, "h": set()}
    (faster,) = bitcode_at([("O2", source)], 1)
    assert isinstance(faster, bytes)
    sizes = {each.name: set(each.attributes) & SIZES for each in Module.read(faster).functions}
    assert sizes == {"f": set(), "g": {"minsize"}, "h": set()}


def test_modules_come_in_order_though_few_at_once(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b", "c"):
        paths.append(tmp_path / f"{name}.ll")
        paths[-1].write_text(f"define void @{name}() {{\n ret void\n}}\n")
    made = bitcode_at([("Os", each) for each in paths], 2)
    modules = [Module.read(each) for each in made if isinstance(each, bytes)]
    assert [each.functions[0].name for each in modules] == ["a", "b", "c"]
    assert all("optsize" in each.functions[0].attributes for each in modules)


@pytest.mark.parametrize(
    ("level", "added"),
    [
        ("Oz", ["-vectorize-slp"]),
        ("Os", ["-vectorize-loops", "-vectorize-slp"]),
        ("O3", ["-vectorize-loops", "-vectorize-slp"]),
        ("O1", []),
    ],
)
def test_vectorizers_are_those_of_the_level(level: str, added: list[str]) -> None:
    assert arguments_at(level, ["-cc1", "-Ofast", "-O2"]) == ["-cc1", "-Ofast", f"-{level}", *added]
