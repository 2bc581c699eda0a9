// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Reads JSON, which is YAML, or the list of a text's lines, and writes it again. */
#include "input.h"
#include "yaml.h"
static uint64_t hash;
static int written(void *data, unsigned char *bytes, size_t n) {
  (void)data;
  hash = gen_hash(bytes, n, hash);
  return 1;
}
static char *lines(char *text, size_t *n) {
  char *list = malloc(8 * *n), *end = list;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    end += sprintf(end, "- size: %u\n  text: \"%s\"\n", (unsigned)strlen(line), line);
  *n = end - list;
  return list;
}
int main(int argc, char **argv) {
  size_t n = argc == 3 ? 60u << 10 : 0;
  char *in = input(argv, &n);
  yaml_parser_t parser;
  yaml_emitter_t emitter;
  yaml_event_t event;
  long events = 0;
  int done = 0;
  if (!strcmp(argv[1], "text")) in[n - 1] = 0, in = lines(in, &n);
  yaml_parser_initialize(&parser);
  yaml_parser_set_input_string(&parser, (unsigned char *)in, n);
  yaml_emitter_initialize(&emitter);
  yaml_emitter_set_output(&emitter, written, NULL);
  for (; !done; events++) {
    if (!yaml_parser_parse(&parser, &event)) return printf("line %zu: %s\n", parser.problem_mark.line, parser.problem), 1;
    done = event.type == YAML_STREAM_END_EVENT;
    if (!yaml_emitter_emit(&emitter, &event)) return puts(emitter.problem), 2;
  }
  yaml_emitter_delete(&emitter);
  yaml_parser_delete(&parser);
  printf("%zu: %ld %016llx\n", n, events, (unsigned long long)hash);
  return 0;
}
