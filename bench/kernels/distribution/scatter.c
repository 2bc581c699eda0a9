// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Charges of particles on a grid, and the motion of the particles.
#include "../kernel.h"

enum { N = 1000, CELLS = 64 };
int cell[N];
float grid[CELLS], charge[N], place[N], speed[N];

void setup(void) {
  for (int i = 0; i < CELLS; i++)
    grid[i] = 0;
  for (int i = 0; i < N; i++) {
    cell[i] = (int)number(i) % CELLS;
    charge[i] = number(i) * 0.001f;
    place[i] = number(i + N);
    speed[i] = number(i + 2 * N) * 0.001f;
  }
}

HOT void scatter(float *restrict grid, const float *restrict charge,
                 const int *restrict cell, float *restrict place,
                 float *restrict speed, int n) {
  for (int i = 0; i < n; i++) {
    grid[cell[i]] += charge[i];
    speed[i] = 0.999f * speed[i] - 0.001f * place[i];
    place[i] += 0.01f * speed[i];
  }
}

void kernel(void) { scatter(grid, charge, cell, place, speed, N); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += place[i] + grid[i % CELLS];
  return s;
}
