# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with frames of many kinds, and objects of it with smaller unwind tables."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from passpilot.plugin.toolchain import llvm_plugin
from tests.corpus.build import bindir

FRAMES: Final = r"""
typedef __SIZE_TYPE__ size;
#ifdef __cplusplus
extern "C" {
#endif
extern int many(int, int, int, int, int, int, int, int, int, int *);
extern void stop(void) __attribute__((noreturn));
extern void use(void *);
int pushes(int a, int *p) {
  return many(1, 2, 3, 4, 5, 6, a, *p, 9, p) + many(9, 8, 7, 6, 5, 4, *p, a, 1, p) / *p;
}
int wrapped(int *p) {
  if (!p) return 5;
  int local[40];
  use(local);
  if (*p == 7) stop();
  return many(1, 2, 3, 4, 5, 6, 7, 8, local[*p], p) + *p;
}
int moving(int n, int m) {
  char *more = (char *)__builtin_alloca((size)n);
  __attribute__((aligned(64))) char line[128];
  use(line);
  return many(1, 2, 3, 4, 5, 6, more[m], line[n], 9, &n) + more[3];
}
int tail(int (**f)(int), int n) { use(f); return n & 1 ? f[n](n) : f[0](1); }
int probed(int n) { char page[20000]; use(page); return page[n]; }
int listed(int n, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, n);
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += __builtin_va_arg(list, int);
  __builtin_va_end(list);
  use(&sum);
  return sum;
}
static __attribute__((noinline)) int leaf(int *p, int n) {
  int s = 0;
  while (n--) s += *p++ / (n + 1);
  return s;
}
int leaves(int *p) { return leaf(p, 3) * leaf(p, 4) + leaf(p + 1, *p); }
extern __thread int there;
static __thread int here[3];
int threads(int n) { use(here); use(&there); return many(n, here[1], 1, 1, 1, 1, 1, 1, n, &there) + there; }
#if defined __x86_64__ && !defined __ILP32__
#define IS(KIND) __attribute__((KIND))
#define BODY { use(p); return many(a, 1, 1, 1, 1, 1, 1, 1, *p, p); }
IS(ms_abi) int other_abi(int a, double b, int *p) BODY
IS(preserve_most) int preserves_most(int a, int *p) BODY
IS(preserve_all) int preserves_all(int a, int *p) BODY
IS(preserve_none) int preserves_none(int a, int *p) BODY
IS(swiftcall) int of_swift(IS(swift_context) int *p, int a) BODY
IS(regcall) int in_registers(int a, int b, int c, int d, int *p) BODY
IS(no_caller_saved_registers) int saves_all(int a) { return a * 3; }
typedef IS(swiftasynccall) void later(IS(swift_async_context) char *, int);
IS(swiftasynccall) void asynchronous(IS(swift_async_context) char *p, int a) {
  use(p);
  IS(musttail) return ((later *)p)(p, a);
}
IS(naked) int bare(int *p) { __asm__("pushq %rbx\n\tmovl (%rdi), %eax\n\tpopq %rbx\n\tretq"); }
IS(target("avx")) int aligned(int n, float *f) {
  typedef float wide IS(vector_size(32));
  wide w = *(wide *)f;
  use(&w);
  return many(n, 1, 1, 1, 1, 1, 1, 1, (int)w[n & 7], (int *)&w);
}
#endif
int switched(int k, int *p) {
  switch (k) {
  case 0: return many(k, 1, 1, 1, 1, 1, 1, 1, 1, p);
  case 1: stop();
  case 2: use(p); return *p;
  case 3: return leaf(p, k);
  case 4: __builtin_trap();
  default: return many(k, 2, 2, 2, 2, 2, 2, 2, *p, p) % k;
  }
}
#ifdef __cplusplus
}
struct Noisy { int *at; explicit Noisy(int *at) : at(at) { use(at); } ~Noisy() { use(at); } };
int caught(int a, int *p) {
  Noisy one(p);
  try {
    Noisy two(p + 1);
    a += many(1, 2, 3, 4, 5, 6, a, *p, 9, p);
    if (a == 3) throw a;
  } catch (int other) {
    return other + *p;
  }
  return a + many(1, 2, 3, 4, 5, 6, a, *p, 9, p);
}
int passed(int a, int *p) { Noisy one(p); return caught(a, p) + 1; }
int quiet(int a, int *p) noexcept { return caught(a, p) * 2; }
#endif
"""

X86: Final = "x86_64-linux-gnu"
BUILDS: Final = [
    (X86, "-Oz"),
    (X86, "-O0"),
    (X86, "-O2", "-fno-omit-frame-pointer", "-march=x86-64-v3"),
    (X86, "-Os", "-fstack-clash-protection", "-fcf-protection", "-fstack-protector-all"),
    (X86, "-O3", "-fPIC", "-mllvm", "-enable-machine-outliner=always"),
    (X86, "-O2", "-fbasic-block-sections=all"),
    (X86, "-O2", "-fsplit-machine-functions", "-mllvm", "-mfs-split-ehcode", "-fPIC"),
    (X86, "-Oz", "-fPIC", "-mtls-dialect=gnu2"),
    (X86, "-Oz", "-fpatchable-function-entry=2", "-g"),
    (X86, "-O1", "-mno-red-zone", "-mcmodel=large", "-fPIC"),
    (X86, "-O2", "-fxray-instrument", "-fxray-instruction-threshold=1", "-fsanitize=kcfi"),
    ("x86_64-linux-gnux32", "-Oz"),
    ("i686-linux-gnu", "-Oz", "-fPIC"),
    ("i686-linux-gnu", "-O2", "-mstackrealign"),
    ("aarch64-linux-gnu", "-Oz", "-fasynchronous-unwind-tables", "-mbranch-protection=standard"),
    ("aarch64-linux-gnu", "-O2", "-fasynchronous-unwind-tables", "-fstack-clash-protection"),
    ("aarch64-linux-gnu", "-Oz"),
    ("armv7-unknown-netbsd-eabihf", "-Oz"),
]
"""Targets and flags."""


def compiled(folder: Path, name: str, *flags: str, mode: str = "") -> Path:
    """An object, or program, of FRAMES that stock clang makes; with a mode, the plugin writes the table."""
    source = folder / "frames.cpp"
    source.write_text(FRAMES)
    plugin = [f"-fpass-plugin={llvm_plugin()}"] if mode else []
    target = folder / name
    command = [*map(str, (bindir() / "clang", "-w", *plugin, *flags, source, "-o", target))]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(mode), check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return target


def environment(mode: str) -> dict[str, str]:
    """The variables of a compilation with a mode."""
    return {**os.environ, "PASSPILOT_UNWIND": mode}
