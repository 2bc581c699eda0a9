# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings in TOML: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.learning.settings import ImitateSettings
from passpilot.training.learning.toml_settings import read_settings, toml_text

DATA = "[data]\ntrain = ['a']\n"


def read(tmp_path: Path, text: str) -> ImitateSettings:
    (tmp_path / "a.toml").write_text(text)
    return read_settings(str(tmp_path / "a.toml"), ImitateSettings)


def test_settings_are_read_and_written(tmp_path: Path) -> None:
    text = f"policy = 'network'\nfeatures = ['*', 'x\"y']\n{DATA}[network]\nhidden = [8]\nl2 = 1\n"
    settings = read(tmp_path, text)
    assert (settings.policy, settings.network.hidden, settings.network.l2) == ("network", (8,), 1.0)
    assert settings.trees.rounds == 300
    assert read(tmp_path, toml_text(settings)) == settings


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "a.toml: expected data, got none"),
        (f"polycy = 'trees'\n{DATA}", "got 'polycy'; did you mean 'policy'"),
        (f"policy = 'forest'\n{DATA}", "policy: expected one of trees, network, linear, set, got 'forest'"),
        (f"seed = true\n{DATA}", "seed: expected an integer, got True"),
        (f"seed = -1\n{DATA}", "seed: expected a number of 0 to"),
        (f"data = 3\n{DATA[7:]}", "data: expected a table, got 3"),
        (f"{DATA}[network]\nhidden = [0]", "network: hidden: expected a number of 1 to 4096, got 0"),
        (f"{DATA}[network]\nhidden = 8", "network: hidden: expected an array, got 8"),
        (f"{DATA}[trees]\nl2 = nan", "trees: l2: expected a number of 0 to"),
        ("[data", "a.toml: expected TOML, got other text"),
    ],
)
def test_wrong_settings_are_refused(text: str, error: str, tmp_path: Path) -> None:
    if text.startswith("data = 3"):
        text = "data = 3\n"
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert error in str(caught.value)
