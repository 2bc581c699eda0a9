# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of functions, globals and attributes that are refused, and what is close to them and allowed."""

from __future__ import annotations

import pytest

from passpilot.plugin import ir
from passpilot.plugin.module import Module
from tests.plugin.ir.named import function
from tests.plugin.ir.test_mutations import refused

ORDINARY = "all uses are ordinary calls, got internal leaf"
LEAF = "define internal void @leaf() {\n  ret void\n}\n"
CHOOSE = "define ptr @choose() {\n  ret ptr null\n}\n"
CONVERGENT = """
declare token @llvm.experimental.convergence.entry()
declare token @llvm.experimental.convergence.anchor()
declare token @llvm.experimental.convergence.loop()
"""


def read(text: str) -> Module:
    return Module.read(text.encode(), name="text")


def call_of(text: str) -> tuple[Module, ir.CallBase]:
    """A module, and the only call in it of a function with a body."""
    module = read(text)
    calls = [each for f in module.functions for each in f.call_sites]
    (call,) = [each for each in calls if each.callee and not each.callee.is_declaration]
    return module, call


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "inreg"),
        (0, "signext"),
        (0, "zeroext"),
        (1, "byref(i32)"),
        (1, "byval(i32)"),
        (1, "inalloca(i32)"),
        (1, "nest"),
        (1, "preallocated(i32)"),
        (1, "sret(i32)"),
        (1, "swiftasync"),
        (1, "swifterror"),
        (1, "swiftself"),
    ],
)
def test_attributes_that_say_how_values_are_passed(index: int, text: str) -> None:
    module = read("declare void @f(i32, ptr)\n")
    argument = function(module, "f").arguments[index]
    refused(module, "one that does not change how values are passed", lambda: argument.add_attribute(text))
    module = read(f"declare void @f(i32 {'' if index else text}, ptr {text if index else ''})\n")
    argument, name = function(module, "f").arguments[index], text.split("(")[0]
    refused(module, "does not change how values are passed", lambda: argument.remove_attribute(name))


def test_attributes_of_what_llvm_defines_and_of_calls() -> None:
    module = read("declare double @llvm.fabs.f64(double)\n" + LEAF)
    absolute, leaf = module.functions
    refused(module, "a function other than an intrinsic, got cold", lambda: absolute.add_attribute("cold"))
    refused(module, "expected one attribute", lambda: leaf.add_attribute("cold\n@g = global i32 0"))
    module, call = call_of(LEAF + "define void @f() {\n  call void @leaf()\n  ret void\n}\n")
    told = "attribute of a call at function f: expected one that LLVM accepts there, got speculatable"
    refused(module, told, lambda: call.add_attribute("speculatable"))
    assert call.attributes == []


def test_a_text_attribute_may_have_the_name_of_an_enumerated_one() -> None:
    (leaf,) = read(LEAF).functions
    leaf.add_attribute('"cold"="yes"')
    leaf.add_attribute("cold")
    leaf.remove_attribute("cold")
    assert leaf.attributes == ['"cold"="yes"']
    leaf.remove_attribute("cold")
    assert leaf.attributes == []


@pytest.mark.parametrize(
    ("text", "name", "linkage", "expected"),
    [
        ("@i = ifunc void (), ptr @choose\n" + CHOOSE, "i", "internal", "one whose linkage is free"),
        (
            '@llvm.used = appending global [1 x ptr] [ptr @leaf], section "llvm.metadata"\n',
            "llvm.used",
            "internal",
            "one whose linkage is free",
        ),
        ("@a = alias void (), ptr @leaf\n", "a", "available_externally", "what an alias or comdat needs"),
        ("$c = comdat any\n@g = global i32 0, comdat($c)\n", "g", "available_externally", "or comdat needs"),
        (
            "@a = alias void (), ptr @leaf\n@b = alias void (), ptr @a\n",
            "a",
            "weak",
            "an alias that no other depends on",
        ),
        ("declare i32 @d()\n", "d", "weak", "external or extern_weak for a declaration"),
        ("@g = global i32 1\n", "g", "extern_weak", "for definitions that need not be zero"),
        ("@g = global i32 1\n", "g", "common", "for definitions that need not be zero"),
        (
            "@g = global i32 1\n@a = alias i32, ptr @g\n",
            "g",
            "available_externally",
            "an alias or comdat needs",
        ),
        ("@g = global i32 1\n", "g", "weakish", "one of LLVM's, as external or internal"),
        ("@g = global i32 0\n", "g", "appending", "one whose linkage is free"),
        (
            "declare double @llvm.fabs.f64(double)\n",
            "llvm.fabs.f64",
            "extern_weak",
            "other than an intrinsic",
        ),
    ],
)
def test_linkages_that_are_not_free(text: str, name: str, linkage: str, expected: str) -> None:
    module = read(text + LEAF)
    found = module.global_value(name)
    assert found is not None
    refused(module, f"linkage of @{name}: expected .*{expected}", lambda: setattr(found, "linkage", linkage))
    found.linkage = found.linkage  # which it may keep


def test_linkages_that_are_free() -> None:
    module = read(
        "@own = dllexport global i32 1\n@g = global i32 2\n@h = extern_weak global i32\n"
        "@a = alias i32, ptr @g\n" + LEAF
    )
    own, g, h = module.globals
    own.linkage, h.linkage, module.aliases[0].linkage = "internal", "external", "weak"
    function(module, "leaf").linkage = "available_externally"
    g.visibility = "protected"
    module.verify()
    assert "@own = internal global i32 1" in str(module)
    assert "@g = protected global i32 2" in str(module)
    assert [h.linkage, module.aliases[0].linkage] == ["external", "weak"]
    assert "define available_externally void @leaf()" in str(module)


def test_a_global_that_becomes_external_is_no_longer_known_to_be_local() -> None:
    module = read("@g = internal global i32 1\n@h = dso_local global i32 2\n")
    g, h = module.globals
    g.linkage, h.linkage = "external", "weak"
    assert "@g = global i32 1" in str(module)
    assert "@h = weak dso_local global i32 2" in str(module)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@g = internal global i32 0\n", "g"),
        ("declare double @llvm.fabs.f64(double)\n", "llvm.fabs.f64"),
        ("@g = dllexport global i32 0\n", "g"),
    ],
)
def test_visibilities_that_are_not_free(text: str, name: str) -> None:
    module = read(text)
    found = module.global_value(name)
    assert found is not None
    told = rf"visibility of @{name}: expected default for \w+ linkage, got hidden"
    refused(module, told, lambda: setattr(found, "visibility", "hidden"))
    found.visibility = "default"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LEAF.replace("internal", "linkonce_odr"), "got linkonce_odr leaf"),
        ("define internal void @leaf(...) {\n  ret void\n}\n", ORDINARY),
        (LEAF + "define void @f() {\n  musttail call void @leaf()\n  ret void\n}\n", ORDINARY),
        (LEAF + "define void @f() {\n  call void @leaf(i32 1)\n  ret void\n}\n", ORDINARY),
        (
            LEAF.replace("()", "(ptr)")
            + "define void @f(ptr %p) {\n  call void %p(ptr @leaf)\n  ret void\n}\n",
            ORDINARY,
        ),
        (LEAF + "@p = global ptr @leaf\n", ORDINARY),
        (LEAF.replace("  ret", "  musttail call void @h()\n  ret") + "declare void @h()\n", ORDINARY),
        ("define internal void @leaf() naked {\n  unreachable\n}\n", ORDINARY),
        (LEAF.replace("internal", "internal tailcc"), "a function of ccc, fastcc or coldcc, got tailcc"),
    ],
)
def test_calling_conventions_that_are_not_free(text: str, expected: str) -> None:
    module = read(text)
    leaf = function(module, "leaf")
    refused(module, expected, lambda: setattr(leaf, "calling_convention", "fastcc"))


def test_a_convention_changes_with_all_calls() -> None:
    module = read(LEAF + "define void @f() {\n  call void @leaf()\n  tail call void @leaf()\n  ret void\n}\n")
    function(module, "leaf").calling_convention = "coldcc"
    assert str(module).count("call coldcc void @leaf()") == 2
    assert "define internal coldcc void @leaf()" in str(module)


def test_globals_that_are_erased() -> None:
    module = read("@g = internal global i32 0\n@l = linkonce global i32 0\n@w = weak global i32 0\n" + LEAF)
    g, loose, weak = module.globals
    module.constant("ptr getelementptr (i8, ptr @g, i64 1)")  # which nothing uses
    g.erase()
    loose.erase()
    told = (
        "^erase of @w: expected a global that nothing outside the module uses, got weak linkage; "
        "make it internal first$"
    )
    refused(module, told, weak.erase)
    function(module, "leaf").erase()
    assert [each.name for each in module.globals] == ["w"]


def test_a_clone_is_of_this_module_alone() -> None:
    module = read("$f = comdat any\ndefine weak_odr dllexport void @f() comdat {\n  ret void\n}\n")
    made = function(module, "f").clone("made")
    module.verify()
    assert (made.comdat, made.linkage) == ("", "internal")
    assert "define internal void @made()" in str(module)
    assert "define weak_odr dllexport void @f() comdat" in str(module)


@pytest.mark.parametrize("name", ["a\0b", "llvm.mine"])
def test_names_that_no_global_gets(name: str) -> None:
    module = read(LEAF)
    told = "got NUL" if "\0" in name else "a name that is not LLVM's own, got llvm.mine"
    refused(module, told, lambda: function(module, "leaf").clone(name))
    refused(module, told, lambda: module.add_global(name, "i32"))


@pytest.mark.parametrize("type_", ["token", "%hidden", "void ()"])
def test_globals_of_a_type_without_a_size(type_: str) -> None:
    module = read("%hidden = type opaque\n@p = external global %hidden\n")
    refused(module, "a type of known size", lambda: module.add_global("g", type_))


def test_a_function_may_be_declared_twice_with_one_type() -> None:
    module = read("%pair = type { i32, ptr }\n@g = global %pair zeroinitializer\n" + LEAF)
    assert module.declare("leaf", "void ()") == function(module, "leaf")
    refused(module, "a name that is free, got @leaf", lambda: module.declare("leaf", "void (i32)"))
    refused(module, "declare x: expected a function type, as 'i32", lambda: module.declare("x", "ptr"))
    refused(module, "a name, got an empty one", lambda: module.declare("", "void ()"))
    assert str(module.constant("%pair { i32 1, ptr @g }")) == "%pair { i32 1, ptr @g }"


BODY = "define void @f() GC {\n  call void @leaf()\n  ret void\n}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            LEAF.replace(
                "  ret void", "  indirectbr ptr blockaddress(@leaf, %b), [label %b]\nb:\n  ret void"
            ),
            "a callee that can be inlined, got ",
        ),
        (LEAF.replace("leaf()", "leaf() sanitize_address"), "a callee of compatible attributes, got @leaf"),
        (LEAF.replace("leaf()", "leaf() presplitcoroutine"), "a callee of compatible attributes, got @leaf"),
        (LEAF.replace("leaf()", 'leaf() gc "erlang"'), "a call that can be inlined, got incompatible GC"),
    ],
)
def test_calls_that_cannot_be_inlined(text: str, expected: str) -> None:
    gc = 'gc "ocaml"' if "GC" in expected else ""
    module, call = call_of(text + BODY.replace("GC", gc))
    refused(module, f"^inline at function f: expected {expected}", call.inline)


def test_nothing_is_inlined_into_a_naked_function() -> None:
    module, call = call_of(LEAF + "define void @f() naked {\n  call void @leaf()\n  unreachable\n}\n")
    refused(module, "a callee of compatible attributes", call.inline)


ANCHOR = "%t = call token @llvm.experimental.convergence.anchor()"
ENTRY = "%t = call token @llvm.experimental.convergence.entry()"
LOOP = f"""{ANCHOR}
  br label %l
l:
  %u = call token @llvm.experimental.convergence.loop() [ "convergencectrl"(token %t) ]
  br label %e
e:"""
TOKENS = f"""{CONVERGENT}
define void @f() convergent {{
  ;f
  call void @leaf()
  ret void
}}
define internal void @leaf() {{
  ;leaf
  ret void
}}
define void @other() {{
  {ANCHOR}
  ret void
}}
"""


@pytest.mark.parametrize("tokens", [ENTRY, ANCHOR, LOOP])
@pytest.mark.parametrize("where", ["leaf", "f"])
def test_functions_with_convergence_tokens_are_not_inlined(where: str, tokens: str) -> None:
    text = TOKENS.replace("@leaf() {", "@leaf() convergent {") if where == "leaf" else TOKENS
    module, call = call_of(text.replace(f";{where}", tokens))
    refused(module, "functions without convergence tokens, got @leaf", call.inline)
    call_of(TOKENS)[1].inline()


def test_words_that_llvm_does_not_have() -> None:
    module = read("@g = global i32 1\n" + LEAF)
    (g,), leaf = module.globals, function(module, "leaf")
    told = "visibility of @g: expected default, hidden or protected, got seen"
    refused(module, told, lambda: setattr(g, "visibility", "seen"))
    told = "expected ccc, fastcc or coldcc, got slowcc"
    refused(module, told, lambda: setattr(leaf, "calling_convention", "slowcc"))
