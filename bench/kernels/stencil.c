// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A step of heat flow on a plane.
#include "kernel.h"

enum { N = 50 };
float now[N][N], next[N][N];

void setup(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      now[i][j] = number(i * N + j);
}

HOT void stencil(float *restrict to, const float *restrict from, int n) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      to[i * n + j] =
          0.2f * (from[i * n + j] + from[i * n + j - 1] + from[i * n + j + 1] +
                  from[(i - 1) * n + j] + from[(i + 1) * n + j]);
}

void kernel(void) {
  stencil(next[0], now[0], N);
  stencil(now[0], next[0], N);
}

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += now[i][i];
  return s;
}
