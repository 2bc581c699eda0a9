# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a library that has started this interpreter gets of Python's functions."""

from __future__ import annotations

import ctypes
import os
import re
import warnings
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, c_bool, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import pytest

from passpilot.plugin import embedded
from passpilot.plugin.embedded import TEXT, Teller, fill, load, told_warnings
from passpilot.plugin.errors import InputError

Message = tuple[int, bytes, bytes, bytes, int, int]


class Library:
    """A struct of functions, and the messages that come with its calls."""

    def __init__(self) -> None:
        self.told: list[Message] = []
        self._struct = (c_void_p * 4)()

    def tell(self, address: int, kind: bytes, text: bytes, length: int, *place: Any) -> None:
        assert len(text) == length
        self.told.append((address, kind, text, *place))

    def call(self, function: Callable[..., object], result: Any, types: tuple[Any, ...], *given: Any) -> Any:
        """Call a function through the second pointer of the struct."""
        functions = ((lambda _: None, None, ()), (function, result, types))
        fill(ctypes.addressof(self._struct), self.tell, functions)
        pointers = list(self._struct)
        assert None not in pointers[:2]
        assert pointers[2:] == [None, None]
        return CFUNCTYPE(result, c_void_p, *types)(pointers[1])(77, *given)


@pytest.fixture
def library() -> Iterator[Library]:
    kept = len(embedded._KEPT)
    yield Library()
    del embedded._KEPT[kept:]


def test_arguments_and_results(library: Library) -> None:
    def add(tell: Teller, text: bytes, number: int, negative: bool) -> int:
        tell("sum", "1", ("a\udcff.py", 3, 7))
        tell("none", "")
        return (-number if negative else number) + len(text)

    assert library.call(add, c_size_t, (TEXT, c_size_t, c_bool), b"abc", 40, False) == 43
    assert library.told == [(77, b"sum", b"1", b"a\xff.py", 3, 7), (77, b"none", b"", b"", 0, 0)]


@pytest.mark.parametrize(
    ("text", "data"),
    [("é", "é".encode()), ("a\udcffb", b"a\xffb"), ("a\ud800b", rb"a\ud800b")],
    ids=["text", "bytes", "surrogate"],
)
def test_any_text_becomes_bytes(library: Library, text: str, data: bytes) -> None:
    library.call(lambda tell: tell("word", text), None, ())
    assert library.told == [(77, b"word", data, b"", 0, 0)]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("two\nlines  of\ttext"), b"two lines of text"),
        (ValueError("two\nlines"), b"ValueError: two lines"),
        (KeyboardInterrupt(), b"KeyboardInterrupt"),
        (SystemExit(3), b"SystemExit: 3"),
    ],
)
@pytest.mark.parametrize("traced", [True, False])
def test_an_exception_is_a_text_and_a_zero(
    library: Library,
    error: BaseException,
    text: bytes,
    traced: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PASSPILOT_TRACEBACK", "1" if traced else "")

    def fail(_: Teller) -> int:
        raise error

    assert library.call(fail, c_size_t, ()) == 0
    [told] = library.told
    assert told[:2] == (77, b"error")
    place = b"" if isinstance(error, InputError) else rb" \(\S+\.py:\d+\)"
    assert re.fullmatch(re.escape(text) + place, told[2])
    assert ("in fail" in capsys.readouterr().err) is traced


def test_each_warning_is_told_also_before_an_error(library: Library) -> None:
    def warn(tell: Teller) -> None:
        with told_warnings(tell):
            for _ in range(2):
                warnings.warn("look", DeprecationWarning, stacklevel=1)
            raise InputError("enough")

    library.call(warn, None, ())
    assert [row[1:3] for row in library.told] == [*[(b"warning", b"look")] * 2, (b"error", b"enough")]


def test_files_are_separated_as_in_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "FILES", files := list[str]())
    names = [str(tmp_path / name) for name in ("a.py", os.fsdecode(b"\xff.py"))]
    for name in names:
        Path(name).touch()
    load(os.fsencode(os.pathsep.join(names)))
    assert files == names
    with pytest.raises(InputError, match="absent"):
        load(os.fsencode(f"{tmp_path}/absent.py"))
    assert files == names
