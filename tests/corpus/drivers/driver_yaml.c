// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "yaml.h"
static uint64_t H; static size_t outn;
static int wr(void *u, unsigned char *b, size_t n) { (void)u; H = gen_hash(b, n, H); outn += n; return 1; }
int main(void) {
  size_t cap = 3u << 20, n = 0; char *s = malloc(cap), w[64], v[64]; gen_rng r; int i, rep; long ev = 0, nodes = 0;
  gen_seed(&r, 3);
  for (i = 0; n + 600 < cap; i++) {
    gen_word(gen_below(&r, 4000), w); gen_word(gen_below(&r, 4000), v);
    n += (size_t)sprintf(s + n, "- name: %s\n  id: %d\n  tags: [%s, \"%s\\t%d\", '%s']\n  pos: {x: %d.%02d, y: -%d}\n  text: |\n    %s %s\n    line two\n", w, i, w, v, i % 31, v, i % 97, i % 100, i % 13, w, v);
    if (i % 5 == 0) n += (size_t)sprintf(s + n, "  ref: &a%d\n    - one\n    - ? k%d\n      : *a%d\n", i, i, i);
  }
  for (rep = 0; rep < 6; rep++) {
    yaml_parser_t p; yaml_emitter_t e; yaml_event_t x; int done = 0; H = 0; outn = 0; ev = 0;
    yaml_parser_initialize(&p); yaml_emitter_initialize(&e); yaml_parser_set_input_string(&p, (unsigned char *)s, n); yaml_emitter_set_output(&e, wr, 0);
    while (!done) { if (!yaml_parser_parse(&p, &x)) { printf("parse error %s line %zu\n", p.problem, p.problem_mark.line); return 1; }
      ev++; done = x.type == YAML_STREAM_END_EVENT; if (!yaml_emitter_emit(&e, &x)) { printf("emit error %s\n", e.problem); return 2; } }
    yaml_emitter_flush(&e); yaml_parser_delete(&p); yaml_emitter_delete(&e);
    printf("in %zu events %ld out %zu hash %016llx\n", n, ev, outn, (unsigned long long)H);
  }
  { yaml_parser_t p; yaml_document_t d; yaml_parser_initialize(&p); yaml_parser_set_input_string(&p, (unsigned char *)s, n);
    if (!yaml_parser_load(&p, &d)) { printf("load error %s\n", p.problem ? p.problem : "?"); } else { nodes = d.nodes.top - d.nodes.start; yaml_document_delete(&d); }
    yaml_parser_delete(&p); printf("nodes %ld\n", nodes); }
  return 0;
}
