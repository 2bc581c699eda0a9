# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with smaller unwind tables throw, catch, destroy and report crashes as stock ones do."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tests.command import passpilot, run
from tests.plugin import unwind_debuggers
from tests.plugin.unwind_runs import LEVELS, LTO, MACHINES, outputs, random_outputs, write_program


@pytest.mark.parametrize(
    ("seed", "mode"), list(enumerate(("faults", "calls", "exceptions", "faults", "shared", "shared")))
)
def test_random_programs_do_the_same(seed: int, mode: str, tmp_path: Path) -> None:
    write_program(tmp_path, seed)
    stock, small = outputs(tmp_path, mode, LEVELS[seed], *(LTO if seed == 5 else ()))
    assert small == stock
    assert len(stock) > 300


def test_the_programs_throw_jump_and_crash(tmp_path: Path) -> None:
    """Else the test above says little."""
    write_program(tmp_path, 10)
    stock, small = outputs(tmp_path, "faults", "-Oz", "-flto=thin", "-fuse-ld=lld")
    assert small == stock
    for word in (b"~", b"=", b"!", b"signal ", b"jumped", b"ended", b"\n~6 kept"):
        assert word in stock, word


@pytest.mark.parametrize("seed", [3, 5])
@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_programs_for_other_machines_do_the_same(machine: str, seed: int, tmp_path: Path) -> None:
    if missing := MACHINES[machine].missing():
        pytest.skip(missing)
    found = random_outputs(seed, tmp_path, machine)
    assert found.wrong == ()
    assert len(found.stock) > 300


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 130))
@pytest.mark.parametrize("machine", list(MACHINES))
def test_many_random_programs_do_the_same(machine: str, seed: int, tmp_path: Path) -> None:
    if missing := MACHINES[machine].missing():
        pytest.skip(missing)
    assert random_outputs(seed, tmp_path, machine).wrong == ()


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 6, 8])
def test_debuggers_print_the_same_frames(seed: int, tmp_path: Path) -> None:
    """At the faults, and of core files written there; the program prints libunwind's backtraces, too."""
    if missing := unwind_debuggers.missing():
        pytest.skip(missing)
    write_program(tmp_path, seed)
    stock, small = outputs(tmp_path, "faults", LEVELS[seed % 6], "-DLIBUNWIND", "-lunwind")
    assert small == stock
    frames = [unwind_debuggers.backtraces(tmp_path / name) for name in ("stock", "faults")]
    assert frames[0] == frames[1]
    for tool, found in frames[0].items():
        assert len(found) > 2 * stock.count(b"signal ") > 0, tool


RARE = r"""
#include <coroutine>
#include <csetjmp>
#include <cstdio>
#include <string>
volatile int sink;
__attribute__((noinline)) void leave(int n) {
  if (n % 3 == 0) throw n;
  if (n % 3 == 1) throw std::string("text");
  sink = n;
}
__attribute__((noinline)) int pushed(int n) {  // moves the stack, and says so
  int r;
  asm volatile("pushq %%rbx\n.cfi_adjust_cfa_offset 8\nmovl %1, %0\npopq %%rbx\n.cfi_adjust_cfa_offset -8"
               : "=a"(r) : "D"(n) : "memory");
  leave(n);
  return r + 1;
}
__attribute__((naked, noinline)) int bare(int) {
  asm("subq $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall _Z5leavei\naddq $8, %rsp\n"
      ".cfi_adjust_cfa_offset -8\nmovl $5, %eax\nret");
}
struct Noisy { int n; ~Noisy() { printf("~%d ", n); } };
struct Task {
  struct promise_type {
    int value = 0;
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) { value = v; return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> h;
  ~Task() { if (h) h.destroy(); }
};
__attribute__((noinline)) Task counting(int n) {
  Noisy one{n};
  for (int i = 0; i < n; i++) { Noisy two{i}; leave(i * 2 + 2); co_yield i; }
}
int coroutine(int n) {
  auto task = counting(n);
  int s = 0;
  for (int i = 0; i < n; i++) { task.h.resume(); s += task.h.promise().value; }
  return s;
}
__attribute__((noinline)) int moving(int n) {
  alignas(128) volatile char a[256];
  volatile char b[n + 20];
  jmp_buf again;
  volatile int c = 0;
  a[n] = 3;
  b[n] = 4;
  if (setjmp(again)) return c + a[n] + b[n];
  c = 9;
  try { leave(n); } catch (int) { longjmp(again, 1); }
  return b[n];
}
__attribute__((noinline, preserve_all)) int all(int n) { leave(n); return n; }
int kept(int n) { return all(n) + pushed(n + 1); }
int main() {
  for (int i = 0; i < 9; i++)
    for (auto f : {pushed, bare, coroutine, moving, kept})
      try { printf("%d ", f(i)); }
      catch (int n) { printf("!%d ", n); }
      catch (std::string &s) { printf("%s ", s.c_str()); }
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program has inline assembly of x86-64")
@pytest.mark.parametrize("flags", [("-Oz",), ("-O1", *LTO)])
def test_rare_frames_do_the_same(flags: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(RARE)
    outputs = []
    for mode in ("full", "faults", "shared"):
        command = ("c++", f"--unwind={mode}", "-w", "-std=c++20", *flags, "a.cpp", "-o", mode)
        built = passpilot(*command, cwd=tmp_path)
        assert (built.code, built.err) == (0, "")
        done = run(tmp_path / mode, cwd=tmp_path)
        assert done.code == 0
        outputs.append(done.out)
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0].count(b"!") > 10 < outputs[0].count(b"~")


ENDS = """
#include <cstdio>
#include <exception>
#include <cstdlib>
__attribute__((noinline)) void thrown(int n) { if (n) throw n; }
__attribute__((noinline)) int passed(int n) { thrown(n); return n + 1; }
int main(int n, char **) {
  std::set_terminate([] { puts("ended"); fflush(stdout); _Exit(3); });
  try { return passed(n); } catch (int) { puts("caught"); }
  return 0;
}
"""


@pytest.mark.parametrize(("mode", "expected"), [("exceptions", (0, b"caught\n")), ("none", (3, b"ended\n"))])
def test_without_entries_an_exception_ends_the_program(
    mode: str, expected: tuple[int, bytes], tmp_path: Path
) -> None:
    (tmp_path / "a.cpp").write_text(ENDS)
    built = passpilot("c++", f"--unwind={mode}", "-O1", "a.cpp", "-o", "a", cwd=tmp_path)
    assert (built.code, built.err) == (0, "")
    done = run(tmp_path / "a", cwd=tmp_path)
    assert (done.code, done.out) == (expected[0], expected[1])
