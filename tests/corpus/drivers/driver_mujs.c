// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "mujs.h"
static void print(js_State *J) { puts(js_tostring(J, 1)); js_pushundefined(J); }
int main(int argc, char **argv) {
  static const char *wrong[] = {"var x = ;", "throw new Error('e')", "'use strict'; y = 1; function f( {", "/(/.test('a')", "[].length = -1"};
  js_State *J = js_newstate(0, 0, 0); int i;
  js_newcfunction(J, print, "print", 1); js_setglobal(J, "print");
  for (i = 1; i < argc; i++) if (js_dofile(J, argv[i])) return 1;
  for (i = 0; i < 5; i++) { if (js_ploadstring(J, "w", wrong[i])) { puts(js_trystring(J, -1, "?")); js_pop(J, 1); continue; } js_pushundefined(J); if (js_pcall(J, 0)) puts(js_trystring(J, -1, "?")); js_pop(J, 1); }
  js_gc(J, 0); js_freestate(J);
  return 0;
}
