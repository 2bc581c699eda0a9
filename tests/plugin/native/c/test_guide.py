# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guide to the C API: its programs are built and run, and print what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from tests.command import GENEROUS
from tests.plugin.native.c.test_programs import ENVIRONMENT, EXAMPLES

GUIDE: Final = EXAMPLES.parent / "docs" / "c-api.md"
TITLE: Final = re.compile(r"(?:# |/\* )([\w.]+)(?: \*/)?\n")


def test_the_guides_programs_print_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    titled = {match[1]: text for _, text in blocks if (match := TITLE.match(text))}
    assert {*titled} == {"unroll.c", "policy.py", "points.py"}
    for name, text in titled.items():
        (tmp_path / name).write_text(text)
    commands = [text for language, text in blocks if language == "sh"]
    said = [text for language, text in blocks if language == "text"]
    assert len(commands) == len(said) == 3
    environment = {**ENVIRONMENT, "EXAMPLES": str(EXAMPLES)}
    for command, expected in zip(commands, said, strict=True):
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=GENEROUS,
            check=True,
        )
        assert done.stdout == expected
