# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The distribution's own LLVM tools, which passpilot is compared with, and small programs to compile."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from passpilot.plugin.version import MAJOR
from tests.corpus.build import bindir

LEVELS: Final = ("O1", "O2", "O3") if MAJOR >= 23 else ("O1", "O2", "O3", "Os", "Oz")
"""The levels of stock opt: since 23, LLVM has none for size."""

CLANG: Final = ("-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", "-w")
"""As the corpus is compiled: the module as the front end leaves it."""


def with_known_levels(argument: str) -> str:
    """An argument with the pipelines that this LLVM has: since 23, the functions' attributes ask for size."""
    return re.sub(r"(?<=default<)O[sz]>", "O2>", argument) if MAJOR >= 23 else argument


def run(*command: str | Path) -> bytes:
    """What an LLVM tool writes to standard output; fails with what it wrote to standard error."""
    tool, *arguments = map(with_known_levels, map(str, command))
    done = subprocess.run([bindir() / tool, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def printed(source: Path | str, passes: str) -> str:
    """What printer passes of the stock opt say about a module; they write to standard error."""
    command = [str(bindir() / "opt"), with_known_levels(f"-passes={passes}"), "-disable-output", str(source)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stderr


def opt(source: Path, pipeline: str, *flags: str) -> tuple[bytes, bytes]:
    """The bitcode and the assembly that stock opt makes of `source`, in one run.

    The pass `print` writes what -S writes, as the first test of passes/inline/test_identity.py makes sure.
    """
    passes = with_known_levels(f"{pipeline},print") if pipeline else "print"
    command = [str(bindir() / "opt"), f"-passes={passes}", *flags, str(source), "-o", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout, done.stderr


def same(first: bytes, second: bytes) -> bool:
    """Whether the bitcode is the same; with LLVM 23, but for GUIDs.

    LLVM 23 keeps a module's GUIDs by address and does not forget those of functions that it deletes. So the
    bitcode may give a new function the GUID of another one, if the allocator put it at the same address.
    """
    return first == second or (MAJOR >= 23 and records(first) == records(second))


def records(bitcode: bytes) -> list[bytes]:
    """The records of bitcode but the GUIDs, as text."""
    command = [str(bindir() / "llvm-bcanalyzer"), "--dump", "-"]
    text = subprocess.run(command, input=bitcode, capture_output=True, check=True).stdout
    return [line for line in text.partition(b"\nSummary of ")[0].split(b"\n") if b"<GUIDLIST " not in line]


def clang(text: str, target: Path, *flags: str) -> Path:
    """Compile C to bitcode for the pass pipeline."""
    source = target.with_suffix(".c")
    source.write_text(text)
    run("clang", "-O2", *CLANG, *flags, source, "-o", target)
    return target


MANY_CALLS: Final = """
volatile int sink;
int table[64];
static int small(int x) { return x + sink; }
static int square(int x) { return x * x; }
static int loop(int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) { s += small(i); table[i & 63] = s; }
  return s;
}
static int pick(int k, int n) {
  switch (k) {
  case 0: return small(n);
  case 1: return square(n);
  case 2: return loop(n);
  case 9: return loop(n) + square(n);
  default: return square(n) - small(3);
  }
}
__attribute__((noinline)) int kept(int x) { return small(x) + 1; }
static int recursive(int n) { return n < 2 ? 1 : n * recursive(n - 1) + small(n); }
int first(int a, int b) {
  int s = 0;
  for (int i = 0; i < a; ++i)
    for (int j = 0; j < b; ++j) s += pick(j & 3, i) + kept(j);
  return s;
}
int second(int a) { return pick(9, a) + pick(a, 4) + recursive(a) + loop(10); }
int main(void) { sink = 3; return (first(5, 4) + second(6) + square(7)) & 127; }
"""
"""A program whose inliner has some dozens of decisions, with and without constant arguments."""
