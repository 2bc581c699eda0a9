// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include "gen.h"
#include "yaml-cpp/yaml.h"
static long walk(const YAML::Node &n, uint64_t &h) { long c = 1; h = gen_hash(n.Tag().data(), n.Tag().size(), h); if (n.IsScalar()) h = gen_hash(n.Scalar().data(), n.Scalar().size(), h); for (YAML::const_iterator i = n.begin(); i != n.end(); ++i) if (n.IsMap()) c += walk(i->first, h) + walk(i->second, h); else c += walk(*i, h); return c; }
int main() {
  std::string s; gen_rng r; gen_seed(&r, 48); char w[64], v[64], line[900];
  for (int i = 0; i < 1200; i++) { gen_word(gen_below(&r, 3000), w); gen_word(gen_below(&r, 3000), v); snprintf(line, sizeof line, "- name: %s\n  id: %d\n  tags: [%s, \"%s\\t\\u00e4%d\", '%s''s']\n  pos: {x: %d.%02d, y: -%d, ? k : ~}\n  text: |\n    %s %s\n    line two\n  folded: >-\n    %s\n    %s\n  typed: !t/%s &a%d yes\n  again: *a%d\n", w, i, w, v, i % 31, v, i % 97, i % 100, i % 13, w, v, v, w, w, i, i); s += line; }
  YAML::Node d = YAML::Load(s); uint64_t h = 0; long c = walk(d, h); printf("%zu bytes %zu items %ld nodes %016llx\n", s.size(), d.size(), c, (unsigned long long)h);
  double x = 0; long y = 0; for (const YAML::Node &n : d) { x += n["pos"]["x"].as<double>(); y += n["pos"]["y"].as<int>() + n["typed"].as<bool>() + (long)n["tags"].as<std::vector<std::string>>().size() + n["none"].as<int>(3); } printf("%.2f %ld\n", x, y);
  for (int i = 0; i < 100; i++) { d[i]["added"]["deep"][i % 3] = i; d[i].remove("text"); d[i]["clone"] = YAML::Clone(d[i]["pos"]); }
  for (int style = 0; style < 3; style++) { YAML::Emitter e; if (style == 1) { e.SetSeqFormat(YAML::Flow); e.SetMapFormat(YAML::Flow); } if (style == 2) { e.SetStringFormat(YAML::DoubleQuoted); e.SetOutputCharset(YAML::EscapeNonAscii); e.SetIndent(4); } e << d; printf("%d: %zu %016llx\n", e.good(), e.size(), (unsigned long long)gen_hash(e.c_str(), e.size(), 0)); if (style == 0) printf("again %zu\n", YAML::Load(e.c_str()).size()); }
  YAML::Emitter e; e << YAML::BeginDoc << YAML::BeginMap << YAML::Key << "k" << YAML::Value << YAML::Literal << "a\nb" << YAML::Key << "f" << YAML::Flow << YAML::BeginSeq << 1 << 2.5 << true << YAML::Null << YAML::EndSeq << YAML::Comment("c") << YAML::Key << YAML::Anchor("x") << "z" << YAML::Alias("x") << YAML::EndMap; puts(e.c_str());
  printf("docs %zu\n", YAML::LoadAll("a\n---\nb: 1\n...\n--- [c]\n").size());
  for (const char *bad : {"[1, 2", "a: b: c", "\"x", "*none", "- a\n b", "%YAML 9.9\n---", "{a: 1, a: 2", "\t- x", "!<x"}) try { YAML::Load(bad); printf("taken\n"); } catch (const YAML::Exception &x) { puts(x.what()); }
  return 0;
}
