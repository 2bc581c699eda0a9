# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small program in two units, and searches of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from passpilot.plugin.module import Module
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.search import Search
from passpilot.training.tuning.sizes import object_sizes
from passpilot.training.tuning.study import Budget
from passpilot.training.tuning.unit import Unit
from tests import stock

SHAPES: Final = """\
template <int N> struct Box {
  int items[N];
  int sum() const { int s = 0; for (int i = 0; i < N; ++i) s += items[i] * (i + 1); return s; }
  int twice() const { return sum() * 2 + sum() / 3; }
};
static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static int mix(int a, int b) { return clamp(a * 31 + b, -5000, 5000) ^ clamp(b * 17 - a, -90, 90); }
"""
MAIN: Final = (
    SHAPES
    + """\
struct Step { int kind, by; };
static int walk(const Step *step, int x) { // LLVM does not see the kind of a step, and keeps the call
  switch (step->kind) {
  case 0: return x + step->by;
  case 1: return x * step->by - x % (step->by + 1);
  case 2: for (int i = 0; i < step->by; ++i) x = x * x + i; return x;
  default: return (x / 2 - step->by * 11) ^ 77;
  }
}
int other(int *p);
int main(int argc, char **) {
  Box<3> a{{argc, 2, 3}}; Box<5> b{{1, argc, 3, 4, 5}};
  int x = mix(a.twice(), b.twice()), y = mix(b.sum(), a.sum()), z = mix(x, y);
  Step near{0, 5}, far{0, argc};
  x = walk(&near, x) + walk(&far, y);
  return other(b.items) + mix(z, x) + mix(y, z) & 127;
}
"""
)
OTHER: Final = (
    SHAPES
    + """\
int other(int *p) {
  Box<5> b{{p[0], p[1], p[2], p[3], p[4]}};
  int s = b.twice();
  for (int i = 0; i < 5; ++i) s = mix(s, mix(p[i], b.sum()));
  return s;
}
int unused(int x) { return mix(x, x + 1) * mix(x, 3); }
"""
)


def sources(folder: Path) -> list[Path]:
    """The program's source files."""
    for name, text in (("main.cpp", MAIN), ("other.cpp", OTHER)):
        (folder / name).write_text(text)
    return [folder / "main.cpp", folder / "other.cpp"]


def modules(folder: Path) -> list[Path]:
    """The program's units before optimization."""
    made = []
    for source in sources(folder):
        made.append(source.with_suffix(".bc"))
        stock.run(
            "clang++", "-Oz", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", source, "-o", made[-1]
        )
    return made


def units(paths: Sequence[Path], *, sections: bool = True) -> list[Unit]:
    """Units to search."""
    return [Unit(Module.read(path), "default<Oz>", sections=sections) for path in paths]


def searched(whole: Sequence[Unit], compiles: int = 20, jobs: int = 2) -> Search:
    """A search for small objects."""
    return Search(whole, Engine(whole, Machines(jobs)), object_sizes, Budget(compiles)).run()
