// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
static int leaf(int x) { return x * 3 + 1; }
int one(int x) { return leaf(x) + leaf(x + 1); }
