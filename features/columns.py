# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The columns of a model's input: the features that fill it, in their order, written into the ONNX file.

A model that was trained on a table reads one tensor, and nothing in it says which feature is at which place.
`name_columns` writes the names into the model's metadata (`metadata_props`): the key is
``passpilot/columns/INPUT``, the value the names, joined by commas. `onnx:`, `aot:` and `passpilot aot` read
them (plugin/native/runtime/model_runner.h), and fill the input by them. ``passpilot/custom-features`` has the
files that register features of users, as ``name=file.py,...``: a compiler that lacks one says what to load.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import ModelError
from passpilot.plugin.extras import needs
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import read_regular, write_file

if TYPE_CHECKING:
    import onnx

CUSTOM: Final = "passpilot/custom-features"
"""The metadata key of the files of custom features."""

_REMEDY: Final = "give the columns of the table that it was trained on"

KEY: Final = "passpilot/columns/"
"""The start of the metadata key; the input's name follows."""


def name_columns(
    model: str | os.PathLike[str] | onnx.ModelProto, names: Iterable[str], *, input_name: str = ""
) -> None:
    """Write into an ONNX model which features one of its inputs is made of, in their order.

    `onnx:` and `aot:` then fill the input with these features, custom ones included, and need no ``map=``. A
    tensor with several elements, such as those of `evict`, fills as many places.

    Args:
        model: the path of a model, whose file is replaced, or the model itself, which is changed in place.
        names: the features that the model was trained on, in the order of the columns.
        input_name: the input; by default, the model's only input of floats.

    Raises:
        ModelError: the file is no ONNX model or cannot be written, it has no such input, or the names do not
            fit it.
    """
    if not isinstance(model, (str, os.PathLike)):
        _name(model, names, input_name, "model")
        return
    path = os.fspath(model)
    loaded = load_model(path, external=False)[1]
    _name(loaded, names, input_name, f"model {path}")
    write_file(path, loaded.SerializeToString())


def custom_features_of(model: onnx.ModelProto) -> str:
    """The features of a model that users have registered, as ``name=file.py,...``."""
    return next((entry.value for entry in model.metadata_props if entry.key == CUSTOM), "")


def custom_files(names: Iterable[str]) -> dict[str, str]:
    """The paths of the files that have registered features, by the names of these features."""
    from passpilot.features.custom import registered
    from passpilot.features.point import point_names

    origins = {name: row.origin for point in point_names() for name, row in registered(point).items()}
    return {name: origins[name].rpartition(":")[0] for name in names if name in origins}


def columns_of(model: onnx.ModelProto) -> Mapping[str, tuple[str, ...]]:
    """The names of the columns, by input, of those inputs for which the model has them."""
    return {
        entry.key.removeprefix(KEY): tuple(entry.value.split(","))
        for entry in model.metadata_props
        if entry.key.startswith(KEY) and entry.value
    }


def load_model(path: str, *, external: bool = True) -> tuple[bytes, onnx.ModelProto]:
    """The bytes of a model's file, and the model; with `external`, tensors in other files are read, too.

    Raises:
        ModelError: the file cannot be read, or is no ONNX model.
        InputError: the package onnx is missing.
    """
    with needs("train", f"model {path}"):
        import onnx

    try:
        data = read_regular(path)
        return data, onnx.load(path, load_external_data=external)
    except OSError as error:
        raise ModelError(f"model {path}: expected an ONNX file, got: {error.strerror or error}") from error
    except Exception as error:  # protobuf's errors have no common class
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"model {path}: expected an ONNX file, got: {lines[0]}") from error


def _name(model: onnx.ModelProto, names: Iterable[str], input_name: str, who: str) -> None:
    columns = _checked(names, who)
    value = _input(model.graph, input_name, who)
    size = _elements(value)
    if size is not None and len(columns) > size:
        expected = f"input {value.name!r}: expected names for {size} elements, got {len(columns)}"
        raise ModelError(f"{who}: {expected}; {_REMEDY}")
    _check_points(columns, size, f"{who}: input {value.name!r}")
    files = {name: os.path.basename(path) for name, path in custom_files(columns).items()}
    earlier = filter(None, custom_features_of(model).split(","))
    texts = dict.fromkeys([*earlier, *(f"{name}={file}" for name, file in files.items() if "," not in file)])
    others = [entry for entry in model.metadata_props if entry.key not in (KEY + value.name, CUSTOM)]
    del model.metadata_props[:]
    model.metadata_props.extend(others)
    model.metadata_props.add(key=KEY + value.name, value=",".join(columns))
    if texts:
        model.metadata_props.add(key=CUSTOM, value=",".join(texts))


def _check_points(columns: Sequence[str], size: int | None, who: str) -> None:
    """Refuses misspelt features, and those of a point whose elements do not fill `size` places.

    Names that nothing here resembles belong to a point of somebody's own, which is not known here.
    """
    from passpilot.features.point import find_table, point_names

    tables = [{entry.spec.name: entry.spec.size for entry in find_table(point)} for point in point_names()]
    known = {name for table in tables for name in table}
    others = [name for name in columns if name not in known]
    if len(others) == 1 < len(columns) and (hint := did_you_mean(others[0], known, 0.94)):
        own = "If it is yours, load its file first"
        raise ModelError(f"{who}: expected features, got {others[0]!r}{hint} {own}")
    counts = {sum(table[name] for name in columns) for table in tables if table.keys() >= set(columns)}
    if size not in (None, len(columns)) and counts and size not in counts:  # a scorer has one of each
        have = " or ".join(map(str, sorted(counts)))
        raise ModelError(f"{who}: expected names for {size} elements, got {have}; {_REMEDY}")


def _checked(names: Iterable[object], who: str) -> Sequence[str]:
    columns = [] if isinstance(names, str) else list(names)
    if not columns:
        raise ModelError(f"{who}: expected a list of the features' names, got {names!r}")
    for name in columns:
        if not isinstance(name, str) or not name or "," in name:
            raise ModelError(f"{who}: expected the names of features without commas, got {name!r}")
        if (count := columns.count(name)) > 1:
            raise ModelError(f"{who}: expected each feature once, got {name!r} {count} times")
    return [str(name) for name in columns]


def _input(graph: onnx.GraphProto, name: str, who: str) -> onnx.ValueInfoProto:
    """The input of this name; for an empty name, the only input that features can be joined in."""
    from onnx import TensorProto

    constant = {tensor.name for tensor in graph.initializer}
    floats = [
        value
        for value in graph.input
        if value.name not in constant
        and value.type.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.DOUBLE)
    ]
    found = [value for value in floats if value.name == name or not name]
    if len(found) != 1:
        known = ", ".join(value.name for value in floats) or "none"
        expected = f"an input {name!r} of floats" if name else "one input of floats, or input_name="
        raise ModelError(f"{who}: expected {expected}, got {known}")
    return found[0]


def _elements(value: onnx.ValueInfoProto) -> int | None:
    """The elements of one question, where an open first dimension counts as 1; None if another is open."""
    sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    if not value.type.tensor_type.HasField("shape") or 0 in sizes[1:]:
        return None
    return prod(size or 1 for size in sizes)
