// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "metis.h"
enum { W = 60, N = W * W };
static idx_t xadj[N + 1], adjacent[8 * N], weight[N], edge[8 * N], part[N], perm[N], inverse[N], elements[4 * N], starts[N + 1], of_nodes[N];
static void grid(gen_rng *r) {
  idx_t n = 0; int x, y, dx, dy;
  for (y = 0; y < W; y++) for (x = 0; x < W; x++) { xadj[y * W + x] = n; weight[y * W + x] = 1 + (idx_t)gen_below(r, 5);
    for (dy = -1; dy <= 1; dy++) for (dx = -1; dx <= 1; dx++) if ((dx || dy) && x + dx >= 0 && x + dx < W && y + dy >= 0 && y + dy < W) { edge[n] = 1 + (x * y + (x + dx) * (y + dy)) % 7; adjacent[n++] = (y + dy) * W + x + dx; } }
  xadj[N] = n;
}
static void result(const char *what, int code, idx_t cut, const idx_t *values, size_t n) { printf("%s: %d cut %d %016llx\n", what, code, (int)cut, (unsigned long long)gen_hash(values, n * sizeof *values, 0)); }
int main(void) {
  gen_rng r; idx_t options[METIS_NOPTIONS], vertices = N, one = 1, two = 2, parts, cut = 0; int k; gen_seed(&r, 52); grid(&r);
  for (k = 0; k < 6; k++) { static const idx_t counts[] = {2, 3, 8, 17, 32, 50}; parts = counts[k]; METIS_SetDefaultOptions(options); options[METIS_OPTION_SEED] = k;
    result("k-way", METIS_PartGraphKway(&vertices, &one, xadj, adjacent, weight, NULL, edge, &parts, NULL, NULL, options, &cut, part), cut, part, N);
    options[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_VOL; options[METIS_OPTION_CONTIG] = 1; options[METIS_OPTION_MINCONN] = 1; result("volume", METIS_PartGraphKway(&vertices, &one, xadj, adjacent, NULL, weight, NULL, &parts, NULL, NULL, options, &cut, part), cut, part, N);
    METIS_SetDefaultOptions(options); options[METIS_OPTION_SEED] = k; options[METIS_OPTION_CTYPE] = k % 2 ? METIS_CTYPE_RM : METIS_CTYPE_SHEM; options[METIS_OPTION_IPTYPE] = k % 3 ? METIS_IPTYPE_GROW : METIS_IPTYPE_RANDOM;
    result("recursive", METIS_PartGraphRecursive(&vertices, &one, xadj, adjacent, NULL, NULL, edge, &parts, NULL, NULL, options, &cut, part), cut, part, N); }
  { static idx_t both[2 * N]; for (k = 0; k < 2 * N; k++) both[k] = 1 + (idx_t)gen_below(&r, 9); parts = 6; METIS_SetDefaultOptions(options); result("two weights", METIS_PartGraphKway(&vertices, &two, xadj, adjacent, both, NULL, NULL, &parts, NULL, NULL, options, &cut, part), cut, part, N); }
  for (k = 0; k < 3; k++) { METIS_SetDefaultOptions(options); options[METIS_OPTION_SEED] = k; options[METIS_OPTION_COMPRESS] = k != 1; options[METIS_OPTION_CCORDER] = k == 2; options[METIS_OPTION_RTYPE] = k ? METIS_RTYPE_SEP1SIDED : METIS_RTYPE_SEP2SIDED; result("order", METIS_NodeND(&vertices, xadj, adjacent, k ? weight : NULL, options, perm, inverse), 0, perm, N); }
  METIS_SetDefaultOptions(options); result("separator", METIS_ComputeVertexSeparator(&vertices, xadj, adjacent, weight, options, &cut, part), cut, part, N);
  { idx_t count = (W - 1) * (W - 1), i, e = 0, common = 2, *dual, *neighbours, zero = 0; for (i = 0; i < count; i++) { idx_t at = i / (W - 1) * W + i % (W - 1); starts[i] = e; elements[e++] = at; elements[e++] = at + 1; elements[e++] = at + W + 1; elements[e++] = at + W; } starts[count] = e; parts = 9; METIS_SetDefaultOptions(options);
    result("mesh, dual", METIS_PartMeshDual(&count, &vertices, starts, elements, NULL, NULL, &common, &parts, NULL, options, &cut, part, of_nodes), cut, of_nodes, N); result("mesh, nodal", METIS_PartMeshNodal(&count, &vertices, starts, elements, NULL, NULL, &parts, NULL, options, &cut, part, of_nodes), cut, of_nodes, N);
    k = METIS_MeshToDual(&count, &vertices, starts, elements, &common, &zero, &dual, &neighbours); result("dual", k, dual[count], neighbours, (size_t)dual[count]); METIS_Free(dual); METIS_Free(neighbours); }
  return 0;
}
