// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "input.h"
#include "zlib.h"
int main(int argc, char **argv) {
  size_t n = argc == 3 ? 300u << 10 : 0;
  unsigned char *in = (unsigned char *)input(argv, &n), *out = malloc(2 * n), *back = malloc(n);
  for (int level = 1; level <= 9; level += 4) {
    uLongf size = 2 * n, got = n;
    if (compress2(out, &size, in, n, level) != Z_OK) return 1;
    if (uncompress(back, &got, out, size) != Z_OK || got != n || memcmp(in, back, n)) return 2;
    printf("%zu -> %lu %016llx\n", n, size, (unsigned long long)gen_hash(out, size, 0));
  }
  return 0;
}
