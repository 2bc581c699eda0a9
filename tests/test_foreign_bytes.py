# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Readers of bytes that others wrote: they read the bytes, or refuse them with an error of passpilot.

Every reader gets a good input with random mistakes, the same in every run; `make soak-tests` tries more.
Modules are not here: LLVM's readers are not made for hostile input, as SECURITY.md says.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
import pytest
from google.protobuf.message import DecodeError

from passpilot.cli.log import main as log
from passpilot.features.llvm.ir2vec import Vocabulary
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec, layout
from passpilot.plugin.errors import Error
from passpilot.runners.aot.graph import Choices, read_graph
from passpilot.runners.base import tensor_views
from passpilot.runners.foreign import mlgo
from passpilot.runners.remote import grpc_messages, wire
from passpilot.runners.serdes import make_serdes
from passpilot.runners.serving.grpc_server import _read_hello
from passpilot.runners.spec import make_runner
from passpilot.training import compiler_pb2
from passpilot.training.episode import CompilerClient
from tests.features.log.log_writer import inline_log

MODELS: Final = Path(__file__).parent / "runners" / "models"
SPECS: Final = (TensorSpec("a", "int64", (1,)), TensorSpec("b", "float32", (3,)))
LIKELY: Final = (b"\\ud800", b"\\u001b]0;", b"\\u202e", b"NaN", b"-1", b"1e999", b"9" * 400, b"[" * 2000,
                 b"{}", b"null", b"\xff\xfe", b"\x00", b'"', b"\n", b"\x1b[2J")  # fmt: skip
"""Pieces that a writer of readers may forget."""

Reader = Callable[[bytes, Path], object]


def mistaken(data: bytes, draw: Random) -> bytes:
    """The bytes with one to four mistakes."""
    made = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(len(made) + 1)
        end = min(len(made), at + draw.choice((1, 4, 40)))
        kind = draw.randrange(8)
        if kind == 0:
            made[at:end] = draw.randbytes(end - at)
        elif kind == 1:
            del made[at:end]
        elif kind == 2:
            made[at:at] = made[at:end]
        elif kind == 3:
            del made[at:]
        elif kind == 4 and at < len(made):
            made[at] ^= 1 << draw.randrange(8)
        else:
            made[at : at + draw.randrange(2)] = draw.choice(LIKELY)
    return bytes(made)


def written(data: bytes, folder: Path, name: str) -> str:
    """A file with the bytes."""
    (folder / name).write_bytes(data)
    return str(folder / name)


def read_whole_log(data: bytes, folder: Path) -> None:
    reader = read_log(written(data, folder, "log"))
    for decision in reader:
        dict(decision.tensors)
    reader.to_arrays()


def show_log(data: bytes, folder: Path) -> None:
    path, shown = written(data, folder, "log"), io.BytesIO()
    for flags in ([], ["--json"]):
        text = io.TextIOWrapper(shown, "utf-8")
        with contextlib.redirect_stdout(text):
            try:
                log(["show", path, *flags])
            finally:
                text.flush()
                text.detach()
    assert b"\x1b" not in shown.getvalue()


def decoder(name: str) -> Reader:
    def read(data: bytes, _: Path) -> None:
        serdes = make_serdes(name, SPECS)
        frame = np.zeros(layout(SPECS)[1], np.uint8)
        serdes.bind(tensor_views(SPECS, frame), frame)
        serdes.decode(data)

    return read


def encoded(name: str) -> bytes:
    serdes = make_serdes(name, SPECS)
    frame = np.arange(layout(SPECS)[1], dtype=np.uint8)
    serdes.bind(tensor_views(SPECS, frame), frame)
    return bytes(serdes.encode())


def compilers_answer(data: bytes, _: Path) -> None:
    try:
        message = compiler_pb2.CompilerMessage.FromString(data)
    except DecodeError:
        return  # the client reports it
    client = CompilerClient("127.0.0.1:1")
    client._take(message)


def answer() -> bytes:
    tensors = [
        {"name": "a", "type": "int64_t", "shape": [2]},
        {"name": "mask", "type": "int64_t", "shape": [1, 3]},
    ]
    episode = {"tensors": tensors, "advice": tensors[0], "choice": {"count": 3, "mask": "mask"}}
    return compiler_pb2.CompilerMessage(observation=bytes(40), episode=episode).SerializeToString()


INLINE: Final = find_point("inline")
LOG: Final = inline_log(
    [(n, n % 2, 1, {"caller": f"caller_{n}" * 9, "callee": "g", "location": "a.c:3:7"}) for n in range(5)]
)
HEADER: Final = mlgo.Header(SPECS[1:], SPECS[0]).line
VOCABULARY: Final = {
    "Opcodes": {"Add": [1.0, 2.0]},
    "Types": {"IntegerTy": [0.5, 1]},
    "Arguments": {"Variable": [3, 4]},
}

READERS: Final[dict[str, tuple[bytes, Reader]]] = {
    "log": (LOG, read_whole_log),
    "log show": (LOG, show_log),
    "replay": (
        LOG,
        lambda data, folder: make_runner(f"replay:{written(data, folder, 'log')}", INLINE).close(),
    ),
    "vocabulary": (
        json.dumps(VOCABULARY).encode(),
        lambda data, folder: Vocabulary.read(written(data, folder, "v")),
    ),
    "hello": (wire.hello(INLINE), lambda data, _: (wire.read_hello(data), wire.read_serdes(data))),
    "welcome": (wire.welcome(SPECS, "const:1"), lambda data, _: wire.read_welcome(data, "server")),
    "gRPC hello": (grpc_messages.hello(INLINE), lambda data, _: _read_hello(data)),
    "MLGO header": (HEADER, lambda data, _: mlgo.read_header(data, "compiler")),
    "MLGO context": (mlgo.context_line("main"), lambda data, _: mlgo.read_event(data, "compiler")),
    "json": (encoded("json"), decoder("json")),
    "protobuf": (encoded("protobuf"), decoder("protobuf")),
    "bitstream": (encoded("bitstream"), decoder("bitstream")),
    "compiler service": (answer(), compilers_answer),
}
MODEL: Final = ("actor-13", "columns-14", "residual-17", "recurrent-dynamo")


def check(reader: Reader, data: bytes, folder: Path, seeds: range) -> None:
    """Read the data with mistakes; one of them at least must be noticed."""
    refused = 0
    for seed in seeds:
        made = mistaken(data, Random(seed))
        try:
            reader(made, folder)
        except Error:
            refused += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {made[:200]!r}") from error
    assert refused


def read_model(data: bytes, folder: Path) -> None:
    read_graph(written(data, folder, "m.onnx"), Choices())


def run_model(data: bytes, folder: Path) -> None:
    make_runner(f"onnx:{written(data, folder, 'm.onnx')}", INLINE).close()


@pytest.mark.parametrize("name", READERS)
def test_a_few_mistakes(name: str, tmp_path: Path) -> None:
    data, reader = READERS[name]
    reader(data, tmp_path)
    check(reader, data, tmp_path, range(200))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", READERS)
def test_many_mistakes(name: str, tmp_path: Path) -> None:
    data, reader = READERS[name]
    check(reader, data, tmp_path, range(20_000))


@pytest.mark.parametrize("reader", [read_model, run_model])
def test_models_with_a_few_mistakes(reader: Reader, tmp_path: Path) -> None:
    check(reader, (MODELS / "actor-13.onnx").read_bytes(), tmp_path, range(20))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("reader", [read_model, run_model])
@pytest.mark.parametrize("name", MODEL)
def test_models_with_many_mistakes(name: str, reader: Reader, tmp_path: Path) -> None:
    check(reader, (MODELS / f"{name}.onnx").read_bytes(), tmp_path, range(1000))
