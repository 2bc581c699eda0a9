# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot rustc` and cargo's wrapper: with a rustc that has our libLLVM, as Debian's rustc-web."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from passpilot.plugin.version import MAJOR
from passpilot.training.file_sizes import file_sizes
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


def test_a_rustc_with_an_llvm_of_its_own_is_refused_before_it_starts(tmp_path: Path) -> None:
    """As rustup's: its proxy, and what a toolchain has."""
    stopped = tmp_path / "rustup"
    stopped.write_text("#!/bin/sh\necho started\n")
    stopped.chmod(0o755)
    for at in ("proxy/bin/rustc", "toolchain/bin/rustc", "system/bin/rustc"):
        rustc = tmp_path / at
        rustc.parent.mkdir(parents=True)
        rustc.symlink_to(stopped) if "proxy" in at else shutil.copy(stopped, rustc)
    (tmp_path / "toolchain/lib").mkdir()
    (tmp_path / "toolchain/lib/libLLVM.so.22.1-rust-1.95.0-stable").touch()
    for at in ("proxy", "toolchain"):
        said = refused("rustc", f"{tmp_path}/{at}/bin/rustc", "--policy=@oz", "x.rs", cwd=tmp_path)
        assert said.startswith(
            "passpilot: error: rustc: expected a rustc that uses libLLVM of the distribution"
        )
        assert "`passpilot attach -- rustc`" in said
    started = passpilot("rustc", f"{tmp_path}/system/bin/rustc", "--policy=@oz", "x.rs", cwd=tmp_path)
    assert started.out == b"started\n"


RUSTC = ours()
REGISTRY = Path("/usr/share/cargo/registry")
"""The crates of Debian's packages."""
WITH_CRATES = """\
use semver::{Version, VersionReq};
fn main() {
    let wanted = VersionReq::parse(">=1.2, <2").unwrap();
    for text in ["1.1.9", "1.2.0", "1.9.3-beta", "1.10.0", "2.0.0"] {
        println!("{text} {}", wanted.matches(&Version::parse(text).unwrap()));
    }
    for word in ["kitten", "sitting", "mitten"] {
        println!("{word} {} {:.3}", strsim::levenshtein("kitten", word), strsim::jaro("kitten", word));
    }
}
"""
CARGO = """\
[package]
name = "demo"
version = "0.1.0"
edition = "2021"
[dependencies]
semver = "1"
strsim = "0.10"
[profile.release]
opt-level = "z"
codegen-units = 1
panic = "abort"
"""
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


def cargo_home(folder: Path) -> Path:
    """A folder for cargo that takes crates from Debian's packages."""
    home = folder / "cargo-home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{REGISTRY}"\n'
    )
    return home


def crate(folder: Path) -> dict[str, str]:
    """Write a program with dependencies; returns the environment for cargo."""
    if not all(list(REGISTRY.glob(f"{name}-[0-9]*")) for name in ("semver", "strsim")):
        pytest.skip("needs Debian's crates: apt-get install librust-semver-dev librust-strsim-dev")
    (folder / "src").mkdir()
    (folder / "src/main.rs").write_text(WITH_CRATES)
    (folder / "Cargo.toml").write_text(CARGO)
    path = f"{PASSPILOT.parent}:{Path(RUSTC).parent}:/usr/bin:/bin"
    return {**os.environ, "PATH": path, "CARGO_HOME": str(cargo_home(folder))}


def cargo(folder: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words, cwd=folder, env=environment, timeout=5 * GENEROUS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@with_rustc
def test_a_search_of_a_crate_with_its_dependencies(tmp_path: Path) -> None:
    stock = crate(tmp_path)
    build = ("cargo", "build", "--release", "--offline")
    cargo(tmp_path, stock, *build, "--target-dir=stock")
    wrapped = {**stock, "RUSTC_WRAPPER": "passpilot"}
    tune = ("passpilot", "tune", "--program=demo", "--compiles=4", "-o", "tuned", "--", *build)
    done = cargo(tmp_path, wrapped, *tune)
    line = f"passpilot build --decisions={tmp_path}/tuned/demo.decisions -- {' '.join(build)}"
    assert f"build demo with: cargo clean && RUSTC_WRAPPER=passpilot {line}\n" in done.stdout
    units = [
        row for row in (tmp_path / "tuned/demo.decisions").read_text().splitlines() if row[:5] == "unit "
    ]
    assert {unit.partition(".")[0] for unit in units} == {"unit demo", "unit semver", "unit strsim"}
    warned = cargo(tmp_path, wrapped, *line.split(), "--target-dir=advised").stderr
    assert "expected decisions for" not in warned
    programs = [tmp_path / kind / "release/demo" for kind in ("stock", "advised")]
    assert len({cargo(tmp_path, stock, str(program)).stdout for program in programs}) == 1
    before, after = (file_sizes(str(program)).allocated for program in programs)
    assert after < before


@with_rustc
@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ('lto="fat"', "lto = false in the profile, got l"),
        ("codegen-units=16", "codegen-units = 1 in the prof"),
    ],
)
def test_a_profile_that_is_not_searched(profile: str, expected: str, tmp_path: Path) -> None:
    environment = {
        **crate(tmp_path),
        "RUSTC_WRAPPER": "passpilot",
        "PASSPILOT_RECORD": str(tmp_path / "made"),
    }
    done = cargo(tmp_path, environment, "cargo", "build", "--release", f"--config=profile.release.{profile}")
    assert f"warning: rustc: --record: expected {expected}" in done.stderr
    assert not (tmp_path / "made/commands").exists()


@with_rustc
def test_a_build_without_the_wrapper(tmp_path: Path) -> None:
    tune = (PASSPILOT, "tune", "-o", "tuned", "--", "cargo", "build", "--release", "--offline")
    done = subprocess.run(
        tune, cwd=tmp_path, env=crate(tmp_path), timeout=GENEROUS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "clean the build first, and set RUSTC_WRAPPER=passpilot for the code in Rust" in done.stderr


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


def test_options_of_a_build_reach_rustc(tmp_path: Path) -> None:
    (tmp_path / "rustc").write_text("#!/bin/sh\necho $PASSPILOT_POLICY $@\n")
    (tmp_path / "rustc").chmod(0o755)
    done = passpilot(
        "build", "--policy=@oz", "-DX", "--", PASSPILOT, tmp_path / "rustc", "a.rs", cwd=tmp_path
    )
    words = done.out.decode().split()
    assert (words[0], words[-1]) == ("@oz", "a.rs"), done
    assert not any("-DX" in word for word in words)


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no rustc is on the PATH; sudo apt-get install rustc-web" in refused("rustc", "a.rs", cwd=tmp_path)
    error = refused("rustc", "--best-of=2", "a.rs", cwd=tmp_path, code=2)
    assert "expected an option that rustc can have, got --best-of" in error
    error = refused("rustc", "--inline=onnx:none.onnx", "a.rs", cwd=tmp_path)
    assert "rustc: --inline: expected a file that exists, got 'none.onnx'" in error
    error = refused(str(tmp_path / "rustc"), "a.rs", cwd=tmp_path)
    assert f"rustc: expected to run {tmp_path}/rustc, got: No such file" in error
