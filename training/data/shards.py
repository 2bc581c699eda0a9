# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shards: decisions in Parquet files, one for each program; `DecisionShards` reads them in a stream.

A file has a column for every tensor of a decision (a list of fixed size if it has several elements), the
texts of `TEXTS`, and ``gain``: by how many bytes a tuned decision makes the program smaller, where a search
has told. The schema's metadata has, under the key ``passpilot``, `DecisionSchema` as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import FeatureError, InputError
from passpilot.plugin.extras import needs
from passpilot.plugin.failures import printable
from passpilot.plugin.files import write_file
from passpilot.plugin.json_and_toml import parse_json

with needs("train", "training data"):
    import pyarrow as pa
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from passpilot.training.data.torch_dataset import TorchDecisions

    Arrays = dict[str, NDArray[np.generic]]

TEXTS: Final = ("program", "module", "context", "caller", "callee")
"""The columns that say where a decision was taken."""

GAIN: Final = "gain"
SUFFIX: Final = ".parquet"
ROWS: Final = 1 << 14
"""Decisions in memory at a time, unless the reader says otherwise."""

_KEY: Final = b"passpilot"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class DecisionSchema:
    """What the decisions of a shard have.

    Attributes:
        point: the name of the decision point.
        features: the tensors before the advice; the compiler's own decision is one of them.
        advice: the tensor of the decision that was taken.
    """

    point: str
    features: tuple[TensorSpec, ...]
    advice: TensorSpec

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return *self.features, self.advice

    def to_json(self) -> str:
        value = {
            "format": _FORMAT,
            "point": self.point,
            "features": [spec.to_json() for spec in self.features],
            "advice": self.advice.to_json(),
        }
        return json.dumps(value)

    @classmethod
    def from_json(cls, text: bytes | str) -> DecisionSchema:
        """The schema in a file's metadata.

        Raises:
            ValueError: it is not one, or of another format.
        """
        try:
            value: Any = parse_json(text, "shard")
            if value["format"] != _FORMAT:
                raise ValueError(f"format {value['format']}")
            features = tuple(TensorSpec.from_json(row) for row in value["features"])
            return cls(str(value["point"]), features, TensorSpec.from_json(value["advice"]))
        except (KeyError, TypeError, InputError, FeatureError) as error:
            raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of texts: the different ones, and for every row the number of its text."""

    words: Sequence[str]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextColumn:
        """The column with these texts."""
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(text, len(numbers)) for text in texts]
        return cls(list(numbers), np.array(codes, np.int32))

    @classmethod
    def same(cls, text: str, rows: int) -> TextColumn:
        """The column with one text in all rows."""
        return cls([text], np.zeros(rows, np.int32))


@dataclass(frozen=True, slots=True)
class DecisionRows:
    """The decisions of one module: tensors of shape [N, ...], texts, and gains."""

    schema: DecisionSchema
    tensors: Mapping[str, NDArray[np.generic]]
    texts: Mapping[str, TextColumn]
    gains: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.gains)


class ShardWriter:
    """Collects the decisions of a program and writes them to `path`, whole or not at all."""

    def __init__(self, path: str, schema: DecisionSchema) -> None:
        self.path = path
        self.decisions = 0
        self._schema = schema
        self._arrow = _arrow_schema(schema)
        self._file = io.BytesIO()
        self._writer = pq.ParquetWriter(self._file, self._arrow, compression="zstd")

    def add(self, rows: DecisionRows) -> None:
        """Add the decisions of a module.

        Raises:
            InputError: they have other tensors than those before.
        """
        if rows.schema != self._schema:
            expected = ", ".join(spec.name for spec in self._schema.tensors)
            got = ", ".join(spec.name for spec in rows.schema.tensors)
            raise InputError(f"{self.path}: expected decisions with the tensors {expected}, got {got}")
        if len(rows):
            self._writer.write_batch(pa.record_batch(_columns(rows), schema=self._arrow))
            self.decisions += len(rows)

    def close(self) -> None:
        """Write the file.

        Raises:
            InputError: it cannot be written.
        """
        self._writer.close()
        write_file(self.path, self._file.getvalue())


class DecisionShards:
    """The decisions in some shards, which are read in a stream.

    Args:
        paths: files, and folders whose ``*.parquet`` are read.

    Raises:
        InputError: there is no shard, one cannot be read, or they have different tensors.
    """

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        self.files: Final = tuple(_files(paths))
        """The files."""
        schemas = {file: _schema_of(file) for file in self.files}
        first = self.files[0]
        self.schema: Final = schemas[first]
        """What the decisions have."""
        for file, schema in schemas.items():
            if schema != self.schema:
                raise InputError(f"{file}: expected the point and the tensors of {first}, got others")

    def __len__(self) -> int:
        return sum(pq.read_metadata(file).num_rows for file in self.files)

    def batches(
        self, names: Iterable[str] | None = None, rows: int = ROWS, files: Sequence[Path] | None = None
    ) -> Iterator[Arrays]:
        """The named columns in parts of up to `rows` decisions; None means all columns.

        Tensors have the shape [N, ...], texts and gains [N].

        Raises:
            InputError: the shards lack a column, or a file is damaged.
        """
        specs = {spec.name: spec for spec in self.schema.tensors}
        wanted = list(self._empty(names))
        for file in self.files if files is None else files:
            try:
                for batch in pq.ParquetFile(file).iter_batches(rows, columns=wanted, use_threads=False):
                    yield {name: _values(batch.column(name), specs.get(name)) for name in wanted}
            except (OSError, KeyError, ValueError, pa.ArrowException) as error:
                raise InputError(f"{file}: expected a shard, got: {_line(error)}") from error

    def arrays(self, names: Iterable[str] | None = None) -> Arrays:
        """The named columns of all decisions.

        Numbers are in temporary files that vanish with the arrays, so decisions may need more space than
        there is memory.

        Raises:
            InputError: the shards lack a column, a file is damaged, or the disk is full.
        """
        texts: dict[str, list[NDArray[np.generic]]] = {}
        empty = self._empty(names)
        with contextlib.ExitStack() as stack:
            files = {name: stack.enter_context(tempfile.TemporaryFile()) for name in empty}
            for batch in self.batches(names):
                for name, values in batch.items():
                    if values.dtype == object:
                        texts.setdefault(name, []).append(values)
                    else:
                        _append(files[name], values)
            return {
                name: np.concatenate([array, *texts.get(name, ())])
                if array.dtype == object
                else _mapped(files[name], array)
                for name, array in empty.items()
            }

    def torch_dataset(self, names: Sequence[str], *, seed: int | None = 0) -> TorchDecisions:
        """The decisions as an iterable dataset of PyTorch: ``(features, advice)``, in a shuffled order.

        Args:
            names: the features, in order.
            seed: of the order; None for that of the files.

        Raises:
            InputError: PyTorch is not installed.
        """
        try:
            from passpilot.training.data.torch_dataset import TorchDecisions
        except ImportError as error:
            raise InputError("training data: PyTorch is missing; run: pip install torch") from error
        return TorchDecisions(self, names, seed=seed)

    def _empty(self, names: Iterable[str] | None) -> Arrays:
        """The named columns without rows."""
        arrays: Arrays = {}
        for spec in self.schema.tensors:
            arrays[spec.name] = np.zeros((0, *spec.shape), spec.numpy_dtype)
        arrays |= {name: np.zeros(0, object) for name in TEXTS}
        arrays[GAIN] = np.zeros(0, np.float32)
        wanted = list(arrays if names is None else names)
        if unknown := [name for name in wanted if name not in arrays]:
            known = ", ".join(arrays)
            raise InputError(f"{self.files[0]}: expected columns among {known}, got {', '.join(unknown)}")
        return {name: arrays[name] for name in wanted}


def _append(file: IO[bytes], values: NDArray[np.generic]) -> None:
    try:
        file.write(np.ascontiguousarray(values).data)
    except OSError as error:
        msg = f"training data: expected room for temporary files, got: {error.strerror}"
        raise InputError(msg) from error


def _mapped(file: IO[bytes], empty: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array of a file, with the type and the shape of rows of another one."""
    file.flush()
    flat = np.memmap(file, empty.dtype, "r+") if os.fstat(file.fileno()).st_size else empty
    return np.asarray(flat).reshape(-1, *empty.shape[1:])


def _files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Path]:
    if not paths:
        raise InputError("training data: expected shards, got none")
    for path in map(Path, paths):
        found = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not found:
            below = sorted({str(file.parent) for file in path.glob(f"*/*{SUFFIX}")})
            hint = f"did you mean {below[0]}?" if below else "see passpilot train data"
            raise InputError(f"{path}: expected a folder with *{SUFFIX}, got none; {hint}")
        for file in found:
            if not file.exists():
                raise InputError(
                    f"{file}: expected a shard of decisions, or a folder of them, got no such file"
                )
            if not file.is_file():  # pyarrow would wait for a FIFO
                raise InputError(f"{file}: expected a shard of decisions, got: not a regular file")
        yield from found


def _schema_of(file: Path) -> DecisionSchema:
    try:
        metadata = pq.read_schema(file).metadata or {}
        return DecisionSchema.from_json(metadata[_KEY])
    except KeyError as error:
        hint = "make it with passpilot train data"
        raise InputError(
            f"{file}: expected a shard of decisions, got another Parquet file; {hint}"
        ) from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{file}: expected a shard of decisions, got: {_line(error)}") from error


def _line(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]


def _arrow_schema(schema: DecisionSchema) -> pa.Schema:
    fields = [pa.field(spec.name, _arrow_type(spec)) for spec in schema.tensors]
    fields += [pa.field(name, pa.dictionary(pa.int32(), pa.string())) for name in TEXTS]
    fields.append(pa.field(GAIN, pa.float32()))
    return pa.schema(fields, metadata={_KEY: schema.to_json()})


def _arrow_type(spec: TensorSpec) -> pa.DataType:
    scalar = pa.from_numpy_dtype(spec.numpy_dtype)
    return scalar if spec.size == 1 else pa.list_(scalar, spec.size)


def _columns(rows: DecisionRows) -> list[pa.Array]:
    columns = []
    for spec in rows.schema.tensors:
        flat = pa.array(np.ascontiguousarray(rows.tensors[spec.name]).reshape(-1))
        columns.append(flat if spec.size == 1 else pa.FixedSizeListArray.from_arrays(flat, spec.size))
    for name in TEXTS:
        text = rows.texts[name]
        words = pa.array(list(map(printable, text.words)), pa.string())
        columns.append(pa.DictionaryArray.from_arrays(pa.array(text.codes), words))
    columns.append(pa.array(rows.gains))
    return columns


def _values(column: pa.Array, spec: TensorSpec | None) -> NDArray[np.generic]:
    if spec is not None and spec.size > 1:
        values: NDArray[np.generic] = column.flatten().to_numpy(zero_copy_only=False)
        return values.reshape(-1, *spec.shape)
    if pa.types.is_dictionary(column.type):  # rows share their texts
        column.validate(full=True)
        words: NDArray[np.generic] = np.array([*column.dictionary.to_pylist(), None], object)
        texts: NDArray[np.generic] = words[column.indices.fill_null(len(words) - 1).to_numpy()]
        return texts
    values = column.to_numpy(zero_copy_only=False)
    return values if spec is None else values.reshape(-1, *spec.shape)
