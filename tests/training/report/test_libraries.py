# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The libraries of the page: that the committed bundle is what its sources and their lock file make."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.training.report.document import PARTS

SOURCES: Final = Path(__file__).parents[3] / "tools/report_libraries"
VENDOR: Final = PARTS / "vendor"


def record() -> Any:
    """What the bundle was made of."""
    return json.loads((VENDOR / "record.json").read_text())


def test_the_bundle_and_its_sources_are_those_of_the_record() -> None:
    files = {"libraries.js": VENDOR, "package-lock.json": SOURCES, "entry.js": SOURCES, "build.js": SOURCES}
    hashes = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name, folder in files.items()
    }
    assert record()["sha256"] == hashes, "run tools/report_libraries/build.js"


def test_the_packages_are_pinned_and_their_licences_are_in_the_bundle() -> None:
    lock = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    licences = (VENDOR / "libraries.js").read_text().partition("*/")[0]
    for name, version in record()["packages"].items():
        assert lock[f"node_modules/{name}"]["version"] == version
        assert re.search(rf"^{name} {version} \((ISC|MIT|BSD-3-Clause|Apache-2\.0)\)", licences, re.MULTILINE)
    pinned = json.loads((SOURCES / "package.json").read_text())["dependencies"].values()
    assert all(re.fullmatch(r"[\d.]+", version) for version in pinned)


@pytest.mark.soak
def test_the_lock_file_makes_the_bundle(tmp_path: Path) -> None:
    folder, vendor = tmp_path / "sources", tmp_path / "vendor"
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("node_modules"))
    vendor.mkdir()
    for command in (["npm", "ci", "--silent"], ["node", "build.js", str(vendor)]):
        subprocess.run(command, cwd=folder, check=True, timeout=300, stdin=subprocess.DEVNULL)
    assert (vendor / "libraries.js").read_bytes() == (VENDOR / "libraries.js").read_bytes()
    assert (vendor / "record.json").read_bytes() == (VENDOR / "record.json").read_bytes()
