# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.features.custom import (
    CustomFeature,
    custom_rows,
    feature,
    is_constant,
    registered,
    unregister,
)
from passpilot.features.llvm import inline
from passpilot.features.point import find_point, find_table
from passpilot.features.spec import DTYPES, TensorSpec
from passpilot.plugin.errors import FeatureError

Registry = Mapping[str, CustomFeature]


def constant(value: object, spec: str = "int64[1]") -> CustomFeature:
    """A feature that always has `value`."""
    return CustomFeature(TensorSpec.parse(spec, "answer"), lambda _view: value, "", "policy.py:3")


def stored(value: object, spec: str = "int64[1]") -> object:
    """What `value` becomes in the buffer of a feature, as plain Python."""
    row = constant(value, spec)
    out = np.zeros(row.spec.shape, row.spec.numpy_dtype)
    row.store(None, out)
    return out.tolist()


def test_decorated_function_is_registered_and_unchanged(registry: Registry) -> None:
    @feature("float32[1]")
    def depth_of_caller(site: object) -> int:
        """How deep it is.

        More about it.
        """
        return len(str(site))

    row = registry["depth_of_caller"]
    assert (row.spec, row.doc) == (TensorSpec("depth_of_caller", "float32", (1,)), "How deep it is.")
    assert row.function is depth_of_caller
    assert depth_of_caller("abc") == 3
    path, _, line = row.origin.rpartition(":")
    assert path == __file__
    source, start = inspect.getsourcelines(test_decorated_function_is_registered_and_unchanged)
    assert '@feature("float32[1]")' in source[int(line) - start]


def test_point_offers_custom_features_last_in_order(registry: Registry) -> None:
    feature("int64[1]", name="second_last")(len)
    feature("int8[2]", name="last")(len)
    assert [str(spec) for spec in inline.TABLE.point().features[39:]] == ["int64[1]", "int8[2]"]
    assert [row.spec.name for row in inline.TABLE.table()[39:]] == list(registry) == ["second_last", "last"]


def test_registered_is_read_only(registry: Registry) -> None:
    feature("int64[1]", name="mine")(len)
    with pytest.raises(TypeError):
        registered("inline")["mine"] = registry["mine"]  # type: ignore[index]


@pytest.mark.usefixtures("registry")
def test_what_can_take_one_positional_argument_is_accepted() -> None:
    class Counter:
        def __call__(self, site: object, scale: int = 2) -> int:
            return len(str(site)) * scale

    feature("int64[1]", name="instance")(Counter())
    feature("int64[1]", name="partial")(functools.partial(lambda scale, site: (scale, site), 3))
    feature("int64[1]", name="variadic")(lambda *sites: len(sites))
    feature("int64[1]", name="builtin")(abs)


def no_arguments() -> int:
    return 1


def two_arguments(site: object, more: object) -> int:
    return len((site, more))


def by_keyword(*, site: object) -> int:
    return len(str(site))


async def deferred(site: object) -> int:
    return len(str(site))


def one_after_the_other(site: object) -> Iterator[int]:
    yield len(str(site))


@pytest.mark.parametrize("function", [no_arguments, two_arguments, by_keyword, deferred, one_after_the_other])
def test_wrong_signature_is_refused_at_registration(
    function: Callable[..., object], registry: Registry
) -> None:
    with pytest.raises(
        FeatureError, match=rf"'{function.__name__}' at .*test_custom.py:\d+: expected .* one pos"
    ):
        feature("int64[1]")(function)
    assert function.__name__ not in registry


def test_signature_found_is_shown() -> None:
    with pytest.raises(FeatureError, match=r"got two_arguments\(site: object, more: object\)"):
        feature("int64[1]")(two_arguments)


def test_wrong_spec_is_refused_with_place() -> None:
    with pytest.raises(
        FeatureError, match=r"feature at .*test_custom.py:\d+: tensor 'len': expected a spec such as"
    ):
        feature("int64")(len)


def test_decorator_without_parentheses_is_refused() -> None:
    with pytest.raises(FeatureError, match=r'write @feature\("int64\[1\]"\)'):
        feature(len)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "two words", "a,b", "größe", "<lambda>"])
def test_names_are_identifiers(name: str) -> None:
    with pytest.raises(FeatureError, match="expected an ASCII identifier"):
        feature("int64[1]", name=name)(len)


def test_function_without_name_needs_one() -> None:
    with pytest.raises(FeatureError, match="give name="):
        feature("int64[1]")(lambda site: site)


def test_unknown_point_is_refused() -> None:
    with pytest.raises(FeatureError, match=r"among inline, evict, priority, .*got 'outline'"):
        feature("int64[1]", point="outline")(len)


@pytest.mark.parametrize("name", ["callee_users", "inlining_default"])
def test_name_of_a_built_in_row_is_refused(name: str) -> None:
    with pytest.raises(FeatureError, match="the table of the decision point 'inline' owns"):
        feature("int64[1]", name=name)(len)


@pytest.mark.parametrize(
    ("point", "name"), [("evict", "mask"), ("evict", "evict_default"), ("priority", "li_size")]
)
def test_every_point_has_features_of_its_own(point: str, name: str, registry: Registry) -> None:
    with pytest.raises(FeatureError, match=f"the table of the decision point '{point}' owns"):
        feature("int64[1]", name=name, point=point)(len)
    feature("int64[1]", name=name)(len)
    feature("float32[33]", name="of_columns", point=point)(len)
    assert list(registry) == [name]
    assert [str(spec) for spec in find_point(point).features if spec.name == "of_columns"] == ["float32[33]"]
    assert find_table(point)[-1].spec.name == "of_columns"
    with pytest.raises(FeatureError, match="'of_columns' at point 'inline'"):
        unregister("of_columns")


def test_same_name_twice_is_refused_naming_both_owners(registry: Registry) -> None:
    feature("int64[1]", name="mine")(len)
    first = registry["mine"].origin
    with pytest.raises(FeatureError) as caught:
        feature("int8[1]", name="mine")(abs)
    assert first in str(caught.value)
    assert str(caught.value).count("test_custom.py:") == 2
    assert registry["mine"].function is len


def test_unregistered_name_is_free_again(registry: Registry) -> None:
    feature("int64[1]", name="mine")(len)
    unregister("mine")
    assert "mine" not in registry
    feature("int8[1]", name="mine")(abs)
    assert str(registry["mine"].spec) == "int8[1]"
    unregister("mine")
    with pytest.raises(FeatureError, match="'mine' at point 'inline'"):
        unregister("mine")


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        (7, "int64[1]", [7]),
        (True, "int64[1]", [1]),
        (np.bool_(True), "uint8[1]", [1]),
        (np.uint64(2**64 - 1), "uint64[1]", [2**64 - 1]),
        (2**64 - 1, "uint64[1]", [2**64 - 1]),
        (np.array(5), "int64[1]", [5]),
        ([5], "int64[1,1]", [[5]]),
        ([True, False], "int8[2]", [1, 0]),
        ([[1, 2, 3]], "int16[1,3]", [[1, 2, 3]]),
        (np.arange(3), "float32[3]", [0.0, 1.0, 2.0]),
        (3, "float64[1]", [3.0]),
        (0.5, "float32[1]", [0.5]),
        (math.inf, "float32[1]", [math.inf]),
        (9, "int32[]", 9),
    ],
)
def test_store(value: object, spec: str, expected: object) -> None:
    assert stored(value, spec) == expected


def test_store_keeps_nan_in_a_float_tensor() -> None:
    assert str(stored(math.nan, "float32[1]")) == "[nan]"


@pytest.mark.parametrize(
    ("value", "spec", "got"),
    [
        (None, "int64[1]", "NoneType None"),
        ("3", "int64[1]", "str '3'"),
        (2.0, "int64[1]", "float 2.0"),
        (math.nan, "int64[1]", "float nan"),
        (np.float32("nan"), "int8[1]", "float32"),
        (1j, "float64[1]", "complex 1j"),
        (128, "int8[1]", "int 128"),
        (-129, "int8[1]", "int -129"),
        (-1, "uint64[1]", "int -1"),
        (2**63, "int64[1]", "int 9223372036854775808"),
        (np.uint64(2**63), "int64[1]", "uint64"),
        (2**80, "int64[1]", "int 12"),
        (1e300, "float32[1]", r"float 1e\+300"),
        (2**200, "float32[1]", "int 16"),
        ([1, 2], "int64[1]", r"shape \[2\] of list"),
        (1, "int64[2]", r"shape \[\] of int"),
        ([1, 2, 3], "int64[1,3]", r"shape \[3\] of list"),
        ([[1], [2, 3]], "int64[2]", r"list \[\[1\], \[2, 3\]\]"),
        ([], "int64[1]", r"shape \[0\] of list"),
        ((x for x in [1]), "int64[1]", "generator"),
    ],
)
def test_misfit_names_feature_place_spec_and_value(value: object, spec: str, got: str) -> None:
    row = constant(value, spec)
    out = np.full(row.spec.shape, 42, row.spec.numpy_dtype)
    with pytest.raises(FeatureError) as caught:
        row.store(None, out)
    text = str(caught.value)
    assert text.startswith(f"feature 'answer' at policy.py:3: expected a value for {row.spec}, got ")
    caught.match(f"got {got}")
    assert (out == 42).all()


def test_long_value_is_shortened() -> None:
    with pytest.raises(FeatureError) as caught:
        stored("x" * 10000)
    assert len(str(caught.value)) < 200


@given(st.sampled_from([dtype for dtype in DTYPES if "int" in dtype]), st.integers(-(2**70), 2**70))
def test_integer_is_stored_exactly_or_refused(dtype: str, value: int) -> None:
    limits = np.iinfo(dtype)
    if limits.min <= value <= limits.max:
        assert stored(value, f"{dtype}[1]") == [value]
        assert stored([value, value], f"{dtype}[2]") == [value, value]
    else:
        with pytest.raises(FeatureError):
            stored(value, f"{dtype}[1]")
        with pytest.raises(FeatureError):
            stored([value, 0], f"{dtype}[2]")


def test_exception_of_the_function_passes_through() -> None:
    row = CustomFeature(TensorSpec("x", "int8", (1,)), lambda view: view[7], "", "policy.py:1")
    with pytest.raises(IndexError):
        row.store([], np.zeros(1, np.int8))


@pytest.mark.usefixtures("registry")
def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(FeatureError, match=r"feature 'mine' at .*: expected a plain function .*, got 7$"):
        feature("int64[1]", name="mine")(7)  # type: ignore[type-var]


def test_a_row_of_the_table_says_where_it_comes_from(registry: Registry) -> None:
    feature("int64[1]", name="silent")(lambda site: len(str(site)))
    (row,) = custom_rows("inline")
    assert (row.spec, row.doc, row.origin) == (
        TensorSpec("silent", "int64", (1,)),
        "",
        registry["silent"].origin,
    )


@pytest.mark.parametrize(
    ("value", "spec", "got"),
    [
        ([1.0, 2.0], "int64[2]", r"list \[1.0, 2.0\]"),
        (["1", "2"], "float32[2]", "list"),
        ([None, 1], "float64[2]", "list"),
        ([1j, 1], "float64[2]", "list"),
        ([0.5, 1e300], "float32[2]", "list"),
        ([-1e300, 0.5], "float32[2]", "list"),
        (np.array([0, 256]), "uint8[2]", "ndarray"),
        (np.array([-1, 0]), "uint8[2]", "ndarray"),
        (np.zeros((2, 1)), "float32[1,2]", r"shape \[2,1\] of ndarray"),
    ],
)
def test_elements_that_do_not_fit(value: object, spec: str, got: str) -> None:
    with pytest.raises(FeatureError, match=f"^feature 'answer' at policy.py:3: .*, got {got}"):
        stored(value, spec)


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        ([math.inf, -math.inf], "float32[2]", [math.inf, -math.inf]),
        (np.array([1e300, -math.inf]), "float64[2]", [1e300, -math.inf]),
        ([0.5, 3], "float32[2]", [0.5, 3.0]),
        ([True, False], "float64[2]", [1.0, 0.0]),
        ((2 - 2**-23) * 2.0**127, "float32[1]", [(2 - 2**-23) * 2.0**127]),
        (np.array([[[4]]]), "int8[1]", [4]),
        (np.array([0, 255], np.int64), "uint8[2]", [0, 255]),
    ],
)
def test_elements_that_fit(value: object, spec: str, expected: object) -> None:
    assert stored(value, spec) == expected


def test_an_array_is_constant_if_nothing_beneath_it_can_be_changed() -> None:
    owner = np.arange(6)
    view = owner[2:]
    view.setflags(write=False)
    assert not is_constant(owner)
    assert not is_constant(view), "its base can be changed"
    owner.setflags(write=False)
    assert is_constant(owner)
    assert is_constant(view)
    assert not is_constant(np.frombuffer(bytearray(8), np.uint8))
    assert not any(map(is_constant, (None, 3, (1, 2), np.int64(3))))
