// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sstream>
#include "gen_xml.h"
#include "pugixml.hpp"
struct Walker : pugi::xml_tree_walker { long count[8] = {}; uint64_t hash = 0; bool for_each(pugi::xml_node &n) override { count[n.type() % 8]++; hash = gen_hash(n.name(), strlen(n.name()), gen_hash(n.value(), strlen(n.value()), hash + (uint64_t)depth())); return true; } };
int main() {
  size_t n; char *s = (char *)malloc(3u << 20); n = gen_xml(s, 1u << 20, 43);
  for (unsigned flags : {(unsigned)pugi::parse_default, (unsigned)pugi::parse_full, (unsigned)pugi::parse_minimal | pugi::parse_trim_pcdata}) { pugi::xml_document d; pugi::xml_parse_result r = d.load_buffer(s, n, flags); Walker w; d.traverse(w); printf("%s at %ld:", r.description(), (long)r.offset); for (long c : w.count) printf(" %ld", c); printf(" %016llx\n", (unsigned long long)w.hash); }
  pugi::xml_document d; d.load_buffer(s, n);
  for (const char *q : {"count(//item)", "sum(//item/@weight)", "string(//item[@id=77]/@name)", "//level0//item[position() < 5]", "//*[contains(@name, 'qui')]", "//item[@id mod 97 = 5 and starts-with(@name, 'a')]/following-sibling::*[1]", "(//level3 | //level4)/@kind", "normalize-space(concat(' a ', //item[3], '  b'))", "//item[last()]/ancestor::*", "translate(name(//*[2]), 'abc', 'xyz')", "boolean(//none) or not(1 > 2)", "//item[["})
    try { pugi::xpath_query x(q); if (x.return_type() == pugi::xpath_type_node_set) { pugi::xpath_node_set nodes = x.evaluate_node_set(d); uint64_t h = 0; for (const pugi::xpath_node &each : nodes) { std::string p = each.node() ? each.node().path() : each.attribute().value(); h = gen_hash(p.data(), p.size(), h); } printf("%s: %zu %016llx\n", q, nodes.size(), (unsigned long long)h); } else printf("%s: %.60s\n", q, x.evaluate_string(d).c_str()); } catch (const pugi::xpath_exception &e) { printf("%s: %s\n", q, e.what()); }
  for (int i = 0; i < 200; i++) { pugi::xml_node c = d.document_element().insert_child_before("new", d.document_element().first_child()); c.append_attribute("i") = i; c.append_attribute("d") = i / 4.0; c.append_copy(d.document_element().last_child()); c.text().set(i % 2 == 0); if (i % 3 == 0) d.document_element().remove_child(d.document_element().last_child()); }
  for (unsigned flags : {(unsigned)pugi::format_default, (unsigned)pugi::format_raw, (unsigned)pugi::format_indent_attributes | pugi::format_write_bom}) { std::ostringstream o; d.save(o, " ", flags, flags & pugi::format_write_bom ? pugi::encoding_utf16_le : pugi::encoding_utf8); std::string t = o.str(); printf("saved %zu %016llx\n", t.size(), (unsigned long long)gen_hash(t.data(), t.size(), 0)); }
  free(s); return 0;
}
