# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The own tests of crates, built with advice by Debian's cargo and rustc, and what `@oz` is worth for them.

The crates are those of Debian's packages librust-NAME-dev. Both sides optimize for size (``opt-level = "z"``,
``codegen-units = 1``), with the named link-time optimization. With random decisions the tests must pass, too;
these are made without link-time optimization, since they would make the standard library very large.
`python -m bench.pages.crates` makes a table of the record.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.lib import command, show, write
from passpilot.training.file_sizes import file_sizes
from tests.cli.cc.test_rustc import REGISTRY, RUSTC, cargo_home
from tests.command import PASSPILOT

CRATES: Final = ("semver", "smallvec", "strsim")
DEADLINE: Final = 1800.0
WRAPPER: Final = {"RUSTC_WRAPPER": str(PASSPILOT)}
RANDOM: Final = {f"PASSPILOT_{point}": "random:7" for point in ("INLINE", "EVICT", "PRIORITY")}
WAYS: Final[tuple[tuple[str, Mapping[str, str]], ...]] = (
    ("stock", {}),
    ("oz", {**WRAPPER, "PASSPILOT_POLICY": "@oz"}),
    ("random", {**WRAPPER, **RANDOM}),
)
PASSED: Final = re.compile(r"test result: ok\. (\d+) passed; 0 failed")


def copied(name: str, folder: Path) -> Path:
    """A crate's source, without dependencies for tests that Debian does not have."""
    (found,) = REGISTRY.glob(f"{name}-[0-9]*")
    source = Path(shutil.copytree(found, folder / found.name, ignore=shutil.ignore_patterns(".cargo-*")))
    text = (source / "Cargo.toml").read_text()
    for needed in tomllib.loads(text).get("dev-dependencies", {}):
        if not list(REGISTRY.glob(f"{needed}-[0-9]*")):
            text = re.sub(
                rf"^\[dev-dependencies\.{needed}\]\n(?:[^\[].*\n|\n)*", "", text, flags=re.MULTILINE
            )
    (source / "Cargo.toml").write_text(text)
    return source


def test_programs(source: Path, lto: str, target: str, variables: Mapping[str, str]) -> Iterator[str]:
    """The paths of a crate's test programs, after they were built."""
    profile = ('opt-level="z"', "codegen-units=1", f"lto={lto}", 'panic="unwind"', "debug=false")
    words = (
        *(
            str(Path(RUSTC).with_name("cargo")),
            "test",
            "--release",
            "--offline",
            "--lib",
            "--tests",
            "--no-run",
        ),
        *(f"--config=profile.release.{line}" for line in profile),
        *(f"--target-dir={target}", "--message-format=json"),
    )
    environment = {
        "PATH": f"{Path(RUSTC).parent}:/usr/bin:/bin",
        "CARGO_HOME": str(cargo_home(source.parent)),
        **variables,
    }
    done = subprocess.run(
        words, cwd=source, env=environment, timeout=DEADLINE, check=True, stdout=subprocess.PIPE
    )
    for line in done.stdout.splitlines():
        if program := json.loads(line).get("executable"):
            yield program


def measured(source: Path, lto: str, target: str, variables: Mapping[str, str]) -> tuple[int, int]:
    """How many of a crate's tests pass, which must be all, and the bytes that their programs load."""
    tests = size = 0
    for program in test_programs(source, lto, target, variables):
        done = subprocess.run(
            [program], cwd=source, timeout=DEADLINE, check=True, capture_output=True, text=True
        )
        passed = PASSED.search(done.stdout)
        assert passed, done.stdout
        tests += int(passed[1])
        size += file_sizes(program).allocated
    return tests, size


def ratio(source: Path, lto: str, target: str) -> tuple[int, float]:
    """How many tests pass, with and without advice, and what `@oz` makes of the bytes of their programs."""
    made = {
        kind: measured(source, f'"{lto}"', f"{target}-{kind}", variables)
        for kind, variables in WAYS
        if kind != "random" or lto == "off"
    }
    counts = {tests for tests, _ in made.values()}
    assert len(counts) == 1, made
    assert len(made) == 2 or made["random"][1] != made["stock"][1], "random decisions change the programs"
    return counts.pop(), made["oz"][1] / made["stock"][1]


@command
def main() -> None:
    if not RUSTC or not all(list(REGISTRY.glob(f"{name}-[0-9]*")) for name in CRATES):
        packages = " ".join(f"librust-{name}-dev" for name in CRATES)
        sys.exit(
            f"needs Debian's rustc, cargo and crates: sudo apt-get install rustc-web cargo-web {packages}"
        )
    rows: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        sources = {name: copied(name, Path(folder)) for name in CRATES}
        for lto in ("off", "fat"):
            for name, source in sources.items():
                tests, found = ratio(source, lto, f"{folder}/{name}-{lto}")
                rows.setdefault(name, {"version": source.name.removeprefix(f"{name}-"), "tests": tests})
                rows[name][lto] = found
                write("crates.json", rows)
    show("bytes that the test programs load with @oz, relative to the same build without", "crate", rows)
