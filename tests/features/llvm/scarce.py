# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in which registers are scarce, so that the allocator evicts, splits, spills and recolours."""

from __future__ import annotations

import random

I386 = "i686-unknown-linux-gnu"
AMDGCN = "amdgcn-amd-amdhsa"


class _Body:
    """The lines of a function, and the values that it has until now, with the widths of their vectors."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.values: list[tuple[int, str]] = []
        self.names = 0

    def add(self, text: str) -> str:
        self.names += 1
        self.lines.append(f"  %v{self.names} = {text}")
        return f"%v{self.names}"

    def assembly(self, outs: list[tuple[str, str]], arguments: list[tuple[str, str]]) -> list[str]:
        """The results of inline assembly: (type, constraint) of them, (text, constraint) of its arguments."""
        early = self.random.choice(["=&", "="])
        constraints = [early + each for _, each in outs] + [each for _, each in arguments]
        types = [kind for kind, _ in outs]
        kind = types[0] if len(types) == 1 else "{" + ", ".join(types) + "}"
        texts = ", ".join(text for text, _ in arguments)
        result = self.add(f'call {kind} asm sideeffect "", "{",".join(constraints)}"({texts})')
        if len(types) == 1:
            return [result]
        return [self.add(f"extractvalue {kind} {result}, {number}") for number in range(len(types))]


def assembly_for_i386(seed: int, blocks: int = 12) -> bytes:
    """Inline assembly that wants bytes of eax to edx beside any register, between values that live long."""
    body = _Body(seed)
    pick = body.random
    classes = [("i32", "r"), ("i8", "q"), ("i16", "r"), ("i32", "q"), ("i8", "Q")]
    for number in range(6):
        body.values.append((1, body.add(f"load volatile i32, ptr getelementptr (i32, ptr @g, i32 {number})")))
    for block in range(1, blocks):
        if pick.random() < 0.5:
            value = pick.choice(body.values)[1]
            body.lines += [f"  br i1 %c, label %b{block}, label %x{block}", f"x{block}:"]
            body.lines += [f"  call void @use(i32 {value})", f"  br label %b{block}", f"b{block}:"]
        outs = pick.choices(classes, k=pick.randint(1, 2))
        arguments = []
        for kind, constraint in pick.choices(classes[:4], k=pick.randint(0, 5 - len(outs))):
            value = pick.choice(body.values)[1]
            text = value if kind == "i32" else body.add(f"trunc i32 {value} to {kind}")
            arguments.append((f"{kind} {text}", constraint))
        for (kind, _), name in zip(outs, body.assembly(outs, arguments), strict=True):
            body.values.append((1, name if kind == "i32" else body.add(f"zext {kind} {name} to i32")))
    for number, (_, value) in enumerate(body.values):
        body.lines.append(f"  store volatile i32 {value}, ptr getelementptr (i32, ptr @g, i32 {number})")
    head = [f'target triple = "{I386}"', "@g = global [99 x i32] zeroinitializer", "declare void @use(i32)"]
    return "\n".join([*head, "define void @f(i1 %c) {", *body.lines, "  ret void", "}"]).encode()


def assembly_for_amdgcn(seed: int, blocks: int = 14) -> bytes:
    """Tuples of one to eight vector registers, of which there are few: they fit only if others move."""
    body = _Body(seed)
    pick = body.random
    registers = 12 + seed % 14

    def kind(width: int) -> str:
        return "i32" if width == 1 else f"<{width} x i32>"

    for _ in range(blocks):
        outs = [pick.choice([1, 2, 3, 4, 5, 6, 8]) for _ in range(pick.randint(1, 2))]
        arguments = [pick.choice(body.values) for _ in range(pick.randint(0, 2)) if body.values]
        while arguments and sum(outs) + sum(width for width, _ in arguments) > registers - 6:
            arguments.pop()
        texts = [(f"{kind(width)} {value}", "v") for width, value in arguments]
        names = body.assembly([(kind(width), "v") for width in outs], texts)
        body.values += zip(outs, names, strict=True)
    for width, value in body.values[-8:]:
        body.lines.append(f'  call void asm sideeffect "", "v"({kind(width)} {value})')
    limits = f'"amdgpu-num-vgpr"="{registers}" "amdgpu-num-sgpr"="40" "target-cpu"="gfx900"'
    head = [f'target triple = "{AMDGCN}"', f"attributes #0 = {{ {limits} }}"]
    return "\n".join([*head, "define amdgpu_kernel void @f() #0 {", *body.lines, "  ret void", "}"]).encode()


def long_function(groups: int = 320) -> bytes:
    """Blocks in a row, each with twenty values of its own, and a few values that live throughout."""
    body = _Body(1)
    far = [body.add(f"load volatile i64, ptr {body.add(_at(n))}") for n in range(6)]
    for group in range(groups):
        body.lines += [f"  br i1 %c, label %b{group}, label %end", f"b{group}:"]
        mine = [body.add(f"load volatile i64, ptr {body.add(_at(n))}") for n in range(16)]
        total = far[group % 6]
        for number, value in enumerate(mine):
            mine[number] = body.add(f"mul i64 {value}, {mine[(number * 7 + 3) % 16]}")
        for value in mine:
            total = body.add(f"xor i64 {total}, {value}")
        body.lines.append(f"  store volatile i64 {total}, ptr %p")
    body.lines += ["  br label %end", "end:"]
    body.lines += [f"  store volatile i64 {value}, ptr %p" for value in far]
    head = ['target triple = "x86_64-unknown-linux-gnu"', "define void @f(ptr %p, i1 %c) {"]
    return "\n".join([*head, *body.lines, "  ret void", "}"]).encode()


def _at(number: int) -> str:
    return f"getelementptr i64, ptr %p, i64 {number}"
