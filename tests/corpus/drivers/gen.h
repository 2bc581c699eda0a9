// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Deterministic input generator and hash shared by the benchmark drivers. No libc rand, no time. */
#ifndef GEN_H
#define GEN_H
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
typedef struct { uint64_t s; } gen_rng;
static inline void gen_seed(gen_rng *r, uint64_t s) { r->s = s * 0x9E3779B97F4A7C15ull + 0x1234567ull; if (!r->s) r->s = 1; }
static inline uint64_t gen_u64(gen_rng *r) {
  uint64_t x = r->s; x ^= x >> 12; x ^= x << 25; x ^= x >> 27; r->s = x; return x * 0x2545F4914F6CDD1Dull;
}
static inline uint32_t gen_below(gen_rng *r, uint32_t n) { return (uint32_t)((gen_u64(r) >> 32) * (uint64_t)n >> 32); }
static inline double gen_unit(gen_rng *r) { return (double)(gen_u64(r) >> 11) * (1.0 / 9007199254740992.0); }
static inline uint64_t gen_hash(const void *p, size_t n, uint64_t h) {
  const unsigned char *b = (const unsigned char *)p; size_t i;
  if (!h) h = 0xcbf29ce484222325ull;
  for (i = 0; i < n; i++) { h ^= b[i]; h *= 0x100000001b3ull; }
  return h;
}
/* Text-like bytes: words from a fixed-size vocabulary with a skewed (Zipf-like) choice, repeats and numbers. */
static inline void gen_word(uint32_t id, char *out) {
  static const char *syl[16] = {"an","be","co","der","ing","la","mo","ne","or","per","qui","st","ti","ur","ve","xo"};
  gen_rng w; int k, n; gen_seed(&w, id + 77); n = 1 + (int)gen_below(&w, 4); out[0] = 0;
  for (k = 0; k < n; k++) strcat(out, syl[gen_below(&w, 16)]);
}
static inline size_t gen_text(char *buf, size_t n, uint64_t seed) {
  gen_rng r; size_t i = 0; char w[64]; gen_seed(&r, seed);
  while (i + 80 < n) {
    uint32_t k = gen_below(&r, 100);
    if (k < 4 && i > 2000) { size_t back = 1 + gen_below(&r, 1900), len = 8 + gen_below(&r, 48); size_t j;
      for (j = 0; j < len; j++, i++) buf[i] = buf[i - back]; }
    else if (k < 8) { uint32_t v = gen_below(&r, 100000); char t[12]; int m = 0; do { t[m++] = (char)('0' + v % 10); v /= 10; } while (v);
      while (m) buf[i++] = t[--m]; buf[i++] = ' '; }
    else { double u = gen_unit(&r); uint32_t id = (uint32_t)(u * u * u * 4000.0); size_t l; gen_word(id, w); l = strlen(w);
      memcpy(buf + i, w, l); i += l; buf[i++] = k < 14 ? '.' : ' '; if (k < 12) buf[i++] = '\n'; }
  }
  while (i < n) buf[i++] = '\n';
  return n;
}
#endif
