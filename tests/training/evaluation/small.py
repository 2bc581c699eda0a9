# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A corpus of two small programs, for the tests of `passpilot eval`."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from passpilot.training.corpus.builder import CorpusDraft, UnitDraft, build_corpus
from passpilot.training.corpus.front_end import FrontEnd
from passpilot.training.corpus.layout import CorpusProgram, ProgramRun
from tests.corpus.build import bindir

SOURCES = {
    "count/main.c": """#include <stdio.h>
        int work(int);
        int main(int argc, char **argv) { printf("%d\\n", work(argc)); return 0; }""",
    "count/work.c": """int unused(int x) { return x * 7 + 3; }
        static unsigned step(unsigned x, unsigned y) { return x * 31 + y % 7 + (x > y ? x - y : y - x); }
        int work(int n) {
          unsigned sum = n;
          for (unsigned i = 0; i < 1000; i++) sum = step(sum, i) ^ step(i, sum) ^ step(sum + 1, i);
          return sum & 1023;
        }""",
    "shout/main.cpp": """#include <cstdio>
        template <class T> T twice(T x) { return x + x; }
        struct Shout { int level; int loud() const { return twice(level) + twice(level + 1); } };
        int main(int argc, char **) { std::printf("%d\\n", Shout{argc}.loud()); }""",
}

OUTPUTS = {"count": b"416\n", "shout": b"6\n"}
"""What the programs print; a test runs them."""


def corpus(folder: Path) -> Path:
    """Write the corpus; the library of `count` is an archive."""
    sources = folder / "sources"
    for name, text in SOURCES.items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text(text)
    units = [_unit(sources, name) for name in SOURCES]
    runs = {name: (ProgramRun((), str(folder), _sha256(OUTPUTS[name])),) for name in OUTPUTS}
    programs = [
        CorpusProgram("count", "c", "cc", ("count/main.c",), (("count/work.c",),), runs=runs["count"]),
        CorpusProgram("shout", "c++", "c++", ("shout/main.cpp",), runs=runs["shout"]),
    ]
    built = build_corpus(str(folder / "corpus"), CorpusDraft(units, programs))
    assert not built.problems
    return folder / "corpus"


def _unit(sources: Path, name: str) -> UnitDraft:
    clang = bindir() / ("clang++" if name.endswith("pp") else "clang")
    front_end = FrontEnd(str(clang), str(sources), os.environ)
    (job,) = front_end.jobs(["clang", "-Oz", "-c", name])
    return UnitDraft(name, lambda: front_end.bitcode(job), lambda _: job.recorded)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def change(folder: Path, program: str, **fields: object) -> None:
    """Change fields of a program in a corpus."""
    path = folder / "programs.json"
    raw = json.loads(path.read_text())
    next(each for each in raw["programs"] if each["name"] == program).update(fields)
    path.write_text(json.dumps(raw))


def result(path: Path) -> Any:
    """The JSON of a result, checked to be one."""
    return json.loads(path.read_text())
