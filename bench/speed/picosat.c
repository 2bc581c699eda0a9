// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Random problems of so many variables, and clauses by the hundred variables. */
#include "gen.h"
#include "picosat.h"
#include <stdio.h>
int main(int argc, char **argv) {
  int n = argc == 4 ? atoi(argv[1]) : 0, clauses = n * atoi(argv[2]) / 100;
  for (int round = 0; round < 6; round++) {
    PicoSAT *solver = picosat_init();
    gen_rng r;
    gen_seed(&r, strtoull(argv[3], NULL, 10) + round);
    picosat_adjust(solver, n);
    for (int i = 0; i < clauses; i++) {
      for (int j = 0; j < 3; j++) {
        int v = 1 + (int)gen_below(&r, n);
        picosat_add(solver, gen_u64(&r) >> 63 ? v : -v);
      }
      picosat_add(solver, 0);
    }
    int answer = picosat_sat(solver, -1);
    printf("%d %llu\n", answer, picosat_decisions(solver));
    picosat_reset(solver);
  }
  return 0;
}
