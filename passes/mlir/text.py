# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`parse`: parses the text of an MLIR pipeline as MLIR does.

    pipeline ::= operation "(" [elements] ")"
    elements ::= element ("," element)*
    element  ::= operation "(" elements ")" | pass ["{" options "}"]

An operation is ``any`` or a name such as ``func.func``. Options may contain paired braces, and thus whole
pipelines. Spaces may surround every word. Source: parsePipelineText in mlir/lib/Pass/PassRegistry.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from passpilot.passes.python.element import refusal
from passpilot.plugin.errors import PipelineError

DEEPEST: Final = 100
"""The most pipelines that may be nested."""

_WORD: Final = re.compile(r"[^,(){}]*")
_BRACE: Final = re.compile(r"[{}]")
_SPACE: Final = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Element:
    """A pass with its options, or a nested pipeline with its elements.

    `start` is the offset of the name in the text, `options_start` that of the options.
    """

    name: str
    start: int
    options: str | None = None
    options_start: int = 0
    inner: tuple[Element, ...] | None = None

    def __str__(self) -> str:
        if self.inner is not None:
            return f"{self.name}({','.join(map(str, self.inner))})"
        return self.name if self.options is None else f"{self.name}{{{self.options}}}"


def parse(who: str, text: str) -> Element:
    """Parse the text of a pipeline.

    Raises:
        PipelineError: the text is not a pipeline; names `who` and shows the place.
    """
    elements = _PipelineParser(who, text).elements()
    if len(elements) != 1 or elements[0].inner is None:
        message = "expected a pipeline with the operation it runs on around it, such as 'builtin.module(...)'"
        start = elements[-1].start if len(elements) > 1 else 0
        raise refused(who, text, message, start, len(text))
    return elements[0]


def refused(who: str, text: str, message: str, start: int, end: int) -> PipelineError:
    """The error that names the column and underlines the text from `start` to `end`."""
    return refusal(f"{who} at column {start + 1}: {message}", text, start, end)


class _PipelineParser:
    def __init__(self, who: str, text: str) -> None:
        self._who, self._text, self._at = who, text, 0

    def elements(self) -> Sequence[Element]:
        """Parse the whole text; uses a stack, since deep nesting would exceed Python's recursion limit."""
        open_: list[tuple[str, int]] = []
        lists: list[list[Element]] = [[]]
        while True:
            name, start = self._word()
            if self._take("("):
                self._check_depth(len(open_) + 1)
                open_.append((self._named(name, start), start))
                lists.append([])
                if len(open_) > 1 or not self._peek(")"):
                    continue
            else:
                lists[-1].append(self._pass(self._named(name, start), start))
            while self._take(")"):
                if not open_:
                    raise self._refused("expected the end of the pipeline, got a ')' too many", self._at - 1)
                inner = tuple(lists.pop())
                lists[-1].append(Element(*open_.pop(), inner=inner))
            if self._at == len(self._text):
                break
            if not self._take(","):
                raise self._refused(f"expected ',' or ')', got {self._text[self._at]!r}", self._at)
        if open_:
            name, start = open_[-1]
            raise self._refused(f"expected ')' for the '(' of {name}, got the end", start)
        return lists[0]

    def _check_depth(self, depth: int) -> None:
        if depth > DEEPEST:
            raise self._refused(
                f"expected at most {DEEPEST} pipelines inside each other, got more", self._at - 1
            )

    def _pass(self, name: str, start: int) -> Element:
        if not self._peek("{"):
            return Element(name, start)
        first = self._at + 1
        depth = 0
        for brace in _BRACE.finditer(self._text, self._at):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                self._at = _end(_SPACE, self._text, brace.end())
                return Element(name, start, self._text[first : brace.start()], first)
        raise self._refused(f"expected '}}' after the options of {name}, got the end", first - 1)

    def _word(self) -> tuple[str, int]:
        """The next word, possibly empty, and its offset."""
        start = _end(_SPACE, self._text, self._at)
        self._at = _end(_WORD, self._text, start)
        return self._text[start : self._at].rstrip(), start

    def _named(self, name: str, start: int) -> str:
        if not name:
            got = repr(self._text[start]) if start < len(self._text) else "the end"
            raise self._refused(f"expected the name of a pass or an operation, got {got}", start)
        return name

    def _peek(self, mark: str) -> bool:
        return self._text.startswith(mark, _end(_SPACE, self._text, self._at))

    def _take(self, mark: str) -> bool:
        if not self._peek(mark):
            return False
        self._at = _end(_SPACE, self._text, _end(_SPACE, self._text, self._at) + 1)
        return True

    def _refused(self, message: str, start: int) -> PipelineError:
        return refused(self._who, self._text, message, start, start + 1)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start
