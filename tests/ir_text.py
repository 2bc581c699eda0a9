# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes printed LLVM IR apart by lines and brackets, to check what the core says with other eyes than LLVM's.

It reads what LLVM prints, not all that LLVM parses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

NAME: Final = r'("[^"]*"|[-\w.$]+)'
OPENING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
MARKERS: Final = {"tail", "musttail", "notail"}
CALL_WORDS: Final = re.compile(r"\b(?:call|invoke|callbr)\b")


@dataclass
class Instruction:
    """One instruction on one line, however many LLVM prints it on."""

    text: str

    @property
    def opcode(self) -> str:
        words = re.sub(rf"^%{NAME} = ", "", self.text).split()
        return words[1] if words[0] in MARKERS else words[0].rstrip(",")

    @property
    def callee(self) -> str | None:
        """The name of the function that is called directly."""
        if self.opcode not in ("call", "invoke", "callbr"):
            return None
        found = re.search(rf"^[^(]*?@{NAME}\(", self._call())
        return found[1].strip('"') if found else None

    def _call(self) -> str:
        """From the callee's type on; attributes such as ``captures(none)`` of the result cut out."""
        start = CALL_WORDS.search(self.text)
        assert start
        return re.sub(r"\b(?!@)(?<![@%\w.$\"])[a-z_]+\([^()]*\)(?= )", "", self.text[start.end() :])

    @property
    def arguments(self) -> list[str]:
        """The arguments with their types and attributes, as printed."""
        call = self.text[self.text.index(f"@{self.text.split('@', 1)[1]}") :]
        inner = _bracketed(call[call.index("(") :])
        return _split(inner)

    @property
    def after_arguments(self) -> str:
        call = self.text[self.text.index("@") :]
        start = call.index("(")
        return call[start + len(_bracketed(call[start:])) + 2 :]

    @property
    def debug_location(self) -> int | None:
        found = re.search(r"!dbg !(\d+)", self.text)
        return int(found[1]) if found else None

    @property
    def successors(self) -> list[str]:
        return [name.strip('"') for name in re.findall(rf"label %{NAME}", self.text)]


@dataclass
class Block:
    name: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass
class Function:
    """A definition, or a declaration, which has no blocks."""

    head: str
    blocks: list[Block] = field(default_factory=list)

    @property
    def instructions(self) -> list[Instruction]:
        return [each for block in self.blocks for each in block.instructions]

    @property
    def opcode_counts(self) -> dict[str, int]:
        return dict(Counter(each.opcode for each in self.instructions))

    @property
    def linkage(self) -> str:
        words = self.head.split()[1:]
        kinds = {"private", "internal", "available_externally", "linkonce", "weak", "common"}
        kinds |= {"appending", "extern_weak", "linkonce_odr", "weak_odr"}
        return words[0] if words[0] in kinds else "external"

    @property
    def argument_count(self) -> int:
        return len(_split(_bracketed(self._parameters())))

    def _parameters(self) -> str:
        return self.head[self.head.index("(", self.head.index("@")) :]

    @property
    def after_parameters(self) -> str:
        text = self._parameters()
        return text[len(_bracketed(text)) + 2 :]

    @property
    def reachable(self) -> list[Block]:
        """The blocks that control can reach from the first one."""
        by_name = {block.name: block for block in self.blocks}
        found: dict[str, Block] = {}
        todo = [self.blocks[0].name]
        while todo:
            name = todo.pop()
            if name not in found:
                found[name] = by_name[name]
                todo += found[name].instructions[-1].successors
        return list(found.values())


@dataclass
class Module:
    functions: dict[str, Function]
    groups: dict[str, str]
    metadata: dict[int, str]

    def attributes(self, text: str) -> set[str]:
        """The attributes that `text`, of what follows a parameter or argument list, has by its group."""
        found: set[str] = set()
        for number in re.findall(r"#(\d+)", re.sub(r'"[^"]*"', "", text)):
            found |= set(_words(self.groups[number]))
        return found


def parse(text: str) -> Module:
    """The functions, attribute groups and metadata of a printed module."""
    module = Module({}, {}, {})
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(("define ", "declare ")):
            name = re.search(rf"@{NAME}\(", line)
            assert name
            function = module.functions[name[1].strip('"')] = Function(line)
            if line.startswith("define "):
                function.blocks = list(_blocks(lines, function.argument_count))
        elif group := re.match(r"attributes #(\d+) = \{ (.*) \}", line):
            module.groups[group[1]] = group[2]
        elif node := re.match(r"!(\d+) = (.*)", line):
            module.metadata[int(node[1])] = node[2]
    return module


def _blocks(lines: Iterator[str], arguments: int) -> Iterator[Block]:
    block = Block(str(arguments))
    for line in lines:
        if line == "}":
            break
        if label := re.match(rf"{NAME}:", line):
            if block.instructions:
                yield block
            block = Block(label[1].strip('"'))
        elif (line.startswith("    ") and not line.lstrip().startswith("#dbg_")) or line.startswith("  ]"):
            block.instructions[-1].text += f" {line.strip()}"
        elif line.strip() and not line.lstrip().startswith(("#dbg_", ";")):
            block.instructions.append(Instruction(line.strip()))
    yield block


def _bracketed(text: str) -> str:
    """What the bracket that `text` starts with encloses."""
    depth = 0
    quoted = False
    for i, letter in enumerate(text):
        quoted ^= letter == '"'
        depth += (letter == "(") - (letter == ")") if not quoted else 0
        if depth == 0:
            return text[1:i]
    raise AssertionError(text)


def _split(text: str, separator: str = ",") -> list[str]:
    """The parts between the separators that are in no bracket and in no string."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in OPENING) - (letter in OPENING.values())
        if letter == separator and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _words(text: str) -> list[str]:
    return _split(text, " ")
