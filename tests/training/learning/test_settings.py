# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings in TOML: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.cli.train import main
from passpilot.plugin.errors import InputError, UsageError
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


DEFAULTS = """\
policy = "trees"
features = ["*"]
label = "advice"
seed = 0
checkpoint = 10
patience = 0
keep = "best"

[data]
train = ["a"]
validation = []
test = []

[weights]
base = 1.0
changed = 0.0
gain = 0.0
most = 100.0
margin = 0.0
balance = 0.0

[trees]
rounds = 300
leaves = 31
learning_rate = 0.1
least_rows = 20
l2 = 0.0
columns = 1.0
sample = 1.0
bins = 255
extra = false
smoothing = 0.0

[network]
hidden = [64, 64]
rounds = 40
batch = 512
learning_rate = 0.002
l2 = 1e-05
"""


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    assert toml_text(read(tmp_path, DATA)) == DEFAULTS
    assert read(tmp_path, DEFAULTS) == read(tmp_path, DATA)


LIMITS = [
    ("", "seed", "0", "2147483647", "-1", "2147483648"),
    ("", "checkpoint", "1", "100000", "0", "100001"),
    ("", "patience", "0", "100000", "-1", "100001"),
    ("trees", "rounds", "1", "100000", "0", "100001"),
    ("trees", "leaves", "2", "10000", "1", "10001"),
    ("trees", "learning_rate", "1e-6", "1", "0.9e-6", "1.1"),
    ("trees", "least_rows", "1", "1000000000", "0", "1000000001"),
    ("trees", "l2", "0", "1e9", "-0.1", "1.1e9"),
    ("trees", "columns", "0.01", "1", "0.009", "1.01"),
    ("trees", "sample", "0.01", "1", "0.009", "1.01"),
    ("trees", "bins", "2", "65535", "1", "65536"),
    ("trees", "smoothing", "0", "1e9", "-0.1", "1.1e9"),
    ("network", "hidden", "[1]", "[3, 4096]", "[0]", "[3, 4097]"),
    ("network", "rounds", "1", "100000", "0", "100001"),
    ("network", "batch", "1", "1048576", "0", "1048577"),
    ("network", "learning_rate", "1e-8", "1", "0.9e-8", "1.1"),
    ("network", "l2", "0", "10", "-0.1", "10.1"),
]


@pytest.mark.parametrize(("table", "key", "low", "high", "below", "above"), LIMITS)
def test_limits_are_allowed_and_nothing_beyond(
    table: str, key: str, low: str, high: str, below: str, above: str, tmp_path: Path
) -> None:
    def text(value: str) -> str:
        line = f"{key} = {value}\n"
        return f"{DATA}[{table}]\n{line}" if table else line + DATA

    for value in (low, high):
        read(tmp_path, text(value))
    for value in (below, above):
        with pytest.raises(InputError, match=f"{key}: expected a number of "):
            read(tmp_path, text(value))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"label = 'cost'\n{DATA}", "label: expected one of advice, default, worth, got 'cost'"),
        (f"keep = 'first'\n{DATA}", "keep: expected one of best, last, got 'first'"),
        (f"seed = 1.0\n{DATA}", "seed: expected an integer, got 1.0"),
        (f"seed = '1'\n{DATA}", "seed: expected an integer, got '1'"),
        (f"policy = 1\n{DATA}", "policy: expected a string, got 1"),
        (f"features = ['a', 1]\n{DATA}", "features: expected a string, got 1"),
        (f"{DATA}[trees]\nextra = 1", "trees: extra: expected true or false, got 1"),
        (f"{DATA}[trees]\nl2 = true", "trees: l2: expected a number, got True"),
        (f"{DATA}[trees]\nl2 = inf", "trees: l2: expected a number of 0 to 1e+09, got inf"),
        (f"{DATA}[weights]\nbase = -inf", "weights: base: expected a number of -inf to inf, got -inf"),
        (f"{DATA}[network]\nhidden = [1.5]", "network: hidden: expected an integer, got 1.5"),
        (f"{DATA}[network]\nhidden = {[1] * 17}", "network: hidden: expected at most 16 elements, got 17"),
        ("[data]\n", "a.toml: data: expected train, got none"),
        ("[data]\ntrains = ['a']\n", "data: expected keys among train, validation, test, got 'trains'"),
    ],
)
def test_values_of_another_kind_are_refused(text: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert error in str(caught.value)


def test_texts_of_all_kinds_are_read_again(tmp_path: Path) -> None:
    settings = read(tmp_path, f"features = ['a\\b', 'c\"d', '\\\"']\n{DATA}[trees]\nextra = true\n")
    assert settings.features == ("a\\b", 'c"d', '\\"')
    assert read(tmp_path, toml_text(settings)) == settings


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: expected a TOML file, got: No such file"):
        read_settings(str(tmp_path / "none.toml"), ImitateSettings)
    (tmp_path / "odd.toml").write_bytes(b"policy = \xff\n")
    with pytest.raises(InputError, match=r"odd\.toml: expected TOML, got other text"):
        read_settings(str(tmp_path / "odd.toml"), ImitateSettings)


@pytest.mark.parametrize("name", ["imitate", "evolve", "ppo", "dqn"])
def test_a_model_needs_a_folder(name: str) -> None:
    with pytest.raises(UsageError, match=r"expected .*-o, got none"):
        main([name, "a.toml"])


def test_logs_are_inputs_of_data_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for name, taken in (("data", True), ("native-size", False)):
        with pytest.raises(SystemExit):
            main([name, "-h"])
        assert ("or logs (.log)" in " ".join(capsys.readouterr().out.split())) is taken
