// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two functions with the same beginning.
#define SAME to[0] = 1, to[1] = 2, to[2] = 3, to[3] = 4, to[4] = 5, to[5] = 6, to[6] = 7

__attribute__((noinline)) static void one(volatile int *to, int n) { SAME; }
__attribute__((noinline)) static void two(volatile int *to, int n) {
  SAME;
  to[9] = n;
}

int main(int n, char **words) {
  volatile int to[20] = {0};
  one(to + n, n);
  two(to + 2 * n, n);
  return to[6] - 5;
}
