# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says how a build by make compiles all again: by its target `clean`, or by ``make -B``.

make itself could tell, but even ``make -n`` runs what a Makefile has in ``$(shell)`` and behind ``+``. So the
text is searched.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

NAMES: Final = ("GNUmakefile", "makefile", "Makefile")
"""The files that make reads, the first that is there."""

WHERE: Final = {"-C": "-C", "-f": "-f", "--directory": "-C", "--file": "-f", "--makefile": "-f"}
"""Options that say where the Makefile is, and whose value may be the next word."""

MOST: Final = 4 << 20
"""The bytes of a Makefile that are read."""

_CLEAN: Final = re.compile(r"^(?![#\t])(?:[^:=#\n]*\s)?clean(?:\s[^:=#\n]*)?::?(?![:=])", re.MULTILINE)
_INCLUDE: Final = re.compile(r"^[ -]*s?include\s+([^#\n]+)", re.MULTILINE)


def after_cleaning(command: Sequence[str], before: str = "", more: str = "") -> str:
    """The shell command that compiles all of a build by make again.

    Args:
        command: the words of the build.
        before: what stands in front of them, such as ``passpilot build --policy=@oz --``.
        more: what stands behind them.
    """
    line = f"{before}{shlex.join(command)}{more}"
    if any(word == "--always-make" or re.fullmatch(r"-[a-zA-Z]*B[a-zA-Z]*", word) for word in command[1:]):
        return line
    options = list(_about_makefile(command[1:]))
    places = [value for option, value in options if option == "-C"]
    if not _has_clean(os.path.join("", *places), [value for option, value in options if option == "-f"]):
        return f"{before}{shlex.join([command[0], '-B', *command[1:]])}{more}"
    kept = [word for option in options for word in option if word]
    return f"{shlex.join([command[0], *kept, 'clean'])} && {line}"


def _about_makefile(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options that say which Makefile is read, with their values, and the variables behind no option."""
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in WHERE:
            yield WHERE[word], next(rest, "")
        elif name in WHERE:
            yield WHERE[name], value
        elif word[:2] in WHERE:
            yield word[:2], word[2:]
        elif equals and not word.startswith("-"):
            yield "", word


def _has_clean(folder: str, files: Sequence[str]) -> bool:
    """Whether a Makefile, or what it includes by a plain name, has the target."""
    paths = files or [name for name in NAMES if os.path.isfile(os.path.join(folder, name))][:1]
    texts = [_read(os.path.join(folder, path)) for path in paths]
    included = [name for text in texts for names in _INCLUDE.findall(text) for name in names.split()]
    texts += [_read(os.path.join(folder, name)) for name in included]
    return any(_CLEAN.search(text) for text in texts)


def _read(path: str) -> str:
    """The text of a file; empty if it cannot be read."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MOST).replace("\\\n", " ")
    except OSError:
        return ""
