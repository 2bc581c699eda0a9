# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small program with more live values than registers, so that the allocator has questions at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from passpilot.passes.emit import emit
from passpilot.plugin.module import Module
from tests import stock

if TYPE_CHECKING:
    from pathlib import Path

    from passpilot.passes.advisor import Advisor

PROGRAM: Final = """
#include <stdio.h>
long table[64];
long sums(const long *p, long n) {
  long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13;
  for (long x = 0; x < n; ++x) {
    a += p[x] * b; b ^= a + c; c -= b * d; d += c ^ e; e *= d | 1; f += e - g; g ^= f + h; h += g * i;
    i -= h ^ j; j += i * k; k ^= j - l; l += k * m; m -= l ^ a;
    if ((m & 7) == 3)
      for (long y = x; y > 0; y >>= 1) { a += y * l; c ^= y + k; e += table[y & 63]; }
  }
  return a + b + c + d + e + f + g + h + i + j + k + l + m;
}
double blend(const double *w, long n) {
  double s[18];
  for (int t = 0; t < 18; ++t) s[t] = w[t];
  for (long x = 0; x < n; ++x) {
    double v = w[x & 63];
    s[0] += v * s[1]; s[1] -= v; s[2] += s[0] * s[3]; s[3] *= v; s[4] += s[2]; s[5] -= s[4] * v;
    s[6] += s[5]; s[7] += s[6] * v; s[8] -= s[7]; s[9] += s[8] * v; s[10] += s[9]; s[11] -= s[10] * v;
    s[12] += s[11]; s[13] += s[12] * v; s[14] -= s[13]; s[15] += s[14] * v; s[16] += s[15]; s[17] -= v;
    if (s[17] < -1e9) printf("%f\\n", s[3]);
  }
  double r = 0;
  for (int t = 0; t < 18; ++t) r += s[t];
  return r;
}
int main(void) {
  double weights[64];
  for (int x = 0; x < 64; ++x) { table[x] = x * x - 70 * x; weights[x] = 1.0 / (x + 2); }
  printf("%lx %.17g\\n", sums(table, 64), blend(weights, 64));
  return 0;
}
"""


def compiled(folder: Path) -> Path:
    """The program as optimized bitcode."""
    source, target = folder / "pressure.c", folder / "pressure.bc"
    source.write_text(PROGRAM)
    stock.run(
        "clang", "-O2", "-c", "-emit-llvm", "-fno-vectorize", "-fno-slp-vectorize", source, "-o", target
    )
    return target


def allocated(source: Path, *advisors: Advisor) -> bytes:
    """The object file of a module, whose registers these advise on."""
    return emit(Module.read(source), "obj", advisors=advisors, relocation_model="pic")


def by_llc(source: Path) -> bytes:
    """The object file that stock llc makes."""
    return stock.run("llc", "-O2", "-filetype=obj", "-relocation-model=pic", source, "-o", "-")
