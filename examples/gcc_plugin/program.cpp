// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to compile: without advice, GCC inlines both functions.

#include <cstdio>

int square(int X) { return X * X; }

static int digits(int X) {
  int Count = 0;
  for (int Rest = X; Rest != 0; Rest /= 10)
    ++Count;
  std::printf("%d has %d digits\n", X, Count);
  return Count;
}

int main() { return digits(square(123)) == 5 ? 0 : 1; }
