// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "zstd.h"
int main(void) {
  size_t n = 8u << 20, cap = ZSTD_compressBound(n), k; int lv[] = {1, 3, 7, 12};
  char *src = malloc(n), *dst = malloc(cap), *back = malloc(n);
  gen_text(src, n, 1);
  for (k = 0; k < sizeof lv / sizeof *lv; k++) {
    size_t c = ZSTD_compress(dst, cap, src, n, lv[k]); int r; size_t d = 0;
    if (ZSTD_isError(c)) return 1;
    for (r = 0; r < 5; r++) { d = ZSTD_decompress(back, n, dst, c); if (d != n || memcmp(src, back, n)) return 2; }
    printf("level %d size %zu hash %016llx\n", lv[k], c, (unsigned long long)gen_hash(dst, c, 0));
  }
  return 0;
}
