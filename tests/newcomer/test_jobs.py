# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs in a bare Debian 12, from the wheels, by the pages alone: their commands, in their order."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.docs.page import DOCS, script_of
from tests.docs.test_pages import prepare
from tests.install.test_systems import as_user, files, made

__all__ = ["files"]
JOBS: Final = {
    "firmware, Lua and C++ with make, CMake and Meson": ("smaller.md",),
    "firmware with a C library, wasm and AArch64": ("bare-metal.md",),
    "Fortran, Objective-C, Zig and D": ("front-ends.md",),
    "crates in Rust": ("rust.md",),
    "firmware in Rust": ("rust-firmware.md",),
    "own feature from data to cc": ("from-mlgo.md", "training.md"),
    "pass and policy in MLIR, hosted and stock": ("tutorial-mlir.md",),
}
SKIPPED: Final = ("make build", "curl ", "passpilot train ppo")
"""A checkout instead of the wheels, an archive from the network, and PyTorch."""


@pytest.fixture(scope="module")
def system(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system in which a user with sudo has followed docs/install.md."""
    system = made("bookworm", tmp_path_factory.mktemp("newcomer") / "bookworm", "sudo")
    (system / "etc/sudoers.d/user").write_text("user ALL=(ALL) NOPASSWD: ALL\n")
    (system / "etc/apt/apt.conf.d/yes").write_text('APT::Get::Assume-Yes "true";\n')
    shutil.copytree(files, system / "home/user/dist")
    (system / "home/user/dist").chmod(0o755)  # pytest's folders are private
    done = follow(system, "install.md")
    assert "\nok   plugin for opt-22" in done, done
    return system


def follow(system: Path, *pages: str) -> str:
    """What the pages' commands print, in a folder of the user's; they must succeed."""
    script = "".join(script_of((DOCS / page).read_text(), SKIPPED) for page in pages)
    (system / "home/user/job.sh").write_text(script)
    activate = "if [ -d passpilot-env ]; then source passpilot-env/bin/activate; mkdir -p job; cd job; fi"
    command = f"cd && {activate.replace('source', '.')} && exec bash -euxo pipefail ~/job.sh"
    done = as_user(system, command, timeout=3000)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "Traceback" not in done.stdout, done.stdout
    return done.stdout


@pytest.mark.soak
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("job", JOBS)
def test_a_job(job: str, system: Path) -> None:
    shutil.rmtree(system / "home/user/job", ignore_errors=True)
    folder = system / "home/user/job"
    folder.mkdir()
    folder.chmod(0o777)
    for page in JOBS[job]:
        prepare(page, folder)
    follow(system, *JOBS[job])
