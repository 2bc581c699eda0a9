// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints its arguments and passpilot's variables, each followed by a zero byte: in place of clang and Python.
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments, char **variables) {
  for (int i = 0; i < count; ++i)
    printf("%s%c", arguments[i], 0);
  for (; *variables; ++variables)
    if (!strncmp(*variables, "PASSPILOT_", 10))
      printf("%s%c", *variables, 0);
  return 0;
}
