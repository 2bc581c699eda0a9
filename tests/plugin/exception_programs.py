# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C++ programs that throw, catch, destroy and jump; they print all that they do.

Functions call one another with many arguments, have frames of all sizes, virtual bases, and handlers of some
types. Between throw and catch are functions without handlers, variadic ones, thunks, those with the calling
conventions of other systems, and frames of C: the library's and FRAMES_OF_C. Some throw again, some later or
nested, some from a constructor, some promise not to throw and keep it or not, some leave through longjmp, two
threads run at the end, and some end in the middle. With -DCRASH=1, some fault or trap: a handler prints the
backtrace, as @ and places relative to main, and leaves through longjmp. With -DLIBUNWIND, it prints
libunwind's, too, and the threads run one after the other.
"""

from __future__ import annotations

import random
from typing import Final

COUNTS: Final = (24, 36, 48)
"""Functions of a program; main calls the first half."""

FRAMES_OF_C: Final = r"""
typedef int called(int);
#define FRAME __attribute__((noinline)) static int
FRAME plain(int n, called *f) { return f(n) + 1; }
FRAME tail(int n, called *f) { return f(n ^ 1); }
FRAME large(int n, called *f) {
  volatile int words[300];
  words[n & 255] = n;
  return f(n + 1) + words[n & 255];
}
FRAME moving(int n, called *f) {
  volatile char bytes[(n & 63) + 1];
  bytes[n & 3] = 5;
  return f(n) + bytes[n & 3];
}
FRAME several(int n, called *f) {
  int a = f(n), b = f(n + 1), c = plain(n + 2, f);
  return a * b + c * moving(a & 15, f) - b;
}
int frames_of_c(int n, called *f) {
  called *const g = f;
  switch (n & 7) {
  case 0: return plain(n, g);
  case 1: return tail(n, g);
  case 2: return large(n, g) + plain(n + 1, g);
  case 3: return moving(n, g);
  default: return several(n, g);
  }
}
"""

HEAD: Final = r"""
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#ifdef LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif
#include <pthread.h>
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
static thread_local bool placed, ending;
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
static void frame(void *at) {
  if ((char *)at > &__executable_start && (char *)at < &etext)
    say(" @%ld", (long)((char *)at - (char *)main));
}
static void crashed(int number) {
  void *frames[64];
  int count = backtrace(frames, 64);
  say("signal %d:", number);
  for (int i = 0; i < count; i++) frame(frames[i]);
#ifdef LIBUNWIND
  unw_context_t context;
  unw_cursor_t cursor;
  unw_word_t at;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  say("; libunwind:");
  do { unw_get_reg(&cursor, UNW_REG_IP, &at); frame((void *)at); } while (unw_step(&cursor) > 0);
#endif
  say("\n");
  placed = false;
  siglongjmp(place, 1);
}
static void ended() {
  say("ended ");
  placed = false;
  siglongjmp(place, 1);
}
#ifdef __x86_64__
#define ABI(X) __attribute__((noinline, X))
#else
#define ABI(X) __attribute__((noinline))
#endif
struct Large { int words[20]; };
struct Parts {
  Noisy one, two;
  explicit Parts(int n) try : one(n), two(n + 1) { if (n % 5 == 2) throw n; } catch (int) { say("parts "); }
};
static int compare(const void *a, const void *b);
static void leave(int n);
struct First { virtual int leaves(int n) = 0; };
struct Second { int n; virtual int leaves_too(int n) = 0; };
struct Leaving : First, virtual Second {
  int leaves(int n) override { return leaves_too(n) + 1; }
  int leaves_too(int n) override { if (n % 7 < 2) leave(n); return n; }
};
static Leaving leaving;
static __attribute__((noinline)) int sums(int n, ...) {
  va_list list;
  va_start(list, n);
  double sum = n;
  for (int i = 0; i < n; i++) sum += va_arg(list, double);
  va_end(list);
  if ((int)sum % 9 == 4) leave((int)sum);
  return (int)sum;
}
static __attribute__((noinline)) int by_value(Large l, double d, int n) {
  Noisy noisy(n);
  if (l.words[n & 15] % 6 == 1) leave((int)d);
  return l.words[n & 15] + (int)d;
}
ABI(ms_abi) static int windows(int n, double d, int m, int k, int l) {
  Noisy noisy(n);
  if ((n + l) % 6 < 2) leave(m + (int)d);
  return n * k + l;
}
ABI(preserve_most) static int preserving(int n) {
  if (n % 5 == 1) leave(n);
  return n + 2;
}
static int leave_some(int n) {
  if (n % 5 == 3) leave(n);
  return n + 1;
}
extern "C" int frames_of_c(int n, int (*f)(int));
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
/// Ends a thread below functions without handlers, or with cleanups.
static void end_thread(int n) {
  struct Keep { ~Keep() { say("kept "); } } keep;
  ending = true;
  switch (n) {
  case 0: sums(2, 5.5, 5.5); break;
  case 1: frames_of_c(3, leave_some); break;
  case 2: windows(6, 1.5, 2, 3, 6); break;
  case 3: leaving.leaves(8); break;
  default: through_c(3);
  }
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
  for (int number : {SIGFPE, SIGILL, SIGTRAP, SIGBUS}) signal(number, crashed);
  std::set_terminate(ended);
  run(1);
  fwrite(text, 1, length, stdout);
  std::string outputs[2];
  auto keep = [&](int n) { run(n + 2); outputs[n].assign(text, length); };
  std::thread one(keep, 0);
#ifdef LIBUNWIND
  one.join();
#endif
  std::thread two(keep, 1);
  if (one.joinable()) one.join();
  two.join();
  fputs(outputs[0].c_str(), stdout);
  fputs(outputs[1].c_str(), stdout);
  for (int i = 0; i < 5; i++) {
    std::string output;
    auto kept = [&output](int n) {
      struct Keep { std::string &to; ~Keep() { to.assign(text, length); } } keep{output};
      end_thread(n);
      say("not ended ");
    };
    std::thread(kept, i).join();
    printf("%s\n", output.c_str());
  }
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
FAULTS: Final = (
    "sink = *missing",
    "sink = a0 / zero",
    "sink = missing[a0]",
    "*missing = s",
    "s += missing[a0 & 7] * 3",
    "__builtin_trap()",
)
MORE: Final = (
    "Parts parts(a0 & 31);",
    "Second *second = &leaving; s += second->leaves_too(a0 & 63); s += leaving.leaves(s & 63);",
    "s += windows(a0 & 63, s * 0.5, {n}, s, a0 & 7) + preserving(s & 31);",
    "s += frames_of_c(a0 & 31, leave_some);",
    "if (placed && a0 % 3 == 1) s += [&]() noexcept {{ return {call}; }}();",
    "s += sums(a0 & 3, 1.5 * a0, 2.5, s * 0.5);",
    "Large large{{ {{ a0, s, {n} }} }}; s += by_value(large, s + 0.5, a0 & 3);",
    "std::exception_ptr kept; try {{ s += {call}; }} catch (...) {{ kept = std::current_exception(); }} "
    "if (kept) std::rethrow_exception(kept);",
    "try {{ s += {call}; }} catch (const std::string &x) {{ std::throw_with_nested(std::out_of_range(x)); }}",
)


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.arguments = [self.random.randrange(1, 10) for _ in range(COUNTS[seed % len(COUNTS)])]

    def head(self, number: int) -> str:
        arguments = ", ".join(f"int a{i}" for i in range(self.arguments[number]))
        return f"__attribute__((noinline)) int f{number}({arguments})"

    def call(self, caller: int) -> str:
        callee = self.random.randrange(len(self.arguments))
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
        kind, call = self.random.random(), self.call(number)
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
            fault = self.random.choice(FAULTS)
            return f"if (CRASH && placed && a0 % 3 == {self.random.randrange(3)}) {fault};"
        if kind < 0.73:
            return "if (placed && a0 % 11 == 3) { placed = false; siglongjmp(place, 1); }"
        if 0.83 <= kind < 0.97:
            return f"{{ {self.random.choice(MORE).format(n=number, call=call)} }}"
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
            for i, n in enumerate(self.arguments[: len(self.arguments) // 2])
        )
        leaving = self.thrown(99)
        return (
            f"static int start(int i, int seed) {{ switch (i) {{ {cases}}} return 0; }}\n"
            f"__attribute__((noinline)) static void leave(int n) {{\n"
            f"  if (ending) pthread_exit(nullptr);\n  if (n & 1) {{ {leaving} }} throw n; }}\n"
        )


def exception_program(seed: int) -> str:
    """The text of a program."""
    writer = _Writer(seed)
    functions = range(len(writer.arguments))
    heads = "".join(f"{writer.head(number)};\n" for number in functions)
    bodies = "".join(f"{writer.head(number)} {{\n  {writer.body(number)}\n}}\n" for number in functions)
    return HEAD + heads + bodies + writer.start() + TAIL.replace("RUNS", str(len(functions) // 2))
