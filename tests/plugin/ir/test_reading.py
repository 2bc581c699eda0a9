# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading the IR: what handles say against the text that LLVM prints, on real programs and a crafted one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin import ir
from passpilot.plugin.module import Module
from tests import ir_text, stock
from tests.ir_text import NAME
from tests.plugin.ir.named import function

CRAFTED = r"""
source_filename = "crafted.c"
target triple = "x86_64-pc-linux-gnu"
module asm ".globl outside"
%pair = type { i32, ptr }
$any = comdat any
@text = private unnamed_addr constant [4 x i8] c"abc\00", align 1
@vector = internal thread_local global <2 x i16> <i16 1, i16 -2>, section "mine"
@far = external dso_local hidden global %pair
@other = alias i8, getelementptr (i8, ptr @text, i64 2)
@chosen = ifunc i32 (), ptr @choose
define ptr @choose() {
  ret ptr null
}
declare i32 @printf(ptr noundef, ...)
define weak_odr fastcc double @f(i32 noundef %n, ptr nonnull align 8 %p, double %d)
    #0 comdat($any) gc "erlang" !prof !0 {
entry:
  %s = add nuw nsw i32 %n, 7
  %x = xor i32 %s, -1
  %o = or disjoint i32 %x, 1
  %q = udiv exact i32 %o, 2
  %z = zext nneg i32 %q to i64
  %c = icmp samesign ult i32 %q, 9
  %g = getelementptr inbounds nuw %pair, ptr %p, i64 %z, i32 1
  %l = load volatile ptr, ptr %g, align 8, !nonnull !1
  %a = load atomic i32, ptr %p acquire, align 4
  store i32 %a, ptr %l, align 2
  %w = fmul nnan contract double %d, 5.000000e-01
  %v = fadd fast double %w, %d
  %k = call i32 (ptr, ...) @printf(ptr nonnull @text, i32 %q) #1
  %t = tail call fastcc double @f(i32 1, ptr @far, double 1.0)
  br i1 %c, label %then, label %join, !prof !2

then:
  switch i32 %q, label %join [
    i32 0, label %join
    i32 -3, label %out
  ]

join:
  %m = phi double [ %v, %entry ], [ 0.000000e+00, %then ], [ 0.000000e+00, %then ]
  ret double %m

out:
  %e = insertvalue { i32, [2 x i32] } poison, i32 4, 1, 0
  call void %l(ptr byval(i32) align 4 %p)
  unreachable
}
attributes #0 = { noinline nounwind "target-cpu"="x86-64" }
attributes #1 = { nobuiltin "local" }
!named = !{!3, !1}
!0 = !{!"function_entry_count", i64 42}
!1 = !{}
!2 = !{!"branch_weights", i32 3, i32 1}
!3 = distinct !{!3, !"text", i1 true, null, !1}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return Module.read(CRAFTED.encode(), name="crafted")


def instruction(module: Module, name: str) -> ir.Instruction:
    return next(each for each in function(module, "f").instructions if each.name == name)


def check_function(view: ir.Function, text: ir_text.Function, module: ir_text.Module) -> int:
    """Whether the view of a function says what its text does; how many instructions it has."""
    assert view.is_declaration == (not text.blocks)
    assert view.linkage == text.linkage
    assert set(view.attributes) == module.attributes(text.after_parameters)
    assert len(view.arguments) + view.is_vararg == text.argument_count
    assert [len(block.instructions) for block in view.blocks] == [len(b.instructions) for b in text.blocks]
    for block, printed in zip(view.blocks, text.blocks, strict=True):
        if block.name:
            assert block.name == printed.name
            names = list(dict.fromkeys(printed.instructions[-1].successors))
            assert [each.name or "?" for each in block.successors] == names
            assert all(block in each.predecessors for each in block.successors)
        assert block.terminator == block.instructions[-1]
        for each, line in zip(block.instructions, printed.instructions, strict=True):
            check_instruction(each, line)
            assert each.block == block
            assert each.function == view
    return len(view.instructions)


def check_instruction(view: ir.Instruction, text: ir_text.Instruction) -> None:
    assert view.opcode == text.opcode
    name = re.match(rf"%{NAME} = ", text.text)
    if view.name:
        assert name
        assert name[1].strip('"') == view.name
    for flag in view.flags:
        assert re.search(rf"\b{flag}\b", text.text)
    for kind in view.metadata:
        assert f"!{kind} " in text.text
    for value in view.operands:
        if value.name and not isinstance(value, ir.BasicBlock):
            assert re.search(rf'[%@]"?{re.escape(value.name)}"?(?![-\w.$])', text.text)
    assert (view.debug_location is None) == (text.debug_location is None)
    if isinstance(view, ir.CallBase) and view.callee:
        assert view.callee.name == text.callee
        assert len(view.arguments) == len(text.arguments)
        assert view in view.caller.call_sites


@pytest.mark.parametrize(("program", "level"), [("lz4", "O2"), ("libyaml", "Oz")])
def test_a_real_program(corpus: Callable[[str, str], Path], program: str, level: str) -> None:
    path = corpus(program, level)
    text = ir_text.parse(stock.run("opt", "-S", path).decode())
    module = Module.read(path)
    assert [each.name for each in module.functions] == list(text.functions)
    seen = 0
    for view in module.functions[::3]:
        seen += check_function(view, text.functions[view.name], text)
    assert seen > 1000


def test_a_program_with_debug_information(tmp_path: Path) -> None:
    path = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-g", "-fno-discard-value-names")
    text = ir_text.parse(stock.run("opt", "-S", path).decode())
    module = Module.read(path)
    assert sum(check_function(each, text.functions[each.name], text) for each in module.functions) > 100
    located = [each for each in function(module, "first").instructions if each.debug_location]
    place = located[0].debug_location
    assert place
    assert place.function == "first"
    assert place.file.endswith("in.c")
    assert place.line > 0
    assert all("dbg" not in each.metadata for each in located)


def test_the_module(module: Module) -> None:
    assert (module.source_file, module.triple) == ("crafted.c", "x86_64-pc-linux-gnu")
    assert module.inline_assembly.strip() == ".globl outside"
    assert [each.name for each in module.globals] == ["text", "vector", "far"]
    assert [each.name for each in module.aliases] == ["other"]
    assert [each.name for each in module.ifuncs] == ["chosen"]
    names = [each.name for each in module.functions if not each.is_intrinsic]
    assert names == ["choose", "printf", "f"]
    assert module.global_value("far") == module.globals[2]
    assert module.function("none") is None
    assert module.function("f") == function(module, "f")
    assert function(module, "f").module == module
    node = module.named_metadata["named"][0]
    assert isinstance(node, tuple)
    assert node[0] is ...
    assert node[1] == "text"
    assert node[2].integer == 1
    assert node[3:] == (None, ())


def test_globals(module: Module) -> None:
    text, vector, far = module.globals
    assert (text.linkage, text.unnamed_addr, text.alignment, text.is_constant) == (
        "private", "unnamed_addr", 1, True,
    )  # fmt: skip
    assert text.initializer is not None
    assert text.initializer.data == b"abc\0"
    assert str(text.value_type) == "[4 x i8]"
    assert str(text.type) == "ptr"
    assert (vector.is_thread_local, vector.section, vector.linkage) == (True, "mine", "internal")
    assert (far.visibility, far.is_dso_local, far.is_declaration) == ("hidden", True, True)
    assert far.initializer is None
    alias = module.aliases[0]
    assert isinstance(alias.aliasee, ir.Constant)
    assert alias.aliasee.opcode == "getelementptr"
    assert [each.name for each in alias.aliasee.operands] == ["text", ""]
    assert function(module, "f").comdat == "any"
    assert alias.aliasee in text.users


def test_a_function(module: Module) -> None:
    f = function(module, "f")
    assert (f.linkage, f.calling_convention, f.gc, f.entry_count) == ("weak_odr", "fastcc", "erlang", 42)
    assert f.attributes == ["noinline", "nounwind", '"target-cpu"="x86-64"']
    assert [each.attributes for each in f.arguments] == [["noundef"], ["nonnull", "align 8"], []]
    assert [each.index for each in f.arguments] == [0, 1, 2]
    assert all(each.function == f for each in f.arguments)
    assert str(f.return_type) == "double"
    assert [each.name for each in f.blocks] == ["entry", "then", "join", "out"]
    assert f.entry_block == f.blocks[0]
    assert f.entry_block.is_entry
    assert f.callers == [f]
    assert [kind for kind, _ in f.metadata] == ["prof"]
    assert len(f.instructions) == f.instruction_count == sum(f.opcode_counts.values())
    printf = function(module, "printf")
    assert printf.is_vararg
    assert printf.entry_block is None
    assert printf.blocks == printf.instructions == []


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("s", ["nuw", "nsw"]),
        ("x", []),
        ("o", ["disjoint"]),
        ("q", ["exact"]),
        ("z", ["nneg"]),
        ("c", ["samesign"]),
        ("g", ["inbounds", "nuw"]),
        ("l", ["volatile"]),
        ("w", ["nnan", "contract"]),
        ("v", ["fast"]),
    ],
)
def test_flags(module: Module, name: str, flags: list[str]) -> None:
    assert instruction(module, name).flags == flags
    words = str(instruction(module, name)).split()
    assert [each for each in words if each in flags] == flags


def test_instructions(module: Module) -> None:
    f = function(module, "f")
    add = instruction(module, "s")
    assert add.operands[0] == f.arguments[0]
    assert isinstance(add.operands[1], ir.Constant)
    assert add.operands[1].integer == 7
    assert add.users == [instruction(module, "x")]
    assert add.next == instruction(module, "x")
    assert add.previous is None
    assert str(add) == "  %s = add nuw nsw i32 %n, 7"
    assert add.as_operand == "i32 %s"
    assert instruction(module, "c").predicate == "ult"
    assert instruction(module, "a").ordering == "acquire"
    assert add.predicate is None
    assert add.ordering == ""
    half = instruction(module, "w").operands[1]
    assert isinstance(half, ir.Constant)
    assert (half.number, half.integer) == (0.5, None)
    element = instruction(module, "g")
    assert str(element.access_type) == "%pair"
    load = instruction(module, "l")
    assert (load.alignment, str(load.access_type), load.may_read) == (8, "ptr", True)
    assert load.metadata == {"nonnull": ()}
    assert instruction(module, "e").indices == [1, 0]
    undefined = instruction(module, "e").operands[0]
    assert isinstance(undefined, ir.Constant)
    assert undefined.is_poison
    assert undefined.is_undef


def test_control_flow(module: Module) -> None:
    entry, then, join, out = function(module, "f").blocks
    assert entry.successors == [then, join]
    assert then.successors == [join, out]
    assert set(join.predecessors) == {entry, then}
    assert len(join.predecessors) == 2
    assert then.terminator.cases == [(0, join), (-3, out)]
    phi = join.instructions[0]
    assert [(str(value.as_operand), block) for value, block in phi.incoming] == [
        ("double %v", entry), ("double 0.000000e+00", then), ("double 0.000000e+00", then),
    ]  # fmt: skip
    weights = entry.terminator.metadata["prof"]
    assert isinstance(weights, tuple)
    assert weights[0] == "branch_weights"
    assert [each.integer for each in weights[1:]] == [3, 1]
    assert entry.terminator.is_terminator


def test_calls(module: Module) -> None:
    first, second, third = function(module, "f").call_sites
    assert first.callee == function(module, "printf")
    assert first.attributes == ["nobuiltin", '"local"']
    assert first.argument_attributes(0) == ["nonnull"]
    assert str(first.function_type) == "i32 (ptr, ...)"
    assert [each.as_operand for each in first.arguments] == ["ptr @text", "i32 %q"]
    assert (second.tail_kind, second.calling_convention) == ("tail", "fastcc")
    assert third.callee is None
    assert third.is_indirect
    assert third.called_operand == instruction(module, "l")
    assert third.argument_attributes(0) == ["byval(i32)", "align 4"]
    with pytest.raises(IndexError, match="expected an argument below 1, got 1"):
        third.argument_attributes(1)


@pytest.mark.parametrize(
    ("text", "kind", "bits", "count", "size"),
    [
        ("i32", "integer", 32, None, 4),
        ("double", "float", 64, None, 8),
        ("<4 x i16>", "vector", 16, 4, 8),
        ("[3 x i8]", "array", 0, 3, 3),
        ("%pair", "struct", 0, 2, 16),
        ("ptr addrspace(3)", "pointer", 0, None, 8),
        ("i32 (ptr, ...)", "function", 0, None, None),
        ("<vscale x 2 x i64>", "vector", 64, 2, None),
    ],
)
def test_types(module: Module, text: str, kind: str, bits: int, count: int | None, size: int | None) -> None:
    found = module.type(text)
    assert str(found) == text
    assert (found.kind, found.bits, found.count, found.size) == (kind, bits, count, size)
    assert found == module.type(text)
    assert hash(found) == hash(module.type(text))
    assert found != module.type("i1")


def test_parts_of_types(module: Module) -> None:
    pair, called = module.type("%pair"), module.type("i32 (ptr, ...)")
    assert [str(each) for each in pair.parts] == ["i32", "ptr"]
    assert pair.name == "pair"
    assert [str(each) for each in called.parts] == ["i32", "ptr"]
    assert called.is_vararg
    assert module.type("ptr addrspace(3)").address_space == 3
    assert module.type("<vscale x 2 x i64>").is_scalable


def test_handles_are_equal_by_what_they_show(module: Module) -> None:
    f = function(module, "f")
    assert f == function(module, "f")
    assert f is not function(module, "f")
    assert len({*f.instructions, *f.instructions}) == f.instruction_count
    assert f != f.arguments[0]
    assert f != "f"
    assert {f: 1}[function(module, "f")] == 1


def test_reading_changes_nothing(corpus: Callable[[str, str], Path]) -> None:
    path = corpus("libyaml", "Oz")
    module = Module.read(path)
    before = module.bitcode()
    kept = [
        (each, each.operands, each.users, each.metadata, each.flags, each.type)
        for function in module.functions[:60]
        for each in function.instructions
    ]
    assert len(kept) > 500
    assert module.bitcode() == before


def test_metadata_nested_beyond_reason() -> None:
    levels = 20_000
    nodes = "\n".join(f"!{i} = !{{!{i + 1}}}" for i in range(levels))
    text = f"!deep = !{{!0}}\n{nodes}\n!{levels} = !{{}}\n"
    (value,) = Module.read(text.encode()).named_metadata["deep"]
    for _ in range(100):
        assert isinstance(value, tuple)
        (value,) = value
    assert isinstance(value, ir.Metadata)


WORDS = (
    "throughput",
    "latency",
    "code-size",
    "str",
    "no",
    "may",
    "partial",
    "must",
    "FunctionPropertiesAnalysis",
)
"""What the guide's tables have in backquotes beside names."""


def test_the_guide_names_what_there_is() -> None:
    guide = (Path(__file__).parents[3] / "docs/ir.md").read_text()
    classes = [Module, *(getattr(ir, name) for name in ir.__all__)]
    checked = 0
    for row in re.findall(r"^\| `\w+`.*", guide, re.MULTILINE):
        for name in re.findall(r"`(\w+)(?:\([^`]*\)| = [^`]*)?`", row):
            known = name in ir.__all__ or name in WORDS or name == "Module"
            assert known or any(hasattr(each, name) for each in classes), name
            checked += 1
    assert checked > 120
