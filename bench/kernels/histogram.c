// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A histogram of bytes, and its sum.
#include "kernel.h"

enum { N = 4096 };
unsigned char bytes[N];
int counts[256], total;

void setup(void) {
  total = 0;
  for (int i = 0; i < N; i++)
    bytes[i] = (unsigned char)number(i);
}

HOT int histogram(int *counts, const unsigned char *bytes, int n) {
  for (int i = 0; i < 256; i++)
    counts[i] = 0;
  for (int i = 0; i < n; i++)
    counts[bytes[i]]++;
  int weighted = 0;
  for (int i = 0; i < 256; i++)
    weighted += counts[i] * i;
  return weighted;
}

void kernel(void) { total += histogram(counts, bytes, N); }

double check(void) { return total; }
