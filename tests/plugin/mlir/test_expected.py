# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comments that say which diagnostics there will be."""

from __future__ import annotations

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.diagnostics import Diagnostic
from passpilot.plugin.mlir.expected import ExpectedDiagnostics
from passpilot.plugin.mlir.source import Source


def expected(*lines: str) -> ExpectedDiagnostics:
    return ExpectedDiagnostics(Source("in.mlir", "\n".join(lines).encode(), whole=True))


def met(lines: list[str], *diagnostics: Diagnostic) -> list[str]:
    """What is complained about in the end."""
    expecting = expected(*lines)
    for each in diagnostics:
        expecting.meet(each)
    return [*expecting.complaints, *expecting.missing()]


def at(
    line: int, text: str = "no luck", severity: str = "error", notes: tuple[Diagnostic, ...] = ()
) -> Diagnostic:
    return Diagnostic(severity, "in.mlir", line, 3, text, notes)


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["op // expected-error {{no luck}}"], 1),
        (["// expected-error@+1 {{no luck}}", "op"], 2),
        (["op", "// expected-error @-1 {{luck}}"], 1),
        (["// expected-error @below {{no}}", "// expected-note@+9 {{x}}", "op"], 3),
        (["op", "// expected-note@+9 {{x}}", "// expected-error@above {{no luck}}"], 1),
        (["// expected-error@unknown {{no luck}}"], 0),
        (["op // expected-error-re {{n{{[op]}} l{{.*}}k}}"], 1),
    ],
)
def test_places_and_texts(lines: list[str], line: int) -> None:
    assert not [each for each in met(lines, at(line)) if "expected-note" not in each and '"x"' not in each]
    told = met(lines, at(line + 1))
    assert told[0] == f"in.mlir:{line + 1}:3: error: unexpected error: no luck"
    assert any('expected error "' in each and "was not produced" in each for each in told)


@pytest.mark.parametrize("severity", ["error", "warning", "remark", "note"])
def test_severities(severity: str) -> None:
    lines = [f"op // expected-{severity} {{{{no luck}}}}"]
    assert met(lines, at(1, severity=severity)) == []
    other = "error" if severity != "error" else "warning"
    assert met(lines, at(1, severity=other)) == [
        f"in.mlir:1:3: error: unexpected {other}: no luck",
        f'in.mlir:1: error: expected {severity} "no luck" was not produced',
    ]


def test_each_is_met_once() -> None:
    twice = "in.mlir:1:3: error: unexpected error: no luck"
    assert met(["op // expected-error {{no luck}}"], at(1), at(1)) == [twice]


def test_notes_count_but_those_of_mlir_itself() -> None:
    own = at(1, "see current operation: x", "note")
    assert met(["op // expected-error {{no luck}}"], at(1, notes=(own,))) == []
    mine = at(2, "because", "note")
    assert met(["op // expected-error {{no}}", "// expected-note {{because}}"], at(1, notes=(mine,))) == []
    assert met(["op // expected-error {{no}}"], at(1, notes=(mine,))) == [
        "in.mlir:2:3: error: unexpected note: because"
    ]


def test_special_characters_are_plain_outside_of_expressions() -> None:
    assert met(["op // expected-error {{a.b (c*}}"], at(1, "it is a.b (c*")) == []
    assert met(["op // expected-error {{a.b}}"], at(1, "axb"))
    assert met(["op // expected-error-re {{a.b{{x+}}}}"], at(1, "a.bxx")) == []


def test_a_wrong_expression() -> None:
    with pytest.raises(InputError, match=r"^in.mlir: expected-...-re: expected a regular expression, got "):
        expected("op // expected-error-re {{a{{(}}b}}")
