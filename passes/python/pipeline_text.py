# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds Python passes in pipeline text, creates them with their options, and passes them to the core.

LLVM's grammar splits a text into elements at ``,()``. We handle an element that begins with the name of a
Python pass, with options in braces; the core registers it with LLVM's parser. LLVM handles all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from passpilot.passes.python.element import Pass, make_pass, raise_again, refusal
from passpilot.passes.python.names import is_llvm_name, llvm_names
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, PassError, PipelineError

if TYPE_CHECKING:
    from passpilot.passes.python.registry import PassDefinition

_ELEMENT: Final = re.compile(r"[^,()]+")
_INVALID: Final = re.compile(r"invalid pipeline '(.*)'$", re.DOTALL)
_HEADS: Final = {
    "Module": "module",
    "CGSCC": "cgscc",
    "Function": "function",
    "LoopNest": "loop",
    "Loop": "loop",
}
"""The levels of pipelines by the heads of LLVM's list of passes."""
_UNKNOWN: Final = re.compile(r"unknown (?:\w+ )+'([^'<{]+)([^']*)'")


def bind(pipeline: str, at: Mapping[str, str], behind: str = "") -> _core.Passes | None:
    """The Python passes that the texts name, for the core; None if there are none.

    Args:
        pipeline: the pipeline text.
        at: pipeline texts by LLVM extension point.
        behind: the text of a policy's pipeline behind the level's own.

    Raises:
        PipelineError: an option of a pass is wrong.
        InputError: an extension point is unknown.
        Error: a pass of another distribution cannot be used.
    """
    _check_points(at)
    texts = {"-passes": pipeline, **{f"--at {point}": text for point, text in at.items()}, "--policy": behind}
    runs = {}
    for who, text in texts.items():
        for match in _ELEMENT.finditer(text):
            if definition := _find(match[0]):
                runs[match[0]] = (definition, _made(definition, who, text, match))
    return _core_passes(runs) if runs else None


def bind_to(
    passes: _core.Passes, element: str, body: Callable[[Callable[..., object]], Callable[..., object]]
) -> None:
    """Add the Python pass that `element` names, if any, to `passes`; `body` wraps its run().

    Raises:
        PipelineError: an option of the pass is wrong.
        Error: a pass of another distribution cannot be used.
    """
    match = _ELEMENT.fullmatch(element)
    if match and (definition := _find(element)):
        instance = _made(definition, "-passes", element, match)
        passes.add(element, definition.name, definition.level, definition.required, body(instance.run))


def _find(element: str) -> PassDefinition | None:
    """The Python pass that an element names, or None; imports the registry only if needed."""
    name = re.split("[<{]", element, maxsplit=1)[0]
    if is_llvm_name(name):
        return None
    from passpilot.passes.python.registry import LLVM

    return LLVM.find(element.partition("{")[0])


def _core_passes(runs: Mapping[str, tuple[PassDefinition, Pass]]) -> _core.Passes:
    from passpilot.plugin import _core

    passes = _core.Passes()
    for element, (definition, instance) in runs.items():
        passes.add(element, definition.name, definition.level, definition.required, instance.run)
    return passes


def raise_failure(passes: _core.Passes) -> None:
    """Raise the failure of a pass, if one ended the compilation.

    Raises:
        PassError: a pass raised, returned a wrong value, or left invalid IR.
        Error: a pass raised an error of passpilot.
    """
    failure = passes.failure
    if failure is None:
        return
    who = f"pass {failure.name} at {failure.unit}"
    if failure.exception is None:
        raise PassError(f"{who}: {failure.text}")
    raise_again(who, failure.exception)


def with_suggestion(error: InputError) -> InputError:
    """The error, with what an unknown pass probably means, its level, or the wrong parenthesis."""
    text = str(error)
    if type(error) is not InputError:
        return error
    if invalid := _INVALID.search(text):
        return InputError(f"{text}{_parenthesis(invalid[1])}")
    if "invalid optimization level" in text:
        return InputError(f"{text}; LLVM's are O0, O1, O2, O3, Os and Oz")
    if not (unknown := _UNKNOWN.search(text)):
        return error
    if unknown[2].startswith("<") and not unknown[2].endswith(">"):
        return InputError(f"{text}; the '<' behind {unknown[1]} is not closed")
    if level := _levels().get(unknown[1]):
        write = f"write it in {level}(...), not in another level"
        if level == "module":
            write = "write passes of other levels before it in function(...), cgscc(...) or loop(...)"
        return InputError(f"{text}; {unknown[1]} is a {level} pass: {write}")
    from passpilot.passes.python.registry import LLVM, MLIR
    from passpilot.plugin.failures import did_you_mean

    if unknown[1] in MLIR.names():
        return InputError(f"{text}; {unknown[1]} is a pass of MLIR, which `passpilot mlir-opt` runs")

    known = [*llvm_names(), *LLVM.names()]
    hint = "" if unknown[1] in known else did_you_mean(unknown[1], known)
    own = all(definition.kind.__module__.startswith("passpilot.") for definition in LLVM.known())
    return InputError(f"{text}{'; --load=FILE.py adds passes in Python' * own}{hint}")


def _levels() -> dict[str, str]:
    """The levels of LLVM's passes, as pipelines spell them."""
    found, level = {}, ""
    for line in _core.pass_names().splitlines():
        if line.startswith("  "):
            found[line.strip().partition("<")[0]] = level
        else:
            level = _HEADS.get(line.partition(" passes")[0], "")
    return found


def _parenthesis(text: str) -> str:
    """Where a pipeline's parentheses are wrong."""
    opened: list[int] = []
    for column, letter in enumerate(text, 1):
        if letter == "(":
            opened.append(column)
        elif letter == ")" and not opened:
            return f"; the ')' at column {column} closes none"
        elif letter == ")":
            opened.pop()
    return f"; the '(' at column {opened[-1]} is not closed" if opened else ""


def listing() -> str:
    """A list of all Python passes by level, like that of ``opt --print-passes``."""
    from passpilot.passes.python.registry import LLVM

    rows = LLVM.known()
    lines: list[str] = []
    for level in ("module", "cgscc", "function", "loop"):
        if mine := [row for row in rows if row.level == level]:
            title = "CGSCC" if level == "cgscc" else level.capitalize()
            lines.append(f"{title} passes in Python:")
            lines += [f"  {row}  {row.doc}".rstrip() for row in mine]
    return "".join(f"{line}\n" for line in lines)


def _check_points(at: Mapping[str, str]) -> None:
    if not at:
        return
    from passpilot.plugin import _core
    from passpilot.plugin.failures import did_you_mean

    known = [name for name, _ in _core.extension_points()]
    for point in at:
        if point not in known:
            hint = did_you_mean(point, known)
            raise InputError(f"--at {point}: expected a point among {', '.join(known)}, got {point!r}{hint}")


def _made(definition: PassDefinition, who: str, text: str, match: re.Match[str]) -> Pass:
    """Create the pass of an element, with its options."""
    name, brace, rest = match[0].partition("{")
    start = match.start() + len(name) + len(brace)
    refused = partial(_refused, definition, who, text)
    if brace and not rest.endswith("}"):
        message = "expected '}' before any of ',()'; options are separated by spaces"
        raise refused(message, match.end(), match.end() + 1)
    inner = rest.removesuffix("}")
    if brace and (place := re.search("[{}]", inner)):
        message = f"expected options in one pair of braces, got another {place[0]!r}"
        raise refused(message, start + place.start(), start + place.end())
    return make_pass(definition, inner, start, match.span(), refused)


def _refused(
    definition: PassDefinition, who: str, text: str, message: str, start: int, end: int
) -> PipelineError:
    return refusal(f"{who}: pass {definition.name}: {message}", text, start, end)
