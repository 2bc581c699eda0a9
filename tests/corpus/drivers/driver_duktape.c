// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "duktape.h"
static duk_ret_t print(duk_context *c) { puts(duk_to_string(c, 0)); return 0; }
int main(int argc, char **argv) {
  static const char *wrong[] = {"var x = ;", "throw new Error('e')", "'use strict'; y = 1; function f( {", "/(/.test('a')", "[].length = -1", "new Uint8Array(4).subarray(1).length", "String.fromCharCode(0x4e2d).length"};
  duk_context *c = duk_create_heap_default(); int i; size_t n; char *text = malloc(1u << 16); FILE *f;
  duk_push_c_function(c, print, 1); duk_put_global_string(c, "print");
  for (i = 1; i < argc; i++) { if (!(f = fopen(argv[i], "r"))) return 1; n = fread(text, 1, 1u << 16, f); fclose(f); duk_push_lstring(c, text, n); if (duk_peval(c)) { puts(duk_safe_to_string(c, -1)); return 2; } duk_pop(c); }
  for (i = 0; i < 7; i++) { duk_push_string(c, wrong[i]); duk_peval(c); puts(duk_safe_to_string(c, -1)); duk_pop(c); }
  duk_gc(c, 0); duk_destroy_heap(c); free(text);
  return 0;
}
