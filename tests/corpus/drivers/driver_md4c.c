// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "md4c-html.h"
static uint64_t H; static size_t N;
static void out(const MD_CHAR *s, MD_SIZE n, void *u) { (void)u; N += n; H = gen_hash(s, n, H); }
int main(void) {
  size_t cap = 2u << 20, n = 0; char *s = malloc(cap), w[64], v[64]; gen_rng r; int i, f;
  static const unsigned flags[] = {MD_DIALECT_COMMONMARK, MD_DIALECT_GITHUB, MD_DIALECT_GITHUB | MD_FLAG_LATEXMATHSPANS | MD_FLAG_WIKILINKS | MD_FLAG_UNDERLINE, MD_FLAG_NOHTML | MD_FLAG_COLLAPSEWHITESPACE};
  gen_seed(&r, 28);
  while (n + 900 < cap) {
    gen_word(gen_below(&r, 3000), w); gen_word(gen_below(&r, 3000), v);
    switch (gen_below(&r, 12)) {
    case 0: n += (size_t)sprintf(s + n, "%.*s %s *%s*\n\n", 1 + (int)gen_below(&r, 6), "######", w, v); break;
    case 1: for (i = 0; i < 5; i++) n += (size_t)sprintf(s + n, "%*s- [%c] %s **%s** `%s`\n", i * 2, "", i & 1 ? 'x' : ' ', w, v, w); s[n++] = '\n'; break;
    case 2: n += (size_t)sprintf(s + n, "```%s\n%s <%s>\n```\n\n", w, v, w); break;
    case 3: n += (size_t)sprintf(s + n, "> %s\n> > %s [%s](http://%s.org \"%s\")\n\n", w, v, w, v, w); break;
    case 4: n += (size_t)sprintf(s + n, "| %s | %s |\n|:--|--:|\n| a | %s |\n| `x` | ~~%s~~ |\n\n", w, v, w, v); break;
    case 5: n += (size_t)sprintf(s + n, "<div class=\"%s\">\n%s\n</div>\n\n", w, v); break;
    case 6: n += (size_t)sprintf(s + n, "[%s]: http://example.org/%s '%s'\n\n", w, v, w); break;
    case 7: n += (size_t)sprintf(s + n, "%s\n===\n\n%s\n---\n\n***\n\n", w, v); break;
    case 8: n += (size_t)sprintf(s + n, "1. %s\n2. ![%s](%s.png)\n\n   $%s_%d$ [[%s]] &amp; &copy; \\*%s\\*\n\n", w, v, w, v, 3, w, v); break;
    default: n += (size_t)sprintf(s + n, "%s ***%s** %s* http://www.%s.com/%s <%s@%s.net> ~%s~  \n[%s] and [%s][%s] `` ` `` __%s__\n\n", w, v, w, v, w, v, w, v, w, v, w, v); break;
    }
  }
  for (i = 0; i < 4; i++) for (f = 0; f < 2; f++) { H = 0; N = 0; if (md_html(s, (MD_SIZE)n, out, 0, flags[i], f ? MD_HTML_FLAG_XHTML : MD_HTML_FLAG_VERBATIM_ENTITIES)) return 1; printf("%d %d: %zu -> %zu hash %016llx\n", i, f, n, N, (unsigned long long)H); }
  return 0;
}
