// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <map>
#include "build.h"
#include "build_log.h"
#include "clparser.h"
#include "depfile_parser.h"
#include "deps_log.h"
#include "disk_interface.h"
#include "dyndep_parser.h"
#include "edit_distance.h"
#include "gen.h"
#include "graph.h"
#include "graphviz.h"
#include "json.h"
#include "manifest_parser.h"
#include "state.h"
#include "status.h"
#include "util.h"
using std::string;
struct Disk : DiskInterface { std::map<string, string> files; mutable long asked = 0; TimeStamp Stat(const string &p, string *) const override { asked++; auto i = files.find(p); return i == files.end() ? 0 : 1 + (TimeStamp)i->second.size() % 9; } bool MakeDir(const string &) override { return true; } bool WriteFile(const string &p, const string &s) override { files[p] = s; return true; } Status ReadFile(const string &p, string *s, string *e) override { auto i = files.find(p); if (i == files.end()) { *e = "none"; return NotFound; } *s = i->second; return Okay; } int RemoveFile(const string &p) override { return files.erase(p) ? 0 : 1; } };
struct Runner : CommandRunner { std::vector<Edge *> active; long ran = 0; uint64_t hash = 0; bool CanRunMore() const override { return active.size() < 4; } bool StartCommand(Edge *e) override { active.push_back(e); return true; } bool WaitForCommand(Result *r) override { if (active.empty()) return false; r->edge = active.back(); active.pop_back(); r->status = ExitSuccess; ran++; string c = r->edge->EvaluateCommand(true); hash = gen_hash(c.data(), c.size(), hash); return true; } std::vector<Edge *> GetActiveEdges() override { return active; } void Abort() override { active.clear(); } };
struct Quiet : Status { void PlanHasTotalEdges(int) override {} void BuildEdgeStarted(const Edge *, int64_t) override {} void BuildEdgeFinished(Edge *, int64_t, bool, const string &) override {} void BuildLoadDyndeps() override {} void BuildStarted() override {} void BuildFinished() override {} void Info(const char *, ...) override {} void Warning(const char *, ...) override {} void Error(const char *, ...) override {} };
int main() {
  Disk disk; gen_rng r; gen_seed(&r, 50); string text = "cflags = -O2 $\n  -g\nrule cc\n  command = cc $cflags -c $in -o $out -MF $out.d\n  depfile = $out.d\n  description = CC $out\npool p\n  depth = 2\nrule link\n  command = ld $in_newline -o $out\n  pool = p\n  rspfile = $out.rsp\n  rspfile_content = $in\nrule gen\n  command = gen $in > $out\n  restat = 1\n  generator = 1\ninclude more.ninja\n", all;
  for (int i = 0; i < 800; i++) { char l[300]; snprintf(l, sizeof l, "build o/%d.o: cc src$ dir/../s/%d.c | h/%u.h || gen.h\n%s", i, i, gen_below(&r, 50), i % 7 ? "" : "  cflags = -O0 $$x ${cflags}\n"); text += l; snprintf(l, sizeof l, "s/%d.c", i); disk.files[l] = string(i % 50, 'x'); snprintf(l, sizeof l, "src dir/../s/%d.c", i); disk.files[l] = string(i % 50, 'x'); snprintf(l, sizeof l, "o/%d.o.d", i); snprintf(l + 100, 150, "o/%d.o: s/%d.c \\\n h/%u.h a\\ b.h $$x\n", i, i, gen_below(&r, 50)); disk.files[l] = l + 100; if (i % 20 == 19) { snprintf(l, sizeof l, "build bin/%d: link", i); text += l; for (int k = i - 19; k <= i; k++) text += " o/" + std::to_string(k) + ".o"; text += "\n"; all += " bin/" + std::to_string(i); } }
  for (int i = 0; i < 50; i++) disk.files["h/" + std::to_string(i) + ".h"] = "h"; disk.files["a b.h"] = "y"; disk.files["gen.in"] = "z"; disk.files["$x"] = "q"; text += "build gen.h: gen gen.in\nbuild all: phony" + all + "\ndefault all\n"; disk.files["more.ninja"] = "more = 1\nbuild extra: phony s/1.c\n"; disk.files["build.ninja"] = text;
  State state; string err; ManifestParser parser(&state, &disk); if (!parser.Load("build.ninja", &err)) { puts(err.c_str()); return 1; } printf("edges %zu defaults %zu\n", state.edges_.size(), state.DefaultNodes(&err).size());
  BuildConfig config; BuildLog log; DepsLog deps; Quiet quiet; for (int round = 0; round < 2; round++) { state.Reset(); Builder b(&state, config, &log, &deps, &disk, &quiet, 0); Runner *runner = new Runner; b.command_runner_.reset(runner); if (!b.AddTarget("all", &err)) { puts(err.c_str()); return 2; } if (b.AlreadyUpToDate()) { puts("up to date"); break; } bool ok = b.Build(&err); printf("built %d %s ran %ld %016llx\n", ok, err.c_str(), runner->ran, (unsigned long long)runner->hash); (void)b.command_runner_.release(); for (Edge *e : state.edges_) for (Node *o : e->outputs_) disk.files[o->path()] = "0123456"; delete runner; }
  printf("asked %d\n", disk.asked > 1000);
  for (const char *bad : {"rule r\n", "build x: none y\n", "build x: phony\nbuild x: phony\n", "rule r\n  command = $\n", "x = ${", "build a: phony b\n  pool = q\n", "default z\n", "subninja nofile\n", "\tx = 1\n", "rule r\n command = c\n deps = q\nbuild a: r b\n  dyndep = dd\n"}) { State s; Disk d; string e; ManifestParserOptions o; o.dupe_edge_action_ = kDupeEdgeActionError; ManifestParser p(&s, &d, o); printf("%d %s\n", p.ParseTest(bad, &e), e.c_str()); }
  for (const char *dep : {"a: b c\\\n d", "a b : c", "x:\n x: y", "a\\ b\\#: c$$d", ": x", "a"}) { DepfileParser p; string c = dep, e; bool ok = p.Parse(&c, &e); printf("%d %zu %zu %s\n", ok, p.outs_.size(), p.ins_.size(), e.c_str()); }
  { CLParser p; string f, e; printf("%d %zu %zu\n", p.Parse("Note: including file: a.h\nx.cc\nNote: including file:  b\\c.h\nerror\n", "", &f, &e), p.includes_.size(), f.size()); }
  for (const char *path : {"a/../b", "./x//y/./z", "../../a", "/a/../../b", ""}) { string p = path; uint64_t slash; CanonicalizePath(&p, &slash); printf("[%s] ", p.c_str()); } printf("%d %s %s\n", EditDistance("kitten", "sitting", true, 9), SpellcheckString("biuld", "build", "clean", nullptr), EncodeJSONString("a\"\n\x01").c_str());
  { string s; GetShellEscapedString("it's $x", &s); printf("%s %s\n", s.c_str(), ElideMiddle("a long line of words", 12).c_str()); }
  return 0;
}
