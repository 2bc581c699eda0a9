// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "zlib.h"
int main(void) {
  size_t n = 2u << 20, cap = n + (n >> 3);
  unsigned char *in = malloc(n), *out = malloc(cap), *back = malloc(n);
  static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
  int level, i;
  gen_text((char *)in, n, 22);
  printf("crc %08lx adler %08lx\n", crc32(0, in, (uInt)n), adler32(1, in, (uInt)n));
  for (level = 0; level <= 9; level += 3) {
    uLongf size = cap, got = n;
    if (compress2(out, &size, in, n, level) != Z_OK) return 1;
    if (uncompress(back, &got, out, size) != Z_OK || got != n || memcmp(in, back, n)) return 2;
    printf("level %d: %lu hash %016llx\n", level, size, (unsigned long long)gen_hash(out, size, 0));
  }
  for (i = 0; i < 5; i++) {
    z_stream d = {0}, u = {0};
    size_t done = 0;
    if (deflateInit2(&d, 6, Z_DEFLATED, -12, 8, strategies[i]) != Z_OK) return 3;
    d.next_in = in; d.avail_in = 1u << 20; d.next_out = out;
    do { d.avail_out = 5000; } while (deflate(&d, Z_FINISH) == Z_OK);
    if (inflateInit2(&u, -12) != Z_OK) return 4;
    u.next_in = out; u.next_out = back;
    while (done < d.total_out) { u.avail_in = 777; u.avail_out = 1u << 21; done += 777; if (inflate(&u, Z_SYNC_FLUSH) == Z_STREAM_END) break; }
    printf("strategy %d: %lu back %lu %d\n", i, d.total_out, u.total_out, memcmp(in, back, 1u << 20));
    deflateEnd(&d); inflateEnd(&u);
  }
  return 0;
}
