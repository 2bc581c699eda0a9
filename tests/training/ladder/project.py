# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small real project: C and C++, an archive, virtual functions, exceptions, copies, and a switch."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from passpilot.training.corpus.layout import Corpus
from passpilot.training.tuning.build import recorded_corpus
from tests.command import PASSPILOT

MAKEFILE: Final = """\
CFLAGS = -Oz
CXXFLAGS = $(CFLAGS)
demo: main.o libwords.a
\t$(CXX) -o $@ main.o -L. -lwords
libwords.a: words.o
\tar rcs $@ $^
clean:
\trm -f *.o *.a demo
"""

SOURCES: Final = {
    "words.c": """\
static const char *const names[] = {"one", "two", "three", "four", "five", "six", "seven", "eight"};
int words(int kind, const char *text, int length) {
  int sum = 0;
  for (int i = 0; i < length; i++)
    switch (kind) {
    case 0: sum += text[i]; break;
    case 1: sum ^= text[i] * 3; break;
    case 2: sum -= names[i & 7][0]; break;
    case 3: sum += names[text[i] & 7][1] * i; break;
    case 4: sum = sum * 31 + text[i]; break;
    case 9: sum = sum % 9 + i; break;
    case 14: sum |= names[i & 7][2]; break;
    default: sum++;
    }
  return sum;
}
""",
    "main.cpp": """\
struct Shape { virtual ~Shape(); virtual int area(int) const = 0; virtual int edges() const { return 0; } };
struct Square : Shape { int area(int) const override; int edges() const override { return 4; } };
struct Circle : Shape { int area(int) const override; };
struct Wrong { int code; };
extern "C" int words(int kind, const char *text, int length);
Shape::~Shape() {}
int Square::area(int x) const { if (x > 99) throw Wrong{x}; return x * x + x / 7 - x % 5; }
int Circle::area(int x) const { if (x > 88) throw Wrong{x}; return 3 * x * x; }
static const Square square; static const Circle circle;
static const Shape *const shapes[] = {&square, &circle, &square, &circle};
const Shape *pick(int x) { return shapes[x & 3]; }
int never(int x) { return x * 12345 + words(x, "nothing", 7); }
int twin1(const Shape &s, int x) { return s.area(x) * s.edges() + s.area(x + 1) * 3; }
int twin2(const Shape &s, int x) { return s.area(x) * s.edges() + s.area(x + 1) * 3; }
extern "C" int puts(const char *); extern "C" int atoi(const char *);
static int total(int from, int to) {
  int sum = 0;
  for (int i = from; i < to; i++) {
    try { sum += twin1(*pick(i), i) + twin2(*pick(i + 1), i) - words(i & 15, "a text", 6); }
    catch (const Wrong &wrong) { sum ^= wrong.code; }
  }
  return sum;
}
int main(int count, char **arguments) {
  int sum = total(0, 120 + count) + total(count, 40);
  for (int i = 1; i < count; i++) sum += total(atoi(arguments[i]), 20);
  for (; sum; sum /= 7) puts(sum & 1 ? "odd" : "even");
  return 0;
}
""",
}

ENVIRONMENT: Final = {**os.environ, "PATH": f"{PASSPILOT.parent}:{os.environ['PATH']}"}


def write_project(folder: Path) -> Path:
    """Write the project's files into a new folder."""
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    return folder


def recorded(folder: Path) -> Corpus:
    """The corpus of the project's build, and the project built."""
    output = folder.parent / "recorded"
    return Corpus.read(recorded_corpus(["make", "-s", "-C", str(folder)], str(output)), "/")


def make(folder: Path, command: str) -> Path:
    """Build the project from nothing by a shell command that calls make; the program."""
    lines = f"make -s clean; {command}"
    done = subprocess.run(
        ["bash", "-ec", lines], cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    return folder / "demo"
