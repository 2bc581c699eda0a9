// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An echo of three samples, and a polynomial of another signal, in one loop.
#include "../kernel.h"

enum { N = 1000 };
float signal[N], filtered[N], other[N], power[N];

void setup(void) {
  for (int i = 0; i < N; i++) {
    signal[i] = number(i) * 0.01f;
    other[i] = number(i + N) * 0.01f;
  }
  filtered[0] = filtered[1] = filtered[2] = 0;
}

HOT void echo(float *restrict out, const float *restrict in,
              float *restrict power, const float *restrict other, int n) {
  for (int i = 3; i < n; i++) {
    out[i] = 0.75f * out[i - 3] + in[i];
    const float x = other[i] * 0.5f + 1.0f;
    power[i] = ((x * x + 3.0f) * x + 2.0f) * x + other[i];
  }
}

void kernel(void) { echo(filtered, signal, power, other, N); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += filtered[i] + power[i];
  return s;
}
