// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "input.h"
#include "lz4.h"
#include "lz4hc.h"
int main(int argc, char **argv) {
  size_t n = argc == 3 ? 500u << 10 : 0;
  char *in = input(argv, &n), *out = malloc(2 * n), *back = malloc(n);
  for (int level = 0; level < 8; level++) {
    int size = level < 6 ? LZ4_compress_fast(in, out, n, 2 * n, 1 + level % 3)
                         : LZ4_compress_HC(in, out, n, 2 * n, level - 3);
    if (LZ4_decompress_safe(out, back, size, n) != (int)n || memcmp(in, back, n)) return 1;
    printf("%zu -> %d %016llx\n", n, size, (unsigned long long)gen_hash(out, size, 0));
  }
  return 0;
}
