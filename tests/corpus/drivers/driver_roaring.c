// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "roaring.h"
static bool add(uint32_t v, void *p) { *(uint64_t *)p = *(uint64_t *)p * 31 + v; return true; }
int main(void) {
  roaring_bitmap_t *b[6]; gen_rng r; int i, j; uint64_t H;
  gen_seed(&r, 36);
  for (i = 0; i < 6; i++) { b[i] = roaring_bitmap_create(); for (j = 0; j < 12000; j++) roaring_bitmap_add(b[i], gen_below(&r, i < 2 ? 1u << 17 : i < 4 ? 1u << 24 : 4000000000u)); for (j = 0; j < 30; j++) { uint32_t at = gen_below(&r, 1u << 22); roaring_bitmap_add_range(b[i], at, at + gen_below(&r, 9000)); roaring_bitmap_remove_range(b[i], at / 2, at / 2 + 500); } if (i & 1) roaring_bitmap_run_optimize(b[i]); }
  for (i = 0; i < 6; i++) for (j = 0; j < 6; j++) {
    roaring_bitmap_t *x[4] = {roaring_bitmap_and(b[i], b[j]), roaring_bitmap_or(b[i], b[j]), roaring_bitmap_xor(b[i], b[j]), roaring_bitmap_andnot(b[i], b[j])}; int k; H = 0;
    for (k = 0; k < 4; k++) { size_t size = roaring_bitmap_portable_size_in_bytes(x[k]); char *buffer = malloc(size); roaring_bitmap_t *y; roaring_bitmap_portable_serialize(x[k], buffer); y = roaring_bitmap_portable_deserialize_safe(buffer, size); if (!roaring_bitmap_equals(x[k], y)) return 1; roaring_iterate(y, add, &H); free(buffer); roaring_bitmap_free(y); }
    printf("%d %d: %llu %llu %d %.4f %016llx\n", i, j, (unsigned long long)roaring_bitmap_get_cardinality(x[0]), (unsigned long long)roaring_bitmap_xor_cardinality(b[i], b[j]), roaring_bitmap_is_subset(x[0], b[i]), roaring_bitmap_jaccard_index(b[i], b[j]), (unsigned long long)H);
    for (k = 0; k < 4; k++) roaring_bitmap_free(x[k]);
  }
  { roaring_bitmap_t *all = roaring_bitmap_or_many(6, (const roaring_bitmap_t **)b); uint32_t v = 0; roaring_bitmap_flip_inplace(all, 1000, 5000000); roaring_bitmap_select(all, 12345, &v); printf("all %llu rank %llu select %u\n", (unsigned long long)roaring_bitmap_get_cardinality(all), (unsigned long long)roaring_bitmap_rank(all, 777777), v); roaring_bitmap_free(all); }
  for (i = 0; i < 6; i++) roaring_bitmap_free(b[i]);
  return 0;
}
