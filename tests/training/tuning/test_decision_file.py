# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision files: what is written is read again, by Python and by compilers, and what is wrong is said."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.errors import PasspilotWarning
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.plugin.version import MAJOR
from passpilot.training.rewards import symbol_sizes
from passpilot.training.tuning.decision_file import (
    HEAD,
    CallKey,
    UnitDecisions,
    read_decisions,
    write_decisions,
)
from tests.command import OPT, refused, run
from tests.command import passpilot as command
from tests.plugin.native.stock.tools import tool

ODD = "a b%\n\u00e4"
UNIT = UnitDecisions(
    "src/one two.c",
    {CallKey("main", ODD, 2): True, CallKey(ODD, "f", 1): False},
    "function(simplifycfg),mergefunc",
    options=["enable-machine-outliner=always"],
    functions={ODD: ("nooutline",), "main": ("optsize", "unroll=64"), "*": ("speed",)},
)
CALLS = """\
source_filename = "src/calls.c"
target triple = "x86_64-pc-linux-gnu"
define internal i32 @leaf(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define i32 @two(i32 %x) {
  %a = call i32 @leaf(i32 %x)
  %b = call i32 @leaf(i32 %a)
  ret i32 %b
}
"""


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "f.decisions")
    write_decisions(path, [UNIT, UnitDecisions("other.c")], ["made for a test"])
    assert read_decisions(path) == [UNIT, UnitDecisions("other.c", {}, "", options=[])]
    assert Path(path).read_text().startswith(f"{HEAD}\n# made for a test\n")


def written(folder: Path, *lines: str) -> str:
    (folder / "f.decisions").write_text("\n".join((HEAD, *lines, "")))
    return str(folder / "f.decisions")


def calls_left(text: str) -> int:
    return len(re.findall(r"call .*@leaf", text))


@pytest.mark.parametrize(
    ("unit", "left"),
    [("src/calls.c", 1), ("/home/me/src/calls.c", 1), ("calls.c", 1), ("src/other.c", 0), ("calls.cc", 0)],
)
def test_the_second_question_about_a_call(unit: str, left: int, tmp_path: Path) -> None:
    """LLVM inlines both calls; a unit is found by the end of its path."""
    path = written(tmp_path, f"unit {unit}", "inline 2 no two leaf")
    module = passpilot.Module(CALLS.encode())
    with (
        nullcontext()
        if left
        else pytest.warns(PasspilotWarning, match="expected decisions for src/calls.c, got those for ")
    ):
        passpilot.optimize(module, "default<O2>", decisions=path)
    assert calls_left(str(module)) == left


def test_two_units_that_fit_equally_are_none(tmp_path: Path) -> None:
    path = written(
        tmp_path, "unit a/calls.c", "inline 1 no two leaf", "unit b/calls.c", "inline 1 no two leaf"
    )
    module = passpilot.Module(CALLS.replace("src/", "").encode())
    with pytest.warns(
        PasspilotWarning, match=r"expected decisions for calls\.c, got those for a/calls\.c, b/calls\.c"
    ):
        passpilot.optimize(module, "default<O2>", decisions=path)
    assert calls_left(str(module)) == 0


def test_all_doors_write_the_same(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(CALLS)
    path = written(
        tmp_path,
        "unit src/calls.c",
        "pipeline mergefunc",
        "function two optsize nooutline",
        "option enable-machine-outliner=always",
        "inline 1 no two leaf",
    )
    ours = run(OPT.parent / "llvm-dis", "-o", "-", stdin_of(tmp_path, path), cwd=tmp_path).out.decode()
    plugin = f"-load-pass-plugin={llvm_plugin()}"
    theirs = run(
        OPT, plugin, f"-passpilot-decisions={path}", "-passes=default<O2>", "-S", "in.ll", cwd=tmp_path
    )
    assert (theirs.code, theirs.err) == (0, "")
    assert ours.splitlines()[1:] == theirs.out.decode().splitlines()[1:]
    assert calls_left(ours) == 1
    assert "nooutline" in ours
    assert "optsize" in ours


def stdin_of(folder: Path, path: str) -> Path:
    """The bitcode that `passpilot opt` writes."""
    done = command("opt", "in.ll", "-O2", f"--decisions={path}", "-o", "ours.bc", cwd=folder)
    assert (done.code, done.err) == (0, "")
    return folder / "ours.bc"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["unit a.c", "inline 0 yes f g"], ":3: expected a decision, got "),
        (["unit a.c", "inline 1 maybe f g"], ":3: expected a decision, got "),
        (["unit a.c", "inline 1 yes f"], ":3: expected a decision, got "),
        (["inline 1 yes f g"], ":2: expected a decision, got "),
        (["unit a.c", "function f"], ":3: expected a decision, got "),
        (["unit a.c", "function f unroll=65"], ":3: expected a decision, got "),
        (["unit a.c", "function f optsize speed"], ":3: expected a decision, got "),
        (["unit a.c", "remove f"], ":3: expected a decision, got "),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said_in_all_doors(lines: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(CALLS)
    path = written(tmp_path, *lines)
    with pytest.raises(passpilot.errors.InputError, match=told):
        read_decisions(path)
    assert f"decisions {path}{told}" in refused("opt", "in.ll", "-O2", f"--decisions={path}", cwd=tmp_path)
    plugin = f"-load-pass-plugin={llvm_plugin()}"
    stock = run(OPT, plugin, f"-passpilot-decisions={path}", "-passes=default<O2>", "in.ll", cwd=tmp_path)
    assert stock.code == 1
    assert f"decisions {path}{told}" in stock.err


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(CALLS)
    (tmp_path / "x").write_text("something else\n")
    assert f'expected "{HEAD}", got' in refused("opt", "in.ll", "-O2", "--decisions=x", cwd=tmp_path)
    assert "expected a file that can be read" in refused("opt", "in.ll", "-O2", "--decisions=y", cwd=tmp_path)


LOOPS = """
int first(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s ^= p[i] * p[s & 7]; return s; }
int second(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s ^= p[i] * p[s & 7]; return s; }
"""


def test_decisions_about_functions(tmp_path: Path) -> None:
    """A name counts before `*`; the size level is set before LLVM's passes, and unrolling is LLVM's own."""
    (tmp_path / "a.c").write_text(LOOPS)
    path = written(tmp_path, "unit a.c", "function first unroll=4 speed", "function * optsize")
    flags = ("-Oz", "-emit-llvm", "-S", "a.c", "-o", "-")
    plain, decided = (command("cc", *flags, *more, cwd=tmp_path) for more in ((), (f"--decisions={path}",)))
    assert (plain.code, decided.code, decided.err) == (0, 0, "")
    assert body(plain.out.decode(), "first").count("mul nsw") == 1
    # LLVM 23 has rotated the loop, so that there is one for the rest.
    assert body(decided.out.decode(), "first").count("mul nsw") == (4 if MAJOR < 23 else 5)
    assert body(decided.out.decode(), "second").count("mul nsw") == 1
    if MAJOR < 23:  # since then the level of a function counts in its own pipeline
        assert body(decided.out.decode(), "second") == body(plain.out.decode(), "second")
    sizes = dict(re.findall(r"^attributes (#\d+) = \{ (.*) \}$", decided.out.decode(), re.MULTILINE))
    levels = [
        {"minsize", "optsize"} & set(sizes[number].split())
        for number in re.findall(r"^define .*? (#\d+) ", decided.out.decode(), re.MULTILINE)
    ]
    assert levels == [set(), {"optsize"}]


def body(text: str, name: str) -> str:
    """The instructions of a function."""
    found = re.search(rf"^define .* @{name}\(.*?\n(.*?)^}}", text, re.DOTALL | re.MULTILINE)
    assert found
    return re.sub("!llvm.loop !\\d+", "", found[1])


REPEATED = """
extern volatile int device[8];
void one(void) { device[0] = 1; device[1] = 2; device[2] = 3; device[3] = 4; device[4] = 5; }
void two(void) { device[0] = 1; device[1] = 2; device[2] = 3; device[3] = 4; device[4] = 5; }
"""


def test_options_of_code_generation(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(REPEATED)
    path = written(tmp_path, "unit a.c", "option enable-machine-outliner=always")
    flags = ("-Oz", "-c", "a.c")
    for compiler in (["cc", f"--decisions={path}", *flags, "-o", "a.o"], ["cc", *flags, "-o", "plain.o"]):
        assert command(*compiler, cwd=tmp_path).code == 0
    assert "OUTLINED_FUNCTION_0" in symbol_sizes((tmp_path / "a.o").read_bytes())
    assert "OUTLINED_FUNCTION_0" not in symbol_sizes((tmp_path / "plain.o").read_bytes())
    assert command("cc", *flags, "-emit-llvm", "-o", "a.bc", cwd=tmp_path).code == 0
    for name, option in (("decided", f"--decisions={path}"), ("given", "-enable-machine-outliner=always")):
        assert command("llc", "a.bc", option, "-filetype=obj", "-o", f"{name}.o", cwd=tmp_path).code == 0
    assert (tmp_path / "decided.o").read_bytes() == (tmp_path / "given.o").read_bytes()


def test_an_option_of_the_users_wins(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(REPEATED)
    path = written(tmp_path, "unit a.c", "option enable-machine-outliner=always")
    own, built, env = "-enable-machine-outliner=never", ("-Oz", "-c", "a.c"), {"PASSPILOT_DECISIONS": path}
    assert command("cc", *built, "-emit-llvm", "-o", "a.bc", cwd=tmp_path).code == 0
    codes = [
        command("cc", f"--decisions={path}", "-mllvm", own, *built, "-o", "cc.o", cwd=tmp_path).code,
        command("llc", f"--decisions={path}", own, "a.bc", "-filetype=obj", "-o", "llc.o", cwd=tmp_path).code,
        tool("clang", "-mllvm", own, *built, "-o", "own.o", cwd=tmp_path, env=env).code,
        tool("clang", *built, "-o", "decided.o", cwd=tmp_path, env=env).code,
    ]
    assert codes == [0] * 4
    made = {name: (tmp_path / f"{name}.o").read_bytes() for name in ("cc", "llc", "own", "decided")}
    outlined = [name for name, code in made.items() if b"OUTLINED_FUNCTION" in code]
    assert outlined == ["decided"]
