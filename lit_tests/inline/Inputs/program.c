// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints a number that depends on all of its calls.
#include <stdio.h>

static unsigned mix(unsigned x) { return x * 2654435761u ^ x >> 13; }
static unsigned choose(unsigned x) { return x & 1 ? mix(x) : mix(x + 7) / 3; }
static unsigned loop(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; ++i)
    sum += choose(sum + i);
  return sum;
}
static unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(void) {
  printf("%u %u\n", loop(1000), fib(15));
  return 0;
}
