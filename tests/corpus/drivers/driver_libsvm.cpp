// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cmath>
#include <vector>
#include "gen.h"
#include "svm.h"
static void quiet(const char *) {}
int main() {
  const int L = 1600, D = 24; gen_rng r; gen_seed(&r, 6); svm_set_print_string_function(quiet);
  std::vector<svm_node> nodes((size_t)L * (D + 1)); std::vector<svm_node *> xs(L); std::vector<double> ys(L), yr(L);
  for (int i = 0; i < L; i++) { double s = 0, q = 0; svm_node *p = &nodes[(size_t)i * (D + 1)]; xs[i] = p; int m = 0;
    for (int d = 0; d < D; d++) { double v = gen_unit(&r) * 2 - 1; if (gen_below(&r, 4) == 0) continue; p[m].index = d + 1; p[m].value = v; m++; s += v * ((d % 5) - 2); q += v * v; }
    p[m].index = -1; ys[i] = (s * s + q > 9.5) + (s > 1.5); yr[i] = s + 0.3 * q; }
  svm_problem pb; pb.l = L; pb.x = xs.data();
  struct { int type, kern; double C, g; } cfg[] = {{C_SVC, RBF, 4, 0.15}, {C_SVC, LINEAR, 1, 0}, {NU_SVC, POLY, 1, 0.2}, {EPSILON_SVR, RBF, 2, 0.1}, {NU_SVR, SIGMOID, 0.5, 0.02}, {ONE_CLASS, RBF, 1, 0.2}};
  for (auto &k : cfg) { svm_parameter p; memset(&p, 0, sizeof p); p.svm_type = k.type; p.kernel_type = k.kern; p.degree = 3; p.gamma = k.g; p.C = k.C; p.nu = 0.2; p.p = 0.1; p.eps = 1e-3; p.cache_size = 40; p.shrinking = 1;
    pb.y = k.type == EPSILON_SVR || k.type == NU_SVR ? yr.data() : ys.data();
    const char *e = svm_check_parameter(&pb, &p); if (e) { printf("bad: %s\n", e); continue; }
    svm_model *m = svm_train(&pb, &p); double acc = 0; for (int i = 0; i < L; i += 2) { double v = svm_predict(m, xs[i]); acc += k.type == EPSILON_SVR || k.type == NU_SVR ? fabs(v - yr[i]) : (v == ys[i]); }
    printf("type %d kernel %d nSV %d rho %.9g score %.9g\n", k.type, k.kern, m->l, m->rho[0], acc); svm_free_and_destroy_model(&m); }
  return 0;
}
