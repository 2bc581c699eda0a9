// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Deterministic XML texts for the drivers of XML libraries. */
#ifndef GEN_XML_H
#define GEN_XML_H
#include <stdio.h>
#include "gen.h"
static inline size_t gen_xml(char *s, size_t size, uint64_t seed) {
  gen_rng r; char w[64], v[64]; size_t n; int i = 0, d = 0;
  gen_seed(&r, seed); n = (size_t)sprintf(s, "<?xml version=\"1.0\"?>\n<!-- made -->\n<root>");
  while (n < size) {
    gen_word(gen_below(&r, 3000), w); gen_word(gen_below(&r, 3000), v); i++;
    n += (size_t)sprintf(s + n, "<item id=\"%d\" name='%s' weight=\"%d.%d\">%s &amp; %s<![CDATA[<%s>]]></item>\n", i, w, i % 50, i % 7, v, w, v);
    if (gen_below(&r, 3) == 0 && d < 30) n += (size_t)sprintf(s + n, "<level%d kind=\"%s\">", d++, w);
    else if (d && gen_below(&r, 3) == 0) n += (size_t)sprintf(s + n, "</level%d>", --d);
    if (i % 9 == 0) n += (size_t)sprintf(s + n, "<!-- %s --><empty a=\"&lt;&#65;\"/>", v);
  }
  while (d) n += (size_t)sprintf(s + n, "</level%d>", --d);
  return n + (size_t)sprintf(s + n, "</root>\n");
}
#endif
