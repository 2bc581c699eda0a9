// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "expat.h"
static uint64_t H; static long starts, ends, texts, others;
static void start(void *u, const XML_Char *n, const XML_Char **a) { (void)u; starts++; H = gen_hash(n, strlen(n), H); for (; *a; a++) H = gen_hash(*a, strlen(*a), H); }
static void end(void *u, const XML_Char *n) { (void)u; ends++; H = gen_hash(n, strlen(n), H); }
static void text(void *u, const XML_Char *s, int n) { (void)u; texts += n; H = gen_hash(s, (size_t)n, H); }
static void comment(void *u, const XML_Char *s) { (void)u; others++; H = gen_hash(s, strlen(s), H); }
static void pi(void *u, const XML_Char *t, const XML_Char *d) { (void)u; others++; H = gen_hash(t, strlen(t), gen_hash(d, strlen(d), H)); }
static void entity(void *u, const XML_Char *n, int p, const XML_Char *v, int l, const XML_Char *b, const XML_Char *s, const XML_Char *q, const XML_Char *t) {
  (void)u; (void)b; (void)s; (void)q; (void)t; others += p + 1; H = gen_hash(n, strlen(n), H); if (v) H = gen_hash(v, (size_t)l, H); }
static void run(const char *s, size_t n, const char *encoding, int ns) {
  XML_Parser p = ns ? XML_ParserCreateNS(encoding, '|') : XML_ParserCreate(encoding);
  size_t at, step = 4093; enum XML_Status ok = XML_STATUS_OK;
  H = 0; starts = ends = texts = others = 0;
  XML_SetHashSalt(p, 12345);
  XML_SetElementHandler(p, start, end); XML_SetCharacterDataHandler(p, text); XML_SetCommentHandler(p, comment);
  XML_SetProcessingInstructionHandler(p, pi); XML_SetEntityDeclHandler(p, entity);
  for (at = 0; at < n && ok == XML_STATUS_OK; at += step) ok = XML_Parse(p, s + at, (int)(n - at < step ? n - at : step), n - at <= step);
  printf("%d %s line %lu: %ld %ld %ld %ld hash %016llx\n", (int)ok, ok ? "" : XML_ErrorString(XML_GetErrorCode(p)), (unsigned long)XML_GetCurrentLineNumber(p), starts, ends, texts, others, (unsigned long long)H);
  XML_ParserFree(p);
}
int main(void) {
  size_t cap = 4u << 20, n = 0, i; char *s = malloc(cap), *wide = malloc(2 * cap), w[64], v[64]; gen_rng r; int d = 0;
  gen_seed(&r, 24);
  n += (size_t)sprintf(s, "<?xml version='1.0'?>\n<!DOCTYPE r [<!ENTITY e 'a <b>&#98;</b>'><!ENTITY f '&e;&e;'><!ELEMENT r ANY><!ATTLIST x d CDATA 'def'>]>\n<r xmlns='urn:a' xmlns:p='urn:b'>");
  for (i = 0; n + 900 < cap; i++) {
    gen_word(gen_below(&r, 3000), w); gen_word(gen_below(&r, 3000), v);
    n += (size_t)sprintf(s + n, "<x id=\"%zu\" p:%s='%s &lt; &#x41;'>%s &amp; %s<!-- %s --><![CDATA[<%s>]]><?%s %s?>%s</x>\n", i, w, v, w, v, v, w, w, v, i % 50 ? "" : "&f;");
    if (gen_below(&r, 3) == 0 && d < 40) { n += (size_t)sprintf(s + n, "<p:l%d>", d++); }
    else if (d && gen_below(&r, 3) == 0) { n += (size_t)sprintf(s + n, "</p:l%d>", --d); }
  }
  while (d) n += (size_t)sprintf(s + n, "</p:l%d>", --d);
  n += (size_t)sprintf(s + n, "</r>");
  run(s, n, 0, 0); run(s, n, 0, 1); run(s, n, "ISO-8859-1", 0);
  for (i = 0; i < n; i++) { wide[2 * i] = s[i]; wide[2 * i + 1] = 0; }
  run(wide, 2 * n, "UTF-16LE", 1);
  s[n / 2] = '<'; run(s, n, "US-ASCII", 0);
  run("<a>\xc3(</a>", 9, "UTF-8", 0); run("<a><b></a>", 10, 0, 0); run("<!DOCTYPE a [<!ENTITY % p 'x'> %p;", 34, 0, 0);
  return 0;
}
