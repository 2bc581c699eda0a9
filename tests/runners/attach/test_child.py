# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that cannot be run as the child of `passpilot attach`."""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.runners.attach import child as child_module
from passpilot.runners.attach.child import Child
from tests.command import GENEROUS


@pytest.mark.parametrize(
    ("program", "said"),
    [("none-such", "No such file or directory"), (".", "Permission denied"), ("a\0b", "embedded null byte")],
)
def test_why_a_program_does_not_run(program: str, said: str, tmp_path: Path) -> None:
    path = program if "\0" in program else str(tmp_path / program)
    with pytest.raises(InputError, match=rf"{re.escape(path)}.* got:? {said}"):
        Child([path])


def test_forks_have_time_to_clean_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program itself ends at once, and its fork not before somebody has read what it writes."""
    monkeypatch.setattr(child_module, "_GRACE", 10.0)
    os.mkfifo(tmp_path / "fifo")
    wait = "while :; do sleep 0.01; done"
    fork = f"trap 'echo cleaned >{tmp_path}/fifo; exit' TERM; touch {tmp_path}/ready; {wait}"
    child = Child(["sh", "-c", f"({fork}) & trap exit TERM; {wait}"])
    until = time.monotonic() + GENEROUS
    while not (tmp_path / "ready").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    with ThreadPoolExecutor() as pool:
        stopped = pool.submit(child.stop)
        while not child.fd < 0:
            assert time.monotonic() < until
            time.sleep(0.001)
        assert (tmp_path / "fifo").read_text() == "cleaned\n"
        stopped.result(GENEROUS)
