# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`NativeSize`: estimates the machine code of functions without generating it.

A model is a folder: `VOCABULARY`, an IR2Vec vocabulary in LLVM's format, and `HEAD`, an ONNX model that makes
bytes of embeddings. The head has one input, ``functions`` of float32[N, D+5]: the symbolic embedding of a
function, and its `SHAPE`; the output is ``bytes`` of float32[N, 1].
"""

from __future__ import annotations

import os
from functools import cache
from typing import Final

import numpy as np

from passpilot.features.llvm.ir2vec import Vocabulary
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.plugin.ir import Function
from passpilot.plugin.module import Module
from passpilot.runners.onnx_session import onnx_session
from passpilot.training.native_size.functions import SHAPE, functions_with_code, shape_of

VOCABULARY: Final = "vocabulary.json"
HEAD: Final = "head.onnx"

SHIPPED: Final = os.path.join(os.path.dirname(__file__), "x86-64-Oz")
"""The model that comes with passpilot: of clang-22 -Oz for x86-64, on the training programs of the corpus."""


class NativeSize:
    """Estimates the bytes of machine code of functions from their IR behind the pipeline."""

    def __init__(self, vocabulary: Vocabulary, head: bytes, who: str) -> None:
        try:
            self._head = onnx_session(head)
            (found,) = self._head.get_inputs()
        except Exception as error:  # onnxruntime raises many kinds
            raise InputError(
                f"native size {who}: expected an ONNX model of one input, got: {error}"
            ) from error
        columns = vocabulary.dimension + len(SHAPE)
        if found.shape[1:] != [columns] or found.type != "tensor(float)":
            got = f"{found.type} {found.shape}"
            raise InputError(f"native size {who}: expected a head for float32[N, {columns}], got {got}")
        self._input, self._vocabulary = found.name, vocabulary

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> NativeSize:
        """Read a model that `passpilot train native-size` wrote.

        Raises:
            InputError: a file is missing or wrong.
        """
        vocabulary = Vocabulary.read(os.path.join(folder, VOCABULARY))
        path = os.path.join(folder, HEAD)
        try:
            head = read_regular(path)
        except OSError as error:
            raise InputError(f"native size {path}: expected a model, got: {error.strerror}") from error
        return cls(vocabulary, head, path)

    def sizes(self, module: Module) -> dict[str, float]:
        """The estimated bytes of every function that the module has code for; run its pipeline first."""
        found = functions_with_code(module)
        if not found:
            return {}
        rows = [(*self._vocabulary.embed(function), *shape_of(function)) for function in found]
        (sizes,) = self._head.run(None, {self._input: np.array(rows, np.float32)})
        return {function.name: float(size) for function, size in zip(found, sizes[:, 0], strict=True)}

    def size(self, function: Function) -> float:
        """The estimated bytes of one function."""
        row = np.array([(*self._vocabulary.embed(function), *shape_of(function))], np.float32)
        (sizes,) = self._head.run(None, {self._input: row})
        return float(sizes[0, 0])


@cache
def shipped() -> NativeSize:
    """The model that comes with passpilot."""
    return NativeSize.read(SHIPPED)
