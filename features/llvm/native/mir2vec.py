# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mir2vec_features`: LLVM's own MIR2Vec embeddings of machine code, as features of the point ``evict``.

File format: the JSON file of LLVM's ``-mir2vec-vocab-path``, with the sections ``Opcodes``,
``CommonOperands``, ``PhysicalRegisters`` and ``VirtualRegisters``. A section maps entities to vectors,
``"MOV": [0.1, ...]``, all of one length. As in LLVM, missing entities count as zero, and
``-mir2vec-opc-weight``, ``-mir2vec-common-operand-weight`` and ``-mir2vec-reg-operand-weight`` weigh the
sections. Opcodes and register classes are those of one target. A register that is in no class, such as
``$mxcsr``, counts as zero; LLVM 22's own embedder crashes there.
"""

from __future__ import annotations

import os

from passpilot.features.custom import register_native
from passpilot.features.llvm.evict import COLUMNS
from passpilot.features.llvm.ir2vec import read_sections
from passpilot.features.point import Feature
from passpilot.features.spec import TensorSpec
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.origin import definition_origin


def mir2vec_features(path: str | os.PathLike[str]) -> None:
    """Give the point ``evict`` three features: LLVM's MIR2Vec embeddings around the decision.

    The embedding of a live range is the sum over the instructions that read or write it, as they are now.

    - ``mir2vec_function``, ``float32[dimension]``: the function at its first question
    - ``mir2vec_candidate``, ``float32[dimension]``: the candidate
    - ``mir2vec_columns``, ``float32[33,dimension]``: for each column that the mask allows, the sum over the
      live ranges that would be evicted; in column 32 the candidate

    Args:
        path: a vocabulary file for the target, in the format of LLVM's ``-mir2vec-vocab-path``.

    Raises:
        InputError: the file cannot be read or is malformed; names the wrong entity.
        FeatureError: the features are registered already.
    """
    origin, names = definition_origin(), _core.mir2vec_sections()
    who = f"MIR2Vec vocabulary {os.fspath(path)}"
    sections = read_sections(path, who, names)
    length = len(next(iter(sections[names[0]].values())))
    rows = [
        Feature(
            TensorSpec(f"mir2vec_{name}", "float32", shape), f"LLVM's MIR2Vec embedding of {what}", origin
        )
        for name, what, shape in (
            ("function", "the function at its first question", (length,)),
            ("candidate", "the instructions that read or write the candidate", (length,)),
            ("columns", "those of the live ranges in the way; 32: the candidate", (COLUMNS, length)),
        )
    ]
    try:
        features = _core.mir2vec_features([sections[name] for name in names])
    except TypeError as error:  # an integer beyond all floats
        raise InputError(f"{who}: expected finite numbers, got others") from error
    register_native("evict", rows, features)
