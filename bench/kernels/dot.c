// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dot product of two vectors of floats.
#include "kernel.h"

enum { N = 1000 };
float x[N], y[N], sum;

void setup(void) {
  sum = 0;
  for (int i = 0; i < N; i++) {
    x[i] = number(i) * 0.01f;
    y[i] = number(i + N) * 0.01f;
  }
}

HOT float dot(const float *a, const float *b, int n) {
  float s = 0;
  for (int i = 0; i < n; i++)
    s += a[i] * b[i];
  return s;
}

void kernel(void) { sum += dot(x, y, N); }

double check(void) { return sum; }
