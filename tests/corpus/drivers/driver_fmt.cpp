// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <map>
#include <string>
#include <vector>
#include "fmt/args.h"
#include "fmt/chrono.h"
#include "fmt/color.h"
#include "fmt/compile.h"
#include "fmt/format.h"
#include "fmt/ostream.h"
#include "fmt/printf.h"
#include "fmt/ranges.h"
#include "gen.h"
struct Point { double x, y; };
template <> struct fmt::formatter<Point> : fmt::formatter<double> { template <typename C> auto format(const Point &p, C &c) const { auto out = fmt::format_to(c.out(), "("); c.advance_to(out); out = fmt::formatter<double>::format(p.x, c); out = fmt::format_to(out, ", "); c.advance_to(out); out = fmt::formatter<double>::format(p.y, c); return fmt::format_to(out, ")"); } };
int main() {
  gen_rng r; gen_seed(&r, 47); uint64_t H = 0; std::string s; std::vector<int> v{1, 2, 3}; std::map<std::string, double> m{{"a", 1.5}, {"b", -2}};
  const char *formats[] = {"{:>+12d}|", "{:#x}|", "{:<08}|", "{:b}|", "{:^20o}|", "{:c}|", "{:L}|", "{:.3f}|", "{:e}|", "{:g}|", "{:a}|", "{:10.4}|", "{:*^+15.2E}|", "{:s}|", "{:.5}|", "{:?}|", "{:>7}|", "{:{}}|", "{:02X}|", "{!r}"};
  for (int i = 0; i < 3000; i++) for (const char *f : formats) { double d = (gen_unit(&r) - 0.5) * (double)(1ll << gen_below(&r, 60)); try { switch (i % 5) { case 0: s = fmt::format(fmt::runtime(f), (int)gen_u64(&r)); break; case 1: s = fmt::format(fmt::runtime(f), d); break; case 2: s = fmt::format(fmt::runtime(f), "text", 9); break; case 3: s = fmt::format(fmt::runtime(f), gen_u64(&r), 12); break; default: s = fmt::format(fmt::runtime(f), (float)d); } } catch (const fmt::format_error &e) { s = e.what(); } H = gen_hash(s.data(), s.size(), H); }
  printf("%016llx\n", (unsigned long long)H); H = 0;
  for (int i = 0; i < 40000; i++) { uint64_t bits = gen_u64(&r); double d; memcpy(&d, &bits, 8); s = fmt::format("{} {:.17g} {}", d, d, (float)d); H = gen_hash(s.data(), s.size(), H); s = fmt::format(FMT_COMPILE("{}:{:05}"), (int)(bits >> 40), i); H = gen_hash(s.data(), s.size(), H); }
  printf("%016llx\n", (unsigned long long)H);
  fmt::print("{} {} {} {:.2f}\n", v, m, std::make_pair(1, "x"), Point{1, 2.345}); fmt::print("{1} {0} {name:>{width}}|\n", 1, 2, fmt::arg("name", "n"), fmt::arg("width", 6)); fmt::print("{}\n", fmt::join(v, "; ")); fmt::printf("%-8s|%05d|%+.3e|%x\n", "p", 42, 3.14159, 255);
  std::tm t{}; t.tm_year = 124; t.tm_mon = 1; t.tm_mday = 29; t.tm_hour = 13; fmt::print("{:%Y-%m-%d %H:%M:%S %j}\n", t); fmt::print("{} {:%H:%M:%S}\n", std::chrono::milliseconds(1234), std::chrono::seconds(4321)); puts(fmt::format(fmt::emphasis::bold | fg(fmt::color::red), "{}", "red").c_str());
  fmt::dynamic_format_arg_store<fmt::format_context> store; store.push_back(7); store.push_back(std::string("dyn")); puts(fmt::vformat("{} {}", store).c_str()); fmt::memory_buffer b; fmt::format_to(std::back_inserter(b), "{:>{}}", "end", 300); printf("%zu\n", b.size());
  for (const char *f : {"{", "}", "{:d}", "{:.-1}", "{2}", "{:>99999999999}", "{0}{}"}) try { s = fmt::format(fmt::runtime(f), "x"); puts(s.c_str()); } catch (const fmt::format_error &e) { puts(e.what()); }
  return 0;
}
