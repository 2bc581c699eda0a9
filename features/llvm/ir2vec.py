# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Vocabulary`: LLVM's own IR2Vec embeddings of functions, loops and modules, as feature tensors.

`ir2vec_features` gives the point ``inline`` the embeddings of the caller and the callee.

File format: the JSON file of LLVM's ``-ir2vec-vocab-path``, with the sections ``Opcodes``, ``Types`` and
``Arguments``. A section maps entities to vectors, ``"Add": [0.1, ...]``, all of one length. As in LLVM,
missing entities count as zero, and ``-ir2vec-opc-weight``, ``-ir2vec-type-weight`` and ``-ir2vec-arg-weight``
weigh the sections. Source: LLVM's IR2Vec, after VenkataKeerthy et al., ACM TACO 17(4), 2020.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from passpilot.features.custom import register_native
from passpilot.features.point import Feature
from passpilot.features.spec import TensorSpec
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.ir import Function, Loop, ModuleIR
from passpilot.plugin.json_and_toml import parse_json, read_input
from passpilot.plugin.origin import definition_origin
from passpilot.plugin.version import MAJOR

Sections: TypeAlias = dict[str, dict[str, list[float]]]

Kind = Literal["symbolic", "flow-aware"]

SECTIONS: Final = ("Opcodes", "Types", "Arguments")


class Vocabulary:
    """A vector for each of LLVM's entities; create it with `Vocabulary.read`. Threads may share it."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.dimension = rows.shape[1]
        """The length of every vector."""
        self._core = _core.IR2VecVocabulary(np.ascontiguousarray(rows))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read a vocabulary file.

        Raises:
            InputError: the file cannot be read or is malformed; names the wrong entity.
        """
        who = f"IR2Vec vocabulary {os.fspath(path)}"
        return cls(_rows(who, read_sections(path, who, SECTIONS)))

    def spec(self, name: str = "embedding") -> TensorSpec:
        """The spec ``float32[dimension]`` of an embedding, for a decision point's features."""
        return TensorSpec(name, "float32", (self.dimension,))

    def embed(self, unit: Function | Loop | ModuleIR, kind: Kind = "symbolic") -> NDArray[np.float32]:
        """The embedding ``float32[dimension]`` of a function.

        That of a module is the sum over its functions, that of a loop the sum over its blocks.

        Args:
            unit: a module, a loop, or a function with a body.
            kind: LLVM's ``-ir2vec-kind``: with ``flow-aware``, operands stand for what computes them.

        Raises:
            InputError: the function has no body, or LLVM cannot embed it with this kind.
            UsageError: `kind` is unknown.
        """
        flow_aware = _is_flow_aware(kind)
        if isinstance(unit, ModuleIR):
            vector = self._core.embed_module(unit._core, flow_aware)
        elif isinstance(unit, Loop):
            vector = self._core.embed_loop(unit, flow_aware)
        else:
            vector = self._core.embed(unit, flow_aware)
        return np.array(vector, np.float32)


def ir2vec_features(path: str | os.PathLike[str], *, kind: Kind = "symbolic") -> None:
    """Give the point ``inline`` two features: LLVM's IR2Vec embeddings of both functions, as they are now.

    They are ``ir2vec_caller`` and ``ir2vec_callee``, both ``float32[dimension]``. The core computes them. It
    computes a function's embedding again only after the function has changed.

    Args:
        path: a vocabulary file, as for `Vocabulary.read`.
        kind: as for `Vocabulary.embed`.

    Raises:
        InputError: the file cannot be read or is malformed; names the wrong entity.
        UsageError: `kind` is unknown.
        FeatureError: the features are registered already.
    """
    flow_aware, origin = _is_flow_aware(kind), definition_origin()
    vocabulary = Vocabulary.read(path)
    rows = [
        Feature(vocabulary.spec(f"ir2vec_{role}"), f"LLVM's IR2Vec embedding of the {role}, {kind}", origin)
        for role in ("caller", "callee")
    ]
    register_native("inline", rows, _core.ir2vec_features(vocabulary._core, flow_aware))


def _is_flow_aware(kind: Kind) -> bool:
    if kind not in get_args(Kind):
        raise UsageError(f"IR2Vec: expected kind {' or '.join(map(repr, get_args(Kind)))}, got {kind!r}")
    if kind == "flow-aware" and MAJOR < 22:
        raise UsageError(
            f"IR2Vec: expected kind 'symbolic' with LLVM {MAJOR}, got {kind!r}, which LLVM 22 has"
        )
    return kind == "flow-aware"


def read_sections(path: str | os.PathLike[str], who: str, names: Sequence[str]) -> Sections:
    """Read a vocabulary file with sections of these names, whose vectors have one length.

    Raises:
        InputError: the file cannot be read or is malformed; names the wrong entity.
    """
    found = parse_json(read_input(path, "a JSON file"), who)
    if not isinstance(found, dict) or any(not isinstance(found.get(name), dict) for name in names):
        raise InputError(f"{who}: expected an object with the sections {', '.join(names)}, got another")
    length = 0
    for section in names:
        for key, vector in found[section].items():
            if not isinstance(vector, list) or not vector or not all(map(_is_number, vector)):
                raise InputError(
                    f"{who}: expected a list of finite numbers for {key!r} in {section}, got another"
                )
            if len(vector) != (length := length or len(vector)):
                expected = f"expected vectors of one length, {length}"
                raise InputError(f"{who}: {expected}, got {len(vector)} for {key!r} in {section}")
        if not found[section]:
            raise InputError(f"{who}: expected an entity in each section, got none in {section}")
    return cast("Sections", found)


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and abs(cast("float", value)) <= sys.float_info.max  # integers may exceed all floats


def _rows(who: str, sections: Sections) -> NDArray[np.float64]:
    entities = _core.ir2vec_entities()
    if not any(key in sections[section] for section, key in entities):
        raise InputError(
            f"{who}: expected entities that LLVM has, such as 'Add' in Opcodes, got none of them"
        )
    length = len(next(iter(sections["Opcodes"].values())))
    zeros = [0.0] * length
    return np.array([sections[section].get(key, zeros) for section, key in entities], np.float64)
