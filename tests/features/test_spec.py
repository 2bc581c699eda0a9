# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.features.spec import DTYPES, MAX_BYTES, TensorSpec, by_name, layout, packed_runs, parse_table
from passpilot.plugin.errors import FeatureError

INTEGERS = [f"{sign}int{bits}_t" for bits in (8, 16, 32, 64) for sign in ("", "u")]

specs = st.builds(
    TensorSpec,
    name=st.text(min_size=1, max_size=20),
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(1, 20), max_size=4).map(tuple),
    port=st.integers(0, 3),
)


@given(specs)
def test_json_round_trip(spec: TensorSpec) -> None:
    assert TensorSpec.from_json(spec.to_json()) == spec


@given(specs)
def test_text_round_trip(spec: TensorSpec) -> None:
    assert TensorSpec.parse(str(spec), spec.name) == TensorSpec(spec.name, spec.dtype, spec.shape)


@given(specs)
def test_sizes_agree_with_numpy(spec: TensorSpec) -> None:
    array = np.zeros(spec.shape, spec.numpy_dtype)
    assert (spec.size, spec.nbytes) == (array.size, array.nbytes)


def test_json_has_llvm_type_names_in_the_order_of_its_enum() -> None:
    found = [TensorSpec("x", dtype, (1,)).to_json()["type"] for dtype in DTYPES]
    assert found == ["float", "double", *INTEGERS]
    assert [TensorSpec("x", dtype, (1,)).type_index for dtype in DTYPES] == list(range(1, 11))


def test_json_without_port() -> None:
    row = {"name": "a", "type": "float", "shape": [1, 33]}
    assert TensorSpec.from_json(row) == TensorSpec("a", "float32", (1, 33))


def test_text() -> None:
    assert str(TensorSpec("mask", "int64", (1, 33))) == "int64[1,33]"
    assert TensorSpec.parse(" float32 [ 1, 33 ] ", "x").shape == (1, 33)
    assert TensorSpec.parse("uint8[]", "x") == TensorSpec("x", "uint8", ())


@pytest.mark.parametrize(
    "text",
    ["", "int64", "int64[", "int65[1]", "int64_t[1]", "int64[0]", "int64[-1]", "int64[1,]", "int64[1]x"],
)
def test_bad_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(FeatureError, match=r"^tensor 'users': expected .*, got "):
        TensorSpec.parse(text, "users")


def test_text_with_a_wild_number_is_refused() -> None:
    with pytest.raises(FeatureError, match=r"^tensor 'users': expected a spec .{,200}$"):
        TensorSpec.parse(f"int64[{'9' * 5000}]", "users")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([], "a JSON object"),
        ({"type": "float", "shape": [1]}, "a name"),
        ({"name": "", "type": "float", "shape": [1]}, "a name"),
        ({"name": "a", "shape": [1]}, "a type among float, double"),
        ({"name": "a", "type": "float32", "shape": [1]}, "a type among float, double"),
        ({"name": "a", "type": ["float"], "shape": [1]}, "a type among"),
        ({"name": "a", "type": "float"}, "a shape"),
        ({"name": "a", "type": "float", "shape": 1}, "a shape"),
        ({"name": "a", "type": "float", "shape": [1.0]}, "a shape"),
        ({"name": "a", "type": "float", "shape": [True]}, "a shape"),
        ({"name": "a", "type": "float", "shape": [0]}, "a shape"),
        ({"name": "a", "type": "float", "shape": [1], "port": "0"}, "an integer port"),
        ({"name": "a", "type": "float", "shape": [1 << 40]}, f"at most {MAX_BYTES} bytes"),
        ({"name": "a", "type": "float", "shape": [10**4000] * 2}, f"at most {MAX_BYTES} bytes, .{{0,150}}$"),
        ({"name": "a", "type": "float", "shape": [9] * 300_000}, "at most 32 dimensions, got 300000"),
    ],
)
def test_bad_json_is_refused(row: object, expected: str) -> None:
    with pytest.raises(FeatureError, match=f"expected {expected}"):
        TensorSpec.from_json(row)


@given(st.lists(specs, min_size=1, max_size=8))
def test_layout_is_aligned_and_dense(some: list[TensorSpec]) -> None:
    offsets, total = layout(some)
    ends = [*offsets[1:], total]
    assert all(offset % 8 == 0 for offset in (*offsets, total))
    gaps = [end - start - spec.nbytes for start, end, spec in zip(offsets, ends, some, strict=True)]
    assert all(0 <= gap < 8 for gap in gaps)
    assert offsets[0] == 0


def test_layout_of_nothing() -> None:
    assert layout([]) == ((), 0)


def test_same_name_twice_is_refused_with_both_specs() -> None:
    with pytest.raises(FeatureError, match=r"'a': .* got int8\[1\] and float32\[2\]"):
        by_name([TensorSpec("a", "int8", (1,)), TensorSpec("a", "float32", (2,))])


def test_a_shape_of_the_most_dimensions_is_one_of_numpy() -> None:
    spec = TensorSpec("a", "int8", (1,) * 32)
    assert np.zeros(spec.nbytes, spec.numpy_dtype).reshape(spec.shape).ndim == 32


def test_a_table_is_not_larger_than_one_tensor_may_be() -> None:
    half = {"type": "int8_t", "shape": [MAX_BYTES // 2]}
    rows = [{"name": name, **half} for name in "abc"]
    assert len(parse_table(rows[:2])) == 2
    with pytest.raises(FeatureError, match=f"tensors of at most {MAX_BYTES} bytes, got {3 * MAX_BYTES // 2}"):
        parse_table(rows)


def test_modules_do_not_import_numpy() -> None:
    features = ["spec", "domain", "point", "llvm.inline", "custom", "log.reader"]
    names = [*(f"features.{name}" for name in features), "cli.log", "cli.features"]
    code = "import sys\n" + "".join(f"import passpilot.{name}\n" for name in names)
    subprocess.run([sys.executable, "-c", f"{code}assert 'numpy' not in sys.modules"], check=True)


def test_one_dimension_more_than_the_most_is_refused() -> None:
    with pytest.raises(FeatureError, match="'a': expected at most 32 dimensions, got 33"):
        TensorSpec("a", "int8", (1,) * 33)


def test_the_largest_tensor() -> None:
    assert TensorSpec("a", "int16", (MAX_BYTES // 2,)).nbytes == MAX_BYTES
    with pytest.raises(
        FeatureError, match=rf"at most {MAX_BYTES} bytes, got more for int8\[{MAX_BYTES + 1}\]"
    ):
        TensorSpec("a", "int8", (MAX_BYTES + 1,))


def test_a_flag_is_no_port() -> None:
    with pytest.raises(FeatureError, match="'a': expected an integer port, got True"):
        TensorSpec.from_json({"name": "a", "type": "float", "shape": [1], "port": True})


def test_the_port_comes_and_goes_with_json() -> None:
    row = {"name": "a", "type": "int8_t", "port": 2, "shape": []}
    assert TensorSpec.from_json(row) == TensorSpec("a", "int8", (), 2)
    assert TensorSpec.from_json(row).to_json() == row


def test_runs_end_at_the_gaps_of_the_layout() -> None:
    wide, narrow = TensorSpec("w", "int64", (2,)), TensorSpec("n", "int8", (3,))
    assert packed_runs([]) == ()
    assert packed_runs([wide, wide, wide]) == ((0, 0, 48),)
    assert packed_runs([wide, narrow, narrow, wide, wide]) == ((0, 0, 19), (19, 24, 3), (22, 32, 32))


@given(st.lists(specs, min_size=1, max_size=8))
def test_runs_copy_every_byte_to_its_place(some: list[TensorSpec]) -> None:
    offsets, total = layout(some)
    frame = np.full(total, 255, np.uint8)
    packed = np.arange(sum(spec.nbytes for spec in some)) % 251
    for at, to, size in packed_runs(some):
        frame[to : to + size] = packed[at : at + size]
    begin = 0
    for spec, offset in zip(some, offsets, strict=True):
        assert (frame[offset : offset + spec.nbytes] == packed[begin : begin + spec.nbytes]).all()
        begin += spec.nbytes
    assert np.count_nonzero(frame == 255) == total - begin
