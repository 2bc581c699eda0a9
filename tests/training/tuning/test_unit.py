# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search starts from is what clang makes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from passpilot.plugin.module import Module
from passpilot.plugin.version import MAJOR
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.recipes import Below
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit, UnitChoice
from tests import stock
from tests.corpus.programs import programs

CASES = [
    ("box2d", "b2_wheel_joint", "Oz"),  # clang vectorizes straight-line code
    ("box2d", "b2_wheel_joint", "O2"),
    ("lua", "ldblib", "Oz"),  # clang's passes know the relocation model
]


@pytest.mark.parametrize(("name", "source", "level"), CASES)
def test_an_object_is_clangs(name: str, source: str, level: str, tmp_path: Path) -> None:
    program = programs()[name]
    path = program.unit(next(each for each in program.sources() if source in each), level)
    stock.run("clang", f"-{level}", "-fPIE", "-c", "-w", "-x", "ir", path, "-o", tmp_path / "stock.o")
    unit = Unit(Module.read(path), f"default<{level}>", "pic")
    as_clang = Unit(unit.module, unit.pipeline, "pic", as_clang=True)
    expected = code_of(tmp_path / "stock.o")
    assert len(expected) > 1000
    assert made(as_clang, tmp_path) == expected
    if level == "Oz" and (name == "lua" or MAJOR < 23):  # opt vectorizes straight-line code since 23, too
        assert made(unit, tmp_path) != expected


def made(unit: Unit, folder: Path) -> bytes:
    """The code of the unit, compiled in a process of its own."""
    [compiled] = Engine([unit]).compile([(0, LLVMS_OWN)])
    assert isinstance(compiled, Compiled)
    (folder / "made.o").write_bytes(compiled.code)
    return code_of(folder / "made.o")


def code_of(path: Path) -> bytes:
    """The disassembled object with its relocations, without the lines that name the file."""
    return stock.run("llvm-objdump", "-dr", path).split(b"Disassembly", 1)[1]


CALLS = """\
source_filename = "dir/a.c"
declare i32 @far(i32)
define internal i32 @g(i32 %x) {
  %y = mul i32 %x, %x
  ret i32 %y
}
define private i32 @p(i32 %x) {
  ret i32 %x
}
define linkonce_odr i32 @f(i32 %x) {
  %a = call i32 @g(i32 %x)
  %b = call i32 @g(i32 %a)
  %c = call i32 @p(i32 %b)
  %d = call i32 @far(i32 %c)
  ret i32 %d
}
"""


def asked(unit: Unit, choice: UnitChoice) -> Compiled:
    """What becomes of a unit."""
    [compiled] = Engine([unit]).compile([(0, choice)])
    assert isinstance(compiled, Compiled), compiled
    return compiled


def test_the_functions_of_a_unit() -> None:
    unit = Unit(Module(CALLS.encode()), "default<Oz>")
    assert unit.name == "dir/a.c"
    assert unit.visible == {"far", "f"}


def test_words_come_to_functions_that_have_none_of_their_kind() -> None:
    unit = Unit(Module(CALLS.encode()), "default<Oz>")
    choice = UnitChoice(functions={"g": ("speed", "unroll=4"), "p": ("nooutline",), "gone": ("optsize",)})
    assert unit.worded(choice, "optsize") == {
        "g": ("speed", "unroll=4"), "p": ("nooutline", "optsize"), "gone": ("optsize",), "f": ("optsize",)
    }  # fmt: skip
    assert unit.worded(choice, "unroll=2")["g"] == ("speed", "unroll=4")
    assert unit.worded(choice, "nooutline")["g"] == ("speed", "unroll=4", "nooutline")
    assert choice.functions["p"] == ("nooutline",), "the choice stays as it was"


def test_questions_and_answers_of_a_unit() -> None:
    unit = Unit(Module(CALLS.replace("linkonce_odr ", "").encode()), "default<Oz>", "")
    first, second, other = CallKey("f", "g", 1), CallKey("f", "g", 2), CallKey("f", "p", 1)
    own = asked(unit, UnitChoice())
    assert list(own.asked) == [first, second, other]
    assert all(each.inlined == each.default for each in own.asked.values())
    assert own.choice == UnitChoice()
    assert own.seconds > 0
    made = asked(unit, UnitChoice({second: False, first: True}, tail="mergefunc", policy=Below(math.inf)))
    assert [each.inlined for each in made.asked.values()] == [True, False, True], "the policy has the rest"
    assert made.choice.inline == {
        call: each.inlined for call, each in made.asked.items() if each.inlined != each.default
    }
    assert (made.choice.tail, made.choice.policy) == ("mergefunc", None)
    assert made.asked[first].cost == own.asked[first].cost != own.asked[other].cost


def test_sections_and_rewards_of_a_unit() -> None:
    module = Module(CALLS.encode())
    plain = asked(Unit(module, "default<O0>"), UnitChoice())
    made = asked(Unit(module, "default<O0>", sections=True, rewards=("instructions",)), UnitChoice())
    assert b".text.f\0" in made.code
    assert b".text.f\0" not in plain.code
    assert made.parts == {"instructions": {"g": 2, "p": 1, "f": 5}}
    assert plain.parts == {}


@pytest.mark.parametrize(
    ("triple", "has"),
    [
        ("x86_64-pc-linux-gnu", True),
        ("riscv32-unknown-elf", True),
        ("x86_64-pc-windows-msvc", False),
        ("arm64-apple-macosx", False),
        ("thumbv7em-none-eabi", False),
        ("wasm32", False),
    ],
)
def test_targets_with_unwind_tables(triple: str, *, has: bool) -> None:
    assert Unit(Module(f'target triple = "{triple}"\n'.encode()), "default<Oz>").has_tables == has
