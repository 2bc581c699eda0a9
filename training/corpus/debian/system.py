# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`DebianSystem`: a Debian system in a folder; scripts run in it, and write into layers on top of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import passpilot
from passpilot.plugin.errors import InputError
from passpilot.plugin.version import MAJOR
from passpilot.training.timing.commands import TIED, CommandResult, Commands

INCLUDED: Final = (
    f"clang-{MAJOR}",
    f"lld-{MAJOR}",
    f"llvm-{MAJOR}",
    f"libclang-rt-{MAJOR}-dev",
    "ca-certificates",
    "debhelper",
    "fakeroot",
    "python3",
)
"""Packages of the system beside those that every build may expect; those for coverage need the runtime."""
USER: Final = "builder"
"""The user of the system that builds."""
MAKE_DEADLINE: Final = 1800.0
"""Seconds in which the system must be there."""

LEAST_FREE: Final = 4 << 30
"""Bytes of disk that must be free before a step of a build."""

_PYTHON: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"
_APART: Final = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
"""In front of a command: its mounts and processes end with it."""

_ENTER: Final = """
set -eu
exec >>"$LOG" 2>&1
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$UPPER,workdir=$WORK" "$ROOT"
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
IFS='
'
set -f
for place in $SHOWN; do
  mkdir -p "$ROOT$place"
  mount --bind "$place" "$ROOT$place"
  mount -o remount,bind,ro "$ROOT$place"
done
[ "$NETWORK" = yes ] && cat /etc/resolv.conf >"$ROOT/etc/resolv.conf"
unset LOG LOWER UPPER WORK SHOWN NETWORK
ulimit -f 8388608  # blocks of 512 bytes
chroot --userspec="$WHO" "$ROOT" /bin/sh -euc "$SCRIPT"
exit 0
"""
"""Mounts the layers in namespaces of its own, so that nothing stays mounted, and runs a script in them.

The shell stays, as root: a process that becomes another user is no longer ended with its parent.
"""


@dataclass(frozen=True, slots=True)
class DebianSystem:
    """A Debian system in a folder; the passpilot that runs is seen in it at its own path.

    Attributes:
        root: its folder, which no build writes.
        commands: runs the scripts, and can end them all.
    """

    root: Path
    commands: Commands = field(default_factory=Commands)

    @classmethod
    def made(cls, root: Path, suite: str, mirror: str, log: Path) -> DebianSystem:
        """Make the system with mmdebstrap, unless it is there.

        Raises:
            InputError: mmdebstrap or unshare is missing, or the Python of this passpilot is not the system's.
            CompilationError: the system cannot be made; the log says why.
        """
        if found := re.search(r"[:,\\\s]", str(root)):
            raise InputError(
                f"corpus debian: -o: expected a path that can be mounted, got {root} with {found[0]!r}"
            )
        if os.geteuid():
            raise InputError(
                "corpus debian: expected root, which mounts layers; call it with sudo, or in a container"
            )
        for tool, package in (("mmdebstrap", "mmdebstrap"), ("unshare", "util-linux")):
            if not shutil.which(tool):
                raise InputError(f"corpus debian: {tool} is not on the PATH; sudo apt-get install {package}")
        system = cls(root)
        if not root.exists():
            with tempfile.TemporaryDirectory(dir=root.parent, prefix=".system-") as folder:
                made = Path(folder, "root")
                system._bootstrap(made, suite, mirror, log)
                made.rename(root)
        if sys.base_prefix == "/usr" and not (root / "usr/bin" / _PYTHON).exists():
            raise InputError(
                f"corpus debian: expected {suite} to have {_PYTHON}, which runs this passpilot; take the "
                "suite of this machine, or a Python of your own"
            )
        return system

    def _bootstrap(self, made: Path, suite: str, mirror: str, log: Path) -> None:
        sources = [f"deb {mirror} {suite} main", f"deb-src {mirror} {suite} main"]
        if suite != "sid":
            sources.append(f"deb {mirror.rstrip('/')}-security {suite}-security main")
        hooks = [
            f'chroot "$1" useradd --create-home {USER}',
            f'chroot "$1" install -d -o {USER} -g {USER} /build',
        ]
        included = [*INCLUDED, *([f"lib{_PYTHON}"] if sys.base_prefix == "/usr" else [])]
        words = ["mmdebstrap", "--variant=buildd", f"--include={','.join(included)}"]
        words += ["--skip=cleanup/apt/lists", "--dpkgopt=force-unsafe-io"]
        words += ['--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=APT::Install-Recommends "false"']
        words += [f"--customize-hook={hook}" for hook in hooks]
        script = f"exec {shlex.join([*words, suite, str(made), *sources])} >>{shlex.quote(str(log))} 2>&1"
        done = self.commands.run([*TIED, *_APART, "/bin/sh", "-c", script], MAKE_DEADLINE)
        done.check(f"corpus debian: {log}: expected a system", MAKE_DEADLINE)

    def run(
        self,
        script: str,
        layers: Sequence[Path],
        log: Path,
        deadline: float,
        *,
        user: str = USER,
        network: bool = False,
    ) -> CommandResult:
        """Run a shell script in the system below its layers; it writes into the last layer only.

        Its output is appended to `log`. All that it has started ends with it. Without `network` it sees none.
        No file becomes larger than 4 GiB.

        Raises:
            InputError: the disk is nearly full.
        """
        upper = layers[-1]
        if (free := shutil.disk_usage(log.parent).free) < LEAST_FREE:
            expected = f"expected {LEAST_FREE >> 30} GiB of free disk for a build, got {free >> 20:,} MiB"
            raise InputError(f"{log}: {expected}")
        work, mounted = (upper.parent / f".{upper.name}-{kind}" for kind in ("work", "root"))
        for folder in (upper, work, mounted):
            folder.mkdir(parents=True, exist_ok=True)
        lower = ":".join(str(path) for path in (*reversed(layers[:-1]), self.root))
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": f"/home/{USER}",
            "LC_ALL": "C.UTF-8",
            "LOG": str(log),
            "LOWER": lower,
            "UPPER": str(upper),
            "WORK": str(work),
            "ROOT": str(mounted),
            "SHOWN": "\n".join(shown_folders()),
            "NETWORK": "yes" if network else "no",
            "WHO": user,
            "SCRIPT": script,
        }
        spaces = [*_APART, *([] if network else ["--net"])]
        try:
            return self.commands.run(
                [*TIED, *spaces, "/bin/sh", "-c", _ENTER], deadline, environment=environment
            )
        finally:
            shutil.rmtree(work, ignore_errors=True)
            mounted.rmdir()


def shown_folders() -> list[str]:
    """The folders of this passpilot and of its Python, beside the system's own, that a build must see."""
    found = {sys.prefix, sys.base_prefix, *map(os.path.dirname, passpilot.__path__), *sys.path}
    kept = [path for path in sorted(found) if os.path.isdir(path) and not _is_of_a_system(path)]
    return [path for path in kept if not any(path.startswith(other + "/") for other in kept)]


def _is_of_a_system(path: str) -> bool:
    return path in ("/", "/usr") or path.startswith("/usr/lib")
