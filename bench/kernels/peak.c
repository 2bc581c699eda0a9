// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The most single-precision operations per second: independent multiply-adds of whole vector registers.
// Prints GFLOP/s, the best of many short rounds. Compile with -O3 -march=native -ffp-contract=fast.
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef __AVX512F__
#define BYTES 64
#else
#define BYTES 32
#endif
enum { SUMS = 16, STEPS = 500000, ROUNDS = 200 };
typedef float vector __attribute__((vector_size(BYTES)));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(void) {
  double best = 0;
  for (int round = 0; round < ROUNDS; round++) {
    vector sums[SUMS], x, y;
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < (int)(BYTES / sizeof(float)); i++) {
      x[i] = 1.0001f;
      y[i] = 1e-9f;
    }
    double began = now();
    for (long step = 0; step < STEPS; step++) {
#pragma clang loop unroll(full)
      for (int i = 0; i < SUMS; i++)
        sums[i] = sums[i] * x + y;
#pragma clang loop unroll(full)
      for (int i = 0; i < SUMS; i++)
        __asm__ volatile("" : "+v"(sums[i]));
    }
    double speed = 2e-9 * SUMS * STEPS * (BYTES / sizeof(float)) / (now() - began);
    best = speed > best ? speed : best;
  }
  printf("%.1f\n", best);
}
