// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
static int add(int a, int b) { return a + b; }
int twice(int x) { return add(x, x); }
