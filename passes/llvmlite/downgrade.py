# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes modules of LLVM 22 as text for LLVM 20: drops or rewrites what LLVM 20 does not know.

This must not change the meaning of a program. Weakening or dropping an attribute is safe; other unknown
constructs stay in the text, and LLVM 20's parser refuses them by name. Bitcode is no alternative: LLVM 20
misreads some of LLVM 22's, such as the bits of ``memory``.

Source: llvm/IR/Attributes.td, llvm/Support/ModRef.h and llvm/IR/Intrinsics.td of both versions.
"""

from __future__ import annotations

import re
from typing import Final

from passpilot.plugin.module import Module

_UNKNOWN: Final = r"dead_on_return(?:\(\d+\))?|nocreateundeforpoison|sanitize_alloc_token|captures\([^()]*\)"
_WORD: Final = re.compile(
    # Skips quoted text, comments, and parts of names.
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
"""The accesses; the index has bit 0 for read and bit 1 for write."""


def assembly(module: Module) -> str:
    """The text of a module for LLVM 20, without debug information."""
    plain = Module.read(module.bitcode(), name=module.name, verify=False, strip_debug=True)
    return older(str(plain))


def older(text: str) -> str:
    """Rewrite LLVM assembly for LLVM 20, as far as possible.

    Drops the declarations of intrinsics: the parser adds those that it knows and refuses others by name.
    """
    text = _WORD.sub(_reworded, _DECLARED.sub("", text))
    text = _EMPTY.sub(r'\1 "no-attributes" }', text)
    text = _MASKED.sub(_aligned, text)
    return _LIFETIME.sub(r"\1i64 -1, ", text)


def _aligned(match: re.Match[str]) -> str:
    """A masked memory access with the alignment as an operand after the pointer, as in LLVM 20."""
    return _ALIGNED.sub(r"\g<before>\g<pointer>, i32 \g<bytes>", match[0], count=1)


def _reworded(match: re.Match[str]) -> str:
    if (effects := match["memory"]) is not None:
        return f"memory({_effects(effects)})"
    if match["gone"] is not None:
        return "nocapture" if match["gone"] == "captures(none)" else ""
    return match[0]


def _effects(text: str) -> str:
    """The effects in LLVM 20's locations: errno becomes other memory, target memory becomes inaccessible."""
    parts = [part.strip().rpartition(": ")[::2] for part in text.split(",")]
    by_place = {place: _ORDER.index(access) for place, access in parts}
    rest = by_place.get("", 0)
    others = rest | by_place.get("errnomem", rest)
    inaccessible = [by_place.get(place, rest) for place in ("inaccessiblemem", "target_mem0", "target_mem1")]
    hidden = inaccessible[0] | inaccessible[1] | inaccessible[2]
    argument = by_place.get("argmem", rest)
    return f"{_ORDER[others]}, argmem: {_ORDER[argument]}, inaccessiblemem: {_ORDER[hidden]}"
