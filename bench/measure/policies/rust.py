# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `@oz` and a search are worth for a Rust program, examples/rust, built by Debian's cargo and rustc.

Both sides have the profile of its Cargo.toml, with the named kind of link-time optimization. The search is of
the program's own module, and compares object files. Every program must print what the stock one prints.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.lib import command, show
from passpilot.training.file_sizes import FileSizes, file_sizes
from tests.cli.cc.test_rustc import RUSTC
from tests.command import PASSPILOT

EXAMPLE: Final = Path(__file__).parents[3] / "examples/rust"
INPUT: Final = b'{"a": [1, 2.5, {"b": "x"}], "c": null, "d": true}'
DEADLINE: Final = 900.0
FLAGS: Final = ("-Copt-level=z", "-Cpanic=abort", "-Ccodegen-units=1", "src/main.rs")


def run(*words: str, **variables: str) -> None:
    path = {"PATH": f"{Path(RUSTC).parent}:/usr/bin:/bin", "HOME": str(Path.home())}
    subprocess.run(words, cwd=EXAMPLE, env=path | variables, timeout=DEADLINE, check=True)


def built(lto: str, target: str, policy: str) -> FileSizes:
    wrapped = {"RUSTC_WRAPPER": str(PASSPILOT), "PASSPILOT_POLICY": policy} if policy else {}
    words = ("--release", "--offline", f"--target-dir={target}", f"--config=profile.release.lto={lto}")
    run("cargo", "build", "-q", *words, **wrapped)
    program = f"{target}/release/demo"
    printed = subprocess.run([program], input=INPUT, capture_output=True, timeout=DEADLINE, check=True)
    assert b'Obj({"a": Arr([Num(1.0), Num(2.5)' in printed.stdout, printed.stdout
    return file_sizes(program)


def searched(folder: str) -> dict[str, float]:
    module, decisions = f"{folder}/prog.bc", f"{folder}/prog.decisions"
    run(RUSTC, "-Cno-prepopulate-passes", "--emit=llvm-bc", "-o", module, *FLAGS)
    run(str(PASSPILOT), "tune", module, "--compiles=60", "-o", decisions)
    run(RUSTC, "--emit=obj", "-o", f"{folder}/stock.o", *FLAGS)
    advised = (str(PASSPILOT), "rustc", f"--decisions={decisions}", "--emit=obj")
    run(*advised, "-o", f"{folder}/tuned.o", *FLAGS)
    return ratios(file_sizes(f"{folder}/stock.o"), file_sizes(f"{folder}/tuned.o"))


def ratios(before: FileSizes, after: FileSizes) -> dict[str, float]:
    return {size: new / old for size, old, new in zip(FileSizes._fields, before, after, strict=True)}


@command
def main() -> None:
    if not RUSTC:
        sys.exit("needs Debian's rustc and cargo: sudo apt-get install rustc-web cargo-web")
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for lto in ('"fat"', "false"):
            stock, advised = (built(lto, f"{folder}/{len(rows)}{policy}", policy) for policy in ("", "@oz"))
            rows[f"@oz, lto = {lto}"] = ratios(stock, advised)
        rows["tune, the object"] = searched(folder)
    show("relative to the same build without passpilot", "build", rows)
