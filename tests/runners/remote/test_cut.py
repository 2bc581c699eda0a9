# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A peer that dies after any byte of its part of a whole compilation: an error that names it, at once.

Every protocol over FIFOs is here. `test_cut_grpc.py` has gRPC, `tests/training/test_cut.py` the compiler
service, `tests/cli/test_attach_faults.py` LLVM's interactive mode, `tests/plugin/test_isolated.py` child
processes, and `tests/plugin/native/mlir/test_cut.py` the process of Python passes for a stock mlir-opt.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import Error, PeerError
from passpilot.plugin.module import Module
from tests.command import program
from tests.runners.foreign import bridge_model, mlgo_agent
from tests.runners.remote import conversation
from tests.runners.serving.serving import GENEROUS, process, served

TEXT: Final = program(3).encode()
"""Three questions."""
SPECS: Final = {
    "bitstream": ("passpilot", ""),
    "json": ("passpilot", "?serdes=json"),
    "protobuf": ("passpilot", "?serdes=protobuf"),
    "mlgo": ("mlgo", "?protocol=mlgo"),
    "mlbridge": ("mlbridge", "?protocol=mlbridge&serdes=bitstream"),
    "mlbridge-json": ("mlbridge", "?protocol=mlbridge&serdes=json"),
}
"""The protocol of the FIFOs, and the keys of the runner."""
POLICY: Final = """
def yes(obs):
    return obs["callee_users"] > 0

def no(obs):
    raise ValueError("a bad question")

yes.features = no.features = ("callee_users", "node_count")
"""


def compiled(runner: str, timeout: float = GENEROUS) -> bytes:
    """The module after a compilation with this runner."""
    module = Module.read(TEXT, name="program")
    with InlineAdvisor(runner, timeout=timeout) as advisor:
        optimize(module, "default<O2>", [advisor])
    return module.bitcode()


@contextlib.contextmanager
def peer(name: str, folder: Path, policy: str = "yes") -> Iterator[str]:
    """A real peer for one session; its base."""
    protocol, _ = SPECS[name]
    base = str(folder / "real")
    (folder / "policy.py").write_text(POLICY)
    if protocol == "passpilot":
        with served(f"python:{folder / 'policy.py'}:{policy}", base):
            yield base
        return
    kind = "json" if name.endswith("json") else "bytes"
    words = {
        "mlgo": (mlgo_agent.__file__, base, str(folder / "record"), "first", "0"),
        "mlbridge": (bridge_model.__file__, kind, base, "whole", "0"),
    }[protocol]
    with process(sys.executable, *words) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield base


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", SPECS)
def test_a_peer_that_dies_after_any_byte(name: str, step: int, tmp_path: Path) -> None:
    protocol, keys = SPECS[name]
    front = str(tmp_path / "front")
    with peer(name, tmp_path) as back, conversation.recorded(front, back, protocol) as said:
        expected = compiled(f"pipe:{front}{keys}")
    assert len(said.turns) >= 3
    for size in {*range(0, said.size, step), said.size - 1}:
        base = str(tmp_path / f"cut{size}")
        told = rf"{re.escape(f'pipe:{base}')}: expected .*, got .*the peer is gone"
        with conversation.cut(base, protocol, said, size), pytest.raises(PeerError, match=told):
            compiled(f"pipe:{base}{keys}")
    whole = str(tmp_path / "whole")
    with conversation.cut(whole, protocol, said, said.size):
        assert compiled(f"pipe:{whole}{keys}") == expected


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", ["bitstream", "json", "protobuf"])
def test_a_server_that_dies_within_its_error(name: str, step: int, tmp_path: Path) -> None:
    """Half an error is no error of the policy."""
    _, keys = SPECS[name]
    front = str(tmp_path / "front")
    with (
        peer(name, tmp_path, "no") as back,
        conversation.recorded(front, back, "passpilot") as said,
        pytest.raises(Error, match="a bad question"),
    ):
        compiled(f"pipe:{front}{keys}")
    for size in {*range(0, said.size, step), said.size - 1}:
        base = str(tmp_path / f"cut{size}")
        with (
            conversation.cut(base, "passpilot", said, size),
            pytest.raises(PeerError, match="the peer is gone"),
        ):
            compiled(f"pipe:{base}{keys}")
