# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`IRBuilder`: the first and last words of LLVM, the alignments of the target, what a call gets."""

from __future__ import annotations

import pytest

from passpilot.plugin import ir
from passpilot.plugin.module import Module
from tests.plugin.ir.named import function, instruction
from tests.plugin.ir.test_mutations import refused

TEXT = """
target datalayout = "e-i64:32:64-A5"
%hidden = type opaque
@far = external global %hidden
declare fastcc noundef i32 @callee(ptr nonnull, i32 signext) nounwind
define i32 @f(i32 %n, double %d, ptr %p, <2 x i32> %v, {i32, i32} %s, <2 x ptr> %q, i64 %w, <2 x double> %e) {
  %end = add i32 %n, 1
  ret i32 %end
}
"""


@pytest.fixture
def module() -> Module:
    return Module.read(TEXT.encode(), name="text")


@pytest.fixture
def build(module: Module) -> ir.IRBuilder:
    return ir.IRBuilder(instruction(function(module, "f"), "end"))


@pytest.fixture
def f(module: Module) -> ir.Function:
    return function(module, "f")


@pytest.mark.parametrize(
    ("opcode", "argument"),
    [("add", 0), ("fadd", 1), ("sdiv", 3), ("frem", 7), ("shl", 6), ("xor", 3)],
)
def test_binary(module: Module, f: ir.Function, build: ir.IRBuilder, opcode: str, argument: int) -> None:
    value = f.arguments[argument]
    made = build.binary(opcode, value, value, "made")
    assert str(made) == f"  %made = {opcode} {value.as_operand}, %{value.name}"
    module.verify()


@pytest.mark.parametrize("opcode", ["fneg", "alloca", "trunc", "Add", ""])
def test_no_binary_opcode(module: Module, f: ir.Function, build: ir.IRBuilder, opcode: str) -> None:
    n = f.arguments[0]
    told = f"^binary at function f: expected one of LLVM's binary opcodes, as add or fmul, got {opcode}$"
    refused(module, told, lambda: build.binary(opcode, n, n))


@pytest.mark.parametrize(
    ("opcode", "argument", "predicate"),
    [
        ("icmp", 0, "eq"),
        ("icmp", 2, "ne"),
        ("icmp", 3, "sle"),
        ("icmp", 5, "ugt"),
        ("fcmp", 1, "false"),
        ("fcmp", 7, "true"),
    ],
)
def test_compare(
    module: Module, f: ir.Function, build: ir.IRBuilder, opcode: str, argument: int, predicate: str
) -> None:
    value = f.arguments[argument]
    made = build.compare(predicate, value, value)
    assert (made.opcode, made.predicate, made.operands) == (opcode, predicate, [value, value])
    module.verify()


@pytest.mark.parametrize(("a", "b"), [(0, 6), (0, 1), (4, 4), (2, 5)])
def test_what_is_not_compared(module: Module, f: ir.Function, build: ir.IRBuilder, a: int, b: int) -> None:
    left, right = f.arguments[a], f.arguments[b]
    told = f"two numbers or pointers of one type, got {left.as_operand} and {right.as_operand}"
    refused(module, told.replace("{", r"\{"), lambda: build.compare("eq", left, right))


@pytest.mark.parametrize(
    ("opcode", "argument", "to"),
    [
        ("trunc", 6, "i1"),
        ("addrspacecast", 2, "ptr addrspace(3)"),
        ("sitofp", 0, "double"),
        ("bitcast", 3, "i64"),
    ],
)
def test_cast(
    module: Module, f: ir.Function, build: ir.IRBuilder, opcode: str, argument: int, to: str
) -> None:
    made = build.cast(opcode, f.arguments[argument], module.type(to))
    assert (made.opcode, str(made.type)) == (opcode, to)
    module.verify()
    refused(
        module, "one of LLVM's cast opcodes, as zext, got add", lambda: build.cast("add", made, made.type)
    )


def test_memory_is_aligned_as_the_target_wants(module: Module, f: ir.Function, build: ir.IRBuilder) -> None:
    i64, place = module.type("i64"), f.arguments[2]
    slot = build.alloca(i64, "slot")
    assert str(slot) == "  %slot = alloca i64, align 8, addrspace(5)"
    assert str(build.load(i64, place, "l")) == "  %l = load i64, ptr %p, align 4"
    assert str(build.store(f.arguments[6], place)) == "  store i64 %w, ptr %p, align 4"
    module.verify()


def test_what_has_no_size_or_no_address(module: Module, f: ir.Function, build: ir.IRBuilder) -> None:
    n, _, p, v, _, q, w, _ = f.arguments
    i32, hidden = module.type("i32"), module.type("%hidden")
    for change, told in (
        (lambda: build.alloca(hidden), "a type of known size, got %hidden"),
        (lambda: build.load(hidden, p), "a type of known size, got %hidden"),
        (lambda: build.load(i32, q), "a pointer, got <2 x ptr> %q"),
        (lambda: build.store(n, q), "a pointer, got <2 x ptr> %q"),
        (lambda: build.getelementptr(i32, q, [n]), "a pointer, got <2 x ptr> %q"),
        (lambda: build.getelementptr(i32, p, [w, v]), "integers for indices, got <2 x i32> %v"),
        (lambda: build.getelementptr(hidden, p, [n]), "that the indices fit, got %hidden and 1 indices"),
        (lambda: build.getelementptr(module.type("<vscale x 2 x i64>"), p, [n]), "a type of known size"),
    ):
        refused(module, told, change)
    made = build.getelementptr(module.type("{i32, [3 x i16]}"), p, [n, module.constant("i32 1"), w], "g")
    assert str(made) == "  %g = getelementptr { i32, [3 x i16] }, ptr %p, i32 %n, i32 1, i64 %w"


def test_a_call_has_what_the_callee_has(module: Module, f: ir.Function, build: ir.IRBuilder) -> None:
    n, p, callee = f.arguments[0], f.arguments[2], function(module, "callee")
    call = build.call(callee, [p, n], "made")
    assert str(call) == "  %made = call fastcc noundef i32 @callee(ptr nonnull %p, i32 signext %n)"
    assert call.attributes == []
    told = "^call at function f: expected 2 arguments for @callee, got 3$"
    refused(module, told, lambda: build.call(callee, [p, n, n]))
    refused(
        module,
        "a value of type i32 that a plain call can pass, got ptr %p",
        lambda: build.call(callee, [p, p]),
    )
    module.verify()


def test_values_of_other_modules(module: Module, f: ir.Function, build: ir.IRBuilder) -> None:
    other = Module.read(TEXT.encode(), name="other")
    g = function(other, "f")
    n, p, a, b = f.arguments[0], f.arguments[2], g.arguments[0], g.arguments[2]
    flag, i32, entry = module.constant("i1 true"), module.type("i32"), f.blocks[0]
    for change in (
        lambda: build.binary("add", n, a),
        lambda: build.compare("eq", a, n),
        lambda: build.compare("eq", n, a),
        lambda: build.cast("trunc", a, module.type("i1")),
        lambda: build.cast("trunc", n, other.type("i1")),
        lambda: build.select(other.constant("i1 true"), n, n),
        lambda: build.select(flag, a, n),
        lambda: build.select(flag, n, a),
        lambda: build.phi(other.type("i32"), [(n, entry)]),
        lambda: build.phi(i32, [(a, entry)]),
        lambda: build.phi(i32, [(n, g.blocks[0])]),
        lambda: build.alloca(other.type("i32")),
        lambda: build.load(i32, b),
        lambda: build.store(a, p),
        lambda: build.store(n, b),
        lambda: build.getelementptr(other.type("i32"), p, [n]),
        lambda: build.getelementptr(i32, b, [n]),
        lambda: build.getelementptr(i32, p, [a]),
        lambda: build.call(function(other, "callee"), [p, n]),
        lambda: build.call(function(module, "callee"), [p, a]),
        lambda: entry.set_branch(g.blocks[0]),
        lambda: entry.set_conditional_branch(other.constant("i1 true"), entry, entry),
        lambda: entry.set_return(a),
        lambda: instruction(f, "end").move_before(g.blocks[0].terminator),
        lambda: module.declare("new", other.type("void ()")),
        lambda: module.add_global("new", other.type("i32")),
        lambda: module.add_global("new", "i32", other.constant("i32 1")),
        lambda: f.set_metadata("mine", (other.constant("i32 1"),)),
    ):
        refused(module, "expected a (value|type) of this module, got one of another module", change)


LOCATED = """
define void @f() !dbg !3 {
  %a = add i32 1, 2, !dbg !5
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{null})
!5 = !DILocation(line: 11, column: 2, scope: !3)
"""


def test_what_is_made_has_the_location_of_its_position() -> None:
    module = Module.read(LOCATED.encode())
    f, one = function(module, "f"), module.constant("i32 1")
    places = []
    for position in (instruction(f, "a"), f.blocks[0].terminator):
        place = ir.IRBuilder(position).binary("add", one, one).debug_location
        assert place is not None
        places.append((place.function, place.line, place.column))
    assert places == [("f", 11, 2), ("f", 0, 0)]
    head, tail = f.blocks[0], instruction(f, "a").split_before()
    for block in (head, tail):
        before = block.terminator.debug_location
        block.set_unreachable()
        after = block.terminator.debug_location
        assert (before and before.line) == (after and after.line) == (11 if block == head else None)
