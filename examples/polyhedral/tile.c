/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A polyhedral compiler: isl finds a schedule for a loop nest, a runner of
 * passpilot chooses the tile sizes, and the loops are printed as a C program.
 *
 *   ./tile matmul 96 python:policy.py:decide > tiled.c
 *   ./tile matmul 96 > plain.c         (the loops in their original order)
 *
 * Every advice is legal: only a band whose loops isl may permute is tiled.
 */

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/flow.h>
#include <isl/ilp.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <passpilot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The loop nest: its iterations, what they access, their order, and the
 * statement in C. `%d` is the size of the problem. */
struct kernel {
  const char *name, *domain, *reads, *writes, *order, *statement;
  int64_t arrays;
};

static const struct kernel kernels[] = {
    {"matmul", "{ S[i,j,k] : 0 <= i,j,k < %d }",
     "{ S[i,j,k] -> C[i,j]; S[i,j,k] -> A[i,k]; S[i,j,k] -> B[k,j] }",
     "{ S[i,j,k] -> C[i,j] }", "{ S[i,j,k] -> [i,j,k] }",
     "#define S(i, j, k) C[i][j] += A[i][k] * B[k][j]", 3},
    {"seidel", "{ S[t,i,j] : 0 <= t < 8 and 1 <= i,j < %d - 1 }",
     "{ S[t,i,j] -> A[x,y] : i-1 <= x <= i+1 and j-1 <= y <= j+1 }",
     "{ S[t,i,j] -> A[i,j] }", "{ S[t,i,j] -> [t,i,j] }",
     "#define S(t, i, j) A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1] + "
     "A[i][j-1] + A[i][j] + A[i][j+1] + A[i+1][j-1] + A[i+1][j] + "
     "A[i+1][j+1]) / 9",
     1},
};

static const char prologue[] =
    "#include <stdio.h>\n"
    "#define min(a, b) ((a) < (b) ? (a) : (b))\n"
    "#define max(a, b) ((a) > (b) ? (a) : (b))\n"
    "#define floord(n, d) ((n) < 0 ? -((-(n) + (d) - 1) / (d)) : (n) / (d))\n";

static const char epilogue[] =
    "  unsigned long hash = 0;\n"
    "  for (int i = 0; i < N; ++i)\n"
    "    for (int j = 0; j < N; ++j) {\n"
    "      union { double d; unsigned long u; } bits = {RESULT[i][j]};\n"
    "      hash = hash * 31 + bits.u;\n"
    "    }\n"
    "  printf(\"%lx\\n\", hash);\n"
    "}\n";

/* The pairs of an access of `source` and a later one of `sink` to the same
 * element. */
static isl_union_map *dependences(isl_union_map *source, isl_union_map *sink,
                                  isl_union_map *order) {
  isl_union_access_info *info =
      isl_union_access_info_from_sink(isl_union_map_copy(sink));
  info =
      isl_union_access_info_set_may_source(info, isl_union_map_copy(source));
  info = isl_union_access_info_set_schedule_map(info,
                                                isl_union_map_copy(order));
  isl_union_flow *flow = isl_union_access_info_compute_flow(info);
  isl_union_map *found = isl_union_flow_get_may_dependence(flow);
  isl_union_flow_free(flow);
  return found;
}

/* isl's schedule: as many loops as possible that may be permuted, and so
 * tiled. */
static isl_schedule *scheduled(isl_union_set *domain, isl_union_map *reads,
                               isl_union_map *writes, isl_union_map *order) {
  isl_union_map *flow = dependences(writes, reads, order);
  isl_union_map *all = isl_union_map_union(
      isl_union_map_copy(flow),
      isl_union_map_union(dependences(reads, writes, order),
                          dependences(writes, writes, order)));
  isl_schedule_constraints *constraints =
      isl_schedule_constraints_on_domain(isl_union_set_copy(domain));
  constraints = isl_schedule_constraints_set_validity(constraints, all);
  constraints = isl_schedule_constraints_set_proximity(constraints, flow);
  return isl_schedule_constraints_compute_schedule(constraints);
}

/* The first band of several loops that may be permuted, or the leaf. */
static isl_schedule_node *band_of(isl_schedule *schedule) {
  isl_schedule_node *node = isl_schedule_get_root(schedule);
  while (isl_schedule_node_has_children(node) == isl_bool_true &&
         !(isl_schedule_node_get_type(node) == isl_schedule_node_band &&
           isl_schedule_node_band_get_permutable(node) == isl_bool_true))
    node = isl_schedule_node_child(node, 0);
  return node;
}

/* The points that the band visits, one dimension for each loop. */
static isl_set *points(isl_schedule_node *band, isl_union_set *domain) {
  isl_union_map *order = isl_union_map_intersect_domain(
      isl_schedule_node_band_get_partial_schedule_union_map(band),
      isl_union_set_copy(domain));
  return isl_set_from_union_set(isl_union_map_range(order));
}

/* How many values a loop takes. */
static int64_t trip_count(isl_set *points, int loop) {
  isl_val *range = isl_val_sub(isl_set_dim_max_val(isl_set_copy(points), loop),
                               isl_set_dim_min_val(isl_set_copy(points), loop));
  int64_t count = isl_val_get_num_si(range) + 1;
  isl_val_free(range);
  return count;
}

/* Asks for the size of the tiles in every loop of the band. */
static int ask(const char *spec, isl_schedule_node *band,
               isl_union_set *domain, int64_t arrays, isl_multi_val **sizes) {
  static const int64_t one[] = {1};
  static const passpilot_feature features[] = {
      {"loop", one, 1, PASSPILOT_INT64},
      {"loops", one, 1, PASSPILOT_INT64},
      {"trip_count", one, 1, PASSPILOT_INT64},
      {"arrays", one, 1, PASSPILOT_INT64},
  };
  const passpilot_point point = {"tile-size", features, 4,
                                 "log2_size", {PASSPILOT_CHOICE, 8, NULL, 0, 0}};
  passpilot_runner *runner = passpilot_runner_create(spec, &point, NULL);
  if (!runner)
    return 1;
  int64_t *inputs[4];
  for (int i = 0; i < 4; ++i)
    inputs[i] = passpilot_runner_input(runner, features[i].name);
  int loops = isl_schedule_node_band_n_member(band), failed = 0;
  isl_set *visited = points(band, domain);
  for (int loop = 0; loop < loops && !failed; ++loop) {
    passpilot_advice advice;
    *inputs[0] = loop;
    *inputs[1] = loops;
    *inputs[2] = trip_count(visited, loop);
    *inputs[3] = arrays;
    passpilot_runner_default(runner)->integer = 5;
    failed = passpilot_runner_evaluate(runner, &advice) != 0;
    if (!failed) {
      fprintf(stderr, "loop %d of %d: %d iterations, tiles of %d\n", loop,
              loops, (int)*inputs[2], 1 << advice.integer);
      *sizes = isl_multi_val_set_val(
          *sizes, loop,
          isl_val_int_from_si(isl_multi_val_get_ctx(*sizes),
                              1L << advice.integer));
    }
  }
  isl_set_free(visited);
  failed = failed || passpilot_runner_close(runner, 1) != 0;
  passpilot_runner_destroy(runner);
  return failed;
}

/* The loops of the new schedule, tiled by the runner; null if it fails. */
static isl_ast_node *tiled(isl_union_set *domain, isl_union_map *reads,
                           isl_union_map *writes, isl_union_map *order,
                           int64_t arrays, const char *spec) {
  isl_schedule *schedule = scheduled(domain, reads, writes, order);
  isl_schedule_node *band = band_of(schedule);
  isl_schedule_free(schedule);
  if (isl_schedule_node_get_type(band) == isl_schedule_node_band) {
    isl_multi_val *sizes =
        isl_multi_val_zero(isl_schedule_node_band_get_space(band));
    if (ask(spec, band, domain, arrays, &sizes)) {
      fprintf(stderr, "tile: %s\n", passpilot_last_error());
      isl_multi_val_free(sizes);
      isl_schedule_node_free(band);
      return NULL;
    }
    band = isl_schedule_node_band_tile(band, sizes);
  }
  schedule = isl_schedule_node_get_schedule(band);
  isl_schedule_node_free(band);
  isl_ast_build *build = isl_ast_build_alloc(isl_union_set_get_ctx(domain));
  isl_ast_node *loops = isl_ast_build_node_from_schedule(build, schedule);
  isl_ast_build_free(build);
  return loops;
}

/* The loops as they were written. */
static isl_ast_node *plain(isl_union_set *domain, isl_union_map *order) {
  isl_ast_build *build = isl_ast_build_alloc(isl_union_set_get_ctx(domain));
  isl_ast_node *loops = isl_ast_build_node_from_schedule_map(
      build, isl_union_map_intersect_domain(isl_union_map_copy(order),
                                            isl_union_set_copy(domain)));
  isl_ast_build_free(build);
  return loops;
}

static void print(const struct kernel *kernel, int size, isl_ast_node *loops) {
  char *text = isl_ast_node_to_C_str(loops);
  const char *result = kernel->arrays == 1 ? "A" : "C";
  printf("%s#define N %d\n#define RESULT %s\n%s\n", prologue, size, result,
         kernel->statement);
  printf("static double A[N][N], B[N][N], C[N][N];\n\nint main(void) {\n"
         "  for (int i = 0; i < N; ++i)\n"
         "    for (int j = 0; j < N; ++j)\n"
         "      A[i][j] = 1.0 / (i + 2 * j + 1), B[i][j] = i - 0.3 * j;\n"
         "%s%s",
         text, epilogue);
  free(text);
}

int main(int argc, char **argv) {
  const struct kernel *kernel = NULL;
  int size = argc > 2 ? atoi(argv[2]) : 0;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
    if (argc > 2 && !strcmp(kernels[i].name, argv[1]))
      kernel = &kernels[i];
  if (!kernel || size < 4 || size > 4096)
    return fprintf(stderr, "usage: tile matmul|seidel SIZE [RUNNER]\n"), 2;
  isl_ctx *ctx = isl_ctx_alloc();
  char text[200];
  snprintf(text, sizeof text, kernel->domain, size);
  isl_union_set *domain = isl_union_set_read_from_str(ctx, text);
  isl_union_map *maps[3];
  const char *texts[3] = {kernel->reads, kernel->writes, kernel->order};
  for (int i = 0; i < 3; ++i)
    maps[i] = isl_union_map_intersect_domain(
        isl_union_map_read_from_str(ctx, texts[i]),
        isl_union_set_copy(domain));
  isl_ast_node *loops = argc > 3 ? tiled(domain, maps[0], maps[1], maps[2],
                                         kernel->arrays, argv[3])
                                 : plain(domain, maps[2]);
  if (loops)
    print(kernel, size, loops);
  int code = loops ? 0 : 1;
  isl_ast_node_free(loops);
  isl_union_set_free(domain);
  for (int i = 0; i < 3; ++i)
    isl_union_map_free(maps[i]);
  isl_ctx_free(ctx);
  return code;
}
