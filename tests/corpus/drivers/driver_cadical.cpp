// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "cadical.hpp"
#include "gen_sat.h"
static void solve(const char *name, gen_cnf f, const char *configuration) {
  CaDiCaL::Solver s; s.set("quiet", 1); s.configure(configuration); int *p = f.literals, n = 0; for (int i = 0; i < f.clauses; p++) { s.add(*p); i += !*p; }
  int code = s.solve(); long trues = 0; bool holds = true;
  if (code == 10) { p = f.literals; for (int i = 0; i < f.clauses; i++) { bool any = false; for (; *p; p++) any |= s.val(abs(*p)) == *p; p++; holds &= any; } for (int i = 1; i <= f.variables; i++) trues += s.val(i) > 0; s.assume(s.val(1) > 0 ? -1 : 1); n = s.solve(); }
  printf("%s %s: %d holds %d true %ld next %d active %d\n", name, configuration, code, holds, trues, n, s.active() > 0); free(f.literals);
}
int main() {
  for (const char *c : {"default", "sat", "unsat", "plain"}) { for (uint64_t i = 0; i < 4; i++) solve("3sat", gen_3sat(160, 660 + (int)i * 8, i), c); solve("pigeons", gen_pigeons(7), c); solve("xors", gen_xors(60, 52, 3), c); solve("xors", gen_xors(40, 60, 4), c); }
  return 0;
}
