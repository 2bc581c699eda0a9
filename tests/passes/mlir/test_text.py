# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The grammar of pipelines: what MLIR takes we take, what it refuses we refuse, at the same place."""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.passes.mlir.pipeline import Pipeline
from passpilot.passes.mlir.text import DEEPEST, parse
from passpilot.plugin.errors import PipelineError
from passpilot.plugin.mlir.bindings import bindings
from tests.passes.mlir.passes import parsed

GOOD: Final = (
    "builtin.module()",
    "builtin.module(cse)",
    " builtin.module( cse , func.func( cse ) ) ",
    "builtin.module(cse\n,\tcse)",
    "any(cse,any(cse))",
    "func.func(canonicalize{max-iterations=3 top-down=false})",
    "builtin.module(func.func(canonicalize{max-iterations=3},cse),inline,symbol-dce)",
    "builtin.module(inline{default-pipeline=canonicalize op-pipelines=func.func(cse{},canonicalize)})",
    "builtin.module(inline{default-pipeline=canonicalize{max-iterations=2}},canonicalize{})",
    "no.such.operation(cse)",
    "builtin.module(func.func(func.func(cse)))",
)

BAD: Final = {
    "builtin.module(cse,)": 20,
    "builtin.module(,cse)": 16,
    "builtin.module(cse,,cse)": 20,
    "builtin.module(cse cse)": 16,
    "builtin.module(cse{)": 19,
    "builtin.module(inline{a={b})": 22,
    "builtin.module(func.func())": 26,
    "builtin.module(func.func(cse)inline)": 30,
    "builtin.module(no-such-pass)": 16,
    "builtin.module(func.func(cse,no-such-pass))": 30,
    "builtin.module(canonicalize{ max-iterations=3 }{x})": 48,
    "builtin.module(inline{max-iterations=2}x)": 40,
}
"""Texts with something wrong inside the outermost pipeline, and the column."""

UNWRAPPED: Final = {
    "": 1,
    " ": 2,
    "cse": 1,
    "builtin.module": 1,
    "builtin.module(": 16,
    "builtin.module(cse": 1,
    "builtin.module(cse)x": 20,
    "builtin.module(cse),": 21,
    "(cse)": 1,
}
"""Texts in which MLIR misses the outermost pipeline, and tells no place, and the column that we tell."""

OPTIONS: Final = {
    "cse{a=1}": "no such option a",
    "canonicalize{max-iterations=x}": "for the --max-iterations option: 'x' value invalid for long argument!",
    "inline{op-pipelines=func.func(cse),func.func(no-such)}": "'no-such' does not refer to a registered pass",
    "affine-loop-tile": "Can't add pass 'AffineLoopTiling' restricted to 'func.func'",
}
"""Elements that the parser of pipelines takes and their passes do not, and what MLIR tells of them."""


def theirs(text: str) -> str:
    """What MLIR prints of a pipeline that it has parsed."""
    made = bindings().passmanager.PassManager.parse(text, bindings().ir.Context())
    return str(made).strip()


def ours(text: str) -> Pipeline:
    return Pipeline(text, bindings().ir.Context())


@pytest.mark.parametrize("text", GOOD)
def test_what_mlir_takes(text: str) -> None:
    made = ours(text)
    assert str(made) == theirs(text)
    assert str(ours(str(made))) == str(made)


@pytest.mark.parametrize(("text", "column"), BAD.items())
def test_what_mlir_refuses_at_a_place(text: str, column: int) -> None:
    with pytest.raises(ValueError, match="error") as refused:
        theirs(text)
    place = re.search(r"Parser:1:(\d+): error", str(refused.value))
    assert place, refused.value
    assert int(place[1]) + len("builtin.module(") == column  # theirs is a place in what is inside
    with pytest.raises(PipelineError, match=f"^--pass-pipeline at column {column}: ") as caught:
        ours(text)
    shown, marks = caught.value.excerpt.splitlines()
    assert shown == text
    assert marks.index("^") + 1 == column


@pytest.mark.parametrize(("text", "column"), UNWRAPPED.items())
def test_what_mlir_misses_an_operation_around(text: str, column: int) -> None:
    with pytest.raises(ValueError, match="expected pass pipeline to be wrapped with the anchor operation"):
        theirs(text)
    with pytest.raises(PipelineError, match=f"^--pass-pipeline at column {column}: expected "):
        ours(text)


@pytest.mark.parametrize(("element", "told"), OPTIONS.items())
def test_what_a_native_pass_refuses(element: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PipelineError) as caught:
        ours(f"builtin.module(cse,{element})")
    name = element.partition("{")[0]
    start = f"--pass-pipeline at column 20: pass {name}: expected what MLIR takes, got: {told}"
    assert str(caught.value).startswith(start)
    assert "\n" not in str(caught.value)
    assert caught.value.excerpt.endswith(f"\n{' ' * 19}{'^' * len(element)}")
    assert capfd.readouterr() == ("", "")


def test_depth_is_limited_and_no_trouble_before() -> None:
    deep = ours("any(" * DEEPEST + "cse" + ")" * DEEPEST)
    deep.run(parsed().operation)
    for depth in (DEEPEST + 1, 100_000):
        with pytest.raises(PipelineError, match=f"expected at most {DEEPEST} pipelines inside each other"):
            ours("any(" * depth + "cse" + ")" * depth)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("builtin.module(\udcff)", "column 16: pass \udcff: expected a pass of MLIR's or one in Python"),
        (
            "builtin.module(cse{\ud800=1})",
            "column 16: pass cse: expected what MLIR takes, got: no such",
        ),
        ("\udcff(cse)", "column 1: expected the name of an operation in UTF-8, which MLIR's Python bindings"),
    ],
)
def test_names_that_are_not_utf_8(text: str, told: str) -> None:
    with pytest.raises(PipelineError, match=f"--pass-pipeline at {told}"):
        ours(text)


def test_long_texts_are_shown_in_part() -> None:
    with pytest.raises(PipelineError) as caught:
        ours(f"builtin.module({'cse,' * 1000}cse{{{'x' * 1000}}})")
    assert len(caught.value.excerpt) < 400


@given(
    st.lists(st.sampled_from(["builtin.module", "cse", "a{b=1}", "(", ")", "{", "}", ",", " "]), max_size=12)
)
def test_any_text_is_parsed_or_refused(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        element = parse("text", text)
    except PipelineError as error:
        told = f"{error}\n{error.excerpt}"
        assert re.fullmatch(r"text at column \d+: expected .*\n.*\n *\^+", told)
    else:
        assert str(parse("text", str(element))) == str(element)


def test_a_bracket_too_many() -> None:
    with pytest.raises(
        ValueError, match="1:4: error: encountered extra closing"
    ):  # it takes the last for its own
        theirs("builtin.module(cse))")
    with pytest.raises(
        PipelineError, match=r"at column 20: expected the end of the pipeline, got a '\)' too"
    ):
        ours("builtin.module(cse))")
