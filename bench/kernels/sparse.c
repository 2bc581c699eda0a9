// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product of a sparse matrix, in rows of about ten entries, and a vector.
#include "kernel.h"

enum { N = 300, MOST = 20 };
int start[N + 1], column[N * MOST];
double value[N * MOST], x[N], y[N];

void setup(void) {
  int at = 0;
  for (int i = 0; i < N; i++) {
    start[i] = at;
    x[i] = number(i);
    const int entries = (int)number(i) % MOST;
    for (int j = 0; j < entries; j++, at++) {
      column[at] = (int)number(at) * 7 % N;
      value[at] = number(at + i);
    }
  }
  start[N] = at;
}

HOT void sparse(double *restrict y, const double *restrict value,
                const int *restrict column, const int *restrict start,
                const double *restrict x, int rows) {
  for (int i = 0; i < rows; i++) {
    double s = 0;
    for (int j = start[i]; j < start[i + 1]; j++)
      s += value[j] * x[column[j]];
    y[i] = s;
  }
}

void kernel(void) { sparse(y, value, column, start, x, N); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += y[i];
  return s;
}
