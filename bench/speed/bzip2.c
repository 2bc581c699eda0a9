// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "input.h"
#include "bzlib.h"
int main(int argc, char **argv) {
  size_t n = argc == 3 ? 160u << 10 : 0;
  char *in = input(argv, &n), *out = malloc(2 * n), *back = malloc(n);
  unsigned size = 2 * n, got = n;
  if (BZ2_bzBuffToBuffCompress(out, &size, in, n, 9, 0, 30) != BZ_OK) return 1;
  if (BZ2_bzBuffToBuffDecompress(back, &got, out, size, 0, 0) != BZ_OK || memcmp(in, back, n)) return 2;
  printf("%zu -> %u %016llx\n", n, size, (unsigned long long)gen_hash(out, size, 0));
  return 0;
}
