# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads, the interpreter's end, odd objects: nothing is thrown through LLVM or read too late."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.custom import feature, unregister
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import AdviceError, InputError, PolicyError, StaleViewError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation

IR = b"""
declare void @work(i32)
define void @leaf(i32 %x) {
  call void @work(i32 %x)
  ret void
}
define void @loop(i32 %n) alwaysinline {
entry:
  br label %body
body:
  %i = phi i32 [0, %entry], [%j, %body]
  call void @leaf(i32 %i)
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %body, label %out
out:
  ret void
}
define void @apply(ptr %f, i32 %n) {
  call void %f(i32 %n)
  ret void
}
define void @main(i32 %n) {
  call void @apply(ptr @loop, i32 %n)
  call void @leaf(i32 %n)
  ret void
}
"""


def test_a_module_that_another_thread_compiles_cannot_be_read() -> None:
    module = Module.read(IR)
    asked, go_on = threading.Event(), threading.Event()

    def wait(obs: Observation) -> bool:  # noqa: ARG001
        asked.set()
        assert go_on.wait(60)
        return False

    thread = threading.Thread(target=optimize, args=(module, "default<O2>", [InlineAdvisor(wait)]))
    thread.start()
    assert asked.wait(60)
    for read in (module.assembly, module.bitcode, module.verify, lambda: module.name, lambda: module.triple):
        with pytest.raises(InputError, match="expected it to be free"):
            read()
    go_on.set()
    thread.join(60)
    assert b"@main" in module.assembly()


def test_advisors_are_freed_without_the_collector(tmp_path: Path) -> None:
    """One for each of a million compilations would else be garbage until it comes."""

    @feature("int64[1]", name="length")
    def length(site: object) -> int:
        return len(repr(site))

    def read(obs: Observation) -> bool:
        return bool(obs["length"] and obs.site and obs.default())

    gc.disable()
    try:
        replay = f"replay:{tmp_path}/made.log"
        for runner, log in ((read, "made.log"), (replay, "again.log"), ("const:1", "")):
            advisor = InlineAdvisor(runner, log=str(tmp_path / log) if log else None)
            optimize(Module.read(IR), "default<O2>", [advisor])
            assert advisor.stats.decisions
            ends: list[weakref.ref[object]] = [weakref.ref(advisor), weakref.ref(advisor.runner)]
            del advisor
            assert [end() for end in ends] == [None, None]
    finally:
        gc.enable()
        unregister("length")


def test_what_a_policy_keeps_is_stale_after_the_advisor() -> None:
    kept = []

    def keep(obs: Observation) -> bool:
        kept.append(obs)
        return False

    optimize(Module.read(IR), "default<O2>", [InlineAdvisor(keep)])
    with pytest.raises(StaleViewError, match=r"obs.site: .*; the advisor has ended"):
        _ = kept[0].site
    with pytest.raises(StaleViewError, match=r"obs.default\(\): .*; the advisor has ended"):
        kept[0].default()


def test_the_policy_may_read_the_module_it_is_asked_about() -> None:
    module = Module.read(IR)
    texts = []

    def read(obs: Observation) -> bool:  # noqa: ARG001
        texts.append(module.assembly())
        return False

    optimize(module, "default<O2>", [InlineAdvisor(read)])
    assert texts
    assert all(b"@main" in text for text in texts)


def test_an_inlining_that_nobody_asked_about_is_in_the_views() -> None:
    """@loop is inlined by force: the call of @leaf in @main is then in a loop."""
    seen = {}

    def look(obs: Observation) -> bool:
        site = obs.site
        seen[site.callee.name, site.caller.name, site.loop_depth] = site.block_frequency  # type: ignore[attr-defined]
        return bool(site.callee.name == "apply")  # type: ignore[attr-defined]

    optimize(Module.read(IR), "inliner-wrapper", [InlineAdvisor(look)])
    assert seen["leaf", "main", 1] > 1
    assert seen["leaf", "main", 0] == 1


class Surrogate:
    def __repr__(self) -> str:
        return "\ud800"


class OddError(Exception):
    fatal = np.array([1, 2])


def test_an_answer_whose_repr_is_no_text_is_refused_and_views_stay_safe() -> None:
    kept = []

    def keep(obs: Observation) -> object:
        kept.append(obs.site)
        return Surrogate()

    module = Module.read(IR)
    with pytest.raises(AdviceError, match=r"got Surrogate .ud800"):
        optimize(module, "default<O2>", [InlineAdvisor(keep)])
    del module
    with pytest.raises(StaleViewError):
        _ = kept[0].caller  # type: ignore[attr-defined]


def test_an_exception_with_an_odd_attribute_is_an_ordinary_one() -> None:
    def odd(obs: Observation) -> bool:  # noqa: ARG001
        raise OddError("once")

    with pytest.raises(PolicyError, match="OddError: once"):
        optimize(Module.read(IR), "default<O2>", [InlineAdvisor(odd)])


def test_a_policy_cannot_change_what_it_sees() -> None:
    def change(obs: Observation) -> bool:
        obs["cost_estimate"][:] = 7
        return False

    with pytest.raises(PolicyError, match="read-only"):
        optimize(Module.read(IR), "default<O2>", [InlineAdvisor(change)])


def run(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_daemon_thread_in_mid_compilation_does_not_break_the_exit(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_bytes(IR)
    code = """
import sys, threading
import passpilot
asked = threading.Event()
def decide(obs):
    asked.set()
    return False
def compile():
    while True:
        module = passpilot.Module.read(sys.argv[1])
        passpilot.optimize(module, "default<O2>", [passpilot.InlineAdvisor(decide)])
threading.Thread(target=compile, daemon=True).start()
asked.wait(60)
print("left")
"""
    done = run(code, tmp_path / "in.ll")
    assert (done.returncode, done.stdout) == (0, "left\n")
    assert "terminate called" not in done.stderr
    assert "leaked" not in done.stderr


def test_what_a_daemon_thread_holds_at_the_exit_is_not_reported_as_leaked() -> None:
    code = """
import threading, time
import passpilot
def hold(module):
    held.set()
    time.sleep(1000)
held = threading.Event()
module = passpilot.Module.read(b"define void @f() {\\n  ret void\\n}")
threading.Thread(target=hold, args=(module,), daemon=True).start()
del module
held.wait()
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_options_of_llvm_stay_until_they_are_named_again(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_bytes(IR)
    code = """
import sys
import passpilot
def calls(*options):
    passpilot.llvm_options(options)
    module = passpilot.Module.read(sys.argv[1])
    passpilot.optimize(module, "default<O2>")
    return module.assembly().count(b"call void @leaf")
print(calls("-inline-threshold=-1000"), calls("-unroll-threshold=100"), calls("-inline-threshold=225"))
"""
    done = run(code, tmp_path / "in.ll")
    first, second, third = map(int, done.stdout.split())
    assert first == second > third


def test_refused_options_of_llvm_leave_the_accepted_ones(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_bytes(IR)
    code = """
import sys
import passpilot
def calls():
    module = passpilot.Module.read(sys.argv[1])
    passpilot.optimize(module, "default<O2>")
    return module.assembly().count(b"call void @leaf")
def refused(*options, forget=()):
    try:
        passpilot.llvm_options(options, forget=forget)
    except passpilot.errors.InputError:
        return calls()
print(calls(), refused("-inline-threshold=-1000", "-bogus"))
passpilot.llvm_options(["-inline-threshold=-1000"])
print(calls(), refused("-inline-threshold=225", "-bogus"), refused("-bogus", forget=["-inline-threshold"]))
"""
    done = run(code, tmp_path / "in.ll")
    assert done.returncode == 0, done.stderr
    plain, advised = (list(map(int, line.split())) for line in done.stdout.splitlines())
    assert len(set(plain)) == len(set(advised)) == 1
    assert plain[0] < advised[0]


def test_an_option_of_llvm_is_forgotten(tmp_path: Path) -> None:
    """AMDGPU's back end ends a process in which `-regalloc` is given."""
    source = tmp_path / "in.ll"
    source.write_text('target triple = "amdgcn-amd-amdhsa"\ndefine void @f() {\n  ret void\n}\n')
    code = """
import sys
import passpilot
passpilot.llvm_options(["-regalloc", "basic", "-inline-threshold=7"])
passpilot.llvm_options(["-inline-threshold=8"], forget=["-regalloc"])
print(len(passpilot.emit(passpilot.Module.read(sys.argv[1]), "obj")) > 0)
"""
    done = run(code, source)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
