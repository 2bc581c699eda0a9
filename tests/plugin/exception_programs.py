# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C++ programs that throw, catch, destroy and jump; they print all that they do.

Functions call one another with many arguments, have frames of all sizes, virtual bases, and handlers of some
types. Between throw and catch are functions without handlers and frames of C. Some throw again, some promise
not to throw and keep it, some leave through longjmp, and two threads run at the end. With -DCRASH=1, some
fault: a handler prints the backtrace, relative to main, and leaves through longjmp.
"""

from __future__ import annotations

import random
from typing import Final

COUNT: Final = 24
"""Functions of a program."""
RUNS: Final = 12
"""Of them, those that main calls."""

HEAD: Final = r"""
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <stdexcept>
#include <string>
#include <thread>
struct Base { int n; explicit Base(int n) : n(n) {} virtual ~Base() {} };
struct Left : virtual Base { explicit Left(int n) : Base(n) {} };
struct Right : virtual Base { explicit Right(int n) : Base(n + 1) {} };
struct Both : Left, Right { explicit Both(int n) : Base(n + 2), Left(n), Right(n) {} };
static thread_local char text[1 << 20];
static thread_local size_t length;
static thread_local int depth;
static thread_local sigjmp_buf place;
static thread_local bool placed;
static void say(const char *form, ...) {
  if (length > sizeof text - 100) return;
  va_list list;
  va_start(list, form);
  length += vsnprintf(text + length, 99, form, list);
  va_end(list);
}
struct Noisy { int n; explicit Noisy(int n) : n(n) {} ~Noisy() { say("~%d ", n); } };
volatile int sink, zero;
int *volatile missing;
#ifndef CRASH
#define CRASH 0
#endif
extern char __executable_start, etext;
int main();
static void crashed(int number) {
  void *frames[64];
  int count = backtrace(frames, 64);
  say("signal %d:", number);
  for (int i = 0; i < count; i++)
    if ((char *)frames[i] > &__executable_start && (char *)frames[i] < &etext)
      say(" %ld", (long)((char *)frames[i] - (char *)main));
  say("\n");
  placed = false;
  siglongjmp(place, 1);
}
static int compare(const void *a, const void *b);
static thread_local int rest;
static __attribute__((noinline)) int through_c(int n) {
  int numbers[5] = {n, n ^ 3, 7, n & 5, 2};
  rest = n;
  qsort(numbers, 5, sizeof(int), compare);
  return numbers[0];
}
"""

TAIL: Final = r"""
static int compare(const void *a, const void *b) {
  if (rest-- % 7 == 3) leave(rest);
  return *(const int *)a - *(const int *)b;
}
static void run(int seed) {
  for (int i = 0; i < RUNS; i++) {
    depth = 0;
    placed = !sigsetjmp(place, 1);
    if (!placed) { say("jumped "); continue; }
    try {
      say("=%d\n", start(i, seed));
    } catch (int n) { say("!%d\n", n); }
    catch (const std::string &s) { say("!%s\n", s.c_str()); }
    catch (const Base &b) { say("!%d of Base\n", b.n); }
    catch (const std::exception &e) { say("!%s\n", e.what()); }
  }
}
int main() {
  signal(SIGSEGV, crashed);
  signal(SIGFPE, crashed);
  run(1);
  fwrite(text, 1, length, stdout);
  std::string outputs[2];
  auto keep = [&](int n) { run(n + 2); outputs[n].assign(text, length); };
  std::thread one(keep, 0), two(keep, 1);
  one.join();
  two.join();
  fputs(outputs[0].c_str(), stdout);
  fputs(outputs[1].c_str(), stdout);
}
"""

THROWS: Final = (
    "throw {n};",
    'throw std::string("a text that is too long for its object, number {n}");',
    "throw Both({n});",
    'throw std::out_of_range("range {n}");',
)
HANDLERS: Final = (
    'catch (int x) {{ s += x; say("c%d ", {n}); }}',
    "catch (const std::string &x) {{ s += (int)x.size(); }}",
    'catch (Left &x) {{ s += x.n; say("l%d ", {n}); }}',
    'catch (const Base &x) {{ s += x.n; say("b%d ", {n}); }}',
    'catch (const std::exception &x) {{ say("%s ", x.what()); if (a0 & 1) throw; }}',
    "catch (...) {{ Noisy again({n}); if (a0 % 3) throw; s++; }}",
)


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.arguments = [self.random.randrange(1, 10) for _ in range(COUNT)]

    def head(self, number: int) -> str:
        arguments = ", ".join(f"int a{i}" for i in range(self.arguments[number]))
        return f"__attribute__((noinline)) int f{number}({arguments})"

    def call(self, caller: int) -> str:
        callee = self.random.randrange(COUNT)
        own = self.arguments[caller]
        words = (
            self.random.choice(
                (
                    f"a{self.random.randrange(own)} + {self.random.randrange(9)}",
                    str(self.random.randrange(200)),
                )
            )
            for _ in range(self.arguments[callee])
        )
        return f"f{callee}({', '.join(words)})"

    def statement(self, number: int) -> str:
        kind = self.random.random()
        call = self.call(number)
        if kind < 0.45:
            handlers = self.random.sample(HANDLERS[:-1], self.random.randrange(1, 3))
            handlers += HANDLERS[-1:] * (self.random.random() < 0.2)
            noisy = f"Noisy inner({100 + number}); " * (self.random.random() < 0.6)
            return f"try {{ {noisy}s += {call}; }} " + " ".join(h.format(n=number) for h in handlers)
        if kind < 0.55:
            return f"if ((a0 & 7) == {self.random.randrange(8)}) {{ depth--; {self.thrown(number)} }}"
        if kind < 0.63:
            return "s += through_c(a0 & 63);"
        if kind < 0.7:
            return f"s += [&]() noexcept {{ try {{ return {call}; }} catch (...) {{ return 4; }} }}();"
        if 0.73 <= kind < 0.83:
            fault = self.random.choice(("*missing", "a0 / zero", "missing[a0]"))
            return f"if (CRASH && placed && a0 % 3 == {self.random.randrange(3)}) sink = {fault};"
        if kind < 0.73:
            return "if (placed && a0 % 11 == 3) { placed = false; siglongjmp(place, 1); }"
        return f"s += {call};"

    def thrown(self, number: int) -> str:
        return self.random.choice(THROWS).format(n=number)

    def body(self, number: int) -> str:
        chance = self.random.random
        lines = []
        if chance() < 0.3:  # a shrink-wrapped frame
            lines.append(f"if (a0 % {self.random.randrange(2, 5)} == 0) return a0 * 3;")
        lines.append(f"if (++depth > 9) {{ depth--; {self.thrown(number)} }}")
        if chance() < 0.5:
            lines.append(f"Noisy outer({number});")
        if chance() < 0.2:
            lines.append("char *p = (char *)alloca((a0 & 63) + 16); p[a0 & 15] = (char)a0; sink = p[3];")
        if chance() < 0.2:
            lines.append(
                "alignas(64) int q[50]; for (int i = 0; i < 50; i++) q[i] = a0 * i; sink = q[a0 & 31];"
            )
        if chance() < 0.1:
            lines.append("volatile char page[9000]; page[a0 & 4095] = 1; sink = page[5];")
        lines.append("int s = 0;")
        lines += (self.statement(number) for _ in range(self.random.randrange(1, 4)))
        lines.append("depth--; return s + a0;")
        return "\n  ".join(lines)

    def start(self) -> str:
        cases = "".join(
            f"case {i}: return f{i}({', '.join(f'seed + {self.random.randrange(50)}' for _ in range(n))}); "
            for i, n in enumerate(self.arguments[:RUNS])
        )
        leaving = self.thrown(99)
        return (
            f"static int start(int i, int seed) {{ switch (i) {{ {cases}}} return 0; }}\n"
            f"static __attribute__((noinline)) void leave(int n) {{ if (n & 1) {{ {leaving} }} throw n; }}\n"
        )


def exception_program(seed: int) -> str:
    """The text of a program."""
    writer = _Writer(seed)
    heads = "".join(f"{writer.head(number)};\n" for number in range(COUNT))
    bodies = "".join(f"{writer.head(number)} {{\n  {writer.body(number)}\n}}\n" for number in range(COUNT))
    return HEAD + heads + bodies + writer.start() + TAIL.replace("RUNS", str(RUNS))
