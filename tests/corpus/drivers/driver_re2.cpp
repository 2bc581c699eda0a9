// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <string>
#include <vector>
#include "gen.h"
#include "re2/re2.h"
#include "re2/set.h"
int main() {
  std::string text(16u << 20, ' '); gen_text(&text[0], text.size(), 7);
  const char *pats[] = {"(\\w+)ing\\b", "([a-z]+)(\\d{2,5}) ", "(an|be|co){2,4}(?:der|mo)", "(?i)Qui[st]*ti", "\\b(\\w)(\\w)\\w*(st|xo)\\.", "(?m)^([^ ]+) .*ve$", "[^aeiou ]{4,}", "(?:a.*?b.*?c)|(?:x[oa]+)", "((\\d+) (\\w+) )+", "\\pL+\\s\\pN+", "(a?){12}a{6}n"};
  for (const char *p : pats) { RE2 re(p); if (!re.ok()) { printf("bad %s\n", p); continue; } uint64_t H = 0; long c = 0; re2::StringPiece in(text), m[4]; size_t pos = 0; int n = 1 + (re.NumberOfCapturingGroups() < 3 ? re.NumberOfCapturingGroups() : 3);
    while (pos < text.size() && re.Match(in, pos, text.size(), RE2::UNANCHORED, m, n) ) { c++; H = gen_hash(m[0].data(), m[0].size(), H); if (n > 1 && m[1].data()) H = gen_hash(m[1].data(), m[1].size(), H); size_t e = (size_t)(m[0].data() + m[0].size() - text.data()); pos = e > pos ? e : pos + 1; if (c > 2000000) break; }
    printf("%s: %ld matches hash %016llx\n", p, c, (unsigned long long)H); }
  { RE2::Set s(RE2::Options(), RE2::UNANCHORED); std::string err; for (const char *p : pats) s.Add(p, &err); s.Compile(); std::vector<int> v; long hits = 0; for (size_t i = 0; i + 200 < text.size(); i += 131) { v.clear(); s.Match(re2::StringPiece(&text[i], 200), &v); for (int x : v) hits += x + 1; } printf("set %ld\n", hits); }
  { std::string t = text.substr(0, 300000); int n = RE2::GlobalReplace(&t, "(\\w+) (\\w+)", "\\2-\\1"); printf("replace %d %016llx\n", n, (unsigned long long)gen_hash(t.data(), t.size(), 0)); }
  { long ok = 0; gen_rng r; gen_seed(&r, 8); for (int i = 0; i < 27000; i++) { char w[64], p[200]; gen_word(gen_below(&r, 4000), w); snprintf(p, sizeof p, "(?i:%s)+[a-%c]{%u,%u}(%c|%s)*", w, 'f' + (int)gen_below(&r, 18), gen_below(&r, 4), 4 + gen_below(&r, 6), 'a' + (int)gen_below(&r, 26), w); RE2 re(p); ok += re.ok() && RE2::PartialMatch(re2::StringPiece(text.data() + i * 500, 400), re); ok += re.ProgramSize(); } printf("compile %ld\n", ok); }
  return 0;
}
