# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of LLVM 22 as text that LLVM 20 reads: what it does not know is left out, or said in its words.

Nothing here may change what a program means. An attribute that says less than the one it stands for is right,
and so is none; whatever else the older LLVM does not know stays, and is refused by its parser, by name.
Bitcode would not do: the older reader takes some of it for something else (the bits of ``memory``).

Source: llvm/IR/Attributes.td, llvm/Support/ModRef.h and llvm/IR/Intrinsics.td of both.
"""

from __future__ import annotations

import re
from typing import Final

from passpilot.plugin.module import Module

_UNKNOWN: Final = r"dead_on_return(?:\(\d+\))?|nocreateundeforpoison|sanitize_alloc_token|captures\([^()]*\)"
_WORD: Final = re.compile(
    # No attribute is what is quoted, stands in a comment, or is part of a name.
    rf'"[^"]*"|;[^\n]*|(?<![\w.$%@!#-])(?:(?P<gone>{_UNKNOWN})|memory\((?P<memory>[^()]*)\))(?![\w.$:-])'
)
_DECLARED: Final = re.compile(r"^declare [^\n]*@llvm\.[^\n]*\n", re.MULTILINE)
_EMPTY: Final = re.compile(r"^(attributes #\d+ = \{) +\}", re.MULTILINE)
_LIFETIME: Final = re.compile(
    r"^(  (?:tail )?call void @llvm\.lifetime\.(?:start|end)\.p\d+\()(?=ptr )", re.MULTILINE
)
_MASKED: Final = re.compile(
    r'^  [^"\n]*call [^"\n]*@llvm\.masked\.(?:load|store|gather|scatter)\.[^\n]*', re.MULTILINE
)
_ALIGNED: Final = re.compile(
    r"(?P<before>\w>? (?:[a-z]\w* )*?)align (?P<bytes>\d+) (?P<pointer>[%@][^\s,]+)(?=,)"
)
_ORDER: Final = ("none", "read", "write", "readwrite")
"""The accesses; the place of each is the set of its two bits."""


def assembly(module: Module) -> str:
    """The text of a module for LLVM 20, without its debug information."""
    plain = Module.read(module.bitcode(), name=module.name, verify=False, strip_debug=True)
    return older(str(plain))


def older(text: str) -> str:
    """LLVM assembly as LLVM 20 reads it, if it can say it.

    Intrinsics are left undeclared: the parser declares those that it knows, and names those that it does not.
    """
    text = _WORD.sub(_reworded, _DECLARED.sub("", text))
    text = _EMPTY.sub(r'\1 "no-attributes" }', text)
    text = _MASKED.sub(_aligned, text)
    return _LIFETIME.sub(r"\1i64 -1, ", text)


def _aligned(match: re.Match[str]) -> str:
    """A call of a masked access, with its alignment where LLVM 20 has it: an operand after the pointer."""
    return _ALIGNED.sub(r"\g<before>\g<pointer>, i32 \g<bytes>", match[0], count=1)


def _reworded(match: re.Match[str]) -> str:
    if (effects := match["memory"]) is not None:
        return f"memory({_effects(effects)})"
    if match["gone"] is not None:
        return "nocapture" if match["gone"] == "captures(none)" else ""
    return match[0]


def _effects(text: str) -> str:
    """The effects on memory where errno belongs to all other memory, and what only targets know to the
    inaccessible.
    """
    told = [part.strip().rpartition(": ")[::2] for part in text.split(",")]
    by_place = {place: _ORDER.index(access) for place, access in told}
    rest = by_place.get("", 0)
    others = rest | by_place.get("errnomem", rest)
    inaccessible = [by_place.get(each, rest) for each in ("inaccessiblemem", "target_mem0", "target_mem1")]
    hidden = inaccessible[0] | inaccessible[1] | inaccessible[2]
    argument = by_place.get("argmem", rest)
    return f"{_ORDER[others]}, argmem: {_ORDER[argument]}, inaccessiblemem: {_ORDER[hidden]}"
