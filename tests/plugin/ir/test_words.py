# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every word of LLVM's text for linkage, calling convention, flag and ordering is a handle's, too."""

from __future__ import annotations

from typing import Final

import pytest

from passpilot.plugin.module import Module
from tests.plugin.ir.named import function

CONVENTIONS: Final = [
    "ccc",
    "fastcc",
    "coldcc",
    "ghccc",
    "anyregcc",
    "preserve_mostcc",
    "preserve_allcc",
    "preserve_nonecc",
    "swiftcc",
    "swifttailcc",
    "cxx_fast_tlscc",
    "tailcc",
    "x86_stdcallcc",
    "x86_fastcallcc",
    "x86_thiscallcc",
    "x86_vectorcallcc",
    "x86_regcallcc",
    "x86_64_sysvcc",
    "win64cc",
]


@pytest.mark.parametrize("word", CONVENTIONS)
def test_a_calling_convention(word: str) -> None:
    text = f"declare {word} void @f()\ndefine void @g() {{\n  call {word} void @f()\n  ret void\n}}\n"
    module = Module(text.encode())
    assert function(module, "f").calling_convention == word
    call = function(module, "g").instructions[0]
    assert getattr(call, "calling_convention") == word  # noqa: B009


def test_other_calling_conventions() -> None:
    interrupt = Module(b"define x86_intrcc void @f(ptr byval(i64) %p) {\n  ret void\n}\n")
    assert function(interrupt, "f").calling_convention == "x86_intrcc"
    assert function(Module(b"declare cc 1000 void @f()\n"), "f").calling_convention == "cc 1000"


@pytest.mark.parametrize(
    "word",
    [
        "external",
        "available_externally",
        "linkonce",
        "linkonce_odr",
        "weak",
        "weak_odr",
        "internal",
        "private",
    ],
)
def test_linkage_of_a_definition(word: str) -> None:
    module = Module(f"define {word} void @f() {{\n  ret void\n}}\n".encode())
    assert function(module, "f").linkage == word


@pytest.mark.parametrize(
    ("text", "linkage"),
    [
        ("@g = common global i32 0", "common"),
        ("@g = appending global [1 x ptr] [ptr null]", "appending"),
        ("@g = extern_weak global i32", "extern_weak"),
        ("@g = external global i32", "external"),
    ],
)
def test_linkage_of_a_global(text: str, linkage: str) -> None:
    assert Module(f"{text}\n".encode()).globals[0].linkage == linkage


@pytest.mark.parametrize("word", ["default", "hidden", "protected"])
def test_visibility(word: str) -> None:
    assert function(Module(f"declare {word} void @f()\n".encode()), "f").visibility == word


def flags(text: str) -> list[str]:
    """The flags of an instruction."""
    arguments = "i32 %i, i64 %l, float %x, float %y, ptr %p"
    module = Module(f"define void @f({arguments}) {{\n  {text}\n  ret void\n}}\n".encode())
    return function(module, "f").instructions[0].flags


MATH: Final = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")


@pytest.mark.parametrize("words", [*((each,) for each in MATH), MATH[:6], MATH[1:], ("fast",), ()])
def test_flags_of_floating_point(words: tuple[str, ...]) -> None:
    spelled = " ".join(words)
    for text in (
        f"fmul {spelled} float %x, %y",
        f"fcmp {spelled} olt float %x, %y",
        f"fneg {spelled} float %x",
    ):
        assert flags(f"%r = {text}") == list(words)
    assert flags("%r = fadd " + " ".join(MATH) + " float %x, %y") == ["fast"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getelementptr i8, ptr %p, i64 1", []),
        ("getelementptr inbounds i8, ptr %p, i64 1", ["inbounds"]),
        ("getelementptr nusw i8, ptr %p, i64 %l", ["nusw"]),
        ("getelementptr nuw i8, ptr %p, i64 %l", ["nuw"]),
        ("getelementptr nusw nuw i8, ptr %p, i64 %l", ["nusw", "nuw"]),
        ("trunc nuw i64 %l to i32", ["nuw"]),
        ("trunc nsw i64 %l to i32", ["nsw"]),
        ("shl nuw nsw i32 %i, 1", ["nuw", "nsw"]),
        ("lshr exact i32 %i, 1", ["exact"]),
        ("udiv i32 %i, 3", []),
        ("or disjoint i32 %i, 1", ["disjoint"]),
        ("or i32 %i, 1", []),
        ("zext nneg i32 %i to i64", ["nneg"]),
        ("uitofp nneg i32 %i to float", ["nneg"]),
        ("sext i32 %i to i64", []),
        ("icmp samesign ult i32 %i, 3", ["samesign"]),
        ("load volatile i32, ptr %p", ["volatile"]),
        ("load atomic volatile i32, ptr %p acquire, align 4", ["volatile"]),
        ("atomicrmw volatile add ptr %p, i32 1 monotonic", ["volatile"]),
        ("cmpxchg volatile ptr %p, i32 1, i32 2 acquire acquire", ["volatile"]),
    ],
)
def test_flags_of_other_instructions(text: str, words: list[str]) -> None:
    assert flags(f"%r = {text}") == words


def test_a_volatile_copy_is_a_call_without_flags() -> None:
    text = "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 %l, i1 true)"
    assert flags(text) == []
    assert flags("store volatile i32 %i, ptr %p") == ["volatile"]


@pytest.mark.parametrize(
    ("text", "ordering"),
    [
        ("%r = load i32, ptr %p", ""),
        ("%r = load atomic i32, ptr %p unordered, align 4", "unordered"),
        ("store atomic i32 %i, ptr %p release, align 4", "release"),
        ("store i32 %i, ptr %p", ""),
        ("fence acq_rel", "acq_rel"),
        ("%r = atomicrmw add ptr %p, i32 1 seq_cst", "seq_cst"),
        ("%r = cmpxchg ptr %p, i32 1, i32 2 acq_rel monotonic", "acq_rel"),
        ("%r = add i32 %i, 1", ""),
    ],
)
def test_ordering(text: str, ordering: str) -> None:
    module = Module(f"define void @f(i32 %i, ptr %p) {{\n  {text}\n  ret void\n}}\n".encode())
    assert function(module, "f").instructions[0].ordering == ordering
