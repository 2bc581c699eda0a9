# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot mlir-opt`: wrong input, outputs that appear whole or not at all, Ctrl-C, what is imported."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.command import ERROR, GENEROUS, PASSPILOT, files_in, passpilot, refused, started
from tests.passes.mlir.passes import TEXT
from tests.plugin.test_process_end import check, interrupt, stream

CSE: Final = "--pass-pipeline=builtin.module(func.func(cse),inline)"

PASSES: Final = """\
import os
import time
from dataclasses import dataclass
from passpilot import mlir

@mlir.pass_("asleep", anchor="func.func")
@dataclass(frozen=True)
class Asleep:
    def run(self, function):
        os.write(1, b"asleep\\n")  # at once: several threads do
        time.sleep(600)

@mlir.pass_("spin", anchor="builtin.module")
@dataclass(frozen=True)
class Spin:
    def run(self, module):
        os.write(1, b"asleep\\n")
        while True:
            pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.mlir").write_text(TEXT)
    (tmp_path / "passes.py").write_text(PASSES)
    return tmp_path


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x00\x01", "got binary data of another kind"),
        (b"ML\xefR", "attempting to parse a byte at the end of the bytecode"),
        (b"func.func @\xff() { return }", "identifier expected to start with letter"),
        (b"module {" * 50, "expected operation name in quotes"),
        (b"func.func @f() -> i32 { return }", "op has 0 operands, but enclosing function"),
        (b"BC\xc0\xde", "LLVM bitcode"),
    ],
)
@pytest.mark.parametrize("stdin", [False, True], ids=["file", "stdin"])
def test_what_is_no_module(folder: Path, data: bytes, told: str, stdin: bool) -> None:
    (folder / "bad.mlir").write_bytes(data)
    with (folder / "bad.mlir").open("rb") as file:
        done = subprocess.run(
            [PASSPILOT, "mlir-opt", "-" if stdin else "bad.mlir", CSE, "-o", "out.mlir"],
            cwd=folder,
            stdin=file,
            capture_output=True,
            check=False,
            timeout=GENEROUS,
        )
    text = done.stderr.decode("utf-8", "replace")
    last = text.splitlines(keepends=True)[-1]
    assert done.returncode == 1
    assert ERROR.fullmatch(last), done.stderr
    assert f"{'<stdin>' if stdin else 'bad.mlir'}: expected a module of MLIR, got" in last
    assert data not in done.stderr or data.isascii()
    assert text.count(told) == 1
    assert not (folder / "out.mlir").exists()


def test_damaged_bytecode(folder: Path) -> None:
    passpilot("mlir-opt", "in.mlir", "--emit-bytecode", "-o", "in.bc", cwd=folder)
    whole = (folder / "in.bc").read_bytes()
    pick = random.Random(7)
    for _ in range(6):
        data = bytearray(whole[: pick.randrange(len(whole) // 2, len(whole))])
        data[pick.randrange(4, len(data))] ^= 1 << pick.randrange(8)
        (folder / "bad.bc").write_bytes(data)
        done = passpilot("mlir-opt", "bad.bc", "-o", "out.mlir", cwd=folder)
        assert done.code == 1
        assert ERROR.search(done.err), done.err
        assert "Traceback" not in done.err
        assert not (folder / "out.mlir").exists()


def test_files_that_cannot_be_read_or_written(folder: Path) -> None:
    assert "nothing.mlir: expected a file that can be read, got: No such" in refused(
        "mlir-opt", "nothing.mlir", cwd=folder
    )
    assert ".: expected a file that can be read, got: Is a directory" in refused("mlir-opt", ".", cwd=folder)
    assert "no/out.mlir: expected a file to write, got: No such file" in refused(
        "mlir-opt", "in.mlir", "-o", "no/out.mlir", cwd=folder
    )


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--cse",), "mlir-opt: --cse: expected an option of passpilot mlir-opt"),
        (
            ("--inline=const:1", "--advise=mlir-inline=const:0"),
            "expected one runner for the point mlir-inline, got 2",
        ),
        (("--advise=evict=const:1",), "`passpilot llc` has the point evict"),
        (("--advise=mlir-inline",), "--advise: expected POINT=RUNNER with POINT among "),
        (
            ("--on-error=default",),
            "--on-error has no effect without an advisor; add --inline=RUNNER",
        ),
        (
            ("--inline=const:1", "--log=out.mlir"),
            "--log: expected a file of its own, got out.mlir, which -o writes",
        ),
    ],
)
def test_wrong_command_lines(folder: Path, flags: tuple[str, ...], told: str) -> None:
    assert told in refused("mlir-opt", "in.mlir", "-o", "out.mlir", *flags, cwd=folder, code=2)


def test_a_runner_that_nobody_asks_is_a_warning(folder: Path) -> None:
    done = passpilot("mlir-opt", "in.mlir", CSE, "--inline=const:1", "-o", "out.mlir", cwd=folder)
    assert done.code == 0
    assert "warning: mlir-inline advisor: runner const:1 was never asked" in done.err


EXPONENTIAL: Final = "\n".join(
    f"func.func @f{i}(%x: i32) -> i32 {{ %y = func.call @f{i + 1}(%x) : (i32) -> i32 "
    f"%z = func.call @f{i + 1}(%y) : (i32) -> i32 return %z : i32 }}"
    for i in range(40)
)
"""Functions that become twice as large as the next each, as long as there is memory."""


@pytest.mark.parametrize("threads", [(), ("--mlir-disable-threading",)])
@pytest.mark.parametrize("text", ["func.func(asleep)", "spin"])
def test_interrupted_in_a_pass_in_python(folder: Path, text: str, threads: tuple[str, ...]) -> None:
    before = files_in(folder)
    flags = ("--load=passes.py", f"--pass-pipeline=builtin.module({text})", *threads, "-o", "out.mlir")
    with started(PASSPILOT, "mlir-opt", "in.mlir", *flags, cwd=folder) as child:
        assert stream(child.stdout).readline() == b"asleep\n"
        check(folder, interrupt(child), before)


def test_interrupted_in_a_pass_of_mlir(folder: Path) -> None:
    (folder / "in.mlir").write_text(
        f"{EXPONENTIAL}\nfunc.func @f40(%x: i32) -> i32 {{ %y = arith.addi %x, %x : i32 return %y : i32 }}"
    )
    before = files_in(folder)
    text = "--pass-pipeline=builtin.module(inline{default-pipeline=})"
    with started(
        PASSPILOT, "mlir-opt", "in.mlir", text, "--mlir-print-ir-before-all", "-o", "out.mlir", cwd=folder
    ) as child:
        while b"Before Inline" not in stream(child.stderr).readline():
            pass
        check(folder, interrupt(child), before)


IMPORTS: Final = """\
import sys
from passpilot.cli.main import main
assert main(["mlir-opt", "in.mlir", "--pass-pipeline=builtin.module(cse)", "-o", "out.mlir"]) == 0
heavy = ("onnxruntime", "onnx", "grpc", "google", "rich", "importlib.metadata", "passpilot.plugin._core")
print(*[name for name in heavy if name in sys.modules])
"""


def test_what_a_native_pipeline_needs_not_is_not_imported(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=GENEROUS,
    )
    assert done.stdout == "\n"
