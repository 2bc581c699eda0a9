# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of the IR: each seen in the text and by the verifier; each bad one refused, the text as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from passpilot.plugin import ir
from passpilot.plugin.errors import IRError
from passpilot.plugin.module import Module
from tests.plugin.ir.named import block, function, instruction

TEXT = """
target triple = "x86_64-pc-linux-gnu"
@g = internal global i32 3
@shared = global i32 4
@also = alias i32, ptr @shared
declare i32 @outside(ptr, ...)
define internal i32 @leaf(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define void @taken(ptr %p) {
  store ptr @leaf2, ptr %p
  ret void
}
define internal void @leaf2() {
  ret void
}
define i32 @f(i32 %n, ptr %p, i1 %flag, double %d) {
entry:
  %a = add i32 %n, 1
  %b = mul i32 %a, 5
  %l = load i32, ptr %p
  br i1 %flag, label %then, label %else
then:
  %r = call i32 @leaf(i32 %b)
  br label %join
else:
  %s = sub i32 %b, %l
  br label %join
join:
  %m = phi i32 [ %r, %then ], [ %s, %else ]
  %last = add i32 %m, %a
  ret i32 %last
}
"""


@pytest.fixture
def module() -> Iterator[Module]:
    module = Module.read(TEXT.encode(), name="text")
    yield module
    module.verify()
    Module.read(module.assembly()).verify()


@pytest.fixture
def f(module: Module) -> ir.Function:
    return function(module, "f")


def check(module: Module, *patterns: str) -> None:
    """The patterns occur in the module's text in this order, as FileCheck would have it."""
    text, position = str(module), 0
    for pattern in patterns:
        found = re.compile(pattern).search(text, position)
        assert found, f"{pattern!r} not in\n{text[position:]}"
        position = found.end()


def refused(module: Module, match: str, change: Callable[[], object]) -> None:
    before = module.assembly()
    with pytest.raises(IRError, match=match):
        change()
    assert module.assembly() == before


def test_function_attributes(module: Module, f: ir.Function) -> None:
    f.add_attribute("noinline")
    f.add_attribute('"key"="value"')
    f.add_attribute("memory(read)")
    assert f.attributes == ["noinline", "memory(read)", '"key"="value"']
    check(module, r"define i32 @f\(.*\) #0", r'attributes #0 = \{ noinline memory\(read\) "key"="value" \}')
    f.remove_attribute("noinline")
    f.remove_attribute("key")
    f.remove_attribute("memory")
    assert f.attributes == []
    f.add_return_attribute("noundef")
    f.arguments[1].add_attribute("align 16")
    assert f.return_attributes == ["noundef"]
    check(module, r"define noundef i32 @f\(i32 %n, ptr align 16 %p")
    f.remove_return_attribute("noundef")
    f.arguments[1].remove_attribute("align")
    assert f.arguments[1].attributes == []


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("nosuch", "one attribute, as LLVM's assembly has it"),
        ("", "got 0 attributes"),
        ("cold nounwind", "got 2 attributes"),
        ("noundef", "does not apply to functions"),
        ("optnone", "requires 'noinline'"),
        ("naked", "does not change how values are passed"),
        ("cold\ndeclare void @g()", "expected one attribute"),
        ("{ ret void }", "expected one attribute"),
    ],
)
def test_bad_function_attributes(module: Module, f: ir.Function, text: str, match: str) -> None:
    refused(module, match, lambda: f.add_attribute(text))


def test_bad_attributes_of_values(module: Module, f: ir.Function) -> None:
    refused(module, "fits the type", lambda: f.arguments[0].add_attribute("nonnull"))
    refused(module, "how values are passed", lambda: f.arguments[0].add_attribute("inreg"))
    refused(module, "the name of one that is there", lambda: f.remove_attribute("cold"))
    (call,) = f.call_sites
    refused(module, "an argument below 1, got 1", lambda: call.add_argument_attribute(1, "noundef"))
    refused(module, "an argument below 1", lambda: call.add_argument_attribute(2**32 - 2, "noundef"))
    with pytest.raises(TypeError):
        call.add_argument_attribute(-1, "noundef")


def test_call_attributes(module: Module, f: ir.Function) -> None:
    (call,) = f.call_sites
    call.add_attribute("noinline")
    call.add_argument_attribute(0, "noundef")
    assert call.attributes == ["noinline"]
    assert call.argument_attributes(0) == ["noundef"]
    check(module, r"call i32 @leaf\(i32 noundef %b\) #0", r"attributes #0 = \{ noinline \}")
    call.remove_attribute("noinline")
    call.remove_argument_attribute(0, "noundef")
    check(module, r"call i32 @leaf\(i32 %b\)\n")


def test_metadata(module: Module, f: ir.Function) -> None:
    load = instruction(f, "l")
    load.set_metadata("mine", ("text", 7, True, None, module.constant("i64 9"), ("inner",)))
    kinds = load.metadata["mine"]
    assert isinstance(kinds, tuple)
    assert [kinds[0], kinds[1].integer, kinds[2].integer, kinds[3], kinds[4].integer, kinds[5]] == [
        "text", 7, 1, None, 9, ("inner",),
    ]  # fmt: skip
    check(
        module,
        r"%l = load i32, ptr %p, align 4, !mine !0",
        r'!0 = !\{!"text", i32 7, i1 true, null, i64 9, !1\}',
    )
    copied = instruction(f, "b")
    copied.set_metadata("other", kinds)
    assert copied.metadata["other"] == kinds
    load.set_metadata("mine", None)
    assert load.metadata == {}
    f.entry_block.terminator.set_metadata("prof", ("branch_weights", 3, 1))  # type: ignore[union-attr]
    check(module, r"br i1 %flag, label %then, label %else, !prof !")
    for wrong in ((3,), (3, 1, 1), (3, "text"), ()):
        node = ("branch_weights", *wrong)
        refused(
            module,
            "a node as LLVM has it",
            lambda node=node: f.entry_block.terminator.set_metadata("prof", node),  # type: ignore[union-attr,misc]
        )
    check(module, r'!\{!"branch_weights", i32 3, i32 1\}')
    f.set_metadata("prof", ("function_entry_count", module.constant("i64 12")))
    assert f.entry_count == 12
    refused(module, "a node as LLVM has it", lambda: load.set_metadata("range", (1, 2, 3)))
    refused(module, "a node as LLVM has it", lambda: f.set_metadata("prof", ("nonsense",)))
    assert f.entry_count == 12
    refused(module, "a kind other than dbg", lambda: load.set_metadata("dbg", ()))
    refused(module, "text, a 32-bit number", lambda: load.set_metadata("mine", (2**40,)))
    refused(module, "text, a 32-bit number", lambda: load.set_metadata("mine", (object(),)))
    refused(module, "a tuple or None", lambda: load.set_metadata("mine", 3))  # type: ignore[arg-type]
    endless: list[object] = []
    endless.append(endless)
    refused(module, "100 levels", lambda: load.set_metadata("mine", endless))


def test_loop_metadata(module: Module, f: ir.Function) -> None:
    join = block(f, "join")
    instruction(f, "m").replace_all_uses_with(instruction(f, "a"))
    instruction(f, "m").erase()
    join.set_conditional_branch(f.arguments[2], join, f.add_block("out"))
    (loop,) = f.loops
    assert "llvm.loop" not in str(module)
    loop.set_metadata((..., ("llvm.loop.unroll.count", 4)))
    node = f.loops[0].metadata
    assert node is not None
    assert node[0] is ...
    option = node[1]
    assert isinstance(option, tuple)
    assert (option[0], option[1].integer) == ("llvm.loop.unroll.count", 4)
    check(module, r"br i1 %flag, label %join, label %out, !llvm.loop ![0-9]+", r"= distinct !\{!\d+, !\d+\}")
    with pytest.raises(IRError, match=r"a tuple that begins with \.\.\."):
        loop.set_metadata((("llvm.loop.unroll.count", 4),))
    for wrong in ((), (1, 2)):
        with pytest.raises(IRError, match=r"a tuple that begins with \.\.\."):
            join.terminator.set_metadata("llvm.loop", wrong)
    loop.set_metadata(None)
    assert loop.metadata is None


def test_linkage_and_visibility(module: Module, f: ir.Function) -> None:
    g, shared = module.globals
    g.linkage = "external"
    g.visibility = "hidden"
    check(module, r"@g = hidden global i32 3")
    g.visibility = "default"
    f.linkage = "internal"
    check(module, r"define internal i32 @f\(")
    f.linkage = "weak_odr"
    check(module, r"define weak_odr i32 @f\(")
    outside, alias = function(module, "outside"), module.aliases[0]
    outside.linkage = "extern_weak"
    alias.linkage = "internal"
    check(module, "@also = internal alias", "declare extern_weak i32 @outside")
    for target, text, match in (
        (g, "nosuch", "one of LLVM's"),
        (g, "appending", "linkage is free"),
        (g, "common", "need not be zero"),
        (g, "extern_weak", "definitions"),
        (outside, "internal", "for a declaration"),
        (shared, "available_externally", "alias or comdat needs"),
    ):
        refused(module, match, lambda t=target, x=text: setattr(t, "linkage", x))  # type: ignore[misc]
    refused(module, "default, hidden or protected", lambda: setattr(g, "visibility", "x"))
    g.linkage = "internal"
    refused(module, "default for internal linkage", lambda: setattr(g, "visibility", "hidden"))


def test_calling_convention(module: Module, f: ir.Function) -> None:
    leaf = function(module, "leaf")
    leaf.calling_convention = "fastcc"
    check(module, r"define internal fastcc i32 @leaf", r"call fastcc i32 @leaf\(i32 %b\)")
    leaf.calling_convention = "ccc"
    refused(
        module, "ccc, fastcc or coldcc, got nosuch", lambda: setattr(leaf, "calling_convention", "nosuch")
    )
    for other in (f, function(module, "leaf2"), function(module, "outside")):

        def change(function: ir.Function = other) -> None:
            function.calling_convention = "coldcc"

        refused(module, "all uses are ordinary calls", change)


def test_replace_all_uses(module: Module, f: ir.Function) -> None:
    b, a = instruction(f, "b"), instruction(f, "a")
    b.replace_all_uses_with(a)
    assert b.users == []
    check(module, r"call i32 @leaf\(i32 %a\)", r"%s = sub i32 %a, %l")
    f.arguments[0].replace_all_uses_with(module.constant("i32 9"))
    check(module, r"%a = add i32 9, 1")
    for old, new, match in (
        (a, instruction(f, "last"), "computed before every use"),
        (a, a, "another value of the type i32"),
        (a, f.arguments[3], "another value of the type i32, got double %d"),
        (a, function(module, "leaf").arguments[0], "a value of that function"),
        (a, f.blocks[0], "an instruction, an argument or a constant"),
        (module.constant("i32 9"), a, "an instruction or an argument to replace"),
        (a, Module.read(TEXT.encode()).constant("i32 1"), "a value of this module"),
    ):
        refused(module, match, lambda o=old, n=new: o.replace_all_uses_with(n))  # type: ignore[misc]


def test_erase(module: Module, f: ir.Function) -> None:
    refused(module, "an instruction without users, got 2 of", instruction(f, "b").erase)
    refused(module, "other than a terminator", f.blocks[0].terminator.erase)
    refused(module, "other than the entry", f.blocks[0].erase)
    refused(module, "without predecessors", block(f, "join").erase)
    refused(module, "a global without uses", function(module, "leaf").erase)
    refused(module, "nothing outside the module uses", f.erase)
    instruction(f, "r").replace_all_uses_with(instruction(f, "a"))
    instruction(f, "r").erase()
    function(module, "leaf").erase()
    module.globals[0].erase()
    function(module, "outside").erase()
    assert not re.search(r"@leaf\(|@g |@outside", str(module))


def test_move(module: Module, f: ir.Function) -> None:
    instruction(f, "l").move_before(instruction(f, "s"))
    check(module, "else:", r"%l = load", r"%s = sub i32 %b, %l")
    instruction(f, "b").move_before(f.blocks[0].terminator)
    instruction(f, "s").move_before(instruction(f, "s"))
    for what, where, match in (
        ("a", "last", "a position before every user"),
        ("last", "b", "an operand that is computed before"),
        ("m", "last", "an instruction whose place is free"),
        ("l", "m", "a position after the block's phis"),
    ):
        moved, target = instruction(f, what), instruction(f, where)
        refused(module, match, lambda m=moved, t=target: m.move_before(t))  # type: ignore[misc]
    y = function(module, "leaf").instructions[0]
    refused(module, "a position in that function", lambda: instruction(f, "a").move_before(y))


def test_split(module: Module, f: ir.Function) -> None:
    tail = instruction(f, "b").split_before("tail")
    assert tail.name == "tail"
    assert [each.name for each in f.blocks[:2]] == ["entry", "tail"]
    check(module, "entry:", "br label %tail", "tail:", "%b = mul")
    refused(module, "after the block's phis", instruction(f, "m").split_before)


def test_blocks_and_terminators(module: Module, f: ir.Function) -> None:
    new = f.add_block("new")
    check(module, "new:", "unreachable")
    new.set_return(module.constant("i32 1"))
    block(f, "then").set_branch(new)
    check(module, r"%m = phi i32 \[ %s, %else \]", "new:", "ret i32 1")
    block(f, "then").set_conditional_branch(f.arguments[2], new, new)
    block(f, "then").set_unreachable()
    new.erase()
    entry, join, other = f.blocks[0], block(f, "join"), block(f, "else")
    a, last = instruction(f, "a"), instruction(f, "last")
    fresh = f.add_block("fresh")
    for change, match in (
        (lambda: fresh.set_branch(join), "a block without phis"),
        (lambda: other.set_unreachable(), "a block with phis to stay reachable"),
        (lambda: entry.set_branch(entry), "a block other than the entry"),
        (lambda: entry.set_conditional_branch(a, other, other), "a condition of type i1, got i32 %a"),
        (lambda: entry.set_conditional_branch(f.arguments[2], fresh, join), "a block without phis"),
        (lambda: join.set_return(), "a value of the type i32, got none"),
        (lambda: join.set_return(f.arguments[3]), "a value of the type i32, got double %d"),
        (lambda: entry.set_branch(function(module, "leaf").blocks[0]), "a block of that function"),
    ):
        refused(module, match, change)
    fresh.set_return(last)  # of a block that is unreachable
    flag = f.arguments[2]
    refused(module, "leaves the function valid", lambda: entry.set_conditional_branch(flag, fresh, other))
    fresh.set_unreachable()


def test_clone(module: Module, f: ir.Function) -> None:
    made = f.clone("copied")
    assert made.name == "copied"
    assert made.linkage == "internal"
    assert [each.opcode for each in made.instructions] == [each.opcode for each in f.instructions]
    check(module, r"define internal i32 @copied\(i32 %n, ptr %p", r"call i32 @leaf\(i32 %b\)")
    refused(module, "a name that is free, got @g", lambda: f.clone("g"))
    refused(module, "a name, got an empty one", lambda: f.clone(""))
    refused(module, "a function with a body", lambda: function(module, "outside").clone("new"))
    refused(module, "not LLVM's own", lambda: f.clone("llvm.mine"))


def test_inline(module: Module, f: ir.Function) -> None:
    (call,) = f.call_sites
    call.inline()
    assert not call.is_valid
    check(module, "then:", r"%y.i = mul i32 %b, 3", r"phi i32 \[ %y.i, %then \]")
    outside = ir.IRBuilder(instruction(f, "last")).call(
        function(module, "outside"), [f.arguments[1], f.arguments[0]], "o"
    )
    refused(module, "a direct call of another function with a body", outside.inline)
    recursive = ir.IRBuilder(instruction(f, "last")).call(f, f.arguments)
    refused(module, "another function", recursive.inline)
    function(module, "leaf2").add_attribute('"target-features"="+avx512f"')
    bigger = ir.IRBuilder(instruction(f, "last")).call(function(module, "leaf2"), [])
    refused(module, "compatible attributes", bigger.inline)


def test_builder(module: Module, f: ir.Function) -> None:
    n, p, flag, d = f.arguments
    build = ir.IRBuilder(instruction(f, "last"))
    x = build.binary("xor", n, module.constant("i32 -1"), "x")
    assert x.block == block(f, "join")
    y = build.binary("fmul", d, d, "y")
    c = build.compare("slt", x, n, "c")
    build.compare("olt", y, d, "e")
    w = build.cast("zext", x, module.type("i64"), "w")
    build.select(c, n, x, "z")
    e = build.getelementptr(module.type("[4 x i32]"), p, [module.constant("i32 0"), w], "q")
    v = build.load(module.type("i32"), e, "v")
    stored = build.store(v, p)
    assert stored.opcode == "store"
    build.call(function(module, "outside"), [p, v], "r2")
    build.call(module.declare("llvm.fabs.f64", "double (double)"), [y], "abs")
    check(
        module, "join:", r"%x = xor i32 %n, -1", r"%y = fmul double %d, %d", r"%c = icmp slt i32 %x, %n",
        r"%e = fcmp olt double %y, %d", r"%w = zext i32 %x to i64", r"%z = select i1 %c, i32 %n, i32 %x",
        r"%q = getelementptr \[4 x i32\], ptr %p, i32 0, i64 %w", r"%v = load i32, ptr %q, align 4",
        r"store i32 %v, ptr %p, align 4", r"%r2 = call i32 \(ptr, ...\) @outside\(ptr %p, i32 %v\)",
        r"%abs = call double @llvm.fabs.f64\(double %y\)", "%last = add",
    )  # fmt: skip
    assert flag.users == [f.blocks[0].terminator]


def test_builder_refuses(module: Module, f: ir.Function) -> None:
    n, p, _, d = f.arguments
    build = ir.IRBuilder(instruction(f, "b"))
    s, other, i32 = instruction(f, "s"), Module.read(TEXT.encode()), module.type("i32")
    leaf, outside = function(module, "leaf"), function(module, "outside")
    for change, match in (
        (lambda: build.binary("nosuch", n, n), "one of LLVM's binary opcodes"),
        (lambda: build.binary("add", n, d), "two integers of one type, got i32 %n and double %d"),
        (lambda: build.binary("fadd", n, n), "two floating-point numbers"),
        (lambda: build.binary("add", s, n), "an operand that is computed before"),
        (lambda: build.binary("add", leaf.arguments[0], n), "a value of that function"),
        (lambda: build.binary("add", other.constant("i32 1"), n), "a value of this module"),
        (lambda: build.compare("olt", n, n), "a predicate of icmp"),
        (lambda: build.compare("slt", d, d), "a predicate of fcmp"),
        (lambda: build.cast("zext", n, module.type("i16")), "types that zext can take"),
        (lambda: build.cast("bitcast", n, module.type("[2 x i32]")), "types that bitcast can take"),
        (lambda: build.select(n, n, n), "operands that select can take"),
        (lambda: build.load(module.type("label"), p), "a type of known size"),
        (lambda: build.load(module.type("i32 (i32)"), p), "a type of known size"),
        (lambda: build.load(i32, n), "a pointer, got i32 %n"),
        (lambda: build.load(other.type("i32"), p), "a type of this module"),
        (lambda: build.store(n, n), "a pointer"),
        (lambda: build.getelementptr(i32, p, []), "the indices fit"),
        (lambda: build.getelementptr(i32, p, [n, n]), "the indices fit"),
        (lambda: build.getelementptr(module.type("{i32, ptr}"), p, [n, n]), "the indices fit"),
        (lambda: build.call(leaf, []), "1 arguments for @leaf, got 0"),
        (lambda: build.call(leaf, [d]), "a value of type i32"),
        (lambda: build.call(outside, []), "1 arguments for @outside"),
        (lambda: ir.IRBuilder(instruction(f, "m")).binary("add", n, n), "after the block's phis"),
    ):
        refused(module, match, change)
    with pytest.raises(TypeError):
        ir.IRBuilder(f)  # type: ignore[arg-type]


def test_calls_of_intrinsics_are_checked(module: Module, f: ir.Function) -> None:
    zeros = module.declare("llvm.ctlz.i32", "i32 (i32, i1)")
    build = ir.IRBuilder(instruction(f, "b"))
    build.call(zeros, [f.arguments[0], module.constant("i1 true")])
    refused(module, "a call that LLVM accepts", lambda: build.call(zeros, f.arguments[::2]))
    refused(module, "a function that LLVM accepts", lambda: module.declare("x", "void (metadata)"))


def test_declarations_and_globals(module: Module) -> None:
    made = module.declare("made", "i64 (ptr, ...)")
    assert module.declare("made", module.type("i64 (ptr, ...)")) == made
    table = module.add_global("table", "[2 x i8]", module.constant('[2 x i8] c"ab"'), is_constant=True)
    assert table.initializer is not None
    assert table.initializer.data == b"ab"
    module.add_global("far", "i32")
    check(module, r'@table = internal constant \[2 x i8\] c"ab"', "@far = external global i32",
          r"declare i64 @made\(ptr, ...\)")  # fmt: skip
    number = module.constant("i32 1")
    for change, match in (
        (lambda: module.declare("made", "i32 ()"), "a name that is free"),
        (lambda: module.declare("x", "i32"), "a function type"),
        (lambda: module.declare("g", "i32 ()"), "a name that is free, got @g"),
        (lambda: module.add_global("g", "i32"), "a name that is free"),
        (lambda: module.add_global("x", "i32 ()"), "a type of known size"),
        (lambda: module.add_global("x", "i64", number), "a type of known size"),
        (lambda: module.add_global("x", "<vscale x 2 x i64>"), "a type of known size"),
        (lambda: module.type("nosuch"), "as LLVM's assembly has it"),
        (lambda: module.type("i32 nonsense"), "as LLVM's assembly has it"),
        (lambda: module.constant("i32 x"), "as LLVM's assembly has it"),
        (lambda: module.constant(""), "as LLVM's assembly has it"),
    ):
        refused(module, match, change)


def test_a_call_gets_a_debug_location() -> None:
    """The verifier wants one where caller and callee have debug information."""
    text = (
        TEXT.replace("@leaf(i32 %x) {", "@leaf(i32 %x) !dbg !3 {")
        .replace("i1 %flag, double %d) {", "i1 %flag, double %d) !dbg !4 {")
        .replace("call i32 @leaf(i32 %b)", "call i32 @leaf(i32 %b), !dbg !6")
    )
    text += """
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "leaf", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!4 = distinct !DISubprogram(name: "f", file: !1, line: 9, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !{null})
!6 = !DILocation(line: 11, column: 2, scope: !4)
"""
    module = Module.read(text.encode())
    f = function(module, "f")
    for position in (instruction(f, "b"), instruction(f, "r")):
        made = ir.IRBuilder(position).call(function(module, "leaf"), [f.arguments[0]])
        assert made.debug_location is not None
        assert made.debug_location.function == "f"
        module.verify()
