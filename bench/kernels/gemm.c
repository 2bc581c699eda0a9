// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product of two small matrices of doubles, row by row.
#include "kernel.h"

enum { N = 20 };
double a[N][N], b[N][N], c[N][N];

void setup(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      a[i][j] = number(i * N + j);
      b[i][j] = number(j * N + i);
    }
}

HOT void gemm(double *restrict c, const double *restrict a,
              const double *restrict b, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      c[i * n + j] = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}

void kernel(void) { gemm(c[0], a[0], b[0], N); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += c[i][N - 1 - i];
  return s;
}
