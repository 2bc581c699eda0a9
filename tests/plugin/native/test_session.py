# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session without a compiler, built with ThreadSanitizer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.shared import made_once

HERE: Final = Path(__file__).parent
NATIVE: Final = HERE.parents[2] / "plugin" / "native"

pytestmark = pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="has its own sanitizer")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program."""

    def build(folder: Path) -> None:
        flags = ("-std=c++17", "-O1", "-g1", "-fsanitize=thread", "-pthread", f"-I{NATIVE}")
        words = ["c++", *flags, str(HERE / "session_host.cpp"), "-o", "host"]
        subprocess.run(words, cwd=folder, check=True, timeout=300)

    return made_once(tmp_path_factory, "session-host", build) / "host"


def told(host: Path, mode: str) -> str:
    done = subprocess.run([host, mode], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_other_threads_see_no_decision(host: Path) -> None:
    assert told(host, "threads") == "0\n"


def test_a_report_of_a_failure_that_throws_is_part_of_it(host: Path) -> None:
    assert told(host, "failure") == "0; its report failed: no room\n; its report failed\n"


@pytest.mark.parametrize(
    ("point", "accepted"), [("evict", 1), ("ra-action", 0), ("ra-order", 0), ("mine", 0)]
)
def test_only_an_eviction_has_a_column_that_changes_nothing(host: Path, point: str, accepted: int) -> None:
    """No other choice has an answer that stands for no."""
    assert told(host, point) == f"{accepted}\n"
