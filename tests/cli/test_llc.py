# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot llc` writes what stock llc writes, byte for byte, for every target, level and flag."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import stock
from tests.command import files_in, passpilot
from tests.corpus.build import bindir
from tests.passes.allocation.allocated import TRIPLES, for_target, optimized

LEVELS = range(4)
FILETYPES = ("obj", "asm")
OTHERS = (
    *("arm-linux-gnueabihf", "mips64el-linux-gnu", "s390x-linux-gnu", "wasm32", "nvptx64-nvidia-cuda"),
    *("loongarch64-linux-gnu", "sparcv9-linux-gnu", "hexagon", "bpf", "x86_64-pc-windows-msvc"),
    *("x86_64-apple-macosx", "powerpc64-ibm-aix", "spirv64", "riscv32", "avr"),
)
"""Targets beside the five of the corpus."""

NEUTRAL = """\
declare void @callee(i32)
@table = internal global [4 x i32] [i32 1, i32 2, i32 3, i32 4]
define i32 @sum(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %t, %loop ]
  %k = and i32 %i, 3
  %p = getelementptr [4 x i32], ptr @table, i32 0, i32 %k
  %v = load i32, ptr %p, align 4
  %m = mul i32 %v, %i
  %t = add i32 %s, %m
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  call void @callee(i32 %t)
  ret i32 %t
}
"""
"""IR that says nothing of a target."""


def stock_llc(source: Path | str, *flags: str, cwd: Path) -> tuple[int, bytes]:
    """The exit code of stock llc, and its output file."""
    (cwd / "stock").mkdir(exist_ok=True)
    command = [bindir() / "llc", source, *flags, "-o", "stock/out"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    output = cwd / "stock" / "out"
    return done.returncode, output.read_bytes() if output.exists() else b""


def check_same(source: Path | str, *flags: str, cwd: Path) -> int:
    """Compile as stock llc does; where it fails, fail in one line. The exit code."""
    code, expected = stock_llc(source, *flags, cwd=cwd)
    (cwd / "ours").mkdir(exist_ok=True)
    done = passpilot("llc", source, *flags, "-o", "ours/out", cwd=cwd)
    if code:
        assert done.code == 1, (flags, done.err)
        # LLVM warns of unknown features on its own.
        assert done.err.splitlines()[-1].startswith("passpilot: error: ")
        assert files_in(cwd / "ours") == []
        return 1
    assert done.code == 0, (flags, done.err)
    output = cwd / "ours" / "out"
    assert output.read_bytes() == expected, flags
    output.unlink()
    return 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", TRIPLES)
def test_a_program(target: str, level: int, tmp_path: Path) -> None:
    """Made by clang for the target."""
    source = tmp_path / "in.bc"
    flags = ["-mcpu=gfx90a", "-nogpulib"] if target == "amdgcn" else []
    stock.clang(stock.MANY_CALLS, source, f"--target={TRIPLES[target]}", "-g", *flags)
    for filetype in FILETYPES:
        assert check_same(source, f"-O{level}", f"-filetype={filetype}", cwd=tmp_path) == 0


@pytest.mark.parametrize(("target", "level", "filetype"), [("x86-64", 3, "asm"), ("aarch64", 0, "obj")])
def test_a_real_program(target: str, level: int, filetype: str, tmp_path: Path) -> None:
    source = for_target("lz4", target)
    flags = (f"-O{level}", f"-filetype={filetype}", "-relocation-model=pic")
    assert check_same(source, *flags, cwd=tmp_path) == 0


@pytest.mark.parametrize("target", TRIPLES)
def test_a_module_of_another_target(target: str, tmp_path: Path) -> None:
    """It keeps the attributes that name the other's processor, with which some back ends give up."""
    source = optimized("libyaml", "writer.c")
    flags = (f"-mtriple={TRIPLES[target]}", "-filetype=obj")
    failed = check_same(source, *flags, cwd=tmp_path)
    assert failed == (target in ("riscv64", "amdgcn"))


@pytest.mark.parametrize("triple", OTHERS)
def test_other_targets(triple: str, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(NEUTRAL)
    for flags in (("-O0", "-filetype=asm"), ("-O2", "-filetype=obj")):
        failed = check_same("in.ll", f"-mtriple={triple}", *flags, cwd=tmp_path)
        assert failed == (triple.startswith("nvptx") and "-filetype=obj" in flags)


@pytest.mark.parametrize("triple", TRIPLES.values())
def test_an_unknown_processor(triple: str, tmp_path: Path) -> None:
    """Of which LLVM warns; some back ends cannot go on without a known one."""
    (tmp_path / "in.ll").write_text(NEUTRAL)
    failed = check_same("in.ll", f"-mtriple={triple}", "-mcpu=nonsense", cwd=tmp_path)
    assert failed == triple.startswith(("x86_64", "riscv64", "amdgcn"))


@pytest.mark.parametrize(
    ("triple", "flags"),
    [
        ("riscv64", ("-M=no-aliases",)),
        ("riscv64", ("-M", "numeric")),
        ("armv7-linux-gnueabi", ("-float-abi=hard",)),
        ("armv7-linux-gnueabi", ("-meabi=gnu", "-filetype=obj")),
        ("aarch64-linux-gnu", ("-mattr=+sve", "-mcpu=neoverse-v1", "-code-model=tiny")),
        ("powerpc64le-linux-gnu", ("-mcpu=pwr10", "-filetype=obj")),
        ("amdgcn-amd-amdhsa", ("-mcpu=gfx90a", "-filetype=obj")),
    ],
)
def test_flags_of_targets(triple: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(NEUTRAL)
    assert check_same("in.ll", f"-mtriple={triple}", *flags, cwd=tmp_path) == 0


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-filetype=null",),
        ("-march=arm",),
        ("-march=aarch64", "-mattr=+sve", "-filetype=obj"),
        ("-mcpu=znver4",),
        ("-mattr=+avx2,-sse4a",),
        ("-code-model=large",),
        ("-relocation-model=pic", "-function-sections", "-data-sections"),
        ("-vector-library=SVML", "-disable-simplify-libcalls"),
        ("-frame-pointer=all", "-tailcallopt"),
        ("-regalloc=basic",),
        ("-regalloc=fast", "-O0"),
        ("-stop-after=greedy",),
        ("-stop-after=finalize-isel", "-O0", "-filetype=obj"),
        ("-stop-before=virtregrewriter", "-simplify-mir"),
        ("-print-after=greedy", "-filter-print-funcs=sum"),
        ("-pass-remarks=regalloc", "-pass-remarks-missed=.*"),
        ("-asm-verbose=false",),
        ("--asm-verbose=0", "--preserve-as-comments=false"),
        ("-show-mc-encoding",),
        ("-output-asm-variant=1",),
        ("-x86-asm-syntax=intel",),
        ("-binutils-version=2.35", "-unique-basic-block-section-names", "-basic-block-sections=all"),
        ("-split-dwarf-file=out.dwo", "-filetype=obj"),
        ("-dwarf-directory=0",),
        ("-dwarf-version=5", "-filetype=obj"),
        ("-discard-value-names",),
        ("-disable-verify",),
        ("-verify-machineinstrs",),
        ("-x", "ir"),
        ("-x=",),
    ],
    ids=" ".join,
)
def test_flags(flags: tuple[str, ...], tmp_path: Path) -> None:
    source = tmp_path / "in.bc"
    stock.clang(stock.MANY_CALLS, source, "-g", "-fno-discard-value-names")
    assert check_same("in.bc", *flags, cwd=tmp_path) == 0


def test_the_input_may_have_any_form(tmp_path: Path) -> None:
    """Assembly without a target or a data layout, for the host; bitcode of another front end's layout."""
    (tmp_path / "in.ll").write_text(NEUTRAL)
    assert check_same("in.ll", "-filetype=obj", cwd=tmp_path) == 0
    wrong = 'target datalayout = "E-p:16:16-i64:32-n8"\ntarget triple = "x86_64-linux-gnu"\n'
    (tmp_path / "in.ll").write_text(wrong + NEUTRAL.replace(", align 4", ""))
    assert check_same("in.ll", "-filetype=obj", cwd=tmp_path) == 0


@pytest.mark.parametrize(
    ("name", "flags", "output"),
    [
        ("in.ll", (), "in.s"),
        ("in.ll", ("-filetype=obj",), "in.o"),
        ("in.ll", ("-filetype=obj", "-mtriple=x86_64-pc-windows-msvc"), "in.obj"),
        ("in.ll", ("-stop-after=greedy",), "in.s"),
        ("a.b.bc", ("-O0", "-filetype=obj"), "a.b.o"),
        ("module", (), "module.s"),
    ],
)
def test_output_without_a_name(name: str, flags: tuple[str, ...], output: str, tmp_path: Path) -> None:
    source = tmp_path / name
    source.write_bytes(NEUTRAL.encode())
    subprocess.run([bindir() / "llc", name, *flags], cwd=tmp_path, check=True)
    expected = (tmp_path / output).read_bytes()
    (tmp_path / output).unlink()
    assert passpilot("llc", name, *flags, cwd=tmp_path).code == 0
    assert (tmp_path / output).read_bytes() == expected
    assert files_in(tmp_path) == sorted([name, output])


def test_split_dwarf(tmp_path: Path) -> None:
    source = tmp_path / "in.bc"
    stock.clang(stock.MANY_CALLS, source, "-g")
    flags = ("-filetype=obj", "-split-dwarf-file=out.dwo", "-split-dwarf-output=out.dwo")
    _, expected = stock_llc("in.bc", *flags, cwd=tmp_path)
    dwarf = (tmp_path / "out.dwo").read_bytes()
    (tmp_path / "out.dwo").unlink()
    assert dwarf
    assert passpilot("llc", "in.bc", *flags, "-o", "out.o", cwd=tmp_path).code == 0
    assert (tmp_path / "out.o").read_bytes() == expected
    assert (tmp_path / "out.dwo").read_bytes() == dwarf


@pytest.mark.parametrize("format_", ["yaml", "bitstream"])
def test_remark_files(format_: str, tmp_path: Path) -> None:
    """In bitstream format the object file has a section that names the file."""
    source = tmp_path / "in.bc"
    stock.clang(stock.MANY_CALLS, source, "-g")
    remarks = tmp_path / "remarks"
    flags = (
        *("-filetype=obj", f"-pass-remarks-output={remarks}", f"-pass-remarks-format={format_}"),
        *("-pass-remarks-filter=asm-printer|regalloc|prologepilog", "-pass-remarks-with-hotness"),
    )
    _, expected = stock_llc("in.bc", *flags, cwd=tmp_path)
    told = remarks.read_bytes()
    remarks.unlink()
    assert passpilot("llc", "in.bc", *flags, "-o", "out.o", cwd=tmp_path).code == 0
    assert (tmp_path / "out.o").read_bytes() == expected
    assert remarks.read_bytes() == told
    assert len(told) > 1000


def test_lists_of_processors(tmp_path: Path) -> None:
    for flag in ("-mcpu=help", "-mattr=help"):
        command = [str(bindir() / "llc"), "-mtriple=aarch64", flag]
        expected = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        done = passpilot("llc", "-mtriple=aarch64", flag, cwd=tmp_path)
        assert (done.code, done.out) == (0, b"")
        assert done.err == expected
        assert "cortex-a57" in expected


def test_the_version_is_no_compilation(tmp_path: Path) -> None:
    done = passpilot("llc", "--version", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert b"LLVM version 22." in done.out
