# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot rustc` and cargo's wrapper: with a rustc that has our libLLVM, as Debian's rustc-web."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from passpilot.plugin.version import MAJOR
from tests.command import GENEROUS, PASSPILOT, passpilot, refused

PROGRAM = """\
use std::collections::BTreeMap;
fn scale(a: u64, b: u64) -> u64 { a.wrapping_mul(b).rotate_left((a % 63) as u32) ^ b }
fn count(text: &str) -> BTreeMap<char, usize> {
    let mut found = BTreeMap::new();
    for letter in text.chars() { *found.entry(letter).or_default() += 1; }
    found
}
fn main() {
    let sum = (0..100).fold(7, |sum, i| scale(sum, i) + scale(i, sum));
    println!("{} {:?}", sum, count("what a program prints stays the same"));
}
"""


def ours() -> str:
    """The path of a rustc with a shared LLVM of this major version; empty if there is none."""
    for folder in ("/usr/bin", *os.get_exec_path()):
        path = shutil.which("rustc", path=folder)
        if path and ".rustup" not in path and ".cargo" not in path:
            about = subprocess.run(
                [path, "-vV"], capture_output=True, text=True, timeout=GENEROUS, check=False
            )
            if f"LLVM version: {MAJOR}." in about.stdout:
                return path
    return ""


RUSTC = ours()
with_rustc = pytest.mark.skipif(not RUSTC, reason="needs Debian's rustc: apt-get install rustc-web")


def rustc(folder: Path, *options: str) -> bytes:
    """The object file of the program."""
    (folder / "prog.rs").write_text(PROGRAM)
    before = (str(PASSPILOT), "rustc", *options) if options else (RUSTC,)
    command = (*before, "-Copt-level=z", "-Ccodegen-units=1", "--emit=obj", "-o", "prog.o", "prog.rs")
    path = f"{Path(RUSTC).parent}:/usr/bin:/bin"
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, timeout=GENEROUS, check=True)
    return (folder / "prog.o").read_bytes()


@with_rustc
def test_objects_with_advice(tmp_path: Path) -> None:
    stock = rustc(tmp_path)
    assert rustc(tmp_path, "--inline=default", "--log=logs/") == stock
    assert list((tmp_path / "logs").iterdir())
    assert rustc(tmp_path, "--inline=random:7") != stock
    assert len(rustc(tmp_path, "--policy=@oz")) < len(stock)


@with_rustc
def test_a_rustc_that_loads_nothing_is_asked(tmp_path: Path) -> None:
    """As those of rustup, which have an LLVM of their own; `attach` needs no more of Debian's either."""
    (tmp_path / "prog.rs").write_text(PROGRAM)
    stock = [RUSTC, "-Copt-level=z", "-o", "stock", "prog.rs"]
    subprocess.run(stock, cwd=tmp_path, timeout=GENEROUS, check=True)
    for options in (["--inline=random:7"], ["--evict=random:7", "--priority=random:3"]):
        command = [RUSTC, "-Copt-level=z", "-o", "asked", "prog.rs"]
        done = passpilot("attach", *options, "--stats", "--", *command, cwd=tmp_path)
        assert done.code == 0, done
        assert "1 session" in done.err
        assert " 0 decisions" not in done.err
        printed = [
            subprocess.run([tmp_path / name], capture_output=True, timeout=GENEROUS, check=True).stdout
            for name in ("stock", "asked")
        ]
        assert printed[0] == printed[1]


@with_rustc
def test_a_search_of_a_module(tmp_path: Path) -> None:
    stock = rustc(tmp_path)
    flags = (
        "-Copt-level=z",
        "-Ccodegen-units=1",
        "-Cno-prepopulate-passes",
        "--emit=llvm-bc",
        "-o",
        "prog.bc",
    )
    subprocess.run([RUSTC, *flags, "prog.rs"], cwd=tmp_path, timeout=GENEROUS, check=True)
    done = passpilot("tune", "prog.bc", "--compiles=6", "-o", "prog.decisions", cwd=tmp_path)
    assert done.code == 0, done
    assert len(rustc(tmp_path, "--decisions=prog.decisions")) < len(stock)


@with_rustc
def test_cargo_by_one_variable(tmp_path: Path) -> None:
    cargo = shutil.which("cargo", path=str(Path(RUSTC).parent))
    if not cargo:
        pytest.skip("needs Debian's cargo: apt-get install cargo-web")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/main.rs").write_text(PROGRAM)
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n'
        '[profile.release]\nopt-level = "z"\ncodegen-units = 1\npanic = "abort"\n'
    )
    printed, sizes = set(), []
    for name, variables in {
        "stock": {},
        "advised": {"RUSTC_WRAPPER": str(PASSPILOT), "PASSPILOT_POLICY": "@oz"},
        "random": {
            "RUSTC_WRAPPER": str(PASSPILOT),
            "PASSPILOT_INLINE": "random:7",
            "PASSPILOT_EVICT": "random:7",
        },
    }.items():
        environment = {
            **os.environ,
            "PATH": f"{Path(RUSTC).parent}:/usr/bin:/bin",
            "CARGO_HOME": str(tmp_path),
        }
        command = [cargo, "build", "--release", "--offline", f"--target-dir={name}"]
        subprocess.run(command, cwd=tmp_path, env={**environment, **variables}, timeout=GENEROUS, check=True)
        program = tmp_path / name / "release/demo"
        printed.add(subprocess.run([program], capture_output=True, timeout=GENEROUS, check=True).stdout)
        sizes.append(program.stat().st_size)
    assert len(printed) == 1
    assert len(set(sizes)) > 1


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no rustc is on the PATH; sudo apt-get install rustc-web" in refused("rustc", "a.rs", cwd=tmp_path)
    error = refused("rustc", "--best-of=2", "a.rs", cwd=tmp_path, code=2)
    assert "expected an option that rustc can have, got --best-of" in error
    error = refused("rustc", "--inline=onnx:none.onnx", "a.rs", cwd=tmp_path)
    assert "rustc: --inline: expected a file that exists, got 'none.onnx'" in error
    error = refused(str(tmp_path / "rustc"), "a.rs", cwd=tmp_path)
    assert f"rustc: expected to run {tmp_path}/rustc, got: No such file" in error
