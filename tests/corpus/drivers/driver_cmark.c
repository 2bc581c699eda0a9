// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "cmark-gfm.h"
#include "cmark-gfm-core-extensions.h"
int main(void) {
  size_t cap = 1500000, n = 0; char *s = malloc(cap + 1024), w[64], v[64]; gen_rng r; int i, rep; gen_seed(&r, 4);
  for (i = 0; n + 700 < cap; i++) { gen_word(gen_below(&r, 3000), w); gen_word(gen_below(&r, 3000), v);
    switch (gen_below(&r, 9)) {
      case 0: n += (size_t)sprintf(s + n, "\n%.*s %s **%s**\n\n", 1 + i % 5, "######", w, v); break;
      case 1: n += (size_t)sprintf(s + n, "- %s *%s*\n  - nested `%s`\n    1. deep %d\n", w, v, w, i); break;
      case 2: n += (size_t)sprintf(s + n, "\n```c\nint %s = %d;\n```\n", w, i); break;
      case 3: n += (size_t)sprintf(s + n, "\n| %s | %s |\n|:--|--:|\n| %d | ~~%s~~ |\n\n", w, v, i, v); break;
      case 4: n += (size_t)sprintf(s + n, "> %s [%s](http://ex.org/%s \"%s\") ![i](%d.png)\n> lazy\n\n", w, v, w, v, i); break;
      case 5: n += (size_t)sprintf(s + n, "[%s%d]: <http://a.b/%d> 'T'\n\nsee [%s%d] &amp; &copy; https://www.%s.com/x?y=%d\n", w, i, i, w, i, v, i); break;
      case 6: n += (size_t)sprintf(s + n, "<div class=\"%s\">\n<b>%s</b>\n</div>\n\n- [x] done %s\n- [ ] todo\n", w, v, w); break;
      default: n += (size_t)sprintf(s + n, "%s %s_%s_ \\* %s ***%s*** %d\n%s  \n%s", w, v, w, v, w, i, v, w); break; } }
  cmark_gfm_core_extensions_ensure_registered();
  for (rep = 0; rep < 6; rep++) {
    static const char *ex[] = {"table", "strikethrough", "autolink", "tagfilter", "tasklist", 0}; int k; cmark_node *doc; char *h; uint64_t H = 0; size_t tot = 0;
    cmark_parser *p = cmark_parser_new(CMARK_OPT_SMART | CMARK_OPT_FOOTNOTES | CMARK_OPT_UNSAFE);
    for (k = 0; ex[k]; k++) cmark_parser_attach_syntax_extension(p, cmark_find_syntax_extension(ex[k]));
    cmark_parser_feed(p, s, n); doc = cmark_parser_finish(p);
    h = cmark_render_html(doc, CMARK_OPT_UNSAFE, cmark_parser_get_syntax_extensions(p)); tot += strlen(h); H = gen_hash(h, strlen(h), H); free(h);
    if (rep < 2) { h = cmark_render_commonmark(doc, 0, 72); tot += strlen(h); H = gen_hash(h, strlen(h), H); free(h);
      h = cmark_render_xml(doc, 0); tot += strlen(h); H = gen_hash(h, strlen(h), H); free(h); }
    cmark_node_free(doc); cmark_parser_free(p);
    printf("in %zu out %zu hash %016llx\n", n, tot, (unsigned long long)H);
  }
  return 0;
}
