// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y += a x with strides, as BLAS has it.
#include "kernel.h"

enum { N = 500 };
float x[3 * N], y[2 * N];

void setup(void) {
  for (int i = 0; i < 3 * N; i++)
    x[i] = number(i);
  for (int i = 0; i < 2 * N; i++)
    y[i] = number(i);
}

HOT void saxpy(int n, float a, const float *restrict x, float *restrict y) {
  for (int i = 0; i < n; i++)
    y[2 * i] += a * x[3 * i];
}

void kernel(void) { saxpy(N, 1e-6f, x, y); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += y[2 * i];
  return s;
}
