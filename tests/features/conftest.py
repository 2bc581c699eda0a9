# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from collections.abc import Iterator, Mapping

import pytest

from passpilot.features import custom


@pytest.fixture
def registry() -> Iterator[Mapping[str, custom.CustomFeature]]:
    """Custom features may be registered in the test; they are gone after it."""
    before = set(custom.registered("inline"))
    yield custom.registered("inline")
    for name in set(custom.registered("inline")) - before:
        custom.unregister(name)
