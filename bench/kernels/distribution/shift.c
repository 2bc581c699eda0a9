// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop that LLVM can distribute and that has little to vectorize.
#include "../kernel.h"

enum { N = 1000 };
int chain[N], from[N], to[N];

void setup(void) {
  for (int i = 0; i < N; i++) {
    chain[i] = (int)number(i);
    from[i] = (int)number(i + N);
  }
}

HOT void shift(int *restrict chain, int *restrict to, const int *restrict from,
               int n) {
  for (int i = 3; i < n; i++) {
    chain[i] = (chain[i - 3] * 5 + 1) & 255;
    to[i] = from[i] + 1;
  }
}

void kernel(void) { shift(chain, to, from, N); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += chain[i] + to[i];
  return s;
}
