// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A histogram of one picture, and the blend of two others, in one loop.
#include "../kernel.h"

enum { N = 4096 };
unsigned char first[N], second[N], third[N], blended[N];
int counts[256];

void setup(void) {
  for (int i = 0; i < 256; i++)
    counts[i] = 0;
  for (int i = 0; i < N; i++) {
    first[i] = (unsigned char)number(i);
    second[i] = (unsigned char)number(i + N);
    third[i] = (unsigned char)number(i + 2 * N);
  }
}

HOT void levels(int *restrict counts, const unsigned char *restrict first,
                unsigned char *restrict blended,
                const unsigned char *restrict second,
                const unsigned char *restrict third, int n) {
  for (int i = 0; i < n; i++) {
    counts[first[i]]++;
    blended[i] = (unsigned char)((second[i] * 3 + third[i] * 5) >> 3);
  }
}

void kernel(void) { levels(counts, first, blended, second, third, N); }

double check(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    s += blended[i] + counts[i & 255];
  return s;
}
