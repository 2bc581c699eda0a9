// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "picosat.h"
int main(void) {
  int q;
  for (q = 0; q < 14; q++) {
    gen_rng r; int n = 150 + 8 * q, m = (int)(n * 4.2), i, j, res; PicoSAT *p = picosat_init(); uint64_t H = 0;
    gen_seed(&r, 100 + (uint64_t)q); picosat_adjust(p, n); picosat_set_seed(p, 7);
    for (i = 0; i < m; i++) { int v[3]; for (j = 0; j < 3; j++) { v[j] = 1 + (int)gen_below(&r, (uint32_t)n); if (gen_u64(&r) >> 63) v[j] = -v[j]; picosat_add(p, v[j]); } picosat_add(p, 0); }
    res = picosat_sat(p, -1);
    if (res == PICOSAT_SATISFIABLE) for (i = 1; i <= n; i++) { int d = picosat_deref(p, i); H = gen_hash(&d, sizeof d, H); }
    printf("n %d m %d res %d decisions %llu propagations %llu model %016llx\n", n, m, res, picosat_decisions(p), picosat_propagations(p), (unsigned long long)H);
    picosat_reset(p);
  }
  return 0;
}
