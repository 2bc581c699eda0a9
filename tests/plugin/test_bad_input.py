# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cannot be compiled or written: one line, no output, nothing left beside it."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.command import PASSPILOT, Done, files_in, passpilot, program, refused, run, stock


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.ll"
    path.write_text(program())
    return path


@pytest.fixture
def bitcode(source: Path) -> bytes:
    return stock(source)


@pytest.mark.parametrize("eighths", range(8))
def test_truncated_bitcode(tmp_path: Path, bitcode: bytes, eighths: int) -> None:
    (tmp_path / "cut.bc").write_bytes(bitcode[: 4 + len(bitcode) * eighths // 8 // 4 * 4])
    line = refused("opt", "cut.bc", "-O2", "--inline=const:1", "-o", "out.bc", cwd=tmp_path)
    assert "cut.bc" in line


@pytest.mark.parametrize("size", [1, 2, 3, 5, 101, 1001])
def test_bitcode_of_no_whole_words(tmp_path: Path, bitcode: bytes, size: int) -> None:
    (tmp_path / "cut.bc").write_bytes(bitcode[:size])
    assert "cut.bc" in refused("opt", "cut.bc", "-O2", "-o", "out.bc", cwd=tmp_path)


@pytest.mark.parametrize("seed", range(12))
def test_bitcode_with_a_flipped_bit(tmp_path: Path, bitcode: bytes, seed: int) -> None:
    """It may happen to be sound; it must not crash."""
    damaged = bytearray(bitcode)
    place = random.Random(seed).randrange(8 * len(damaged))
    damaged[place // 8] ^= 1 << place % 8
    (tmp_path / "bad.bc").write_bytes(damaged)
    done = passpilot("opt", "bad.bc", "-O1", "-o", "out.bc", cwd=tmp_path)
    if done.code == 0:
        assert (tmp_path / "out.bc").exists()
    else:
        (tmp_path / "out.bc").unlink(missing_ok=True)
        refused("opt", "bad.bc", "-O1", "-o", "out.bc", cwd=tmp_path)


@pytest.mark.parametrize(
    "content", [b"\x01\x02" * 64, b"\x7fELF", b"BC\xc0\xde" + b"\xa5" * 400, bytes(range(256))]
)
def test_garbage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.bc").write_bytes(content)
    assert "bad.bc" in refused("opt", "bad.bc", "-O2", "-o", "out.bc", cwd=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "int main() {}",
        "define i32 @f(",
        "define void @f() {\n  call void @g()\n  ret void\n}",
        "\ufeffx",
        "@a = i32",
    ],
)
def test_text_that_is_no_module(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.ll").write_text(text)
    assert "bad.ll:" in refused("opt", "bad.ll", "-O2", "-o", "out.bc", cwd=tmp_path)


def test_truncated_text_names_the_line(source: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.ll").write_text("\n".join(source.read_text().splitlines()[:8]))
    assert "cut.ll:8:" in refused("opt", "cut.ll", "-O2", "-o", "out.bc", cwd=tmp_path)


def test_standard_input(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("junk")
    line = refused("opt", "-O2", "-o", "out.bc", cwd=tmp_path, prefix=("sh", "-c", '"$@" <in', "-"))
    assert "<stdin>" in line


def test_missing_input(tmp_path: Path) -> None:
    assert "none.bc" in refused("opt", "none.bc", "-O2", "-o", "out.bc", cwd=tmp_path)


def test_input_that_is_a_folder(tmp_path: Path) -> None:
    assert "Is a directory" in refused("opt", ".", "-O2", "-o", "out.bc", cwd=tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_input_that_may_not_be_read(source: Path, tmp_path: Path) -> None:
    source.chmod(0)
    assert "Permission denied" in refused("opt", "in.ll", "-O2", "-o", "out.bc", cwd=tmp_path)


@pytest.mark.parametrize(
    "pipeline",
    [
        "default<O9>",
        "default<",
        "inline,",
        "function(inline)",
        "no-such-pass",
        "cgscc(inline",
        ",",
        "é",
        "default<O2>x",
    ],
)
def test_wrong_pipeline(source: Path, tmp_path: Path, pipeline: str) -> None:
    line = refused(
        "opt", source, f"-passes={pipeline}", "--inline=const:1", "--log", "l", "-o", "out.bc", cwd=tmp_path
    )
    assert "-passes" in line


@pytest.mark.parametrize("flag", ["-passes=\udcff", "-mtriple=\udcff", "-inline-threshold=\udcff"])
def test_bytes_that_are_no_text_are_shown(source: Path, tmp_path: Path, flag: str) -> None:
    code = 2 if "threshold" in flag else 1
    assert "\\xff" in refused("opt", source, flag, "-o", "out.bc", cwd=tmp_path, code=code)


def test_names_of_outputs_that_are_no_text(source: Path, tmp_path: Path) -> None:
    flags = ("--inline=const:1", "-O2", "--log=l\udcff", "-o", "out\udcff.bc")
    assert passpilot("opt", source, *flags, cwd=tmp_path).code == 0
    assert files_in(tmp_path) == ["in.ll", "l\udcff", "out\udcff.bc"]


@pytest.mark.parametrize(
    "flags",
    [
        ("-O1", "-O2"),
        ("-O1", "-passes=inline"),
        ("-inline-threshold=many",),
        ("-no-such-flag",),
        ("-no-such-flag=3", "-also-none"),
        ("-inline-threshold",),
        ("-inline-threshold=",),
        ("-pass-remarks=(",),
        ("--inline",),
        ("-O2", "--timeout=soon", "--inline=const:1"),
        ("-O2", "--on-error=ignore", "--inline=const:1"),
        ("-O2", "--size-budget=-1", "--inline=const:1"),
        ("-O2", "--log=l"),
        ("-O2", "--inline=const:1", "--advise=inline=const:0"),
        ("-O2", "--advise=inline"),
        ("-O2", "second.ll"),
    ],
    ids=" ".join,
)
def test_wrong_command_line(source: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    refused("opt", source, "-o", "out.bc", *flags, cwd=tmp_path, code=2)


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "inf"])
def test_wrong_timeout(source: Path, tmp_path: Path, timeout: str) -> None:
    line = refused(
        "opt", source, "-O2", "--inline=const:1", f"--timeout={timeout}", "-o", "out.bc", cwd=tmp_path, code=2
    )
    assert "timeout" in line


@pytest.mark.parametrize(
    ("runner", "told"),
    [
        ("oracle:x", "'oracle'"),
        ("", "scheme"),
        (":", "scheme"),
        ("const", "const:0"),
        ("const:2", "const:2"),
        ("random:-1", "random:SEED"),
        ("random:18446744073709551616", "random:SEED"),
        ("default:x", "target"),
        ("const:1?x=1", "x"),
        ("random:1?seed", "key=value"),
        ("onnx:m.onnx?outptu=a", "outptu"),
        ("python:p.py:f?feature=a", "feature"),
        ("python:p.py", "python:FILE:NAME"),
        ("python:p.py:f", "p.py"),
        ("python:no_such_module:f", "no_such_module"),
        ("pipe:", "pipe:BASE"),
        ("replay:", "replay:LOG"),
        ("replay:none.log", "none.log"),
    ],
)
def test_wrong_runner(source: Path, tmp_path: Path, runner: str, told: str) -> None:
    line = refused("opt", source, "-O2", f"--inline={runner}", "--log", "l", "-o", "out.bc", cwd=tmp_path)
    assert told in line


@pytest.mark.parametrize("content", ["x = (", "import no_such_module", "1 / 0", "raise SystemExit(0)"])
def test_wrong_file_to_load(source: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "mine.py").write_text(f"\n{content}\n")
    line = refused("opt", source, "-O2", "--load=mine.py", "--inline=const:1", "-o", "out.bc", cwd=tmp_path)
    assert "mine.py:2" in line


def test_missing_file_to_load(source: Path, tmp_path: Path) -> None:
    assert "mine.py" in refused("opt", source, "-O2", "--load=mine.py", "-o", "out.bc", cwd=tmp_path)


@pytest.mark.parametrize("output", ["no/such/folder/out.bc", ".", "in.ll/out.bc"])
@pytest.mark.parametrize("runner", [(), ("--inline=const:1", "--log=l")])
def test_output_that_cannot_be_written(
    source: Path, tmp_path: Path, output: str, runner: tuple[str, ...]
) -> None:
    line = refused("opt", source, "-O2", "-o", output, cwd=tmp_path)
    assert output in line
    if runner:
        done = passpilot("opt", source, "-O2", *runner, "-o", output, cwd=tmp_path)
        assert done.code == 1
        assert files_in(tmp_path) in (["in.ll"], ["in.ll", "l"])  # the log is whole, or not there


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_folder_that_may_not_be_written(source: Path, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "Permission denied" in refused("opt", source, "-O2", "-o", "locked/out.bc", cwd=tmp_path)


FULL = ("prlimit", "--fsize=1000")
"""A disk that takes 1000 bytes per file."""


def test_disk_full_on_the_output(source: Path, tmp_path: Path) -> None:
    assert "out.bc" in refused("opt", source, "-O2", "-o", "out.bc", cwd=tmp_path, prefix=FULL)
    assert "/dev/full" in refused("opt", source, "-O2", "-o", "/dev/full", cwd=tmp_path)


def test_disk_full_on_an_output_that_exists(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out.bc").write_bytes(b"before")
    refused("opt", source, "-O2", "-o", "out.bc", cwd=tmp_path, prefix=FULL)
    assert (tmp_path / "out.bc").read_bytes() == b"before"


def test_disk_full_on_standard_output(source: Path, tmp_path: Path) -> None:
    line = refused("opt", source, "-O2", "-S", cwd=tmp_path, prefix=("sh", "-c", '"$@" >/dev/full', "-"))
    assert "No space left" in line


def test_reader_of_the_output_goes_away(source: Path, tmp_path: Path) -> None:
    """A FIFO whose only reader has left takes nothing; that is no reason for many words."""
    source.write_text(program(3000))
    done = run("sh", "-c", '"$@" | head -c 1', "-", PASSPILOT, "opt", source, "-S", cwd=tmp_path)
    assert done == Done(0, b";", "", done.seconds)


@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_disk_full_on_the_log(source: Path, tmp_path: Path, on_error: str) -> None:
    flags = ("--inline=const:1", f"--on-error={on_error}", "-o", "out.bc")
    line = refused("opt", source, "-O2", "--log=/dev/full", *flags, cwd=tmp_path)
    assert "/dev/full" in line
    assert "No space left" in line
    line = refused("opt", source, "-O2", "--log=l", *flags, cwd=tmp_path, prefix=("prlimit", "--fsize=6000"))
    assert "decision log l" in line


@pytest.mark.parametrize("log", ["no/such/folder/l", "in.ll/l"])
def test_log_that_cannot_be_written(source: Path, tmp_path: Path, log: str) -> None:
    line = refused("opt", source, "-O2", "--inline=const:1", f"--log={log}", "-o", "out.bc", cwd=tmp_path)
    assert f"decision log {log}" in line


@pytest.mark.parametrize("remarks", ["/dev/full", "no/such/folder/r", "."])
def test_remarks_that_cannot_be_written(source: Path, tmp_path: Path, remarks: str) -> None:
    refused(
        "opt",
        source,
        "-O2",
        f"-pass-remarks-output={remarks}",
        "--inline=const:1",
        "--log=l",
        "-o",
        "out.bc",
        cwd=tmp_path,
    )
