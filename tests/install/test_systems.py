# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheels on Debian systems without LLVM, used by an ordinary user.

Each system is a chroot that mmdebstrap makes; it has Python and nothing else. The wheels are those in
dist/, made by `make wheel`; the other packages come from the package index. Needs root and mmdebstrap.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
LIT: Final = ROOT / "lit_tests"
DIST: Final = ROOT / "dist"
SUITES: Final = ("bookworm", "trixie", "sid")
"""Debian 12, 13, and the newest."""

SNAPSHOTS: Final = '--aptopt=Acquire::Check-Valid-Until "false"'
"""A mirror of sid may be weeks old."""

FIRST_DAY: Final = """
set -eu
cd "$HOME"
python3 --version
python3 -m venv venv
. venv/bin/activate
pip install -q --find-links /files "passpilot[mlir]"
passpilot doctor
echo 'def decide(obs): return obs["cost_estimate"][0] < 0 and obs.site.callee.name == "small"' >policy.py
passpilot opt /files/calls.ll -passes='default<Oz>' --inline=python:policy.py:decide --stats -S -o policy.ll
passpilot opt /files/calls.ll -O2 --inline=onnx:/files/decision.onnx -S -o model.ll
grep -q 'call i32 @big' model.ll
! grep -q 'call i32 @small' model.ll
passpilot llc /files/crowd.ll -mcpu=core2 --evict=random:7 --stats -o crowd.s
grep -q crowd: crowd.s
passpilot opt /files/calls.ll -O2 --inline=const:0 --log d.log -o /dev/null
passpilot report d.log -o report.html
grep -q '<!doctype html>' report.html
passpilot mlir-opt /files/calls.mlir --inline=const:1 -o calls.mlir \\
  --pass-pipeline='builtin.module(advised-inline)'
grep -q func.func calls.mlir
cat >mine.py <<'EOF'
from dataclasses import dataclass
from passpilot import mlir

@mlir.pass_("mark", anchor="func.func")
@dataclass(frozen=True)
class Mark:
    def run(self, function):
        function.attributes["test.marked"] = mlir.bindings().ir.UnitAttr.get(function.context)

def decide(obs):
    return obs["callee_operations"].item() < 3 and obs.site.callee.name == "func.func"
EOF
passpilot mlir-opt /files/calls.mlir --load=mine.py --inline=python:mine.py:decide --stats -o mine.mlir \\
  --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(mark,cse),advised-inline)'
test "$(grep -c func.func mine.mlir)" = "$(grep -c test.marked mine.mlir)"
grep -q 'call @large' mine.mlir
! grep -q 'call @small' mine.mlir
passpilot mlir-opt mine.mlir --allow-unregistered-dialect --emit-llvm -o mine.ll
grep -q define mine.ll
du -sm venv/lib/python3*/site-packages | sed 's/^/MB of all packages: /'
du -sm venv/lib/python3*/site-packages/*llvm* venv/lib/python3*/site-packages/mlir
passpilot plugin-path 2>&1 | grep 'is on the PATH; sudo apt-get install llvm-22'
"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels, and the inputs of the commands."""
    if not list(DIST.glob("passpilot-*.whl")):
        subprocess.run([sys.executable, ROOT / "tools/wheels.py"], check=True)
    folder = tmp_path_factory.mktemp("files")
    inputs = (LIT / "inline/Inputs/calls.ll", LIT / "mlir/Inputs/calls.mlir")
    for file in (*DIST.glob("*.whl"), *inputs):
        shutil.copy(file, folder)
    crowd = subprocess.run([sys.executable, LIT / "llc/Inputs/crowd.py"], check=True, capture_output=True)
    (folder / "crowd.ll").write_bytes(crowd.stdout)
    subprocess.run([sys.executable, LIT / "runners/Inputs/models.py", folder], check=True)
    return folder


@pytest.mark.soak
@pytest.mark.parametrize("suite", SUITES)
def test_a_first_day(suite: str, files: Path, tmp_path: Path) -> None:
    system = made(suite, tmp_path / suite)
    shutil.copytree(files, system / "files")
    (system / "files").chmod(0o755)  # pytest's folders are private
    done = as_user(system, FIRST_DAY)
    assert done.returncode == 0, done.stdout
    assert "1 accepted" in done.stdout, done.stdout
    print(done.stdout)


def made(suite: str, system: Path, *more: str, architecture: str = "") -> Path:
    """Make a system with Python and more packages, and with this machine's way to the package index.

    Its processor is this machine's, or one by Debian's name whose programs the kernel can run.
    """
    packages = ",".join(("python3", "python3-venv", "ca-certificates", *more))
    options = [f"--architectures={architecture}"] if architecture else []
    options += ["--variant=minbase", f"--include={packages}"]
    subprocess.run(["mmdebstrap", "-q", SNAPSHOTS, *options, suite, system], check=True)
    for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt", "etc/pip.conf"):
        if (file := Path("/", name)).exists():
            shutil.copy(file.resolve(), system / name)
    subprocess.run(["chroot", system, "useradd", "--create-home", "user"], check=True)
    assert not list(system.glob("usr/lib/*/libLLVM*")), "the system has no LLVM"
    return system


def as_user(system: Path, script: str, timeout: float = 900) -> subprocess.CompletedProcess[str]:
    """Run a script in the system as an ordinary user, with /proc and /dev/shm, in a namespace of mounts."""
    shm = 'mkdir -p "$0/dev/shm" && mount -t tmpfs -o mode=1777 shm "$0/dev/shm"'
    enter = f'mount --bind /proc "$0/proc" && {shm} && exec chroot --userspec=user "$0" /bin/sh -c "$1"'
    index = {name: value for name, value in os.environ.items() if name in ("PIP_INDEX_URL", "PIP_CERT")}
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", enter, system, script],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home/user", "LANG": "C.UTF-8", **index},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
