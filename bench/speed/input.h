// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* The input that the arguments name: `text 1`, `json 2`. */
#include "gen_json.h"
static char *input(char **argv, size_t *n) {
  char *bytes = malloc(*n + (1u << 20));
  uint64_t seed = strtoull(argv[2], NULL, 10);
  if (!strcmp(argv[1], "json"))
    *n = gen_json(bytes, *n, seed);
  else
    gen_text(bytes, *n, seed);
  return bytes;
}
