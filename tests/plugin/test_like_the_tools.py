# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`optimize` and `emit` against stock clang, opt and llc where those have rules of their own."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

import pytest

from passpilot.passes.emit import emit
from passpilot.passes.optimize import optimize
from passpilot.plugin.compile import PipelineOptions, Remarks
from passpilot.plugin.errors import CompilationError, InputError, PasspilotWarning
from passpilot.plugin.module import Module
from tests import stock
from tests.cli.test_llc import NEUTRAL
from tests.command import passpilot
from tests.corpus.build import bindir

LOOPS = """
void add(int *restrict p, const int *restrict q, int n) { for (int i = 0; i < n; ++i) p[i] += q[i]; }
int sum(const short *p, int n) { int s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
void straight(int *restrict p, const int *restrict q) {
  p[0] = q[0] + 1; p[1] = q[1] + 2; p[2] = q[2] + 3; p[3] = q[3] + 4;
}
void few(int *p) { for (int i = 0; i < 5; ++i) p[i] = p[i] * p[i]; }
"""


def body(text: str) -> list[str]:
    """The lines of a module without those that name the file."""
    return [line for line in text.splitlines() if not line.startswith((";", "source_filename"))]


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "Os", "Oz"])
def test_pipelines_as_clang(level: str, tmp_path: Path) -> None:
    """At -O1 clang does not vectorize or unroll; at -Oz it vectorizes only straight-line code."""
    source = stock.clang(LOOPS, tmp_path / "in.bc")
    flags = (f"-{level}", "-w", "-x", "ir", "-S", "-emit-llvm")
    clangs = body(stock.run("clang", *flags, source, "-o", "-").decode())
    made = {}
    for as_clang in (True, False):
        module = Module.read(source)
        optimize(module, f"default<{level}>", options=PipelineOptions(as_clang=as_clang))
        made[as_clang] = body(str(module))
    assert made[True] == clangs
    assert (made[False] == clangs) == (level in ("O2", "O3", "Os"))


@pytest.mark.parametrize("pipeline", ["default<O0>", "function(instcombine)", "", "default<O2>,globaldce"])
def test_other_pipelines_are_opts_also_as_clang(pipeline: str, tmp_path: Path) -> None:
    source = stock.clang(LOOPS, tmp_path / "in.bc")
    module = Module.read(source)
    optimize(module, pipeline, options=PipelineOptions(as_clang=True))
    assert module.assembly() == stock.opt(source, pipeline)[1]


@pytest.mark.parametrize("triple", ["tce", "tce-unknown-linux"])
def test_a_target_that_llvm_was_built_without(triple: str) -> None:
    module = Module.read(f'target triple = "{triple}"\n{NEUTRAL}'.encode())
    told = f"^failed to create target machine for '{triple}': expected a target triple that LLVM knows, got"
    with pytest.warns(PasspilotWarning, match=told):
        optimize(module, "default<O1>")
    assert "phi i32" in str(module)


@pytest.mark.parametrize("triple", ["", "unknown", "unknown-unknown-linux"])
def test_a_module_may_be_for_no_target(triple: str) -> None:
    module = Module.read(f'target triple = "{triple}"\n{NEUTRAL}'.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimize(module, "default<O1>")


def test_an_architecture_that_llvm_does_not_know() -> None:
    module = Module.read(f'target triple = "nonsense-linux"\n{NEUTRAL}'.encode())
    told = "^triple nonsense-linux: expected an architecture that LLVM knows, got 'nonsense'; use -mtriple$"
    with pytest.raises(InputError, match=told):
        optimize(module, "default<O1>")


def test_a_decision_that_is_not_about_functions() -> None:
    module = Module.read(NEUTRAL.encode())
    options = PipelineOptions(functions={"sum": ["optsize", "nonsense"]})
    told = "^decisions for sum: expected a decision about a function, got 'nonsense'$"
    with pytest.raises(InputError, match=told):
        optimize(module, "default<O1>", options=options)


@pytest.mark.parametrize(
    ("triple", "model"),
    [
        ("i386-apple-macosx", "dynamic-no-pic"),
        ("armv7-none-eabi", "static"),
        ("armv7-none-eabi", "ropi"),
        ("armv7-none-eabi", "rwpi"),
        ("armv7-none-eabi", "ropi-rwpi"),
    ],
)
def test_relocation_models(triple: str, model: str, tmp_path: Path) -> None:
    text = f'target triple = "{triple}"\n{NEUTRAL.replace("internal", "")}'
    (tmp_path / "in.ll").write_text(text)
    made = emit(Module.read(tmp_path / "in.ll"), "asm", relocation_model=model)
    assert made == stock.run("llc", f"-relocation-model={model}", tmp_path / "in.ll", "-o", "-")
    assert made != emit(Module.read(tmp_path / "in.ll"), "asm", relocation_model="pic")


def test_relocation_models_are_listed() -> None:
    with pytest.raises(InputError) as caught:
        emit(Module.read(NEUTRAL.encode()), relocation_model="PIC")
    assert str(caught.value) == (
        "relocation model: expected static, pic, dynamic-no-pic, ropi, rwpi or ropi-rwpi, got 'PIC'"
    )


BIG = """
target triple = "x86_64-pc-linux-gnu"
@big = global [100 x i64] zeroinitializer
define ptr @f() {
  ret ptr getelementptr (i8, ptr @big, i64 8)
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"Code Model", i32 4}
"""


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-code-model=small",),
        ("-code-model=medium",),
        ("-code-model=medium", "-large-data-threshold=900"),
    ],
    ids=" ".join,
)
def test_the_code_model_is_the_modules_unless_a_flag_says(flags: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(BIG)
    done = passpilot("llc", "in.ll", *flags, "-o", "-", cwd=tmp_path)
    assert done.out == stock.run("llc", *flags, tmp_path / "in.ll", "-o", "-")
    assert (b".lbss" in done.out) == (flags in ((), ("-code-model=medium",)))


def test_the_object_names_itself_for_the_debugger(tmp_path: Path) -> None:
    stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-gcodeview", "--target=x86_64-pc-windows-msvc")
    flags = ("llc", "in.bc", "-filetype=obj", "-o", "made.obj")
    assert passpilot(*flags, cwd=tmp_path).code == 0
    made = (tmp_path / "made.obj").read_bytes()
    assert b"made.obj\0" in made
    subprocess.run([bindir() / flags[0], *flags[1:]], cwd=tmp_path, check=True)
    assert made == (tmp_path / "made.obj").read_bytes()


TWICE = """
!named = !{!0, !1, !4}
!0 = !DICompositeType(tag: DW_TAG_structure_type, name: "s", file: !2, identifier: "s", flags: DIFlagFwdDecl)
!1 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "s", file: !2, identifier: "s", size: 32)
!2 = !DIFile(filename: "a.c", directory: "/")
!4 = !DICompositeType(tag: DW_TAG_structure_type, name: "s", file: !2, identifier: "s", size: 64)
"""
VTABLE = """
@vt = constant { [1 x ptr] } zeroinitializer, !type !0
!0 = !{i64 8, !"typeid"}
"""


def test_types_of_one_identifier_are_one_as_in_opt(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(TWICE)
    module = Module.read(tmp_path / "in.ll")
    assert module.assembly() == stock.run("opt", "-S", tmp_path / "in.ll")
    assert str(module).count("DICompositeType") == 1
    assert str(module.copy()).count("DICompositeType") == 1
    apart = Module.read(tmp_path / "in.ll", for_codegen=True)
    assert str(apart).count("DICompositeType") == 3
    for other in (module, Module.read(b"", for_codegen=True)):
        other._core.replace(apart.bitcode())
    assert str(module).count("DICompositeType") == 1
    assert str(other).count("DICompositeType") == 3


def test_vtables_are_seen_by_the_whole_program_if_opt_says_so(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(VTABLE)
    done = passpilot("opt", "in.ll", "-S", "-whole-program-visibility", "-passes=", "-o", "-", cwd=tmp_path)
    stocks = stock.run("opt", "-S", "-whole-program-visibility", tmp_path / "in.ll")
    assert body(done.out.decode()) == body(stocks.decode())
    assert b"!vcall_visibility" in done.out


def test_errors_of_one_compilation_are_told_together() -> None:
    calls = "\n".join(f'  call void asm "wrong{i}", ""()' for i in range(2))
    text = f'target triple = "x86_64"\ndefine void @f() {{\n{calls}\n  ret void\n}}\n'
    with pytest.raises(CompilationError) as caught:
        emit(Module.read(text.encode(), name="in"))
    place = "<inline asm>:1:2: invalid instruction mnemonic"
    assert str(caught.value) == f"in: {place} 'wrong0'; {place} 'wrong1'"


BROKEN = b"define i32 @f() {\n  %b = add i32 %a, 1\n  %a = add i32 1, 1\n  ret i32 %b\n}\n"


def test_what_a_pipeline_leaves_is_verified(tmp_path: Path) -> None:
    """Remarks of a compilation that fails are not left behind."""
    remarks = tmp_path / "remarks"
    told = (
        "^pipeline function[(]print[)]: expected a module that verifies, got: Instruction does not dominate"
    )
    module = Module.read(BROKEN, verify=False)
    with pytest.raises(CompilationError, match=told):
        optimize(module, "function(print)", remarks=Remarks(str(remarks)))
    assert not remarks.exists()
    optimize(module, "function(print)", verify=False, remarks=Remarks(str(remarks)))
    assert remarks.exists()


def test_options_are_printed_as_by_llc(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(NEUTRAL)
    flags = ("in.ll", "-print-options", "-tail-dup-size=3", "-o", "out.s")
    ours = passpilot("llc", *flags, cwd=tmp_path).out.decode()
    command = [str(bindir() / "llc"), *flags]
    theirs = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    (line,) = (each for each in theirs.splitlines() if "--tail-dup-size " in each)
    assert " = 3 " in line
    assert line.split() in [each.split() for each in ours.splitlines()]
