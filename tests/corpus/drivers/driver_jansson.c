// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gen_json.h"
#include "jansson.h"
static long walk(json_t *v) {
  long n = 1; size_t i; const char *k; json_t *x;
  if (json_is_array(v)) { json_array_foreach(v, i, x) n += walk(x); }
  else if (json_is_object(v)) { json_object_foreach(v, k, x) n += walk(x) + (long)strlen(k); }
  else if (json_is_integer(v)) n += json_integer_value(v) % 5;
  else if (json_is_string(v)) n += (long)json_string_length(v);
  return n;
}
int main(void) {
  static const size_t flags[] = {JSON_COMPACT, JSON_INDENT(2), JSON_SORT_KEYS | JSON_ENSURE_ASCII, JSON_ESCAPE_SLASH | JSON_REAL_PRECISION(9)};
  size_t n, i; char *s = malloc(4u << 20); json_error_t e; json_t *v, *copy;
  json_object_seed(7); n = gen_json(s, 2u << 20, 26);
  if (!(v = json_loads(s, JSON_DECODE_ANY, &e))) { printf("%s\n", e.text); return 1; }
  for (i = 0; i < 4; i++) { char *out = json_dumps(v, flags[i]); printf("%zu -> %zu hash %016llx\n", n, strlen(out), (unsigned long long)gen_hash(out, strlen(out), 0)); free(out); }
  copy = json_deep_copy(v); printf("equal %d walk %ld\n", json_equal(v, copy), walk(copy));
  json_array_append_new(copy, json_pack("{s:i, s:[b, f, s], s:o}", "a", 3, "b", 1, 2.5, "x", "c", json_null()));
  { int a; double f; const char *t; json_t *last = json_array_get(copy, json_array_size(copy) - 1);
    printf("unpack %d", json_unpack_ex(last, &e, 0, "{s:i, s:[b, f, s]}", "a", &a, "b", &(int){0}, &f, &t)); printf(" %d %.2f %s equal %d\n", a, f, t, json_equal(v, copy)); }
  { static const char *bad[] = {"[1,2", "{\"a\" 1}", "[\"\\ud800\"]", "[01]", "nul", "\"\xff\"", "[1e999]", "{\"a\":1,\"a\":2}"}; for (i = 0; i < 8; i++) { json_t *x = json_loads(bad[i], JSON_REJECT_DUPLICATES, &e); printf("%s at %d,%d\n", x ? "ok" : e.text, x ? 0 : e.line, x ? 0 : e.column); json_decref(x); } }
  json_decref(copy); json_decref(v);
  return 0;
}
