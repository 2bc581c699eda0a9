# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/security.md has every package that passpilot brings to its users; what SECURITY.md names exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DEVELOPERS: Final = ("all", "demo", "dev", "docs", "other-llvm", "test", "test-tools", "wheel-tools")
"""Extras that bring nothing new to users."""


def test_every_package_has_a_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(row for name in extras if name not in DEVELOPERS for row in extras[name]),
    ]
    names = {re.split(r"[<>=\[~]", each)[0] for each in wanted} - {"passpilot"}
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "docs/security.md").read_text(), re.MULTILINE)
    assert names == set(re.findall(r"`([^`]+)`", " ".join(rows)))


def test_what_is_named_exists() -> None:
    for page in ("SECURITY.md", "docs/security.md"):
        paths = re.findall(r"`((?:tests|plugin|docs)/[\w/.]+)`", (ROOT / page).read_text())
        assert paths
        assert [path for path in paths if not (ROOT / path).exists()] == []
