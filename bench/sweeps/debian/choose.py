# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chooses 250 source packages of Debian by a rule, and splits them by family.

usage: python -m bench.sweeps.debian.choose FOLDER

FOLDER is that of `passpilot corpus debian -o FOLDER`, whose system has the index of packages. It writes a
list of names for every part beside this file, and prints none.

The rule. A candidate is in C or C++: its programs need libc6 or libstdc++6. Its index says that it has
tests (build dependencies for tests only, a known test library, or autopkgtest). It is built by
debhelper-compat, with at most twenty build dependencies and without another compiler or a desktop. Its source
is from 20 kB to 3 MB, so that it builds within 90 seconds. Five other sources at least depend on its
packages: a mirror has more of what many use. One package of a family is kept: a name without `lib`, digits,
and what is behind the first hyphen. Families are in the order of how many use them, then of their hashes. C
and C++ take turns, and within a language the sections of the archive do. What was chosen is in the order of
hashes: 90 for training, 20 for validation, 20 for test. The tail of 30 is sealed: `make release-figures`
opens it, once. The next 90 of the turns are the reserve: a mirror need not hold every source, and about a
tenth of all packages do not build with clang-22. They are for training. Programs of tests/corpus, which has
parts of its own, are no candidates. Those in earlier.txt were recorded by earlier rules: they are witnesses,
and nothing learns from them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from bench.lib import command
from tests.corpus.programs import all_programs

PARTS: Final = {"train": 90, "validation": 20, "test": 20, "sealed": 30}
RESERVE: Final = 90
SIZES: Final = range(20_000, 3_000_000)
MOST_NEEDS: Final = 20
LEAST_USERS: Final = 5
OTHERS: Final = re.compile(
    r"\b(ghc|golang|rustc|cargo|openjdk|default-jdk|nodejs|ocaml|qt|libgtk|libkf5|gnome|kde|gfortran|mono|"
    r"r-base|erlang)"
)
"""Build dependencies of other compilers and of desktops."""
TESTED: Final = re.compile(
    r"<!nocheck>|\b(check|cmocka|libcmocka|cppunit|googletest|libgtest|catch|doctest|libcriterion|libcunit|"
    r"cunit|dejagnu|expect|bats|valgrind|bc|tcl)\b"
)
"""Build dependencies for tests."""

NAME: Final = re.compile(r"[a-z0-9][a-z0-9+.-]+")

Row = dict[str, str]


def family_of(name: str) -> str:
    found = re.match(r"(?:lib)?([a-z+]*)", name)
    return found[1] if found and len(found[1]) > 1 else name


class Candidate(NamedTuple):
    """A package that the rule admits."""

    name: str
    language: str
    section: str
    size: int
    users: int
    """How many other source packages have programs or libraries that depend on its own."""

    @property
    def family(self) -> str:
        return family_of(self.name)

    @property
    def order(self) -> str:
        return hashlib.sha256(self.family.encode()).hexdigest()


def rows(file: Path) -> Iterator[Row]:
    """The paragraphs of an index; lines that go on are joined."""
    for text in file.read_text(errors="replace").split("\n\n"):
        joined = re.sub(r"\n[ \t]+", " ", text)
        pairs = (line.partition(":") for line in joined.splitlines() if ":" in line)
        yield {key: value.strip() for key, _, value in pairs}


def source_of(row: Row) -> str:
    return (row.get("Source") or row.get("Package", "")).partition(" ")[0]


def needs_of(row: Row) -> set[str]:
    """What a binary package depends on."""
    return set(NAME.findall(row.get("Depends", "") + ", " + row.get("Pre-Depends", "")))


def languages(packages: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """The language and the section of every source package whose programs need the library of C or of C++."""
    found: dict[str, tuple[str, str]] = {}
    for row in packages:
        needs = needs_of(row)
        if "libstdc++6" in needs:
            found[source_of(row)] = ("c++", row["Section"])
        elif "libc6" in needs:
            found.setdefault(source_of(row), ("c", row["Section"]))
    return found


def users(packages: Iterable[Row]) -> dict[str, int]:
    """How many other source packages depend on every one that is needed."""
    kept = [(row["Package"], source_of(row), needs_of(row)) for row in packages if "Package" in row]
    sources = {name: source for name, source, _ in kept}
    pairs = {(sources[need], source) for _, source, needs in kept for need in needs if need in sources}
    return Counter(needed for needed, source in pairs if needed != source)


def candidates(lists: Path, suite: str) -> Iterator[Candidate]:
    """What the rule admits, of the index of a system."""
    (binary,) = lists.glob(f"*_dists_{suite}_main_binary-amd64_Packages")
    (source,) = lists.glob(f"*_dists_{suite}_main_source_Sources")
    packages = list(rows(binary))
    spoken, used = languages(packages), users(packages)
    known = set(map(family_of, all_programs()))
    for row in rows(source):
        needs = ", ".join(row.get(key, "") for key in ("Build-Depends", "Build-Depends-Arch"))
        size = sum(map(int, re.findall(r"\b[0-9a-f]{32} (\d+) ", row.get("Files", ""))))
        is_built = "debhelper-compat" in needs and not OTHERS.search(needs)
        is_small = size in SIZES and needs.count(",") <= MOST_NEEDS
        is_compiled = "any" in row.get("Architecture", "").split() and row["Package"] in spoken
        has_tests = bool(TESTED.search(needs)) or "autopkgtest" in row.get("Testsuite", "")
        name = row.get("Package", "")
        is_used = used.get(name, 0) >= LEAST_USERS and family_of(name) not in known
        if is_compiled and has_tests and is_built and is_small and is_used:
            yield Candidate(name, *spoken[name], size, used[name])


def by_section(found: list[Candidate]) -> list[Candidate]:
    """The same candidates; the sections of the archive take turns."""
    sections: dict[str, list[Candidate]] = {}
    for one in found:
        sections.setdefault(one.section, []).append(one)
    return [one for turn in zip_longest(*sections.values()) for one in turn if one]


def chosen(found: list[Candidate], count: int, start: int = 0) -> list[Candidate]:
    """So many candidates behind the first `start` of the turns, in the order of their hashes."""
    families = {one.family: one for one in sorted(found, key=lambda one: one.name, reverse=True)}
    ordered = sorted(families.values(), key=lambda one: (-one.users, one.order))
    turns = [by_section([one for one in ordered if one.language == language]) for language in ("c", "c++")]
    mixed = [one for turn in zip_longest(*turns) for one in turn if one]
    return sorted(islice(mixed, start, start + count), key=lambda one: one.order)


@command
def main(folder: str = ".", *, suite: str = "bookworm") -> None:
    lists = Path(folder, f".system-{suite}", "var/lib/apt/lists")
    found = list(candidates(lists, suite))
    first = sum(PARTS.values())
    rest = iter([*chosen(found, first), *chosen(found, RESERVE, first)])
    for part, count in (PARTS | {"reserve": RESERVE}).items():
        ordered = sorted(islice(rest, count), key=lambda one: one.size)
        names = [f"{one.name}  # {one.language}, {one.section}\n" for one in ordered]
        head = f"# Written by python -m bench.sweeps.debian.choose, of {suite}: {part}, the smallest first\n"
        Path(__file__).with_name(f"{part}.txt").write_text(head + "".join(names))
        print(f"{part}: {len(names)} of {len(found)} candidates")
