// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <vector>
#include "gen.h"
#include "muParser.h"
#include "muParserInt.h"
static double twice(double x) { return 2 * x; }
static double sum(const double *v, int n) { double s = 0; while (n--) s += v[n]; return s; }
static double milli(double x) { return x / 1000; }
int main() {
  double a = 1, b = 2.5, c = -3; gen_rng r; gen_seed(&r, 44); uint64_t H = 0; long bad = 0;
  const char *ops[] = {"+", "-", "*", "/", "^", "<", ">=", "==", "&&", "||", "!="}, *names[] = {"a", "b", "c", "sin(a)", "twice(b)", "sum(a,b,c,4)", "max(a,c)", "5m", "(a>b?c:b)", "sqrt(abs(c))", "_pi", "0.25e2"};
  mu::Parser p; p.DefineVar("a", &a); p.DefineVar("b", &b); p.DefineVar("c", &c); p.DefineFun("twice", twice); p.DefineFun("sum", sum); p.DefinePostfixOprt("m", milli); p.DefineConst("k", 6.5);
  for (int i = 0; i < 1500; i++) { std::string s = names[gen_below(&r, 12)]; int n = 1 + (int)gen_below(&r, 9); for (int k = 0; k < n; k++) s = (gen_below(&r, 3) ? s : "(" + s + ")") + ops[gen_below(&r, 11)] + names[gen_below(&r, 12)];
    try { p.SetExpr(s); double total = 0; for (int k = 0; k < 20; k++) { a = k * 0.5; b = 10 - k; double v = p.Eval(); if (v == v && v < 1e6 && v > -1e6) total += (double)(long)(v * 64); } H = gen_hash(&total, sizeof total, H); } catch (mu::Parser::exception_type &e) { bad++; H = gen_hash(e.GetMsg().data(), e.GetMsg().size(), H); } }
  printf("%ld errors, hash %016llx\n", bad, (unsigned long long)H);
  for (const char *s : {"1+", "(a", "a b", "sin()", "x=3", "1,2,3", "\"t\"", "sum()", "a=b=7", "1 ? 2", "rnd(1)", "0x1g"}) try { p.SetExpr(s); printf("%s = %g\n", s, p.Eval()); } catch (mu::Parser::exception_type &e) { printf("%s: %d at %d\n", s, (int)e.GetCode(), (int)e.GetPos()); }
  mu::ParserInt q; for (const char *s : {"7/2", "5^2", "1<<10", "0xff & 12 | 3", "7%4*#101", "1>2"}) try { q.SetExpr(s); printf("%s = %g\n", s, q.Eval()); } catch (mu::Parser::exception_type &e) { printf("%s: %d\n", s, (int)e.GetCode()); }
  std::vector<double> va(50), vb(50), out(50); for (int i = 0; i < 50; i++) { va[i] = i; vb[i] = 50 - i; } mu::Parser v; v.DefineVar("x", va.data()); v.DefineVar("y", vb.data()); v.SetExpr("x*y+min(x,y)"); v.Eval(out.data(), 50); printf("bulk %.1f %.1f\n", out[7], out[49]);
  return 0;
}
