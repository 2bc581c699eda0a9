// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "oniguruma.h"
int main(void) {
  static const char *pats[] = {"(\\w+)ing\\b", "(?<a>[a-z]+)(?<b>\\d{2,5}) ", "(an|be|co){2,4}(?:der|mo)", "(?i)Qui[st]*ti", "\\b(\\w)(\\w)\\w*(st|xo)\\.", "^([^ ]+) .*ve$", "(?<=\\d) (?!qui)\\w{3}", "(\\w\\w)\\w*\\1", "[^aeiou ]{4,}", "((?>\\d+) (\\w+) )+", "\\p{Alpha}+\\s\\p{Digit}+", "(?:x|(?<n>la|mo\\g<n>*))ne"};
  OnigEncoding encodings[] = {ONIG_ENCODING_UTF8, ONIG_ENCODING_ASCII, ONIG_ENCODING_UTF16_LE, ONIG_ENCODING_EUC_JP, ONIG_ENCODING_ISO_8859_1};
  size_t n = 1u << 20, i, e; unsigned char *s = malloc(n), *wide = malloc(2 * n);
  gen_text((char *)s, n, 29); for (i = 0; i < n; i++) { wide[2 * i] = s[i]; wide[2 * i + 1] = 0; }
  onig_initialize(encodings, 5);
  for (e = 0; e < 5; e++) for (i = 0; i < sizeof pats / sizeof *pats; i++) {
    unsigned char pw[400]; size_t l = strlen(pats[i]), j, m = e == 2 ? 2 * n : e ? n / 4 : n; const unsigned char *t = e == 2 ? wide : s, *at = t; long c = 0; uint64_t H = 0;
    regex_t *re; OnigErrorInfo info; OnigRegion *g = onig_region_new(); int code;
    for (j = 0; j < l; j++) if (e == 2) { pw[2 * j] = (unsigned char)pats[i][j]; pw[2 * j + 1] = 0; } else pw[j] = (unsigned char)pats[i][j];
    if (e == 2) { l *= 2; m /= 8; }
    code = onig_new(&re, pw, pw + l, ONIG_OPTION_DEFAULT, encodings[e], ONIG_SYNTAX_DEFAULT, &info);
    if (code != ONIG_NORMAL) { unsigned char text[ONIG_MAX_ERROR_MESSAGE_LEN]; onig_error_code_to_str(text, code, &info); printf("%zu %s: %s\n", e, pats[i], text); continue; }
    while (at < t + m && onig_search(re, t, t + m, at, t + m, g, ONIG_OPTION_NONE) >= 0) { c++; H = gen_hash(t + g->beg[0], (size_t)(g->end[0] - g->beg[0]), H); at = t + (g->end[0] > at - t ? g->end[0] : at - t + (e == 2 ? 2 : 1)); }
    printf("%zu %s: %ld hash %016llx\n", e, pats[i], c, (unsigned long long)H); onig_region_free(g, 1); onig_free(re);
  }
  { static const char *bad[] = {"(a", "[z-a]", "a{3,1}+*", "\\k<x>", "(?<n>a)\\g<m>", "a**", "[[:foo:]]"}; for (i = 0; i < 7; i++) { regex_t *re; OnigErrorInfo info; printf("%d ", onig_new(&re, (unsigned char *)bad[i], (unsigned char *)bad[i] + strlen(bad[i]), 0, ONIG_ENCODING_UTF8, ONIG_SYNTAX_RUBY, &info)); } printf("\n"); }
  onig_end();
  return 0;
}
