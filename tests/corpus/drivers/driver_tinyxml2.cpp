// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <initializer_list>
#include "gen_xml.h"
#include "tinyxml2.h"
using namespace tinyxml2;
struct Counter : XMLVisitor { long elements = 0, texts = 0, attributes = 0; uint64_t hash = 0;
  bool VisitEnter(const XMLElement &e, const XMLAttribute *a) override { elements++; for (; a; a = a->Next()) { attributes++; hash = gen_hash(a->Value(), strlen(a->Value()), hash); } hash = gen_hash(e.Name(), strlen(e.Name()), hash); return true; }
  bool Visit(const XMLText &t) override { texts++; hash = gen_hash(t.Value(), strlen(t.Value()), hash); return true; } };
int main() {
  size_t n; char *s = (char *)malloc(3u << 20); n = gen_xml(s, 2u << 20, 42);
  XMLDocument d(true, COLLAPSE_WHITESPACE); printf("parse %d\n", d.Parse(s, n)); Counter c; d.Accept(&c); printf("%ld %ld %ld %016llx\n", c.elements, c.texts, c.attributes, (unsigned long long)c.hash);
  double sum = 0; long found = 0; for (XMLElement *e = d.RootElement()->FirstChildElement("item"); e; e = e->NextSiblingElement("item")) { sum += e->DoubleAttribute("weight"); found += e->IntAttribute("id") % 3; }
  printf("items %.1f %ld\n", sum, found);
  for (int i = 0; i < 300; i++) { XMLElement *e = d.NewElement("added"); e->SetAttribute("i", i); e->SetAttribute("f", i / 8.0); e->SetText(i % 2 == 0); d.RootElement()->InsertFirstChild(e); if (i % 3 == 0) d.RootElement()->DeleteChild(d.RootElement()->LastChild()); }
  XMLPrinter p(nullptr, true), q; d.Print(&p); XMLDocument copy; d.DeepCopy(&copy); copy.Print(&q); printf("printed %zu %016llx %zu %016llx\n", (size_t)p.CStrSize(), (unsigned long long)gen_hash(p.CStr(), strlen(p.CStr()), 0), (size_t)q.CStrSize(), (unsigned long long)gen_hash(q.CStr(), strlen(q.CStr()), 0));
  for (const char *bad : {"<a><b></a>", "<a b=c/>", "", "<a>", "<!-- x", "<a></a><b/>", "<a b='1' b='2'/>", "<?xml"}) { XMLDocument x; x.Parse(bad); printf("%s %d\n", x.ErrorName(), x.ErrorLineNum()); }
  free(s); return 0;
}
