// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "bzlib.h"
int main(void) {
  unsigned n = 1u << 20, level;
  char *in = malloc(n), *out = malloc(n + n / 50 + 700), *back = malloc(n);
  gen_text(in, n, 21);
  for (level = 1; level <= 9; level += 4) {
    unsigned size = n + n / 50 + 600, got = n;
    if (BZ2_bzBuffToBuffCompress(out, &size, in, n, (int)level, 0, 30) != BZ_OK) return 1;
    if (BZ2_bzBuffToBuffDecompress(back, &got, out, size, level == 9, 0) != BZ_OK || got != n || memcmp(in, back, n)) return 2;
    printf("level %u: %u -> %u hash %016llx\n", level, n, size, (unsigned long long)gen_hash(out, size, 0));
  }
  out[1000] ^= 5;
  { unsigned got = n; printf("damaged: %d\n", BZ2_bzBuffToBuffDecompress(back, &got, out, 200000, 0, 0)); }
  return 0;
}
