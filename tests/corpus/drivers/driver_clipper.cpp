// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "clipper.hpp"
#include "gen.h"
using namespace ClipperLib;
static Path star(gen_rng &r, int n, int size) { Path path; for (int i = 0; i < n; i++) path << IntPoint(gen_below(&r, size), gen_below(&r, size)); return path; }
static uint64_t hashed(const Paths &paths, uint64_t h) { for (const Path &path : paths) for (const IntPoint &p : path) h = gen_hash(&p, sizeof p, h); return h; }
int main() {
  gen_rng r; gen_seed(&r, 55); uint64_t H = 0; double area = 0; size_t count = 0;
  for (int i = 0; i < 120; i++) for (const ClipType type : {ctIntersection, ctUnion, ctDifference, ctXor}) for (const PolyFillType fill : {pftEvenOdd, pftNonZero, pftPositive, pftNegative}) {
    Clipper c(i % 3 ? 0 : ioStrictlySimple); Paths subject, clip, out; for (int k = 0; k < 3; k++) subject.push_back(star(r, 12, 2000)), clip.push_back(star(r, 10, 2000)); c.AddPaths(subject, ptSubject, true); c.AddPaths(clip, ptClip, true); c.Execute(type, out, fill, fill); count += out.size(); for (const Path &path : out) area += Area(path); H = hashed(out, H); }
  printf("%zu paths, area %.1f, %016llx\n", count, area, (unsigned long long)H);
  for (int i = 0; i < 200; i++) { Clipper c; PolyTree tree; c.AddPath(star(r, 30, 900), ptSubject, true); c.AddPath(star(r, 8, 900), ptSubject, false); c.AddPath(star(r, 9, 900), ptClip, true); c.Execute(i % 2 ? ctIntersection : ctDifference, tree, pftEvenOdd, pftEvenOdd); Paths open, closed; OpenPathsFromPolyTree(tree, open); ClosedPathsFromPolyTree(tree, closed); H = hashed(open, hashed(closed, H)) + tree.Total(); }
  printf("trees %016llx\n", (unsigned long long)H);
  for (int i = 0; i < 120; i++) for (const JoinType join : {jtSquare, jtRound, jtMiter}) for (const EndType end : {etClosedPolygon, etOpenRound, etOpenButt, etOpenSquare, etClosedLine}) { ClipperOffset o(2.0, 0.25); o.AddPath(star(r, 8, 5000), join, end); Paths out; o.Execute(out, (i % 5 - 2) * 40 + 7); CleanPolygons(out); SimplifyPolygons(out); H = hashed(out, H); }
  printf("offsets %016llx\n", (unsigned long long)H);
  Path pattern = star(r, 6, 50), path = star(r, 20, 1000); Paths sum, difference; MinkowskiSum(pattern, path, sum, true); MinkowskiDiff(pattern, path, difference); printf("sums %zu %zu %016llx, inside %d, %s\n", sum.size(), difference.size(), (unsigned long long)hashed(sum, hashed(difference, H)), PointInPolygon(IntPoint(500, 500), path), Orientation(path) ? "outer" : "hole");
  try { Clipper c; Path far; far << IntPoint(hiRange, 0) << IntPoint(hiRange + 1, hiRange) << IntPoint(0, 1); c.AddPath(far, ptSubject, true); } catch (const clipperException &error) { printf("%s\n", error.what()); }
  return 0;
}
