# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `tiny`, in a folder and installed; a cache of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policies.bundles import SOURCE, fit, install, write_tiny
from tests.shared import made_once


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the policy in `tiny`, its distribution in `site`, and a cache with its compiled model."""

    def make(folder: Path) -> None:
        write_tiny(folder / "tiny", fit(folder))
        install(folder / "site", folder / "tiny")

    return made_once(tmp_path_factory, "policy", make)


@pytest.fixture
def tiny(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The policy's folder; the environment has the policy as `@tiny`, and the shared cache."""
    monkeypatch.setenv("PYTHONPATH", str(shared / "site"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "cache"))
    for name in ("PASSPILOT_POLICY", "PASSPILOT_INLINE"):
        monkeypatch.delenv(name, raising=False)
    return shared / "tiny"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a program, as source and as bitcode before optimization."""
    from tests import stock

    stock.clang(SOURCE, tmp_path / "calls.bc", "-Oz")
    return tmp_path
