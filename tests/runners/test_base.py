# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from dataclasses import replace

import numpy as np
import pytest

from passpilot.features.catalogue import HOOKED
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.runners.base import Runner, allocate, own_features

SPECS = (
    TensorSpec("flags", "uint8", (3,)),
    TensorSpec("weights", "float32", (1, 33)),
    TensorSpec("count", "int64", (1,)),
    TensorSpec("scalar", "int16", ()),
)


class Sum(Runner):
    inputs = SPECS
    output = TensorSpec("advice", "int64", (1,))

    def evaluate(self) -> object:
        return sum(float(view.sum()) for view in self.tensors.values())


def test_buffers_are_views_of_one_frame_at_multiples_of_eight() -> None:
    with allocate(Sum()) as runner:
        assert runner.frame.nbytes == 8 + 136 + 8 + 8
        base = runner.frame.ctypes.data
        offsets = {name: view.ctypes.data - base for name, view in runner.tensors.items()}
        assert offsets == {"flags": 0, "weights": 8, "count": 144, "scalar": 152}
        found = {name: (str(view.dtype), view.shape) for name, view in runner.tensors.items()}
        assert found == {spec.name: (spec.dtype, spec.shape) for spec in SPECS}
        assert runner.evaluate() == 0
        runner.frame[144] = 5
        runner.tensors["weights"][0, 32] = 0.5
        assert runner.evaluate() == 5.5


def test_runner_without_inputs_has_an_empty_frame() -> None:
    class Yes(Runner):
        inputs = ()
        output = TensorSpec("advice", "int64", (1,))

        def evaluate(self) -> object:
            return True

    runner = allocate(Yes())
    assert runner.frame.shape == (0,)
    assert runner.tensors == {}


def test_evaluate_is_all_that_a_runner_has_to_define() -> None:
    with pytest.raises(TypeError, match="evaluate"):
        Runner()  # type: ignore[abstract]


def test_with_closes() -> None:
    closed: list[Runner] = []

    class Closing(Sum):
        def close(self) -> None:
            closed.append(self)

    with Closing() as runner:
        assert closed == []
    assert closed == [runner]


def test_own_features_end_before_the_default() -> None:
    own = {name: own_features(find_point(name)) for name in HOOKED}
    counts = {name: len(specs) for name, specs in own.items()}
    allocator = {"ra-order": 11, "ra-action": 17, "ra-colour": 14, "ra-split": 15}
    assert counts == {"inline": 38, "evict": 21, "priority": 3, **allocator, "schedule": 21}
    assert not {"inlining_default", "evict_default", "priority_default"} & {
        spec.name for specs in own.values() for spec in specs
    }


def test_own_features_of_a_point_without_its_default() -> None:
    point = replace(find_point("priority"), features=find_point("priority").features[:2])
    assert own_features(point) == point.features


def test_a_batch_is_answered_row_by_row_in_its_order() -> None:
    with allocate(Sum()) as runner:
        frames = np.zeros((3, runner.frame.nbytes), np.uint8)
        frames[:, 0] = (7, 0, 5)
        frames[:, 144] = (1, 2, 3)
        assert runner.evaluate_batch(frames) == [8, 2, 8]
        assert runner.evaluate_batch(frames[:0]) == []
        assert frames[:, 0].tolist() == [7, 0, 5]
