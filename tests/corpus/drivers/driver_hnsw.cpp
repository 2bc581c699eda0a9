// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "gen.h"
#include "hnswlib/hnswlib.h"
template <typename Space, typename T, typename Make> static void run(const char *name, size_t dim, size_t n, Make make) {
  Space space(dim); hnswlib::HierarchicalNSW<T> index(&space, n, 12, 80, 7, true); hnswlib::BruteforceSearch<T> exact(&space, n); gen_rng r; gen_seed(&r, 53); std::vector<decltype(make(r))> v(dim); long same = 0, of = 0;
  for (size_t i = 0; i < n; i++) { for (auto &x : v) x = make(r); index.addPoint(v.data(), i); exact.addPoint(v.data(), i); } index.setEf(60); for (size_t i = 0; i < n; i += 17) index.markDelete(i); for (size_t i = 0; i < n; i += 17) { exact.removePoint(i); if (i % 2) index.unmarkDelete(i); }
  struct Odd : hnswlib::BaseFilterFunctor { bool operator()(hnswlib::labeltype l) override { return l % 2; } } odd;
  for (int q = 0; q < 40; q++) { for (auto &x : v) x = make(r); auto a = index.searchKnn(v.data(), 10, q % 4 ? nullptr : &odd); auto b = exact.searchKnn(v.data(), 10); std::vector<size_t> found; for (; !a.empty(); a.pop()) found.push_back(a.top().second); for (; !b.empty(); b.pop()) { of++; for (size_t f : found) same += f == b.top().second; } }
  printf("%s: %zu points, deleted %zu, %d\n", name, index.getCurrentElementCount(), index.getDeletedCount(), same * 10 > of * 5);
}
int main() {
  auto real = [](gen_rng &r) { return (float)gen_below(&r, 1000) / 64; }; auto byte = [](gen_rng &r) { return (unsigned char)gen_below(&r, 256); };
  run<hnswlib::L2Space, float>("l2-16", 16, 1500, real); run<hnswlib::L2Space, float>("l2-7", 7, 900, real); run<hnswlib::L2Space, float>("l2-21", 21, 900, real); run<hnswlib::InnerProductSpace, float>("ip-16", 16, 900, real); run<hnswlib::InnerProductSpace, float>("ip-5", 5, 600, real); run<hnswlib::L2SpaceI, int>("bytes", 24, 900, byte);
  return 0;
}
