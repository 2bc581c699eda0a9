// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mujs.h"
#include <stdio.h>
static void print(js_State *J) {
  for (int i = 1; i < js_gettop(J); i++) printf("%s ", js_tostring(J, i));
  js_pushundefined(J);
}
int main(int argc, char **argv) {
  js_State *J = js_newstate(0, 0, 0);
  js_newcfunction(J, print, "print", 0);
  js_setglobal(J, "print");
  int wrong = argc != 2 || js_dofile(J, argv[1]);
  js_freestate(J);
  return wrong;
}
