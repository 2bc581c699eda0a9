// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A filter of 24 taps over a signal of 16-bit samples.
#include "kernel.h"

enum { N = 480, TAPS = 24 };
short signal[N + TAPS], taps[TAPS], out[N];

void setup(void) {
  for (int i = 0; i < N + TAPS; i++)
    signal[i] = (short)number(i);
  for (int i = 0; i < TAPS; i++)
    taps[i] = (short)(number(i) / 8);
}

HOT void conv(short *restrict out, const short *restrict in,
              const short *restrict taps, int n, int count) {
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int j = 0; j < count; j++)
      s += in[i + j] * taps[j];
    out[i] = (short)(s >> 15);
  }
}

void kernel(void) { conv(out, signal, taps, N, TAPS); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += out[i] * (i + 1);
  return s;
}
