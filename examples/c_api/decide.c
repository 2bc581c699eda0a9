/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A compiler in C asks whether to inline calls. The first argument is the
 * runner, such as onnx:model.onnx.
 *
 *   cc decide.c $(PKG_CONFIG_PATH=$(passpilot plugin-path --pkgconfigdir) \
 *     pkg-config --cflags --libs passpilot) -o decide
 *   python model.py && ./decide onnx:model.onnx
 */

#include <passpilot.h>
#include <stdio.h>

struct call {
  const char *callee;
  int64_t size, calls;
};

static const struct call calls[] = {
    {"square", 4, 9}, {"print_table", 230, 5}, {"main_loop", 800, 1}};

static int fail(void) {
  fprintf(stderr, "decide: %s\n", passpilot_last_error());
  return 1;
}

int main(int argc, char **argv) {
  static const int64_t one[] = {1};
  static const passpilot_feature features[] = {
      {"size", one, 1, PASSPILOT_INT64},
      {"calls", one, 1, PASSPILOT_INT64},
  };
  const passpilot_point point = {
      "call", features, 2, "inline", {PASSPILOT_FLAG, 0, NULL, 0, 0}};
  passpilot_runner *runner =
      passpilot_runner_create(argc > 1 ? argv[1] : "default", &point, NULL);
  if (!runner)
    return fail();
  int64_t *size = passpilot_runner_input(runner, "size");
  int64_t *count = passpilot_runner_input(runner, "calls");

  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    passpilot_advice advice;
    *size = calls[i].size;
    *count = calls[i].calls;
    passpilot_runner_default(runner)->integer = calls[i].size < 10;
    if (passpilot_runner_evaluate(runner, &advice) != 0)
      return fail();
    printf("%s: %s\n", calls[i].callee, advice.integer ? "inline" : "call");
  }
  if (passpilot_runner_close(runner, 1) != 0)
    return fail();
  passpilot_runner_destroy(runner);
  return 0;
}
