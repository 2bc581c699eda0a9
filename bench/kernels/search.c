// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How often a short text occurs in a longer one.
#include "kernel.h"

enum { N = 2000, LENGTH = 6 };
char text[N + LENGTH], pattern[LENGTH];
int found;

void setup(void) {
  found = 0;
  for (int i = 0; i < N + LENGTH; i++)
    text[i] = (char)('a' + (int)number(i) % 3);
  for (int i = 0; i < LENGTH; i++)
    pattern[i] = text[N / 2 + i];
}

HOT int search(const char *text, int n, const char *pattern, int length) {
  int count = 0;
  for (int i = 0; i < n; i++) {
    int differ = 0;
    for (int j = 0; j < length; j++)
      differ |= text[i + j] ^ pattern[j];
    count += !differ;
  }
  return count;
}

void kernel(void) { found += search(text, N, pattern, LENGTH); }

double check(void) { return found; }
