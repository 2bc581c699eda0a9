# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheels for AArch64 in a bare Debian 12 of that processor: a newcomer's tasks, identity, random advice.

    make wheel ARCH=aarch64
    sudo apt-get install mmdebstrap qemu-user-static binfmt-support
    sudo .venv/bin/python -m bench.sweeps.aarch64_host build/aarch64-host

The kernel hands the system's programs to qemu-user, which needs no wrapper then. Where no systemd registers
that (a container), root does: `mount -t binfmt_misc none /proc/sys/fs/binfmt_misc` and
`cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register`. There is no /sys: it would
be this machine's, whose processors onnxruntime takes for its own and crashes. pip installs the wheels of
dist/ and what they need from the package index, as an ordinary user. Then Debian's LLVM is installed and
the tasks of tests/newcomer run, but for two: one installs TensorFlow, and one measures speed. Tests of what
depends on the processor follow, and sweeps (bench.sweeps.programs): default advice must change no byte of
what the system's opt and llc make, and programs that were compiled with random advice must print what they
should. Writes bench/results/versions/22-aarch64.json and 22-aarch64-tests.json, of which bench.pages.versions
makes a row. A folder that is there is used again. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from bench.lib import ROOT, command, write
from bench.sweeps.programs import tree
from bench.sweeps.versions import TALLY
from passpilot.plugin.version import MAJOR
from tests.corpus.fetch import fetch
from tests.corpus.programs import all_programs, cache_home
from tests.install.test_systems import as_user, made

MACHINE: Final = "aarch64"
NAME: Final = f"{MAJOR}-{MACHINE}"
EXTRAS: Final = "all,test-tools"
PACKAGES: Final = (
    *(f"clang-{MAJOR}", f"lld-{MAJOR}", f"llvm-{MAJOR}", f"mlir-{MAJOR}-tools"),
    *("libpython3.11", "gcc", "libc6-dev", "libstdc++-12-dev", "make", "csmith", "libcsmith-dev"),
)
"""What docs/install.md says that builds need, a compiler for tests, and the generator of random programs."""
PROGRAM: Final = "lz4"
"""The program of the tests' corpus whose units are compiled with default advice."""
SWEEPS: Final = {
    "identity": (f"--programs={PROGRAM}",),
    "llc": (f"--programs={PROGRAM}", f"--trials=llc O0 {MACHINE},llc O2 {MACHINE}"),
    "csmith": ("--count=22",),
}
CHECKOUT: Final = ("tests", "bench", "pyproject.toml")
"""What the sweeps and the tasks need beside the wheels."""
INSTALL: Final = f"""
python3 -m venv ~/venv
~/venv/bin/pip install -q --no-compile --find-links ~/dist 'passpilot[{EXTRAS}]'
uname -m
echo 'define i32 @f() {{ ret i32 1 }}' >f.ll
~/venv/bin/passpilot opt f.ll -O2 -S
"""
TASKS: Final = "python -m pytest -q -n2 -m soak tests/newcomer/test_tasks.py -k 'not (import or kernel)'"
FILES: Final = (
    "tests/cli/test_llc_input.py",  # inline assembly
    "tests/plugin/test_threads.py",
    "tests/runners/aot/test_runner.py",  # compiled models
    "tests/plugin/native/stock/test_plugin.py",
)
"""Tests of what depends on the processor."""
TESTS: Final = f"python -m pytest -q -n2 {' '.join(FILES)} -k 'not (terminal or another_llvm)'"
"""There is no terminal, and no LLVM 14."""


class Host:
    """The system, its user and what was found."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home/user"

    def run(self, script: str, hours: float = 1) -> str:
        """What a script of the user prints, which must succeed."""
        done = as_user(self.root, f"set -eu; cd ~; {script}", timeout=hours * 3600)
        if done.returncode:
            sys.exit(f"{MACHINE}: {script.strip()}: exit code {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def here(self, script: str, hours: float = 1) -> subprocess.CompletedProcess[str]:
        """The same in the checkout and with the environment that has the wheels; it may fail."""
        enter = "cd ~/checkout; . ~/venv/bin/activate; export PASSPILOT_CACHE="
        return as_user(self.root, f"{enter}; {script}", timeout=hours * 3600)


def installed(root: Path) -> Host:
    """A system in which the user has the wheels, and works without LLVM; then root installs LLVM."""
    host = Host(root)
    if not root.exists():
        made("bookworm", root, architecture="arm64")
    copy(host)
    if not (host.home / "venv/bin/passpilot").exists():
        print(host.run(INSTALL, hours=2))
    if not (root / f"usr/bin/clang-{MAJOR}").exists():
        apt = ["chroot", str(root), "apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        for words in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
            subprocess.run([*apt, *words], check=True)
    print(host.run("~/venv/bin/passpilot doctor"))
    return host


def copy(host: Host) -> None:
    """Give the user the wheels, the tests and the archive of the program."""
    for name in ("dist", "checkout"):
        shutil.rmtree(host.home / name, ignore_errors=True)
    wheels = [*(ROOT / "dist").glob(f"*_{MACHINE}.whl")]
    if len(wheels) != 2:
        sys.exit(f"dist: expected two wheels for {MACHINE}, got {len(wheels)}; make wheel ARCH={MACHINE}")
    archive = fetch(all_programs()[PROGRAM].origin)
    archives = (host.home / ".cache" / cache_home().name / archive.relative_to(cache_home())).parent
    for folder in (host.home / "dist", host.home / "checkout", archives):
        folder.mkdir(parents=True, exist_ok=True)
    for wheel in wheels:
        shutil.copy(wheel, host.home / "dist")
    for name in CHECKOUT:
        source, target = ROOT / name, host.home / "checkout" / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    shutil.copy(archive, archives)
    subprocess.run(["chroot", str(host.root), "chown", "-R", "user:", "/home/user"], check=True)


def counted(host: Host, name: str, script: str) -> dict[str, int]:
    """Run tests, whose output is kept; how many of them passed, failed or were skipped."""
    said = host.here(script, hours=3).stdout
    (ROOT / "build" / f"{name}-{NAME}.out").write_text(said)
    return {kind: int(count) for count, kind in TALLY.findall(said.splitlines()[-1])}


def sweeps(host: Host) -> bool:
    """Run the sweeps; whether nothing is wrong."""
    record = host.home / "checkout/counts.json"
    host.run(f"cd checkout; ~/venv/bin/python -m tests.corpus.build --only {PROGRAM}")
    right = []
    for name, options in SWEEPS.items():
        words = " ".join(f"'{option}'" for option in options)
        files = "--file=cases.jsonl --results=counts.json --jobs=2"
        done = host.here(f"python -m bench.sweeps.programs {name} {words} {files}", hours=3)
        print(done.stdout)
        right.append(done.returncode == 0)
    counts = json.loads(record.read_text())
    for row in counts["rows"].values():
        row["trees"] = [tree()]
    write(f"versions/{NAME}.json", counts)
    return all(right)


@command
def main(folder: str = "build/aarch64-host") -> None:
    began = time.monotonic()
    host = installed(Path(folder).absolute())
    found = {
        "tasks": counted(host, "tasks", TASKS),
        "pytest": counted(host, "pytest", TESTS),
    }
    right = sweeps(host)
    text = (host.root / "etc/os-release").read_text()
    [system] = re.findall(r'PRETTY_NAME="(.+)"', text)
    version = host.run(f"llvm-config-{MAJOR} --version").strip()
    python = host.run("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").strip()
    emulated = f"{system} on AArch64 under qemu-user"
    write(f"versions/{NAME}-tests.json", {"llvm": version, "system": emulated, "python": python, **found})
    print(f"{(time.monotonic() - began) / 60:.0f} minutes; {found}")
    wrong = {"failed", "error", "errors"} & {kind for counts in found.values() for kind in counts}
    sys.exit(0 if right and not wrong else 1)
