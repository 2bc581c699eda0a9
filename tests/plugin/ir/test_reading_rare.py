# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What views say of the rarer parts of the IR, and where there is nothing to say."""

from __future__ import annotations

import math

import pytest

from passpilot.plugin import ir
from passpilot.plugin.errors import IRError
from passpilot.plugin.module import Module
from tests.plugin.ir.named import block, function, instruction

TEXT = """
target triple = "x86_64-pc-linux-gnu"
@plain = global i32 0
@local = local_unnamed_addr externally_initialized global [2 x i16] [i16 1, i16 -1], !a !0, !a !1 "attr"="x"
@numbers = constant [3 x float] [float 1.0, float 2.0, float 3.0]
@pair = constant { i32, ptr } { i32 7, ptr @plain }
@same = alias i32, ptr @plain
declare i32 @__gxx_personality_v0(...)
declare zeroext i8 @outside(i32) align 32
declare void @llvm.trap()
define noundef i32 @f(ptr %p, i32 %n) personality ptr @__gxx_personality_v0 {
entry:
  %slot = alloca i64, align 16
  store i16 7, ptr %slot, align 2
  %x = cmpxchg ptr %p, i32 0, i32 %n acq_rel monotonic
  %e = extractvalue { i32, i1 } %x, 0
  %g = getelementptr i8, ptr %p, i32 %n
  %asm = call i32 asm "nop", "=r"()
  %no = notail call zeroext i8 @outside(i32 %n)
  fence seq_cst
  call void @llvm.trap()
  invoke void @thrower(ptr @f) to label %out unwind label %pad
out:
  ret i32 %e
pad:
  %c = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %c
}
define void @thrower(ptr %p) {
  %r = call i32 @f(ptr %p, i32 1)
  %s = call i32 @f(ptr @f, i32 2)
  ret void
}
define i32 @last(ptr %p, i32 %n) {
  %r = musttail call i32 @f(ptr %p, i32 %n)
  ret i32 %r
}
!0 = !{!"one"}
!1 = !{!"two"}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return Module.read(TEXT.encode(), name="rare")


@pytest.fixture(scope="module")
def f(module: Module) -> ir.Function:
    return function(module, "f")


def test_globals(module: Module, f: ir.Function) -> None:
    plain, local, numbers, _ = module.globals
    outside = function(module, "outside")
    assert [each.unnamed_addr for each in (plain, local)] == ["", "local_unnamed_addr"]
    assert [each.is_externally_initialized for each in (plain, local)] == [False, True]
    assert [each.is_constant for each in (plain, numbers)] == [False, True]
    assert [each.attributes for each in (plain, local)] == [[], ['"attr"="x"']]
    assert [each.alignment for each in (plain, outside, module.aliases[0])] == [None, 32, None]
    assert local.metadata == [("a", ("one",)), ("a", ("two",))]
    assert plain.metadata == module.aliases[0].metadata == []
    assert (plain.comdat, plain.section, plain.is_thread_local, plain.is_dso_local) == ("", "", False, False)
    assert (plain.visibility, plain.linkage, plain.is_declaration) == ("default", "external", False)
    assert f.metadata == []


def test_functions(module: Module, f: ir.Function) -> None:
    outside, thrower = function(module, "outside"), function(module, "thrower")
    assert [each.name for each in f.callers] == ["last", "thrower"], "an argument is no call"
    assert [each.name for each in thrower.callers] == ["f"]
    assert [each.opcode for each in f.call_sites] == ["call", "call", "call", "invoke"]
    assert f.personality == function(module, "__gxx_personality_v0")
    assert thrower.personality is None
    assert (f.return_attributes, outside.return_attributes) == (["noundef"], ["zeroext"])
    assert (f.gc, f.entry_count, f.is_vararg, f.calling_convention) == ("", None, False, "ccc")
    assert [function(module, name).is_intrinsic for name in ("llvm.trap", "outside")] == [True, False]
    assert (f.block_count, thrower.block_count, outside.block_count) == (3, 1, 0)
    assert f.opcode_counts["call"] == 3
    assert [each.is_entry for each in f.blocks] == [True, False, False]
    assert {each.function for each in f.blocks} == {f}


def test_calls(module: Module, f: ir.Function) -> None:
    assembly, outside, trap, throwing = f.call_sites
    (tail,) = function(module, "last").call_sites
    assert [each.is_inline_asm for each in f.call_sites] == [True, False, False, False]
    assert [each.is_indirect for each in f.call_sites] == [False] * 4
    assert [each.tail_kind for each in (*f.call_sites, tail)] == ["", "notail", "", "", "musttail"]
    assert [each.return_attributes for each in f.call_sites] == [[], ["zeroext"], [], []]
    assert assembly.callee is None
    assert type(assembly.called_operand) is ir.Value
    assert outside.called_operand == outside.callee == function(module, "outside")
    assert throwing.arguments == [f]
    assert throwing.operands[1:] == [block(f, "pad"), block(f, "out"), throwing.callee] or (
        throwing.operands[1:] == [block(f, "out"), block(f, "pad"), throwing.callee]
    )
    assert trap.arguments == []
    assert {each.caller for each in f.call_sites} == {f}


def test_instructions(f: ir.Function) -> None:
    slot, store, exchange, extract, element, *_, fence, trap, invoke = f.blocks[0].instructions
    assert [(each.alignment, str(each.access_type)) for each in (slot, store, element, exchange)] == [
        (16, "i64"), (2, "i16"), (None, "i8"), (None, "None"),
    ]  # fmt: skip
    assert [each.indices for each in (extract, slot)] == [[0], []]
    assert [each.ordering for each in (fence, store)] == ["seq_cst", ""]
    effects = [
        (each.may_read, each.may_write, each.has_side_effects) for each in (slot, store, extract, trap)
    ]
    assert effects == [
        (False, False, False), (False, True, True), (False, False, False), (False, True, True),
    ]  # fmt: skip
    assert [(each.cases, each.incoming, each.flags) for each in (slot, invoke)] == [([], [], [])] * 2
    assert [each.is_terminator for each in (slot, invoke)] == [False, True]
    assert invoke.next is None
    assert invoke.previous == trap
    assert (slot.debug_location, slot.inlined_at) == (None, [])


INLINED = """\
define void @f() !dbg !4 {
  call void @g(), !dbg !7
  ret void, !dbg !9
}
declare void @g()
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "f.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{null})
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = distinct !DISubprogram(name: "inner", file: !1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!6 = distinct !DISubprogram(name: "outer", file: !1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!7 = !DILocation(line: 11, column: 3, scope: !5, inlinedAt: !8)
!8 = distinct !DILocation(line: 21, scope: !6, inlinedAt: !9)
!9 = distinct !DILocation(line: 2, scope: !4)
"""


def test_through_which_calls_an_instruction_was_inlined() -> None:
    call, end = function(Module(INLINED.encode()), "f").blocks[0].instructions
    assert call.debug_location is not None
    assert call.debug_location.line == 11
    assert [(each.function, each.line) for each in call.inlined_at] == [("outer", 21), ("f", 2)]
    assert end.inlined_at == []


def test_constants(module: Module) -> None:
    plain, local, numbers, pair = (each.initializer for each in module.globals)
    assert plain is not None
    assert local is not None
    assert numbers is not None
    assert pair is not None
    assert (plain.is_null, pair.is_null, plain.is_undef, plain.is_poison) == (True, False, False, False)
    assert local.data == b"\1\0\xff\xff"
    assert (plain.data, pair.data, plain.opcode, plain.number, numbers.number) == (None,) * 5
    assert pair.operands == [module.constant("i32 7"), module.globals[0]]
    assert plain.operands == numbers.operands == []
    undef = module.constant("i32 undef")
    assert (undef.is_undef, undef.is_poison, undef.integer) == (True, False, None)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("half 1.0", 1.0),
        ("float 1.5", 1.5),
        ("double 1.000000e-01", 0.1),
        ("x86_fp80 0xK3FFF8000000000000001", 1.0),
        ("fp128 0xL00000000000000004001000000000000", 4.0),
        ("double 0x7FF0000000000000", math.inf),
        ("float -0.0", -0.0),
        ("i32 1", None),
    ],
)
def test_floating_point(module: Module, text: str, number: float | None) -> None:
    assert repr(module.constant(text).number) == repr(number)


@pytest.mark.parametrize(
    ("text", "integer"),
    [
        ("i1 true", 1),
        ("i1 false", 0),
        ("i2 -1", -1),
        ("i8 255", -1),
        ("i64 -9223372036854775808", -(2**63)),
        ("i128 170141183460469231731687303715884105727", 2**127 - 1),
        ("ptr null", None),
    ],
)
def test_integers(module: Module, text: str, integer: int | None) -> None:
    assert module.constant(text).integer == integer


@pytest.mark.parametrize(
    ("text", "kind", "bits"),
    [
        ("label", "label", 0),
        ("metadata", "metadata", 0),
        ("token", "token", 0),
        ("half", "float", 16),
        ("bfloat", "float", 16),
        ("x86_fp80", "float", 80),
        ("ppc_fp128", "float", 128),
        ("x86_amx", "other", 8192),
        ('target("spirv.Image")', "target", 0),
        ("<vscale x 2 x ptr>", "vector", 0),
    ],
)
def test_types(module: Module, text: str, kind: str, bits: int) -> None:
    found = module.type(text)
    assert (found.kind, found.bits) == (kind, bits)
    assert repr(found) == f"<Type {text}>"


def test_types_have_what_belongs_to_their_kind(module: Module) -> None:
    pair, vector, called = (module.type(each) for each in ("{i32, ptr}", "<4 x i16>", "void (i32)"))
    assert (pair.name, pair.count, called.count) == ("", 2, None)
    assert [str(each) for each in vector.parts] == ["i16"]
    assert [(str(each), each.kind) for each in called.parts] == [("void", "void"), ("i32", "integer")]
    assert [each.is_vararg for each in (called, module.type("void (...)"), pair)] == [False, True, False]
    assert [each.is_scalable for each in (vector, pair)] == [False, False]
    assert [each.address_space for each in (module.type("ptr"), vector)] == [0, None]
    assert [module.type(each).size for each in ("i1", "i33", "{i8, i64}", "label", "x86_fp80")] == [
        1, 8, 16, None, 16,
    ]  # fmt: skip
    assert pair != "{i32, ptr}"


def test_what_views_print(module: Module, f: ir.Function) -> None:
    entry, slot = f.blocks[0], instruction(f, "slot")
    shown = [repr(each) for each in (f, entry, slot, f.arguments[1], module.globals[0], f.call_sites[0])]
    assert shown == [
        "<Function ptr @f>", "<BasicBlock label %entry>", "<Instruction ptr %slot>", "<Argument i32 %n>",
        "<GlobalVariable ptr @plain>", "<CallBase i32 %asm>",
    ]  # fmt: skip
    assert str(f).startswith("define noundef i32 @f(ptr %p, i32 %n)")
    assert [each.name for each in slot.users] == [""]
    assert slot.users[0].opcode == "store"  # type: ignore[attr-defined]
    assert f.arguments[1].users.count(instruction(f, "g")) == 1
    assert module.globals[0].users[0] != module.globals[0]


LOOP = """
define void @f() {
  br label %l
l:
  br label %l
}
!shown = !{!0}
!0 = !{!DIExpression()}
"""


def test_nothing_is_none() -> None:
    """Comparing with None is as harmless as comparing with any other object."""
    module = Module.read(LOOP.encode())
    (f,), (node,) = module.functions, module.named_metadata["shown"]
    assert isinstance(node, tuple)
    views: list[object] = [f, *f.blocks, *f.loops, f.return_type, *node]
    assert len(views) == 6
    assert [each in (None, "f") for each in views] == [False] * 6
    assert [
        each == again
        for each, again in zip(views, [f, *f.blocks, *f.loops, f.return_type, *node], strict=True)
    ]


def test_metadata_that_is_no_tuple() -> None:
    text = """
    define void @f() {
      ret void
    }
    !shown = !{!0}
    !0 = !{!1, !DIExpression(DW_OP_deref), !1}
    !1 = !DIBasicType(name: "int", size: 32)
    """
    module = Module.read(text.encode())
    node = module.named_metadata["shown"][0]
    assert isinstance(node, tuple)
    basic, expression, again = node
    assert str(expression) == "!DIExpression(DW_OP_deref)"
    assert repr(expression) == "<Metadata !DIExpression(DW_OP_deref)>"
    assert 'name: "int"' in str(basic)
    assert basic == again
    assert hash(basic) == hash(again)
    assert basic != expression
    assert basic != "int"
    f = function(module, "f")
    f.set_metadata("mine", [basic, [expression]])
    assert f.metadata == [("mine", (basic, (expression,)))]
    f.set_metadata("mine", None)
    assert f.metadata == []
    other = Module.read(text.encode())
    with pytest.raises(IRError, match="expected metadata of this module, got some of another module"):
        function(other, "f").set_metadata("mine", (basic,))


def test_numbers_in_metadata() -> None:
    module = Module.read(b"define void @f() {\n  ret void\n}\n")
    f = function(module, "f")
    f.set_metadata("mine", (-(2**31), 2**31 - 1, True, False, -1))
    assert "!{i32 -2147483648, i32 2147483647, i1 true, i1 false, i32 -1}" in str(module)
    before = str(module)
    for number in (2**31, -(2**31) - 1, 1.5, b"text"):
        with pytest.raises(
            IRError, match="expected text, a 32-bit number, a bool, a constant, None or a tuple"
        ):
            f.set_metadata("mine", (number,))
    for kind in ("", "dbg"):
        with pytest.raises(
            IRError, match=f"set_metadata at function f: expected a kind other than dbg, got {kind}"
        ):
            f.set_metadata(kind, ())
    assert str(module) == before


def test_levels_of_metadata() -> None:
    module = Module.read(b"define void @f() {\n  ret void\n}\n")
    f = function(module, "f")
    value: tuple[object, ...] = ()
    for _ in range(100):
        value = (value,)
    f.set_metadata("mine", value)
    with pytest.raises(IRError, match="expected a value of at most 100 levels, got a deeper one"):
        f.set_metadata("mine", (value,))


def test_a_node_that_is_wrong_leaves_the_one_before() -> None:
    module = Module.read(TEXT.encode())
    f = function(module, "f")
    call = f.call_sites[0]
    call.set_metadata("range", (1, 3))
    before = str(module)
    with pytest.raises(IRError, match="a node as LLVM has it for the kind, got"):
        call.set_metadata("range", (1, 2, 3))
    assert str(module) == before
    f.set_metadata("prof", ("function_entry_count", module.constant("i64 12")))
    f.set_metadata("prof", None)
    assert (f.entry_count, f.metadata) == (None, [])
