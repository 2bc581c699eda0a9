// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "lz4.h"
#include "lz4hc.h"
#include "lz4frame.h"
int main(void) {
  int n = 8 << 20, r, lv; size_t cap = LZ4F_compressFrameBound(n, NULL) + 1024;
  char *src = malloc(n), *dst = malloc(cap), *back = malloc(n); int c = 0;
  gen_text(src, n, 2);
  for (r = 0; r < 8; r++) { c = LZ4_compress_fast(src, dst, n, (int)cap, 1 + r % 3); if (LZ4_decompress_safe(dst, back, c, n) != n || memcmp(src, back, n)) return 2;
    printf("fast %d size %d hash %016llx\n", 1 + r % 3, c, (unsigned long long)gen_hash(dst, c, 0)); }
  for (lv = 3; lv <= 9; lv += 3) { c = LZ4_compress_HC(src, dst, n, (int)cap, lv); if (LZ4_decompress_safe(dst, back, c, n) != n || memcmp(src, back, n)) return 3;
    printf("hc %d size %d hash %016llx\n", lv, c, (unsigned long long)gen_hash(dst, c, 0)); }
  { LZ4F_preferences_t p; LZ4F_dctx *d; size_t fc, s, o = n, tot; memset(&p, 0, sizeof p); p.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    fc = LZ4F_compressFrame(dst, cap, src, n, &p); if (LZ4F_isError(fc)) return 4; s = fc;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION))) return 5;
    tot = LZ4F_decompress(d, back, &o, dst, &s, NULL); if (LZ4F_isError(tot) || o != (size_t)n || memcmp(src, back, n)) return 6; LZ4F_freeDecompressionContext(d);
    printf("frame size %zu hash %016llx\n", fc, (unsigned long long)gen_hash(dst, fc, 0)); }
  return 0;
}
