// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Trains and asks one kind of machine with one kernel: `0 2 300 1` has types,
 * samples and a seed. */
#include "gen.h"
#include "svm.h"
#include <cmath>
#include <cstdio>
#include <vector>
static void quiet(const char *) {}
int main(int argc, char **argv) {
  const int samples = argc == 5 ? atoi(argv[3]) : 0, width = 24;
  gen_rng r;
  gen_seed(&r, strtoull(argv[4], nullptr, 10));
  std::vector<svm_node> nodes(size_t(samples) * (width + 1));
  std::vector<svm_node *> rows(samples);
  std::vector<double> labels(samples);
  for (int i = 0; i < samples; i++) {
    double sum = 0, squares = 0;
    svm_node *node = rows[i] = &nodes[size_t(i) * (width + 1)];
    for (int d = 0; d < width; d++) {
      double v = gen_unit(&r) * 2 - 1;
      if (gen_below(&r, 4) == 0)
        continue;
      *node++ = {d + 1, v};
      sum += v * (d % 5 - 2), squares += v * v;
    }
    node->index = -1;
    labels[i] = (sum * sum + squares > 9.5) + (sum > 1.5);
  }
  svm_problem problem;
  problem.l = samples, problem.x = rows.data(), problem.y = labels.data();
  svm_parameter how;
  memset(&how, 0, sizeof how);
  how.svm_type = atoi(argv[1]), how.kernel_type = atoi(argv[2]), how.degree = 3,
  how.gamma = 0.15, how.C = 2, how.nu = 0.2;
  how.p = 0.1, how.eps = 1e-3, how.cache_size = 40, how.shrinking = 1;
  svm_set_print_string_function(quiet);
  if (const char *wrong = svm_check_parameter(&problem, &how))
    return puts(wrong), 1;
  svm_model *model = svm_train(&problem, &how);
  double score = 0;
  for (int i = 0; i < samples; i++)
    score += svm_predict(model, rows[i]);
  printf("%d %.6g\n", model->l, score);
  svm_free_and_destroy_model(&model);
  return 0;
}
