# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from collections.abc import Iterator, Mapping

import pytest

from passpilot.features import custom
from passpilot.features.point import POINTS


@pytest.fixture
def registry() -> Iterator[Mapping[str, custom.CustomFeature]]:
    """Custom features may be registered in the test; they are gone after it. Yields those of `inline`."""
    before = {point: set(custom.registered(point)) for point in POINTS}
    yield custom.registered("inline")
    for point, names in before.items():
        for name in set(custom.registered(point)) - names:
            custom.unregister(name, point=point)
