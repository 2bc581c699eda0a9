// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "libdeflate.h"
int main(void) {
  size_t n = 4u << 20, cap = n + (n >> 2);
  unsigned char *in = malloc(n), *out = malloc(cap), *back = malloc(n);
  struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
  int level;
  gen_text((char *)in, n, 23);
  printf("crc %08x adler %08x\n", libdeflate_crc32(0, in, n), libdeflate_adler32(1, in, n));
  for (level = 0; level <= 12; level += 2) {
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    size_t some = level > 8 ? n / 8 : n, a, b, z, got;
    a = libdeflate_deflate_compress(c, in, some, out, cap);
    if (libdeflate_deflate_decompress(d, out, a, back, n, &got) != LIBDEFLATE_SUCCESS || got != some || memcmp(in, back, some)) return 1;
    b = libdeflate_gzip_compress(c, in, some / 2, out, cap);
    if (libdeflate_gzip_decompress(d, out, b, back, n, &got) != LIBDEFLATE_SUCCESS || got != some / 2) return 2;
    z = libdeflate_zlib_compress(c, in + 1000, some / 2, out, cap);
    if (libdeflate_zlib_decompress(d, out, z, back, n, &got) != LIBDEFLATE_SUCCESS || memcmp(in + 1000, back, got)) return 3;
    printf("level %d: %zu %zu %zu hash %016llx\n", level, a, b, z, (unsigned long long)gen_hash(out, z, 0));
    libdeflate_free_compressor(c);
  }
  return 0;
}
