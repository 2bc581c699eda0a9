# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads response files (@FILE) as clang does.

Source: llvm::cl::ExpansionContext and the tokenizers for GNU and Windows in LLVM's CommandLine.cpp.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

TYPE_CHECKING = False  # type checkers take it as true

BLANKS: Final = " \t\r\n"


def expanded(
    arguments: Sequence[str], directory: str = "", wanted: Callable[[str], bool] = os.path.isfile
) -> list[str]:
    """The arguments with those in the response files, also nested ones, in the place of `@FILE`.

    Paths are relative to `directory`, also those in the files. `@FILE` stays if `wanted` is false for it
    or if the file cannot be read or contains itself: clang takes it as an input, or refuses it.
    """
    windows = False
    for argument in arguments:
        if argument in ("--rsp-quoting=posix", "--rsp-quoting=windows"):
            windows = argument.endswith("windows")
    split = windows_words if windows else gnu_words

    def replaced(words: Iterable[str], within: tuple[str, ...]) -> Iterator[str]:
        for word in words:
            path = os.path.join(directory, word[1:])
            text = _text(path) if word.startswith("@") and path not in within and wanted(path) else None
            if text is None:
                yield word.partition("\0")[0]
            else:
                yield from replaced(split(text), (*within, path))

    return list(replaced(arguments, ()))


def configured(words: Sequence[str], directory: str) -> list[str]:
    """The arguments with those of files that `--config=FILE` names, which clang reads before all others.

    Words that begin with `$` are for links, and stand behind all others. The name of a file in clang's own
    folders stays.
    """
    first, rest, last = list[str](), list[str](), list[str]()
    for word in words:
        path = os.path.join(directory, word.removeprefix("--config="))
        text = _text(path) if word.startswith("--config=") else None
        if text is None:
            rest.append(word)
            continue
        lines = [line for line in text.replace("\\\n", " ").splitlines() if not line.lstrip().startswith("#")]
        here = os.path.dirname(path)
        for given in expanded(gnu_words("\n".join(lines).replace("<CFGDIR>", here)), here):
            (last if given.startswith("$") else first).append(given.removeprefix("$"))
    return [*first, *rest, *last]


def _text(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError):
        return None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def gnu_words(text: str) -> list[str]:
    """The words of a text: quotes join, and a backslash takes the next character as it is, also in quotes."""
    words, word, quote = [], "", ""
    characters = iter(text)
    for character in characters:
        if character == "\\":
            word += next(characters, character)
        elif character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        elif quote or character not in BLANKS:
            word += character
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


def windows_words(text: str) -> list[str]:
    """The words of a text in the way of Windows: backslashes are special before a double quote alone."""
    words: list[str] = []
    word: str | None = None  # none between words; a word may be empty
    quoted, place = False, 0
    while place < len(text):
        begin = place
        while text[place : place + 1] == "\\":
            place += 1
        slashes, character = place - begin, text[place : place + 1]
        place += 1
        if character == '"':
            word = (word or "") + "\\" * (slashes // 2)
            if slashes % 2:
                word += '"'
            elif quoted and text[place : place + 1] == '"':
                word += '"'
                place += 1
            else:
                quoted = not quoted
            continue
        if slashes:
            word = (word or "") + "\\" * slashes
        if character and (quoted or character not in f"{BLANKS}\0"):
            word = (word or "") + character
        elif word is not None:
            words.append(word)
            word = None
    return words if word is None else [*words, word]
