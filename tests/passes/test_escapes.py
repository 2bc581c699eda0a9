# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names and texts of models, peers and decision functions cannot drive the terminal of a stock tool."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import grpc
import onnx
import pytest
from onnx import TensorProto, helper

from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from passpilot.runners.remote import grpc_messages
from passpilot.runners.remote.advisor_pb2 import Answer, Welcome
from tests.cli.everything import FILES
from tests.command import GENEROUS, OPT, program

EVIL: Final = "\x1b]0;owned\x07\x9b2J\u202e"
"""Sets the title of a terminal, clears it, and turns its text around."""
SHOWN: Final = r"\x1b]0;owned\x07\x9b2J\u202e"


def model(path: Path) -> str:
    """A model whose input has such a name."""
    given = helper.make_tensor_value_info(EVIL, TensorProto.INT64, [1])
    taken = helper.make_tensor_value_info("inlining_decision", TensorProto.INT64, [1])
    graph = helper.make_graph(
        [helper.make_node("Identity", [EVIL], ["inlining_decision"])], "g", [given], [taken]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return f"onnx:{path}"


def function(path: Path) -> str:
    """A decision function whose error has such a text."""
    path.write_text(f"def decide(obs):\n    raise ValueError({EVIL!a})\n")
    return f"python:{path}:decide"


@contextlib.contextmanager
def peer(*, greets: bool) -> Iterator[str]:
    """A server that ends the call with such a text, at once or after a welcome by such a runner."""

    def session(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        next(requests)
        if greets:
            yield Answer(welcome=Welcome(inputs=[], runner=EVIL)).SerializeToString()
            next(requests)
        context.abort(grpc.StatusCode.INTERNAL, EVIL)

    made = grpc.server(ThreadPoolExecutor(1))
    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(session)
    methods = {grpc_messages.METHOD: handler}
    made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(grpc_messages.SERVICE, methods),))
    port = made.add_insecure_port("127.0.0.1:0")
    made.start()
    try:
        yield f"grpc:127.0.0.1:{port}"
    finally:
        made.stop(None).wait()


def said(folder: Path, *command: str | Path, **variables: str) -> str:
    """What a tool that fails says; checks that a terminal can show it."""
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        timeout=GENEROUS,
        env={**os.environ, **variables},
        check=False,
    )
    assert done.returncode
    text = done.stderr.decode()
    assert text.replace("\n", "").isprintable(), ascii(text)
    return text


@pytest.mark.parametrize("kind", ["model", "function", "refusal", "status"])
def test_stock_opt_shows_escapes(tmp_path: Path, kind: str) -> None:
    (tmp_path / "in.ll").write_text(program(2))
    with contextlib.ExitStack() as stack:
        if kind in ("model", "function"):
            spec = {"model": model, "function": function}[kind](tmp_path / "runner")
        else:
            spec = stack.enter_context(peer(greets=kind == "status"))
        flags = (f"-load-pass-plugin={llvm_plugin()}", "-passes=default<O2>", f"-passpilot-inline={spec}")
        assert SHOWN in said(tmp_path, OPT, *flags, "in.ll", "-disable-output")


def test_stock_mlir_opt_shows_escapes(tmp_path: Path) -> None:
    (tmp_path / "calls.mlir").write_text(FILES["calls.mlir"])
    passes = f"builtin.module(advised-inline{{runner={function(tmp_path / 'policy.py')}}})"
    plugin = f"--load-pass-plugin={mlir_plugin()}"
    text = said(tmp_path, OPT.with_name("mlir-opt"), plugin, f"--pass-pipeline={passes}", "calls.mlir")
    assert SHOWN in text


def test_clang_shows_escapes(tmp_path: Path) -> None:
    (tmp_path / "once.c").write_text(FILES["once.c"])
    variables = {"PASSPILOT_INLINE": function(tmp_path / "policy.py")}
    plugin = f"-fpass-plugin={llvm_plugin()}"
    clang = OPT.with_name("clang")
    assert SHOWN in said(tmp_path, clang, "-O2", plugin, "-c", "once.c", "-o", "once.o", **variables)
