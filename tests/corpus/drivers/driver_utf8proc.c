// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "utf8proc.h"
int main(void) {
  static const utf8proc_option_t options[] = {UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE, UTF8PROC_COMPOSE | UTF8PROC_COMPAT, UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE, UTF8PROC_DECOMPOSE | UTF8PROC_STRIPMARK | UTF8PROC_LUMP, UTF8PROC_COMPOSE | UTF8PROC_NLF2LF | UTF8PROC_STRIPCC, UTF8PROC_CHARBOUND | UTF8PROC_COMPOSE};
  size_t n = 0, i; unsigned char *s = malloc(1u << 20); gen_rng r; utf8proc_int32_t c, p = 0, state = 0; long width = 0, breaks = 0, cats = 0; uint64_t H = 0;
  gen_seed(&r, 35);
  while (n < (1u << 20) - 10) { uint32_t k = gen_below(&r, 10); c = (utf8proc_int32_t)(k < 4 ? 32 + gen_below(&r, 90) : k < 7 ? 0xa0 + gen_below(&r, 0x500) : k < 9 ? 0x1e00 + gen_below(&r, 0x9000) : 0xac00 + gen_below(&r, 0x2ba4)); if (utf8proc_codepoint_valid(c)) n += (size_t)utf8proc_encode_char(c, s + n); if (k == 5) n += (size_t)utf8proc_encode_char(0x300 + (utf8proc_int32_t)gen_below(&r, 30), s + n); }
  for (i = 0; i < 7; i++) { utf8proc_uint8_t *out; utf8proc_ssize_t l = utf8proc_map(s, (utf8proc_ssize_t)n, &out, options[i]); printf("%zu: %ld hash %016llx\n", i, (long)l, l > 0 ? (unsigned long long)gen_hash(out, (size_t)l, 0) : 0ull); if (l > 0) free(out); }
  for (i = 0; i < n;) { utf8proc_ssize_t l = utf8proc_iterate(s + i, (utf8proc_ssize_t)(n - i), &c); if (l <= 0) return 1; i += (size_t)l; width += utf8proc_charwidth(c); cats += utf8proc_category(c); breaks += utf8proc_grapheme_break_stateful(p, c, &state); H = H * 31 + (uint64_t)(utf8proc_toupper(c) + utf8proc_tolower(c) + utf8proc_totitle(c)); p = c; }
  printf("width %ld categories %ld breaks %ld cases %016llx\n", width, cats, breaks, (unsigned long long)H);
  s[77] = 0xff; { utf8proc_uint8_t *out; printf("%s\n", utf8proc_errmsg(utf8proc_map(s, (utf8proc_ssize_t)n, &out, UTF8PROC_COMPOSE))); }
  free(s);
  return 0;
}
