# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutations of product code: small mistakes, one at a time, that tests should notice.

Mistakes in Python are made by Cosmic Ray's operators, mistakes in C++ by replacing one token. Only lines in
the bodies of functions count. A seed puts all lines into an order that depends on their text but not on the
lines around them, so that a change elsewhere does not change the sample.
"""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from bench.lib import ROOT

PYTHON_ROOMS: Final = ("cli", "features", "passes", "plugin", "runners", "training")
NATIVE: Final = "plugin/native"
OPERATORS: Final = re.compile(
    "AddNot|Replace(True|False|And|Or|Break|Continue)With.*|NumberReplacer|ZeroIterationForLoop"
    "|ReplaceUnaryOperator_Delete_.*|ExceptionReplacer"
    "|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_(LtE|Gt)|LtE_(Lt|GtE)|Gt_(GtE|Lt)|GtE_(Gt|LtE)|Is_IsNot|IsNot_Is)"
    "|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_FloorDiv|Div_Mul|FloorDiv_Mul|Mod_FloorDiv|LShift_RShift|RShift_LShift"
    "|BitOr_BitAnd|BitAnd_BitOr)"
)
"""Those of Cosmic Ray's operators that make a mistake as a person makes it."""

TOKENS: Final = {
    r" == ": " != ", r" != ": " == ", r" < ": " <= ", r" <= ": " < ", r" > ": " >= ", r" >= ": " > ",
    r" && ": " || ", r" \|\| ": " && ", r" \+ ": " - ", r" - ": " + ", r" \* ": " / ",
    r"(?<![\w&|])!(?=[\w(])": "",
    r"\btrue\b": "false", r"\bfalse\b": "true", r"\bcontinue;": "break;", r"\bbreak;": "continue;",
    r" \+= ": " -= ", r"(?<=return )(?=[\w(*][^;{]*[=<>|&!][^;]*;$)": "!", r"(?<=if \()(?=.*\)( \{)?$)": "!",
}  # fmt: skip
"""What is put in the place of a token of C++."""

NO_CODE: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one mistake."""

    file: str
    line: int
    before: str
    after: str
    key: str
    """Names it in the record, as long as its line and the operator are there."""
    place: int
    """What makes it: the occurrence of an operator in the file, or an offset."""
    operator: str

    def text(self) -> str:
        text = (ROOT / self.file).read_text()
        if self.file.endswith(".py"):
            from cosmic_ray.mutating import mutate_code
            from cosmic_ray.plugins import get_operator

            return str(mutate_code(text, get_operator(self.operator)(), self.place))
        return _replaced(text, self.place, self.operator)


def files(kind: str) -> list[str]:
    under = PYTHON_ROOMS if kind == "python" else (NATIVE,)
    listed = subprocess.check_output(["git", "ls-files", *under], cwd=ROOT, text=True).split()
    ends = ("_pb2.py", "/_core.pyi")
    return [
        file
        for file in listed
        if file.endswith(".py" if kind == "python" else ".cpp") and not file.endswith(ends)
    ]


def ordered(kind: str, seed: int) -> Iterator[Mutant]:
    """One mutant of every line that has any, in the order of the seed."""
    lines: list[tuple[str, str, int, list[tuple[int, str]]]] = []
    for file in files(kind):
        text = (ROOT / file).read_text()
        found: dict[int, list[tuple[int, str]]] = {}
        for line, place, operator in _python(text) if kind == "python" else _native(text):
            found.setdefault(line, []).append((place, operator))
        seen: Counter[str] = Counter()
        for number, code in enumerate(text.splitlines(), 1):
            if number in found:
                rank = _rank(seed, file, code.strip(), seen[code.strip()])
                lines.append((rank, file, number, found[number]))
            seen[code.strip()] += 1
    for rank, file, number, choices in sorted(lines):
        place, operator = sorted(choices, key=lambda choice: choice[1])[int(rank, 16) % len(choices)]
        draft = Mutant(file, number, "", "", rank, place, operator)
        new = draft.text()
        before, after = (ROOT / file).read_text().splitlines(), new.splitlines()
        if before != after and (kind == "native" or _is_python(new)):
            yield replace(draft, before=before[number - 1].strip(), after=_changed(before, after, number))


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _rank(seed: int, *parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, (seed, *parts))).encode()).hexdigest()[:12]


def _changed(before: list[str], after: list[str], number: int) -> str:
    """The line that has changed; a mutation may be within a statement that goes on."""
    if len(before) != len(after):
        return after[number - 1].strip()
    return next(new.strip() for old, new in zip(before, after, strict=True) if old != new)


def _python(text: str) -> Iterator[tuple[int, int, str]]:
    """The line, the occurrence and the operator of everything that can be mutated in Python."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    bodies, types = _bodies(ast.parse(text))
    nodes = list(ast_nodes(get_ast(text)))
    for name in operator_names():
        if not OPERATORS.fullmatch(name.removeprefix("core/")):
            continue
        operator = get_operator(name)()
        positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, (line, column) in enumerate(positions):
            if line in bodies and not any(first <= (line, column) < last for first, last in types):
                yield line, occurrence, name


def _bodies(tree: ast.Module) -> tuple[set[int], list[tuple[tuple[int, int], tuple[int, int]]]]:
    """The lines of functions' bodies without signatures, and the places of types."""
    lines: set[int] = set()
    types = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
        kinds = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast":
            kinds.append(node.args[0])
        types += [
            ((kind.lineno, kind.col_offset), (kind.end_lineno or 0, kind.end_col_offset or 0))
            for kind in kinds
            if isinstance(kind, ast.expr)
        ]
    return lines, types


def _native(text: str) -> Iterator[tuple[int, int, str]]:
    """The line, the offset and the pattern of everything that can be mutated in C++."""
    code = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    at = 0
    for number, line in enumerate(code.splitlines(keepends=True), 1):
        is_code = line.startswith("  ") and not re.match(
            r"\s*(using|static_assert|constexpr|template|:)\b", line
        )
        for pattern in TOKENS if is_code else ():
            for match in re.finditer(pattern, line.rstrip("\n")):
                yield number, at + match.start(), pattern
        at += len(line)


def _replaced(text: str, at: int, pattern: str) -> str:
    end = text.find("\n", at)
    start = text.rfind("\n", 0, at) + 1
    match = re.compile(pattern).search(text[start:end], at - start)
    assert match is not None, "the file has changed"
    return text[: start + match.start()] + TOKENS[pattern] + text[start + match.end() :]
