// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
int twice(int);
int main(int c, char **v) { return twice(c) - 2 * c; }
