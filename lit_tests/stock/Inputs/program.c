// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The default inlines @half and keeps @big.
void work(int);
static int half(int x) { return x / 2; }
static int big(int x) {
  for (int i = 0; i < x; ++i) {
    work(0), work(1), work(2), work(3), work(4), work(5), work(6), work(7);
    work(8), work(9), work(10), work(11), work(12), work(13), work(14), work(15);
    work(16), work(17), work(18), work(19), work(20), work(21), work(22), work(23);
  }
  return x;
}
int first(int x) { return half(x) + big(x); }
int second(int x) { return half(x + 1) + big(x + 2); }
