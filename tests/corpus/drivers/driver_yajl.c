// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gen_json.h"
#include "yajl/yajl_gen.h"
#include "yajl/yajl_parse.h"
#include "yajl/yajl_tree.h"
static yajl_gen G;
static int null_(void *c) { (void)c; return yajl_gen_null(G) == yajl_gen_status_ok; }
static int bool_(void *c, int b) { (void)c; return yajl_gen_bool(G, b) == yajl_gen_status_ok; }
static int number(void *c, const char *s, size_t n) { (void)c; return yajl_gen_number(G, s, n) == yajl_gen_status_ok; }
static int string(void *c, const unsigned char *s, size_t n) { (void)c; return yajl_gen_string(G, s, n) == yajl_gen_status_ok; }
static int map(void *c) { (void)c; return yajl_gen_map_open(G) == yajl_gen_status_ok; }
static int end_map(void *c) { (void)c; return yajl_gen_map_close(G) == yajl_gen_status_ok; }
static int array(void *c) { (void)c; return yajl_gen_array_open(G) == yajl_gen_status_ok; }
static int end_array(void *c) { (void)c; return yajl_gen_array_close(G) == yajl_gen_status_ok; }
static const yajl_callbacks callbacks = {null_, bool_, 0, 0, number, string, map, string, end_map, array, end_array};
static long count(yajl_val v) {
  long n = 1; size_t i;
  if (YAJL_IS_ARRAY(v)) for (i = 0; i < v->u.array.len; i++) n += count(v->u.array.values[i]);
  if (YAJL_IS_OBJECT(v)) for (i = 0; i < v->u.object.len; i++) n += count(v->u.object.values[i]) + (long)strlen(v->u.object.keys[i]);
  if (YAJL_IS_INTEGER(v)) n += v->u.number.i % 7;
  return n;
}
int main(void) {
  size_t n, at, size; char *s = malloc(5u << 20), message[200]; const unsigned char *out; int beautify;
  n = gen_json(s, 3u << 20, 25);
  for (beautify = 0; beautify < 2; beautify++) {
    yajl_handle h; G = yajl_gen_alloc(0); yajl_gen_config(G, yajl_gen_beautify, beautify);
    h = yajl_alloc(&callbacks, 0, 0); yajl_config(h, yajl_allow_comments, 1);
    for (at = 0; at < n; at += 1021) if (yajl_parse(h, (unsigned char *)s + at, n - at < 1021 ? n - at : 1021) != yajl_status_ok) return 1;
    printf("%d ", yajl_complete_parse(h)); yajl_gen_get_buf(G, &out, &size);
    printf("%zu -> %zu hash %016llx\n", n, size, (unsigned long long)gen_hash(out, size, 0));
    yajl_free(h); yajl_gen_free(G);
  }
  { yajl_val v = yajl_tree_parse(s, message, sizeof message); printf("tree %ld\n", v ? count(v) : -1); yajl_tree_free(v); }
  { static const char *bad[] = {"[1,2", "{\"a\" 1}", "[\"\\u12x4\"]", "[01]", "nul", "[1e]", "{\"a\":1,}"}; for (at = 0; at < 7; at++) { yajl_val v = yajl_tree_parse(bad[at], message, sizeof message); printf("%s: %d %.40s\n", bad[at], v != 0, strchr(message, '\n') ? "error" : message); yajl_tree_free(v); } }
  return 0;
}
