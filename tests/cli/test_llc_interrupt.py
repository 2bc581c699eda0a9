# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A code generation that is to stop: the functions that are not compiled yet are not compiled.

What is interrupted prints each function that it compiles, far more than a pipe holds. Nobody reads on before
the signal, so the compilation cannot end before it, however fast it is.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import PASSPILOT, Done, files_in, passpilot, started
from tests.plugin.test_process_end import check, interrupt, stream

COUNT = 1000
"""Functions; what LLVM prints of them fills a pipe a dozen times."""

LOOP = """\
define void @f{i}(ptr %p, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %q = getelementptr i32, ptr %p, i64 %i
  %v = load i32, ptr %q
  %w = mul i32 %v, %v
  store i32 %w, ptr %q
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


def long_program(triple: str, count: int = COUNT) -> str:
    body = "\n".join(LOOP.format(i=i) for i in range(count))
    alias = "@alias = alias void (ptr, i64), ptr @f7"
    return f'target triple = "{triple}"\n{alias}\n{body}\n'


WATCHED = "-print-after=finalize-isel"
"""Shows the code of each function when it is compiled."""


def compiled(name: str, told: str) -> bool:
    """Whether a function was compiled, by what `WATCHED` shows."""
    return f"# Machine code for function {name}:" in told


def interrupted(folder: Path, source: str | Path, *flags: str) -> Done:
    """Interrupt a compilation as soon as LLVM is at work; standard error begins after its first line."""
    with started(PASSPILOT, "llc", source, *flags, WATCHED, "-o", "out.o", cwd=folder) as child:
        assert b"IR Dump" in stream(child.stderr).readline()
        return interrupt(child)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_who_is_compiled_is_seen(tmp_path: Path, level: str) -> None:
    (tmp_path / "in.ll").write_text(long_program("x86_64-linux-gnu", 20))
    done = passpilot("llc", "in.ll", level, WATCHED, "-o", "out.o", cwd=tmp_path)
    assert compiled("f8", done.err)
    assert compiled("f9", done.err)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    "triple", ["x86_64-linux-gnu", "aarch64-linux-gnu", "powerpc64le-linux-gnu", "riscv64", "wasm32"]
)
def test_the_rest_is_not_compiled(tmp_path: Path, triple: str, level: str) -> None:
    (tmp_path / "in.ll").write_text(long_program(triple))
    done = interrupted(tmp_path, "in.ll", level, "-filetype=obj")
    check(tmp_path, done, ["in.ll"])
    assert not compiled(f"f{COUNT - 1}", done.err)


def test_where_back_ends_compile_in_phases(tmp_path: Path) -> None:
    """AMD's looks at all functions before it selects instructions of the next."""
    text = (
        long_program("amdgcn-amd-amdhsa").replace("@alias", "; @alias").replace("ptr %", "ptr addrspace(1) %")
    )
    (tmp_path / "in.ll").write_text(text)
    done = interrupted(tmp_path, "in.ll", "-O1")
    check(tmp_path, done, ["in.ll"])
    assert not compiled(f"f{COUNT - 1}", done.err)


def last_function(bitcode: Path) -> str:
    """The last function that a module defines."""
    text = subprocess.run(["llvm-dis-22", bitcode, "-o", "-"], capture_output=True, check=True).stdout
    names: list[bytes] = re.findall(rb'^define .*?@("[^"]+"|[\w.$]+)\(', text, re.MULTILINE)
    return names[-1].decode()


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", ["sqlite", "bullet"])
def test_a_real_program(corpus: Callable[[str, str], Path], tmp_path: Path, name: str, level: str) -> None:
    """With the aliases, groups and tables of C++."""
    source = corpus(name, "O2")
    done = interrupted(tmp_path, source, level, "-filetype=obj")
    check(tmp_path, done, [])
    assert not compiled(last_function(source), done.err)


def test_no_remarks_stay(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(long_program("x86_64-linux-gnu"))
    flags = ("-pass-remarks-output=r", "-split-dwarf-output=d")
    check(tmp_path, interrupted(tmp_path, "in.ll", *flags), ["in.ll"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_other_ends(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "in.ll").write_text(long_program("x86_64-linux-gnu"))
    with started(PASSPILOT, "llc", "in.ll", WATCHED, "-o", "out.o", cwd=tmp_path) as child:
        assert b"IR Dump" in stream(child.stderr).readline()
        assert interrupt(child, number).code == -number
    assert files_in(tmp_path) == ["in.ll"]


POLICY = """\
def fails(obs):
    raise ValueError("enough")
"""


@pytest.mark.parametrize("point", ["evict", "priority"])
def test_a_policy_that_fails_ends_the_compilation(tmp_path: Path, point: str) -> None:
    """At its first question: nothing behind that function is compiled."""
    values = range(30)
    loads = "\n".join(
        f"  %p{i} = getelementptr i64, ptr %p, i64 {i}\n  %v{i} = load volatile i64, ptr %p{i}"
        for i in values
    )
    stores = "\n".join(f"  store volatile i64 %v{i}, ptr %p{i}" for i in values)
    crowd = f"define void @crowd(ptr %p) {{\n{loads}\n{stores}\n  ret void\n}}\n"
    text = long_program("x86_64-linux-gnu").replace("define void @f0", f"{crowd}define void @f0", 1)
    (tmp_path / "in.ll").write_text(text)
    (tmp_path / "p.py").write_text(POLICY)
    flags = (f"--{point}=python:p.py:fails", f"--log={point}=l", WATCHED)
    done = passpilot("llc", "in.ll", *flags, "-o", "out.o", cwd=tmp_path)
    assert done.code == 1
    assert f"passpilot: error: {point} advisor at decision 0 (function crowd" in done.err
    assert "p.py:2" in done.err
    assert not compiled(f"f{COUNT - 1}", done.err)
    assert files_in(tmp_path) == ["in.ll", "p.py"]
