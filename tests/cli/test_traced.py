# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What commands do to the system: no connection but those that the user named, no file outside of the user's.

strace sees all processes and libraries, whatever they say of themselves.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from passpilot.runners.serving.grpc_server import GrpcServer
from tests.cli.everything import FAST, ONNX, advised, environment, learning, other, prepare
from tests.command import GENEROUS, PASSPILOT
from tests.plugin.native.c.test_programs import ROOT, flags

CALLS: Final = (
    "socket,connect,bind,sendto,open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,"
    "symlink,symlinkat,unlink,unlinkat,truncate,chmod,fchmodat"
)
LINE: Final = re.compile(r"\d+ +(\w+)\((.*)\) = (-?\d+)(.*)")
PATH: Final = re.compile(r'(?:(AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"')
WRITES: Final = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
SYSTEM: Final = ("/dev/null", "/dev/tty", "/dev/pts/", "/proc/", "/dev/shm/")
"""What a process may write to that is no file."""
HERE: Final = "this machine"
"""A target: all servers of this machine, which others cannot reach."""
LOOPBACK: Final = re.compile(r'"(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)"')


def traced(folder: Path, command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The system calls of a command and all that it starts, which fails if the command does."""
    trace = folder.parent / "trace"
    flags = ("-f", "-y", "-qq", "--seccomp-bpf", "-s", "4096", "-e", f"trace={CALLS}", "-o", str(trace))
    done = subprocess.run(
        ["strace", *flags, *command],
        cwd=folder,
        env=environment(folder, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        timeout=5 * GENEROUS,
        check=False,
    )
    assert done.returncode == 0, (command, done.stderr.decode())
    for line in trace.read_text(errors="replace").splitlines():
        if (found := LINE.match(line)) and not (int(found[3]) < 0 and found[1] not in ("socket", "connect")):
            yield found[1], found[2]


def outside(folder: Path, command: Sequence[str], target: str) -> Iterator[str]:
    """The calls that reach more than the folder, and a server at `target` if it is not empty, or `HERE`."""
    for name, arguments in traced(folder, command):
        if name in ("socket", "connect", "bind", "sendto"):
            port = target.rpartition(":")[2]
            probed = (
                name == "bind" and "htons(0)" in arguments and '"::1"' in arguments
            )  # gRPC: is there IPv6?
            named = LOOPBACK.search(arguments) if target == HERE else f"htons({port})" in arguments
            ours = target and (name == "socket" or named or probed)
            if "AF_INET" in arguments and not ours:
                yield f"{name}({arguments})"
        elif name not in ("open", "openat") or WRITES.search(arguments):
            yield from (f"{name}({path})" for path in paths(folder, arguments) if not allowed(folder, path))


def paths(folder: Path, arguments: str) -> Iterator[str]:
    """The names in the arguments of a call."""
    for _, place, name in PATH.findall(arguments):
        yield os.path.normpath(os.path.join(folder, place, name))


def allowed(folder: Path, path: str) -> bool:
    """Whether a command may write there: of the home and the cache, only in passpilot's own part."""
    if path.startswith((f"{folder}/home", f"{folder}/cache/")):
        return path.startswith(f"{folder}/cache/passpilot")
    return path == str(folder) or path.startswith((f"{folder}/", *SYSTEM))


def check(folder: Path, commands: Iterable[Sequence[str]], target: str = "") -> None:
    for command in commands:
        assert not [*outside(folder, command, target)], command


def test_commands_stay_where_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    prepare(folder)
    check(folder, advised(folder, "const:1"))
    check(folder, other())


def test_a_program_in_c_stays_where_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    prepare(folder)
    example = ROOT / "examples/c_api"
    build = ["cc", str(example / "decide.c"), *flags(), "-o", "decide"]
    check(folder, [[sys.executable, str(example / "model.py")], build, ["./decide", "onnx:model.onnx"]])


@pytest.mark.soak
def test_learning_stays_where_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    prepare(folder)
    check(folder, [*advised(folder, "const:1")][:2])
    check(folder, learning())


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short name, in which Ray can make its sockets."""
    with tempfile.TemporaryDirectory(prefix="p") as folder:
        yield Path(folder)


SERVING: Final = f"""\
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.runners.serving.grpc_serving import client, served as serve
from tests.runners.serving.serving import reached, served as serve_pipe
from tests.training.serving import served as serve_compiler

with serve({ONNX!r}) as (_, target), client(target) as runner:
    runner.evaluate()
with serve_pipe({ONNX!r}, "pipe"), reached("pipe:pipe") as runner:
    runner.evaluate()
with serve_compiler(Path.cwd()) as service, service.client() as agent:
    code = b"define i32 @f() {{ ret i32 1 }}"
    agent.reset(code, point="inline", pipeline="default<Oz>", reward="native-size")
    service.process.terminate()
    assert service.ended() == (0, "")
"""


@pytest.mark.soak
def test_servers_and_clusters_talk_to_this_machine_only(short: Path) -> None:
    folder = short / "work"
    folder.mkdir()
    prepare(folder)
    check(folder, [*advised(folder, "const:1")][:2])
    commands = [[sys.executable, "-c", SERVING]]
    if find_spec("ray"):
        words = ("once.bc", "--engine=ray", "--jobs=1")
        commands.append([str(PASSPILOT), "train", "data", *words, "-o", "ray"])
        commands.append([str(PASSPILOT), "tune", *words, "--compiles=2", "-o", "ray.decisions"])
    check(folder, commands, HERE)


def test_a_named_server_is_the_only_one(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    prepare(folder)
    with GrpcServer("const:1", "0") as server:
        target = f"127.0.0.1:{server.port}"
        check(folder, [*advised(folder, f"grpc:{target}")][:FAST], target)
        assert server._tally._total.decisions
