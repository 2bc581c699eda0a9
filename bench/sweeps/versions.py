# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tries passpilot with the LLVM that it is built with: sweeps over programs, then the tests and lit's.

    .venv/bin/python -m bench.sweeps.versions               with the default
    .venv-23/bin/python -m bench.sweeps.versions --jobs=1   after `PASSPILOT_LLVM=23 tools/setup.sh test`

Default advice must give stock opt's bitcode and stock llc's code, and programs with random advice must print
what they should; bench.sweeps.programs says how. Writes the sweeps, to which the next call adds, and the
tests' counts to bench/results/versions, such as 21-trixie.json and 21-trixie-tests.json, of which
bench.pages.versions makes a table. Exit code 1 if a case is wrong or a test fails.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
from typing import Final

from bench.lib import RESULTS, ROOT, write
from bench.lib.corpus import built
from passpilot.plugin.version import MAJOR
from tests.corpus.build import bindir
from tests.corpus.programs import programs
from tests.stock import LEVELS

PROGRAMS: Final = tuple(sorted(programs()))
"""The programs of the tests, whose units are compiled with default advice."""
SMALL: Final = ("libsvm", "libyaml", "lz4")
"""Those whose code is compared for five targets; libsvm is in C++."""
SWEEPS: Final = {
    "identity": (f"--programs={','.join(PROGRAMS)}", f"--trials={','.join(LEVELS[-3:])}"),
    "llc": (f"--programs={','.join(SMALL)}",),
    "csmith": ("--count=114",),
}
TALLY: Final = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
LIT: Final = re.compile(r"^ *(Passed|Failed|Unsupported|Timed Out) *: *(\d+)", re.MULTILINE)


def record() -> str:
    """The name of the results of this LLVM in this system."""
    return f"versions/{MAJOR}-{platform.freedesktop_os_release()['VERSION_CODENAME']}"


def sweep(name: str, options: tuple[str, ...], jobs: int) -> bool:
    """Run one sweep into the results; whether nothing is wrong."""
    file = ROOT / "build" / f"versions-{MAJOR}.jsonl"
    files = (f"--file={file}", f"--results={RESULTS / record()}.json")
    command = [sys.executable, "-m", "bench.sweeps.programs", name, *files, f"--jobs={jobs}", *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def tests(jobs: int) -> tuple[bool, dict[str, dict[str, int]]]:
    """Run the tests and lit's with this LLVM: whether all is well, and what their closing lines count."""
    outputs = [ROOT / "build" / name for name in ("pytest.out", "lit.out")]
    for output in outputs:
        output.unlink(missing_ok=True)  # of an earlier run, or of another LLVM
    command = ["make", "--keep-going", f"LLVM={MAJOR}", f"JOBS={jobs}", "pytest", "lit"]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    pytest_said, lit_said = (output.read_text() if output.exists() else "" for output in outputs)
    if not pytest_said or not lit_said:
        sys.exit(f"bench.sweeps.versions: expected {' '.join(command)} to run the tests; see its error above")
    return status == 0, {
        "pytest": {kind: int(count) for count, kind in TALLY.findall(pytest_said.splitlines()[-1])},
        "lit": {kind.lower(): int(count) for kind, count in LIT.findall(lit_said)},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Programs, tests and lit's with this LLVM.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=[*SWEEPS, "tests"], help="one part")
    arguments = parser.parse_args()
    (RESULTS / "versions").mkdir(exist_ok=True)
    wanted = {name: options for name, options in SWEEPS.items() if arguments.only in (None, name)}
    if {"identity", "llc"} & wanted.keys():
        built(PROGRAMS)
    right = [sweep(name, options, arguments.jobs) for name, options in wanted.items()]
    if arguments.only in (None, "tests"):
        version = subprocess.check_output([bindir() / "llvm-config", "--version"], text=True).strip()
        python = ".".join(map(str, sys.version_info[:2]))
        green, counts = tests(arguments.jobs)
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
        write(f"{record()}-tests.json", {"llvm": version, "system": system, "python": python, **counts})
        right.append(green)
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
