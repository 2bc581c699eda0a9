# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and their parts, and how their diagnostics are shown."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.mlir.diagnostics import Diagnostic, diagnosed
from passpilot.plugin.mlir.place import place_of, symbol_around
from passpilot.plugin.mlir.source import BYTECODE, Source, read_sources

TEXT = b"module {\n  call no\n}"


def at(line: int, column: int, file: str = "in.mlir", notes: tuple[Diagnostic, ...] = ()) -> Diagnostic:
    return Diagnostic("error", file, line, column, "no luck", notes)


@pytest.mark.parametrize(
    ("diagnostic", "shown"),
    [
        (at(2, 3), "in.mlir:2:3: error: no luck\n  call no\n  ^\n"),
        (at(1, 9), "in.mlir:1:9: error: no luck\nmodule {\n        ^\n"),
        (at(1, 10), "in.mlir:1:10: error: no luck\n"),
        (at(2, 0), "in.mlir:2:0: error: no luck\n"),
        (at(3, 2), "in.mlir:3:2: error: no luck\n}\n ^\n"),
        (at(4, 1), "in.mlir:4:1: error: no luck\n"),
        (at(0, 0), "<unknown>:0: error: no luck\n"),
        (at(2, 3, "-"), "in.mlir:2:3: error: no luck\n  call no\n  ^\n"),
        (at(2, 3, "other.mlir"), "other.mlir:2:3: error: no luck\n"),
        (
            at(1, 1, notes=(Diagnostic("note", "in.mlir", 3, 1, "here"),)),
            "in.mlir:1:1: error: no luck\nmodule {\n^\nin.mlir:3:1: note: here\n}\n^\n",
        ),
    ],
)
def test_a_diagnostic_has_its_line_and_a_caret(diagnostic: Diagnostic, shown: str) -> None:
    assert Source("in.mlir", TEXT, whole=True).shown(diagnostic) == shown


def test_names_of_what_is_no_file() -> None:
    assert Source("-", TEXT, whole=False).shown(at(2, 3, "-")).startswith("<stdin>:2:3: error: ")
    assert Source("-", TEXT, whole=False).place(at(0, 0, "-")) == "<unknown>:0"
    code = Source("in.mlir", BYTECODE + b"\n\n", whole=True)
    assert (code.lines(), code.shown(at(1, 1))) == ([], "in.mlir:1:1: error: no luck\n")


def test_parts_keep_the_lines_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "in.mlir"
    path.write_bytes(b"a\n// ----- not\n// -----  \nb\nc\n// -----\n\n")
    parts = read_sources(str(path), split=True)
    assert [part.data for part in parts] == [b"a\n// ----- not", b"\n\n\nb\nc", b"\n" * 7]
    assert [part.whole for part in parts] == [False] * 3
    assert {part.path for part in parts} == {str(path)}
    (whole,) = read_sources(str(path), split=False)
    assert (whole.data, whole.whole) == (path.read_bytes(), True)


def test_standard_input_is_no_file_that_mlir_can_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(TEXT)))
    (source,) = read_sources("-", split=False)
    assert (source.name, source.data, source.whole) == ("<stdin>", TEXT, False)


def test_the_first_error_is_told_and_all_are_passed_on() -> None:
    mlir, told = bindings(), list[str]()
    text = b"func.func @f() -> i32 {\n  return\n}\nfunc.func @g() -> i32 {\n  return\n}"
    context = mlir.ir.Context()
    context.enable_multithreading(False)
    with pytest.raises(InputError, match=r"^in.mlir: expected a module of MLIR, got: .* \(in.mlir:2:3\)$"):
        Source("in.mlir", text, whole=False).parse(mlir, context, lambda each: told.append(each.place))
    assert told == ["-:2:3", "-:5:3"]


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ('loc("in.mlir":3:7)', ("in.mlir", 3, 7)),
        (r'loc("a\22b\\c\0A.mlir":12:1)', ('a"b\\c\n.mlir', 12, 1)),
        ('loc(fused<"tag">["a.mlir":1:2, "b.mlir":3:4])', ("a.mlir", 1, 2)),
        ('loc("name"("a.mlir":1:2))', ("a.mlir", 1, 2)),
        (r'loc("\FF.mlir":1:2)', ("\udcff.mlir", 1, 2)),
        ("loc(unknown)", ("", 0, 0)),
    ],
)
def test_the_place_in_a_location(location: str, place: tuple[str, int, int]) -> None:
    assert place_of(location) == place


def test_the_symbol_is_the_innermost_one() -> None:
    ir = bindings().ir
    text = "module @outer { func.func @f() { %c = arith.constant 1 : i32 return } }"
    module = ir.Module.parse(text, ir.Context())
    function = module.body.operations[0].operation
    first = function.regions[0].blocks[0].operations[0].operation
    assert [symbol_around(each) for each in (first, function, module.operation)] == ["f", "f", "outer"]
    assert symbol_around(ir.Module.parse("module {}", ir.Context()).operation) == ""


@pytest.mark.parametrize("stops", [True, False])
def test_the_first_exception_of_a_listener_is_raised_at_the_end(stops: bool) -> None:
    ir = bindings().ir
    context, seen = ir.Context(), list[str]()

    def tell(diagnostic: Diagnostic) -> bool:
        seen.append(diagnostic.message)
        if not stops:
            raise KeyError(diagnostic.message)
        return True

    def emit() -> None:
        with diagnosed(context, tell):
            for word in ("one", "two"):
                ir.Location.file("in.mlir", 1, 2, context).emit_error(word)
            seen.append("end")

    if stops:
        emit()
    else:
        with pytest.raises(KeyError, match="one"):
            emit()
    assert seen == ["one", "two", "end"]
