// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
int one(int x);
static int leaf(int x) { return one(x) - 1; }
int main(void) { return leaf(1) == 10 ? 0 : 1; }
