# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that cannot be run as the child of `passpilot attach`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.runners.attach.child import Child


@pytest.mark.parametrize(
    ("program", "said"),
    [("none-such", "No such file or directory"), (".", "Permission denied"), ("a\0b", "embedded null byte")],
)
def test_why_a_program_does_not_run(program: str, said: str, tmp_path: Path) -> None:
    path = program if "\0" in program else str(tmp_path / program)
    with pytest.raises(InputError, match=rf"{re.escape(path)}.* got:? {said}"):
        Child([path])
