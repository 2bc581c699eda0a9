# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot llc` and what cannot be compiled or written: one line, no output, nothing left beside it."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import subprocess
from pathlib import Path

import pytest

from tests.command import PASSPILOT, files_in, passpilot, program, refused, stock

POLICY = "def never(obs):\n    return 32\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.ll"
    path.write_text(program(5))
    return path


@pytest.mark.parametrize("eighths", range(0, 8, 2))
def test_truncated_bitcode(source: Path, tmp_path: Path, eighths: int) -> None:
    bitcode = stock(source)
    (tmp_path / "cut.bc").write_bytes(bitcode[: 4 + len(bitcode) * eighths // 8 // 4 * 4])
    assert "cut.bc" in refused("llc", "cut.bc", "-o", "out.o", cwd=tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_bitcode_with_a_flipped_bit(source: Path, tmp_path: Path, seed: int) -> None:
    """It may happen to be sound; it must not crash."""
    damaged = bytearray(stock(source))
    place = random.Random(seed).randrange(8 * len(damaged))
    damaged[place // 8] ^= 1 << place % 8
    (tmp_path / "bad.bc").write_bytes(damaged)
    done = passpilot("llc", "bad.bc", "-O1", "-o", "out.o", cwd=tmp_path)
    assert done.code in (0, 1), done
    assert ((tmp_path / "out.o").exists()) == (done.code == 0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("int main() {}", "in.ll:1:"),
        ("define i32 @f(", "in.ll:1:"),
        ("define i32 @f() {\n %b = add i32 %a, 1\n %a = add i32 1, 1\n ret i32 %b\n}", "that verifies"),
        ('target triple = "nonsense"', "'nonsense'; use -mtriple"),
        ('target triple = "\\FF"', "use -mtriple"),
        ('target triple = "x86_64"\nmodule asm "nonsense"', "invalid instruction mnemonic 'nonsense'"),
        (
            'target triple = "x86_64"\ndefine void @f() {\n call void asm "non %x", ""()\n ret void\n}',
            "invalid register name",
        ),
    ],
)
@pytest.mark.parametrize("filetype", ["asm", "obj", "null"])
def test_modules_that_cannot_be_compiled(tmp_path: Path, content: str, told: str, filetype: str) -> None:
    (tmp_path / "in.ll").write_text(content)
    if filetype == "null" and "nonsense'" in told:
        return  # nothing is assembled
    assert told in refused("llc", "in.ll", f"-filetype={filetype}", "-o", "out.o", cwd=tmp_path)


def test_all_errors_in_one_line(tmp_path: Path) -> None:
    calls = "\n".join(f'  call void asm "wrong{i}", ""()' for i in range(3))
    text = f'target triple = "x86_64"\ndefine void @f() {{\n{calls}\n  ret void\n}}\n'
    (tmp_path / "in.ll").write_text(text)
    line = refused("llc", "in.ll", "-o", "out.o", cwd=tmp_path)
    assert all(f"<inline asm>:1:2: invalid instruction mnemonic 'wrong{i}'" in line for i in range(3))


@pytest.mark.parametrize("level", range(4))
def test_a_fatal_error_within_llvm(tmp_path: Path, level: int) -> None:
    (tmp_path / "in.ll").write_text(
        'target triple = "aarch64-linux-gnu"\n'
        "declare i32 @llvm.x86.sse2.pmovmskb.128(<16 x i8>)\n"
        "define i32 @f(<16 x i8> %x) {\n"
        "  %r = call i32 @llvm.x86.sse2.pmovmskb.128(<16 x i8> %x)\n  ret i32 %r\n}\n"
    )
    flags = (f"-O{level}", "-pass-remarks-output=r", "-o", "out.o")
    done = passpilot("llc", "in.ll", *flags, cwd=tmp_path)
    assert done.code == 1
    assert done.err.startswith("passpilot: error: LLVM: Cannot select: intrinsic %llvm.x86.sse2.pmovmskb.128")
    assert done.err.count("\n") == 1
    assert files_in(tmp_path) == ["in.ll"]


def test_missing_input(tmp_path: Path) -> None:
    assert "none.bc" in refused("llc", "none.bc", "-o", "out.o", cwd=tmp_path)
    assert "Is a directory" in refused("llc", ".", "-o", "out.o", cwd=tmp_path)


def test_standard_input(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("junk")
    assert "<stdin>" in refused("llc", "-o", "out.o", cwd=tmp_path, prefix=("sh", "-c", '"$@" <in', "-"))


def test_machine_ir(tmp_path: Path) -> None:
    (tmp_path / "in.mir").write_text("---\nname: f\n...\n")
    assert "in.mir: expected LLVM IR" in refused("llc", "in.mir", "-o", "out.o", cwd=tmp_path)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("-O4",), "-O0, -O1, -O2, -O3, got '-O4'"),
        (("-Os",), "got '-Os'"),
        (("-O",), "got '-O'"),
        (("-O0", "-O2"), "one optimization level, got -O0 -O2"),
        (("-filetype=elf",), "'elf'"),
        (("-x=mir",), "'mir'"),
        (("-run-pass=greedy",), "-run-pass; llc-22 itself has it"),
        (("--run-pass", "greedy"), "--run-pass; llc-22 itself has it"),
        (("-passes=greedy",), "-passes; llc-22 itself has it"),
        (("-enable-new-pm",), "-enable-new-pm"),
        (("-no-such-flag",), "-no-such-flag"),
        (("-regalloc=nonsense",), "nonsense"),
        (("-relocation-model=nonsense",), "nonsense"),
        (("-asm-verbose=maybe",), "expected true or false, got 'maybe'"),
        (("-output-asm-variant=one",), "'one'"),
        (("second.ll",), "second.ll"),
        (("--eviction-limit=x", "--evict=default"), "'x'"),
        (
            ("--inline=const:1",),
            "--inline: expected --evict or --priority or --ra-order or --ra-action or --ra-colour or "
            "--ra-split or --schedule, got a point of `passpilot opt`",
        ),
        (("--advise=inline=const:1",), "advised-outline, got 'inline=const:1'; `passpilot opt` has"),
        (
            ("--advise=nonsense=const:1",),
            "advised-outline, got 'nonsense=const:1'; --load=FILE.py adds others\n",
        ),
        (("--advise=evict",), "expected POINT=RUNNER"),
        (("--evict=default", "--advise=evict=const:1"), "one runner for the point evict, got 2"),
        (("--log=l",), "--log has no effect without an advisor; add --evict=RUNNER"),
        (("--log=evict=l", "--priority=default"), "add --evict=RUNNER"),
        (("--timeout=1",), "--timeout has no effect without an advisor"),
        (("--eviction-limit=1", "--priority=default"), "--eviction-limit has no effect without an advisor"),
        (("--evict=default", "--priority=default", "--log=l"), "--log: expected POINT=F"),
        (("--evict=default", "--log=l", "--log=evict=m"), "one log for the point evict, got two"),
        (("--evict=default", "--log=out.o"), "--log: expected a file of its own, got out.o, which -o writes"),
        (("-pass-remarks-output=out.o",), "-pass-remarks-output: expected a file of its own"),
        (("-split-dwarf-output=out.o",), "-split-dwarf-output: expected a file of its own"),
    ],
    ids=lambda each: each if isinstance(each, str) else ascii(" ".join(each)),
)
def test_wrong_command_line(source: Path, tmp_path: Path, flags: tuple[str, ...], told: str) -> None:
    assert told in refused("llc", source, "-o", "out.o", *flags, cwd=tmp_path, code=2)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("-mtriple=nonsense",), "expected a target triple that LLVM knows, got 'nonsense'; use -mtriple"),
        (("-march=nonsense",), "-march: expected a target that LLVM knows, got 'nonsense'"),
        (("-stop-after=nonsense",), "nonsense"),
        (("-binutils-version=2.x",), "-binutils-version: expected 'none' or MAJOR.MINOR, got '2.x'"),
        (("-M=nonsense",), "invalid InstPrinter option 'nonsense'"),
        (("-pass-remarks-output=r", "-pass-remarks-format=nonsense"), "-pass-remarks-output"),
        (("-pass-remarks-output=no/such/r",), "-pass-remarks-output"),
        (("-pass-remarks-output=r", "-pass-remarks-filter=("), "-pass-remarks-output"),
        (
            ("-mtriple=nvptx64", "-filetype=obj"),
            "target nvptx64: expected it to emit an object file, got: createMCC",
        ),
        (("--load=none.py",), "none.py"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_wrong_values(source: Path, tmp_path: Path, flags: tuple[str, ...], told: str) -> None:
    assert told in refused("llc", source, "-o", "out.o", *flags, cwd=tmp_path)


def test_opt_says_who_advises_register_allocation(source: Path, tmp_path: Path) -> None:
    line = refused("opt", source, "--evict=const:32", "-o", "out.bc", cwd=tmp_path, code=2)
    assert "opt: --evict: expected --inline, got a point of `passpilot llc`" in line
    line = refused("opt", source, "--advise=priority=const:1", "-o", "out.bc", cwd=tmp_path, code=2)
    assert "POINT among inline, advised-" in line
    assert "got 'priority=const:1'; `passpilot llc` has the point priority" in line


@pytest.mark.parametrize("output", ["no/such/folder/out.o", ".", "in.ll/out.o"])
def test_output_that_cannot_be_written(source: Path, tmp_path: Path, output: str) -> None:
    assert output in refused("llc", source, "-o", output, cwd=tmp_path)
    assert output in refused("llc", source, "-o", "out.o", f"-split-dwarf-output={output}", cwd=tmp_path)


def test_disk_full(source: Path, tmp_path: Path) -> None:
    flags = ("llc", source, "-filetype=obj")
    full = ("prlimit", "--fsize=100")
    assert "out.o" in refused(*flags, "-o", "out.o", cwd=tmp_path, prefix=full)
    assert "/dev/full" in refused(*flags, "-o", "/dev/full", cwd=tmp_path)
    assert "No space left" in refused(
        *flags, "-o", "-", cwd=tmp_path, prefix=("sh", "-c", '"$@" >/dev/full', "-")
    )
    (tmp_path / "out.o").write_bytes(b"before")
    refused(*flags, "-o", "out.o", cwd=tmp_path, prefix=full)
    assert (tmp_path / "out.o").read_bytes() == b"before"


def test_a_name_of_an_output_that_is_no_text(source: Path, tmp_path: Path) -> None:
    assert passpilot("llc", source, "-filetype=obj", "-o", "out\udcff.o", cwd=tmp_path).code == 0
    assert files_in(tmp_path) == ["in.ll", "out\udcff.o"]


def on_a_terminal(*command: str | Path, cwd: Path) -> tuple[int, str, str]:
    """Run with standard output on a terminal: the exit code, what it shows, and standard error."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [str(each) for each in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
    ) as child:
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that everybody has left
            while data := os.read(leader, 65536):
                shown += data
        assert child.stderr is not None
        told = child.stderr.read().decode()
    os.close(leader)
    return child.returncode, shown.decode(), told


def test_a_terminal_gets_no_object(source: Path, tmp_path: Path) -> None:
    for flags in (("-filetype=obj",), ("-filetype=obj", "-mtriple=aarch64")):
        code, shown, told = on_a_terminal(PASSPILOT, "llc", source, *flags, "-o", "-", cwd=tmp_path)
        assert (code, shown) == (0, "")
        assert told == (
            "passpilot: warning: expected a file or pipe for an object, got a terminal; "
            "use -o OUT, or -filetype=asm\n"
        )
    code, shown, told = on_a_terminal(PASSPILOT, "llc", source, "-o", "-", cwd=tmp_path)
    assert (code, told) == (0, "")
    assert ".globl\tcallee" in shown
