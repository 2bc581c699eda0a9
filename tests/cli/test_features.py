# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
from pathlib import Path

import pytest

from passpilot.cli.features import main
from passpilot.features.llvm.inline import FEATURES
from passpilot.plugin.errors import FeatureError, InputError, UsageError

Capture = pytest.CaptureFixture[str]

SOURCE = """\
from passpilot.features.custom import feature


@feature("float32[1,2]")
def weights(site):
    "What it weighs."
    return [[1, 2]]
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.py"
    path.write_text(SOURCE)
    return path


def test_text_is_aligned(capsys: Capture) -> None:
    assert main([]) == 0
    *lines, advice = capsys.readouterr().out.splitlines()
    assert len(lines) == 39
    for text, row in zip(lines, FEATURES, strict=False):
        name, spec = text.split()[:2]
        assert (name, spec) == (row.spec.name, "int64[1]")
        assert text.endswith(row.doc)
        assert text.index(row.doc) == lines[0].index(FEATURES[0].doc)
    assert lines[38].startswith("inlining_default ")
    assert advice == "advice: inlining_decision int64[1]"


def test_json(capsys: Capture) -> None:
    assert main(["-json", "-point=inline", "--traceback"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert (table["point"], len(table["features"])) == ("inline", 39)
    assert table["advice"] == {"name": "inlining_decision", "type": "int64_t", "port": 0, "shape": [1]}
    expected = {**FEATURES[0].spec.to_json(), "doc": FEATURES[0].doc, "origin": None}
    assert table["features"][0] == expected


@pytest.mark.parametrize(
    ("point", "rows", "last", "advice"),
    [
        ("evict", 22, "evict_default", "index_to_evict int64[1]"),
        ("priority", 4, "priority_default", "priority float64[1]"),
    ],
)
def test_other_points(point: str, rows: int, last: str, advice: str, capsys: Capture) -> None:
    assert main(["--point", point]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == rows + 1
    assert lines[-2].split()[0] == last
    assert lines[-1] == f"advice: {advice}"


@pytest.mark.usefixtures("registry")
def test_loaded_features_are_listed(policy: Path, capsys: Capture) -> None:
    assert main(["--load", str(policy)]) == 0
    text = capsys.readouterr().out.splitlines()[-2]
    assert text.split()[:2] == ["weights", "float32[1,2]"]
    assert text.endswith(f"What it weighs. ({policy}:4)")
    assert main(["-load", str(policy), "--json"]) == 0
    last = json.loads(capsys.readouterr().out)["features"][-1]
    assert (last["name"], last["type"], last["origin"]) == ("weights", "float", f"{policy}:4")


@pytest.mark.usefixtures("registry")
def test_two_files_with_the_same_feature_are_refused(policy: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(SOURCE)
    with pytest.raises(FeatureError) as caught:
        main(["--load", str(policy), "--load", str(other)])
    assert f"{policy}:4" in str(caught.value)
    assert f"{other}:4" in str(caught.value)


def test_missing_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"file absent\.py: .* No such file"):
        main(["--load", "absent.py"])


@pytest.mark.parametrize("arguments", [["--colour"], ["extra"]])
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match=r"^features: .*; see `passpilot features --help`$") as caught:
        main(arguments)
    assert caught.value.exit_code == 2


def test_an_unknown_point_is_refused() -> None:
    told = r"^decision point: expected one of inline, .*-unroll, .*, got 'outline'; others come from "
    with pytest.raises(UsageError, match=told):
        main(["--point", "outline"])


@pytest.mark.usefixtures("registry")
def test_proto(policy: Path, capsys: Capture) -> None:
    assert main(["--proto", f"--load={policy}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'syntax = "proto3";'
    assert "  rpc getAdvice(InlineObservation) returns (InlineAdvice);" in lines
    assert "  repeated int64 sroa_savings = 1;  // int64[1]" in lines
    assert "  repeated float weights = 40;  // float32[1,2]" in lines
