// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Mandelbrot set, row by row, with a fixed number of steps per point.
#include "kernel.h"

enum { N = 100, STEPS = 20 };
int inside[N];
int total;

void setup(void) { total = 0; }

HOT void mandelbrot(int *restrict steps, float y, int n) {
  for (int i = 0; i < n; i++) {
    const float cx = 3.0f * (float)i / (float)n - 2.0f;
    float zx = 0, zy = 0;
    int count = 0;
    for (int step = 0; step < STEPS; step++) {
      const float xx = zx * zx, yy = zy * zy;
      const int stays = xx + yy < 4.0f;
      zy = stays ? 2 * zx * zy + y : zy;
      zx = stays ? xx - yy + cx : zx;
      count += stays;
    }
    steps[i] = count;
  }
}

void kernel(void) {
  mandelbrot(inside, 0.3f, N);
  total += inside[N / 2];
}

double check(void) {
  double s = total;
  for (int i = 0; i < N; i++)
    s += inside[i];
  return s;
}
