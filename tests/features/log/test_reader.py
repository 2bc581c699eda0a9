# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import contextlib
import gc
import itertools
import os
import re
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.features.log.reader import read_log
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import LogError
from tests.features.log import minimal_reader
from tests.features.log.log_writer import (
    CODES,
    Row,
    header,
    inline_log,
    line,
    observation,
    outcome,
    packed,
    row,
)

PLACE = {"caller": "main", "callee": "helper", "location": "a.c:3:7"}
OURS = inline_log([(3, 1, 1, PLACE), (10, 0, 1, {"caller": "main", "callee": "free"}), (266, 0, 0, {})])

MIXED = [
    row("mask", "int64_t", (1, 3)),
    row("weight", "float"),
    row("flags", "uint8_t", (2, 2)),
    row("advice"),
]
REWARD = row("reward", "float")
LLVM = b"".join(
    [
        header(MIXED, REWARD),
        line(context="f"),
        observation(MIXED, 0, [[1, 0, 10], 0.5, [1, 2, 3, 4], 32]),
        outcome(REWARD, 0, 0.0),
        observation(MIXED, 1, [[1, 1, 1], 2.5, [10, 10, 10, 10], 1]),
        outcome(REWARD, 1, 7.5),
        line(context="g"),
        observation(MIXED, 0, [[0, 0, 1], -1.0, [0, 0, 0, 0], 2]),
        outcome(REWARD, 0, 3.5),
    ]
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.log"
    path.write_bytes(OURS)
    return path


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_header(log: Path) -> None:
    reader = read_log(log)
    names = ["callee_users", "inlining_default", "inlining_decision"]
    assert reader.features == tuple(TensorSpec(name, "int64", (1,)) for name in names)
    assert reader.score is None


def test_decisions_in_order_with_their_places(log: Path) -> None:
    found = list(read_log(log))
    assert [(o.context, o.index, o.caller, o.callee, o.location) for o in found] == [
        ("", 0, "main", "helper", "a.c:3:7"),
        ("", 1, "main", "free", ""),
        ("", 2, "", "", ""),
    ]
    assert [o.tensors["callee_users"].item() for o in found] == [3, 10, 266]
    assert [o.tensors["inlining_decision"].item() for o in found] == [1, 1, 0]
    assert found[0].score is None


def test_register_of_an_allocation(tmp_path: Path) -> None:
    rows = [row("index_to_evict")]
    data = header(rows) + line(context="f") + observation(rows, 5, [3], register="%12")
    (found,) = read_log(written(tmp_path / "log", data))
    assert (found.context, found.index, found.register, found.caller) == ("f", 5, "%12", "")


def test_each_iteration_starts_anew(log: Path) -> None:
    reader = read_log(log)
    first = itertools.islice(reader, 2)
    assert [o.index for o in first] == [0, 1]
    assert [o.index for o in reader] == [0, 1, 2]


def test_tensors_are_a_mapping_of_read_only_arrays(log: Path) -> None:
    tensors = next(iter(read_log(log))).tensors
    assert list(tensors) == ["callee_users", "inlining_default", "inlining_decision"]
    assert (len(tensors), "callee_users" in tensors, "colour" in tensors) == (3, True, False)
    with pytest.raises(ValueError, match="read-only"):
        tensors["callee_users"][0] = 1


def test_arrays(log: Path) -> None:
    arrays = read_log(log).to_arrays()
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "callee_users": [[3], [10], [266]],
        "inlining_default": [[1], [0], [0]],
        "inlining_decision": [[1], [1], [0]],
    }
    assert list(read_log(log).to_arrays(["inlining_decision", "callee_users"])) == [
        "inlining_decision",
        "callee_users",
    ]


def test_arrays_of_texts(log: Path) -> None:
    arrays = read_log(log).to_arrays(["caller", "callee_users", "callee", "location", "context", "register"])
    seen = list(read_log(log))
    assert list(arrays) == ["caller", "callee_users", "callee", "location", "context", "register"]
    for name in ("caller", "callee", "location", "context", "register"):
        assert arrays[name].tolist() == [getattr(each, name) for each in seen]
    assert arrays["caller"].dtype.kind == "U"
    assert arrays["callee_users"].shape == (3, 1)


def test_batches_are_the_arrays_in_parts(log: Path) -> None:
    names = ["callee_users", "caller", "registers"]
    (batch,) = read_log(log).batches(names)
    whole = read_log(log).to_arrays(names)
    assert {name: array.tolist() for name, array in batch.items()} == {
        name: array.tolist() for name, array in whole.items()
    }
    assert batch["registers"].tolist() == ["", "", ""]
    many = log.with_name("many")
    head, rest = log.read_bytes().split(b"\n", 1)
    many.write_bytes(head + b"\n" + rest * 400)
    assert [len(each["caller"]) for each in read_log(many).batches(["caller"])] == [1024, 176]


def test_arrays_of_an_unknown_name_list_the_known_ones(log: Path) -> None:
    with pytest.raises(LogError, match=r"among callee_users, .*, context, .*, registers, got colour"):
        read_log(log).to_arrays(["callee_users", "colour"])


def test_log_without_decisions(tmp_path: Path) -> None:
    reader = read_log(written(tmp_path / "log", inline_log([])))
    assert list(reader) == []
    assert {array.shape for array in reader.to_arrays().values()} == {(0, 1)}


def test_llvm_log_with_scores_and_without_places(tmp_path: Path) -> None:
    reader = read_log(written(tmp_path / "log", LLVM))
    assert reader.score == TensorSpec("reward", "float32", (1,))
    found = list(reader)
    assert [(o.context, o.index, o.caller) for o in found] == [("f", 0, ""), ("f", 1, ""), ("g", 0, "")]
    assert [o.score.tolist() for o in found if o.score is not None] == [[0.0], [7.5], [3.5]]
    assert found[1].tensors["flags"].tolist() == [[10, 10], [10, 10]]
    assert [spec.name for spec in reader.features] == list(found[0].tensors)
    arrays = reader.to_arrays()
    assert arrays["mask"].tolist() == [[[1, 0, 10]], [[1, 1, 1]], [[0, 0, 1]]]
    assert arrays["weight"].dtype == np.float32
    assert arrays["reward"].tolist() == [[0.0], [7.5], [3.5]]


def test_json_of_other_writers(tmp_path: Path) -> None:
    rows = [row("x", "int8_t")]
    spaced = b'{"context": "default"}\n{ "observation" : 5 }\n\x07\n{"note":1, "observation": 6}\n\x08\n'
    found = list(read_log(written(tmp_path / "log", header(rows) + spaced)))
    assert [(o.context, o.index, o.tensors["x"].item()) for o in found] == [
        ("default", 5, 7),
        ("default", 6, 8),
    ]


def test_names_beyond_ascii(tmp_path: Path) -> None:
    rows = [row("x", "int8_t")]
    ours = '{"observation":0,"caller":"größe","callee":"\\udcff\\udcfe"}\n\x00\n'.encode()
    llvm = '{"context":"größe→'.encode() + b'\xff"}\n{"observation":1}\n\x00\n'
    found = list(read_log(written(tmp_path / "log", header(rows) + ours + llvm)))
    names = [(o.caller, os.fsencode(o.callee), os.fsencode(o.context)) for o in found]
    assert names == [("größe", b"\xff\xfe", b""), ("", b"", "größe→".encode() + b"\xff")]


def decisions(path: Path) -> list[tuple[str, int]] | LogError:
    """What the log's reader finds, or its error; the arrays must tell the same."""
    try:
        found = [(o.context, o.index) for o in read_log(path)]
    except LogError as error:
        with pytest.raises(LogError, match=re.escape(str(error))):
            read_log(path).to_arrays()
        return error
    assert {len(array) for array in read_log(path).to_arrays().values()} == {len(found)}
    return found


@pytest.mark.parametrize("whole", [OURS, LLVM], ids=["ours", "llvm"])
def test_truncation_at_every_byte(whole: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / "log", whole)
    complete = decisions(path)
    assert isinstance(complete, list)
    clean = 0
    for size in range(len(whole)):
        found = decisions(written(path, whole[:size]))
        if isinstance(found, list):
            assert found == complete[: len(found)]
            clean += 1
        else:
            assert str(found).startswith(f"log {path} at byte {size}: expected more of the log, got its end")
    # The clean cuts: after the header, after each context line, and after each decision but the last.
    assert clean == 1 + whole.count(b'{"context"') + len(complete) - 1


HEAD = header([row("x", "int8_t")])


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (b"\x00\x01\x02\n", 0, "a line of JSON"),
        (b"BC\xc0\xde\n", 0, "a line of JSON, got LLVM bitcode"),
        (b"\x7fELF\2\n", 0, "a line of JSON, got an ELF file"),
        (b"[" * 100_000 + b"\n", 0, "a line of JSON"),
        (b"[]\n", 0, "a JSON object"),
        (b"{}\n", 0, "a header with its features"),
        (b'{"features":[]}\n', 0, "a header with its features"),
        (b'{"features":[{"name":"x"}]}\n', 0, "a header of tensors, got tensor 'x'"),
        (header([row("x"), row("x")]), 0, "a header of tensors, got tensor 'x'"),
        (header([row("x")], row("x")), 0, "a header of tensors, got tensor 'x'"),
        (
            header([row(f"x{n}", shape=(1 << 27,)) for n in range(3)]),
            0,
            "a header of tensors, got header: expected tensors of at most",
        ),
        (HEAD + b"garbage\n", len(HEAD), "a line of JSON"),
        (HEAD + b"7\n", len(HEAD), "a JSON object"),
        (HEAD + b'{"context":7}\n', len(HEAD), "a line with 'context'"),
        (HEAD + b'{"outcome":0}\n', len(HEAD), "a line with 'context'"),
        (HEAD + b'{"observation":"0"}\n\x00\n', len(HEAD), "a line with 'observation'"),
        (HEAD + b'{"observation":0,\n\x00\n', len(HEAD), "a line of JSON"),
        (HEAD + b'{"observation":0,"caller":3}\n\x00\n', len(HEAD), "a line with 'caller'"),
        (HEAD + b'{"observation":0}\n\x00\x00\n', len(HEAD) + 19, "a newline after the tensors"),
    ],
)
def test_garbage_names_file_and_offset(data: bytes, offset: int, expected: str, tmp_path: Path) -> None:
    path = written(tmp_path / "log", data)
    with pytest.raises(LogError) as caught:
        list(read_log(path))
    assert str(caught.value).startswith(f"log {path} at byte {offset}: expected {expected}")
    assert len(str(caught.value)) < 400


def test_outcome_of_another_observation_is_refused(tmp_path: Path) -> None:
    data = LLVM.replace(b'{"outcome":1}', b'{"outcome":0}')
    with pytest.raises(LogError, match="expected the outcome of the observation before it"):
        list(read_log(written(tmp_path / "log", data)))


@given(st.binary(max_size=200), st.integers(0, len(LLVM)))
def test_damage_is_an_error_of_ours_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int
) -> None:
    path = tmp_path_factory.mktemp("noise") / "log"
    written(path, LLVM[:at] + noise + LLVM[at + len(noise) :])
    with contextlib.suppress(LogError):
        list(read_log(path))


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"log .*absent: .* got: No such file"):
        read_log(tmp_path / "absent")
    with pytest.raises(LogError, match="expected a regular file"):
        read_log(tmp_path)
    with pytest.raises(LogError, match="expected a regular file"):
        read_log("/dev/null")


values = {
    "f": st.floats(width=32, allow_nan=False),
    "d": st.floats(allow_nan=False),
    **{
        code: st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        for code, bits in {"b": 8, "h": 16, "i": 32, "q": 64}.items()
    },
    **{code: st.integers(0, (1 << bits) - 1) for code, bits in {"B": 8, "H": 16, "I": 32, "Q": 64}.items()},
}


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Row], list[list[list[float]]]]:
    """The rows of a header, and for each decision the flat values of each tensor."""
    shape = st.lists(st.integers(1, 3), max_size=3)
    kinds = draw(st.lists(st.tuples(st.sampled_from(sorted(CODES)), shape), min_size=1, max_size=5))
    rows = [row(f"t{number}", llvm, dims) for number, (llvm, dims) in enumerate(kinds)]
    tensors = [
        st.lists(values[CODES[llvm]], min_size=(n := int(np.prod(dims))), max_size=n) for llvm, dims in kinds
    ]
    return rows, draw(st.lists(st.tuples(*tensors).map(list), max_size=5))


@given(logs())
def test_any_types_and_shapes(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[Row], list[list[list[float]]]]
) -> None:
    rows, decisions = case
    path = tmp_path_factory.mktemp("any") / "log"
    events = [observation(rows, number, list(tensors)) for number, tensors in enumerate(decisions)]
    reader = read_log(written(path, header(rows) + b"".join(events)))
    found = [[tensor.ravel().tolist() for tensor in o.tensors.values()] for o in reader]
    assert found == decisions
    arrays = reader.to_arrays()
    assert [arrays[spec.name].shape for spec in reader.features] == [
        (len(decisions), *spec.shape) for spec in reader.features
    ]
    assert [
        [arrays[spec.name][n].ravel().tolist() for spec in reader.features] for n in range(len(found))
    ] == found


def test_readers_of_llvm_and_ml_compiler_opt_tolerate_our_logs(log: Path) -> None:
    found = minimal_reader.read(log)
    assert [(context, number) for context, number, _, _ in found] == [("", 0), ("", 1), ("", 2)]
    assert [tensors["callee_users"] for _, _, tensors, _ in found] == [[3], [10], [266]]
    assert [tensors["inlining_decision"] for _, _, tensors, _ in found] == [[1], [1], [0]]


def test_both_readers_agree_on_a_log_of_llvm(tmp_path: Path) -> None:
    path = written(tmp_path / "log", LLVM)
    ours = [
        (o.context, o.index, {name: tensor.ravel().tolist() for name, tensor in o.tensors.items()}, o.score)
        for o in read_log(path)
    ]
    theirs = [(*rest, np.array(score, np.float32)) for *rest, score in minimal_reader.read(path)]
    assert ours == theirs


def repeated(path: Path, count: int) -> Path:
    """A log of `count` decisions with 40 features each, written piecemeal."""
    rows = [row(f"t{number}") for number in range(40)]
    block = packed(rows, list(range(40)))[:-8]
    with path.open("wb") as file:
        file.write(header(rows) + line(context=""))
        for number in range(count):
            file.write(line(observation=number, **PLACE) + block + struct.pack("=q", number) + b"\n")
    return path


def test_reading_streams_with_bounded_memory(tmp_path: Path) -> None:
    reader = read_log(repeated(tmp_path / "log", 20_000))  # about 8 MB
    assert next(iter(reader)).tensors["t39"].item() == 0  # warm up
    gc.collect()
    tracemalloc.start()
    try:
        total = sum(o.tensors["t39"].item() for o in reader)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == sum(range(20_000))
    assert peak < 200_000


def test_arrays_across_chunks_hold_little_more_than_the_result(tmp_path: Path) -> None:
    reader = read_log(repeated(tmp_path / "log", 20_000))
    reader.to_arrays(["t0"])  # warm up
    gc.collect()
    tracemalloc.start()
    try:
        arrays = reader.to_arrays(["t39"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert arrays["t39"].ravel().tolist() == list(range(20_000))
    assert peak < 4_000_000
