// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "tidy.h"
#include "tidybuffio.h"
static void run(const char *s, int xhtml, int clean) {
  TidyDoc d = tidyCreate(); TidyBuffer out = {0}, errors = {0}; int code;
  tidyOptSetBool(d, xhtml ? TidyXhtmlOut : TidyHtmlOut, yes); tidyOptSetBool(d, TidyMakeClean, clean ? yes : no); tidyOptSetInt(d, TidyWrapLen, 80); tidyOptSetBool(d, TidyMark, no); tidyOptSetInt(d, TidyShowErrors, 100000); tidyOptSetBool(d, TidyForceOutput, yes);
  tidySetErrorBuffer(d, &errors); code = tidyParseString(d, s); if (code >= 0) code = tidyCleanAndRepair(d); if (code >= 0) code = tidyRunDiagnostics(d); if (code >= 0) tidySaveBuffer(d, &out);
  printf("%d: %u warnings %u errors, %u bytes hash %016llx messages %016llx\n", code, tidyWarningCount(d), tidyErrorCount(d), out.size, (unsigned long long)gen_hash(out.bp, out.size, 0), (unsigned long long)gen_hash(errors.bp, errors.size, 0));
  tidyBufFree(&out); tidyBufFree(&errors); tidyRelease(d);
}
int main(void) {
  size_t cap = 200000, n = 0; char *s = malloc(cap), w[64], v[64]; gen_rng r; int i = 0;
  static const char *tags[] = {"b", "i", "p", "div", "table", "tr", "td", "ul", "li", "font color=red", "a href=x", "center", "h2", "em", "span", "pre", "form", "select", "option"};
  gen_seed(&r, 34); n += (size_t)sprintf(s, "<html><head><title>t</title><style>p {}</style><meta charset=utf-8><body bgcolor=white>");
  while (n + 500 < cap) { gen_word(gen_below(&r, 3000), w); gen_word(gen_below(&r, 3000), v); i++;
    switch (gen_below(&r, 7)) {
    case 0: n += (size_t)sprintf(s + n, "<%s>%s", tags[gen_below(&r, 19)], w); break;
    case 1: { const char *t = tags[gen_below(&r, 19)]; n += (size_t)sprintf(s + n, "</%.*s>", (int)strcspn(t, " "), t); break; }
    case 2: n += (size_t)sprintf(s + n, "<img src=%s.png><br>%s &amp; &nbsp; &%s; &#%d;", w, v, w, 60 + i % 200); break;
    case 3: n += (size_t)sprintf(s + n, "<!-- %s --><p align=center>%s", w, v); break;
    case 4: n += (size_t)sprintf(s + n, "<script>if (a<b) %s()</script><%s>%s</%s>", w, w, v, w); break;
    default: n += (size_t)sprintf(s + n, "%s <b><i>%s</b></i> \"%s\" ", w, v, w); } }
  s[n] = 0;
  run(s, 0, 0); run(s, 1, 1); run("<p>x<table><tr><td>y", 0, 1); run("", 1, 0); run("<?xml version='1.0'?><a><b/></a>", 0, 0);
  free(s);
  return 0;
}
