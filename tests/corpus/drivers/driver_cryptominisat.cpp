// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <vector>
#include "cryptominisat.h"
#include "gen_sat.h"
using namespace CMSat;
static void solve(const char *name, gen_cnf f, bool xors) {
  SATSolver s; s.set_num_threads(1); s.new_vars((unsigned)f.variables); int *p = f.literals; std::vector<Lit> c;
  for (int i = 0; i < f.clauses; i++) { c.clear(); for (; *p; p++) c.push_back(Lit((unsigned)abs(*p) - 1, *p < 0)); p++; s.add_clause(c); }
  if (xors) for (unsigned i = 0; i < 20; i++) s.add_xor_clause({i, i + 7, i + 13}, i & 1);
  lbool ok = s.solve(); bool holds = true; p = f.literals;
  if (ok == l_True) for (int i = 0; i < f.clauses; i++) { bool any = false; for (; *p; p++) any |= (s.get_model()[(unsigned)abs(*p) - 1] == l_True) == (*p > 0); p++; holds &= any; }
  printf("%s %d: %s holds %d\n", name, xors, ok == l_True ? "sat" : ok == l_False ? "unsat" : "?", holds); free(f.literals);
}
int main() {
  for (bool xors : {false, true}) { for (uint64_t i = 0; i < 5; i++) solve("3sat", gen_3sat(150, 600 + (int)i * 12, i), xors); solve("pigeons", gen_pigeons(6), xors); solve("xors", gen_xors(60, 52, 3), xors); solve("xors", gen_xors(40, 60, 4), xors); }
  return 0;
}
