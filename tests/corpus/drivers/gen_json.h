// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Deterministic JSON texts for the drivers of JSON libraries. */
#ifndef GEN_JSON_H
#define GEN_JSON_H
#include <stdio.h>
#include "gen.h"
static inline size_t gen_json_value(char *s, size_t n, gen_rng *r, int depth) {
  char w[64]; uint32_t k = gen_below(r, depth > 5 ? 6 : 9), i, c;
  gen_word(gen_below(r, 5000), w);
  switch (k) {
  case 0: return n + (size_t)sprintf(s + n, "%d", (int)gen_below(r, 2000000) - 1000000);
  case 1: return n + (size_t)sprintf(s + n, "%u.%03ue%d", gen_below(r, 1000), gen_below(r, 1000), (int)gen_below(r, 20) - 10);
  case 2: return n + (size_t)sprintf(s + n, "%s", gen_below(r, 2) ? "true" : "false");
  case 3: return n + (size_t)sprintf(s + n, "null");
  case 4: return n + (size_t)sprintf(s + n, "\"%s \\\"%s\\\" \\u00e4\\n\\t\xc3\xb6\"", w, w);
  case 5: return n + (size_t)sprintf(s + n, "\"%s\"", w);
  case 6: c = gen_below(r, 7); s[n++] = '[';
    for (i = 0; i < c; i++) { if (i) { s[n++] = ','; s[n++] = ' '; } n = gen_json_value(s, n, r, depth + 1); }
    s[n++] = ']'; return n;
  default: c = gen_below(r, 7); s[n++] = '{';
    for (i = 0; i < c; i++) { gen_word(gen_below(r, 900), w); n += (size_t)sprintf(s + n, "%s\"%s%u\": ", i ? ",\n" : "", w, i); n = gen_json_value(s, n, r, depth + 1); }
    s[n++] = '}'; return n;
  }
}
/* An array of values of about `size` bytes; the buffer must have a megabyte more. */
static inline size_t gen_json(char *s, size_t size, uint64_t seed) {
  gen_rng r; size_t n = 0;
  gen_seed(&r, seed); s[n++] = '[';
  while (n < size) { if (n > 1) s[n++] = ','; n = gen_json_value(s, n, &r, 0); }
  s[n++] = ']'; s[n] = 0;
  return n;
}
#endif
