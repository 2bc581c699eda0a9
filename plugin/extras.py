# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optional packages: `needs` turns a missing one into one line with the command that installs it.

passpilot itself needs few packages. A part that needs more imports them on use, inside `with needs(...)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from passpilot.plugin.errors import InputError

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "aot": ("google.protobuf", "llvmlite", "onnx"),
    "grpc": ("google.protobuf", "grpc", "grpc_health", "grpc_reflection"),
    "llvmlite": ("llvmlite",),
    "mlir": ("llvm", "mlir"),
    "numba": ("llvmlite", "numba"),
    "train": (
        "cma",
        "google.protobuf",
        "gymnasium",
        "lightgbm",
        "onnx",
        "pettingzoo",
        "pyarrow",
        "skl2onnx",
        "sklearn",
        "tensorboardX",
    ),
    "unwind": ("elftools",),
}
"""The packages that the extras of ``passpilot[all]`` install, by the names that Python imports.

The extras ``rl`` and ``tensorflow`` are none of them: either is larger than all others together.
"""

CORE: Final = ("passpilot", "numpy", "networkx", "onnxruntime", "rich")
"""The packages that every installation has."""


@contextmanager
def needs(extra: str, who: str) -> Iterator[None]:
    """Let the block import what the packages of `extra` are needed for; `who` begins the error.

    Raises:
        InputError: a package is missing or broken; the text has the command that installs it.
    """
    try:
        yield
    except ImportError as error:
        name = error.name or ""
        if name.partition(".")[0] in CORE:
            raise
        missing = isinstance(error, ModuleNotFoundError) and name
        got = f"no {_whole(name, extra)}" if missing else " ".join(f"ImportError: {error}".split())
        raise InputError(
            f"{who}: expected the packages of passpilot[{extra}], got {got}; run: {install(extra)}"
        ) from error


def install(extra: str) -> str:
    return f'pip install "passpilot[{extra}]"'


def _whole(name: str, extra: str) -> str:
    """The package to name if the module `name` is missing: ``google`` alone says little."""
    known = EXTRAS.get(extra, ())
    return next((package for package in known if package == name or package.startswith(f"{name}.")), name)
