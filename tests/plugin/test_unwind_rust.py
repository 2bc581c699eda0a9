# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rust programs with smaller unwind tables panic, catch and drop as stock ones do."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from passpilot.training.evaluation.unwind_check import check_unwind
from tests.command import passpilot

PROGRAM = r"""
use std::panic;
struct Noisy(u32);
impl Drop for Noisy { fn drop(&mut self) { print!("~{} ", self.0); } }
#[inline(never)]
fn first(n: u32) -> u32 { let _kept = Noisy(n); if n % 5 == 0 { panic!("five {}", n) } second(n) + 1 }
#[inline(never)]
fn second(n: u32) -> u32 { if n % 3 == 0 { third(n, 3.5, &[n; 7]) } else { first(n - 1) } }
#[inline(never)]
fn third(n: u32, d: f64, l: &[u32]) -> u32 {
  let all: Vec<u32> = l.iter().map(|x| x * n).collect();
  if d as u32 + n > 20 { fourth(n, &all) } else { all[(n % 9) as usize] }
}
#[inline(never)]
fn fourth(n: u32, all: &[u32]) -> u32 {
  let wanted: Result<u32, String> = if n % 2 == 0 { Ok(1) } else { Err(format!("odd {}", n)) };
  wanted.unwrap() + all[0] + first(n - 1)
}
fn main() {
  panic::set_hook(Box::new(|info| print!("[{}] ", info.location().unwrap().line())));
  for n in 1..60 {
    match panic::catch_unwind(|| first(n)) {
      Ok(found) => println!("={}", found),
      Err(error) => println!("!{:?}", error.downcast_ref::<String>()),
    }
  }
}
"""


def rustc_writes_our_bitcode(folder: Path) -> bool:
    """Whether there is a compiler of Rust whose bitcode our LLVM reads."""
    if not shutil.which("rustc"):
        return False
    version = subprocess.run(
        ["rustc", "-vV"], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    found = [
        line.partition(": ")[2] for line in version.stdout.splitlines() if line.startswith("LLVM version")
    ]
    return bool(found) and 15 <= int(found[0].partition(".")[0]) <= 22


@pytest.mark.parametrize(("level", "mode"), [("0", "faults"), ("0", "shared"), ("z", "shared")])
def test_rust_panics_the_same(level: str, mode: str, tmp_path: Path) -> None:
    if not rustc_writes_our_bitcode(tmp_path):
        pytest.skip("expected rustc with LLVM 15 to 22; apt-get install rustc-web")
    (tmp_path / "p.rs").write_text(PROGRAM)
    rustc = [
        "rustc",
        f"-Copt-level={level}",
        "-Ccodegen-units=1",
        "-Csave-temps",
        "--print=link-args",
        "p.rs",
    ]
    built = subprocess.run(rustc, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    (theirs,) = tmp_path.glob("p.p.*-cgu.0.rcgu.o")
    objects = []
    outputs = [subprocess.run([tmp_path / "p"], capture_output=True, check=True, timeout=60).stdout]
    for table in ("full", mode):
        code = ("llc", f"-unwind={table}", "-filetype=obj", "-relocation-model=pic", "--function-sections")
        done = passpilot(*code, theirs.with_suffix(".bc").name, "-o", f"{table}.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        objects.append(str(tmp_path / f"{table}.o"))
        link = shlex.split(built.stdout.splitlines()[0].replace(theirs.name, f"{table}.o"))
        subprocess.run(["env", *link], cwd=tmp_path, capture_output=True, check=True, timeout=120)
        outputs.append(subprocess.run([tmp_path / "p"], capture_output=True, check=True, timeout=60).stdout)
    assert outputs[0].count(b"!") > 20 < outputs[0].count(b"~")
    assert outputs[0] == outputs[1] == outputs[2]
    found = check_unwind(*objects)
    assert (found.differences, found.dropped) == ((), 0)
    assert found.sizes[1] < 0.8 * found.sizes[0]
