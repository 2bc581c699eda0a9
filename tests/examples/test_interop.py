# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peers in docs/interop.md run unchanged, and their decisions reach the compiler."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import PASSPILOT, passpilot
from tests.runners.serving.serving import process

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
PROGRAM = """\
target triple = "x86_64-pc-linux-gnu"
define i32 @small(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @large(ptr %p) {
BODY
  ret i32 %s29
}
define i32 @caller(i32 %x, ptr %p) {
  %a = call i32 @small(i32 %x)
  %b = call i32 @large(ptr %p)
  %c = add i32 %a, %b
  ret i32 %c
}
""".replace(
    "BODY",
    "\n".join(
        f"  %v{n} = load volatile i32, ptr %p\n  %s{n} = mul i32 %v{n}, {f'%s{n - 1}' if n else '3'}"
        for n in range(30)
    ),
)


def peers() -> list[str]:
    """The programs of the page, in its order: MLGO's, and the two of ML-Compiler-Bridge."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def check(folder: Path, runner: str) -> None:
    """All peers inline calls that cost less than 50."""
    (folder / "in.ll").write_text(PROGRAM)
    done = passpilot("opt", "in.ll", "-O2", f"--inline={runner}", "-S", "-o", "out.ll", cwd=folder)
    assert done.code == 0, done.err
    calls = re.findall(r"call i32 @(\w+)", (folder / "out.ll").read_text())
    assert calls == ["large"]


@pytest.mark.parametrize(
    ("number", "options"),
    [(0, "protocol=mlgo"), (1, "protocol=mlbridge&serdes=json")],
    ids=["mlgo", "mlbridge"],
)
def test_over_a_pipe(tmp_path: Path, number: int, options: str) -> None:
    (tmp_path / "peer.py").write_text(peers()[number])
    with process(sys.executable, str(tmp_path / "peer.py"), str(tmp_path / "ch")) as peer:
        check(tmp_path, f"pipe:{tmp_path}/ch?{options}")
        assert peer.wait(60) == 0


def test_over_grpc(tmp_path: Path) -> None:
    """The commands of the page, and then its program."""
    text = subprocess.check_output([PASSPILOT, "features", "--proto"])
    (tmp_path / "inline.proto").write_bytes(text)
    (compiler,) = [
        line.split() for line in PAGE.read_text().splitlines() if line.startswith("python -m grpc_tools")
    ]
    subprocess.run([sys.executable, *compiler[1:]], cwd=tmp_path, check=True)
    (tmp_path / "peer.py").write_text(peers()[2])
    port = free_port()
    with process(sys.executable, "-u", str(tmp_path / "peer.py"), str(port)) as peer:
        assert peer.stdout is not None
        assert peer.stdout.readline() == "Server Running\n", peer.communicate()[1]
        check(tmp_path, f"grpc:127.0.0.1:{port}?protocol=mlbridge")
