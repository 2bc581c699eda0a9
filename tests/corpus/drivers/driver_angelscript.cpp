// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <string>
#include "angelscript.h"
#include "scriptarray.h"
#include "scriptstdstring.h"
static void print(const std::string &s) { puts(s.c_str()); }
static void message(const asSMessageInfo *m, void *) { printf("%d,%d %s\n", m->row, m->col, m->message); }
static const char *script = R"(
interface Shape { double area(); string name(); }
class Base { protected int id; Base(int i) { id = i; } int opCmp(const Base &in o) const { return id - o.id; } }
class Circle : Base, Shape { double r; Circle(double r) { super(int(r)); this.r = r; } double area() { return 3.125 * r * r; } string name() { return "circle" + id; } }
class Square : Base, Shape { double a; Square(double a) { super(int(a) + 1); this.a = a; } double area() { return a * a; } string name() { return "square" + id; } }
enum Kind { Small = 1, Large = 10 }
funcdef int Map(int);
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int twice(int x) { return x * 2; }
int apply(array<int> @a, Map @f) { int s = 0; for (uint i = 0; i < a.length(); i++) s += f(a[i]); return s; }
void sieve(int n) { array<bool> flags(n, true); int count = 0; for (int i = 2; i < n; i++) if (flags[i]) { count++; for (int k = i + i; k < n; k += i) flags[k] = false; } print("primes " + count); }
void main() {
  print("fib " + fib(19)); sieve(20000);
  array<Shape@> shapes; for (int i = 0; i < 300; i++) { if (i % 3 == 0) shapes.insertLast(Circle(i)); else shapes.insertLast(Square(i)); }
  double sum = 0; for (uint i = 0; i < shapes.length(); i++) sum += shapes[i].area(); print("area " + formatFloat(sum, "", 0, 3) + " " + shapes[7].name());
  array<int> a; for (int i = 0; i < 500; i++) a.insertLast(i * 7919 % 503); a.sortAsc(); a.reverse(); print("apply " + apply(a, twice) + " " + apply(a, function(x) { return x ^ 5; }) + " " + a[3]);
  string s; for (int i = 0; i < 200; i++) { s += formatInt(i * i, "h"); switch (i % 5) { case 0: s += "-"; break; case Small: s += "+"; continue; default: s += " "; } s.insert(0, "x"); }
  print("string " + s.length() + " " + s.findFirst("f-") + " " + s.substr(100, 20));
  uint64 h = 14695981039346656037; for (uint i = 0; i < s.length(); i++) { h ^= s[i]; h *= 1099511628211; } print("hash " + h);
  int8 o = int8(200); float f = 7.5f; bool b = (o < 0) ^^ (f > 8); print("casts " + o + " " + int(f) + " " + b + " " + (Large % 4) + " " + (-7 / 2) + " " + (1 << 10 >>> 3));
  try { array<int> e; e[3] = 1; } catch { print("caught"); }
}
)";
int main() {
  asIScriptEngine *e = asCreateScriptEngine(); e->SetMessageCallback(asFUNCTION(message), nullptr, asCALL_CDECL); RegisterStdString(e); RegisterScriptArray(e, true);
  if (e->RegisterGlobalFunction("void print(const string &in)", asFUNCTION(print), asCALL_CDECL) < 0) return 1;
  asIScriptModule *m = e->GetModule("m", asGM_ALWAYS_CREATE); m->AddScriptSection("s", script); if (m->Build() < 0) return 2;
  asIScriptContext *c = e->CreateContext(); c->Prepare(m->GetFunctionByDecl("void main()")); int r = c->Execute(); printf("ended %d\n", r); if (r == asEXECUTION_EXCEPTION) puts(c->GetExceptionString()); c->Release();
  for (const char *bad : {"void f() { int x = \"a\"; }", "class A : B {}", "int f( { }", "void g() { undefined(3); return 1; }", "void h() { const int c = 1; c = 2; }"}) { asIScriptModule *b = e->GetModule("b", asGM_ALWAYS_CREATE); b->AddScriptSection("b", bad); printf("build %d\n", b->Build()); }
  e->ShutDownAndRelease(); return 0;
}
