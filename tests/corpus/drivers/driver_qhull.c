// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "libqhull_r/qhull_ra.h"
#include "gen.h"
static void run(const char *command, int dim, int n, uint64_t seed) {
  qhT state, *qh = &state; gen_rng r; coordT *points = malloc((size_t)(n * dim) * sizeof(coordT)); int i, code, curlong, total; double volume = 0; facetT *facet; char text[200];
  gen_seed(&r, seed); for (i = 0; i < n * dim; i++) points[i] = gen_unit(&r) * (i % 5 ? 10 : 3) - 4;
  strcpy(text, command); qh_zero(qh, stderr);
  code = qh_new_qhull(qh, dim, n, points, 0, text, 0, stderr);
  if (!code) { int upper = 0, simplicial = 0; qh_getarea(qh, qh->facet_list); volume = qh->totvol; FORALLfacets { upper += facet->upperdelaunay; simplicial += facet->simplicial; }
    printf("%s: facets %d vertices %d upper %d simplicial %d area %.6g volume %.6g\n", command, qh->num_facets, qh->num_vertices, upper, simplicial, qh->totarea, volume); }
  else printf("%s: %d\n", command, code);
  qh_freeqhull(qh, !qh_ALL); qh_memfreeshort(qh, &curlong, &total); printf("left %d %d\n", curlong, total); free(points);
}
int main(void) {
  run("qhull", 3, 4000, 1); run("qhull Qt", 4, 600, 2); run("qhull d Qbb Qc", 2, 1500, 3); run("qhull d Qbb Qt Qc", 3, 500, 4);
  run("qhull v Qbb", 2, 800, 5); run("qhull QJ", 5, 120, 6); run("qhull C-0.01", 3, 900, 7); run("qhull Qx A-0.99", 4, 200, 8);
  return 0;
}
