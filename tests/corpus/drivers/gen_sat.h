// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Deterministic clauses for the drivers of SAT solvers: random 3-SAT, pigeons in holes, and chains of xors. */
#ifndef GEN_SAT_H
#define GEN_SAT_H
#include "gen.h"
typedef struct { int variables, clauses, *literals; } gen_cnf; /* literals: clauses, each ended by 0 */
static inline gen_cnf gen_3sat(int variables, int clauses, uint64_t seed) {
  gen_cnf f = {variables, clauses, (int *)malloc(sizeof(int) * 4 * (size_t)clauses)}; int *p = f.literals, i, k; gen_rng r; gen_seed(&r, seed);
  for (i = 0; i < clauses; i++) { for (k = 0; k < 3; k++) { int v = 1 + (int)gen_below(&r, (uint32_t)variables); *p++ = gen_below(&r, 2) ? v : -v; } *p++ = 0; }
  return f;
}
static inline gen_cnf gen_pigeons(int holes) {
  int n = holes + 1, i, j, k, *p; gen_cnf f = {n * holes, 0, (int *)malloc(sizeof(int) * (size_t)(n * (holes + 1) + holes * n * n * 2))}; p = f.literals;
  for (i = 0; i < n; i++) { for (j = 0; j < holes; j++) *p++ = i * holes + j + 1; *p++ = 0; f.clauses++; }
  for (j = 0; j < holes; j++) for (i = 0; i < n; i++) for (k = i + 1; k < n; k++) { *p++ = -(i * holes + j + 1); *p++ = -(k * holes + j + 1); *p++ = 0; f.clauses++; }
  return f;
}
static inline gen_cnf gen_xors(int variables, int xors, uint64_t seed) {
  gen_cnf f = {variables, 4 * xors, (int *)malloc(sizeof(int) * 16 * (size_t)xors)}; int *p = f.literals, i, k; gen_rng r; gen_seed(&r, seed);
  for (i = 0; i < xors; i++) { int v[3], odd = (int)gen_below(&r, 2); for (k = 0; k < 3; k++) v[k] = 1 + (int)gen_below(&r, (uint32_t)variables);
    for (k = 0; k < 8; k++) { int ones = (k & 1) + (k >> 1 & 1) + (k >> 2 & 1); if (ones % 2 == odd) { *p++ = k & 1 ? -v[0] : v[0]; *p++ = k & 2 ? -v[1] : v[1]; *p++ = k & 4 ? -v[2] : v[2]; *p++ = 0; } } }
  return f;
}
#endif
