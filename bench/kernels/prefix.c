// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prefix sums of the squares of numbers.
#include "kernel.h"

enum { N = 1000 };
int x[N], squares[N], sums[N];

void setup(void) {
  for (int i = 0; i < N; i++)
    x[i] = (int)number(i);
}

HOT void prefix(int *restrict sums, int *restrict squares, const int *x,
                int n) {
  for (int i = 0; i < n; i++)
    squares[i] = x[i] * x[i];
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += squares[i];
    sums[i] = s;
  }
}

void kernel(void) { prefix(sums, squares, x, N); }

double check(void) { return sums[N - 1]; }
