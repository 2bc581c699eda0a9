# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Curve`: what training measures, in a table, in TensorBoard's events, and in a picture."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event

from passpilot.training.learning.curves import Curve, plot, table_text


def events(folder: Path) -> list[Event]:
    """TensorBoard's events, in the order of their files."""
    found = []
    for path in sorted((folder / "tensorboard").iterdir()):
        data = path.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            found.append(Event.FromString(data[12 : 12 + size]))
            data = data[16 + size :]
    return found


def scalars(folder: Path) -> list[tuple[int, str, float]]:
    """The numbers in the events."""
    return [
        (each.step, value.tag, value.simple_value) for each in events(folder) for value in each.summary.value
    ]


def test_a_table_has_all_names_in_the_order_of_their_coming() -> None:
    rows = [{"round": 1, "loss": 1 / 3}, {"round": 2, "new, one": 1e-12, "loss": 123456789.25}]
    assert table_text(rows) == 'round,loss,"new, one"\n1,0.333333333,\n2,123456789,1e-12\n'


def test_every_row_is_written_at_once(tmp_path: Path) -> None:
    curve = Curve(str(tmp_path))
    curve.add({"round": 5, "loss": 2.0, "gain": float("nan"), "worst": float("inf")})
    assert (tmp_path / "curve.csv").read_text() == "round,loss,gain,worst\n5,2,nan,inf\n"
    curve.add({"round": 10, "loss": 1.0})
    assert (tmp_path / "curve.csv").read_text().splitlines()[1:] == ["5,2,nan,inf", "10,1,,"]
    assert not (tmp_path / "curve.svg").exists()
    curve.close("Title", [("loss",)])
    assert scalars(tmp_path) == [(5, "loss", 2.0), (10, "loss", 1.0)], "TensorBoard gets finite numbers"
    assert "Title" in (tmp_path / "curve.svg").read_text()


def test_a_run_that_goes_on_keeps_the_rows_and_takes_back_later_events(tmp_path: Path) -> None:
    rows = [{"round": 5, "loss": 2.0}, {"round": 10, "loss": 1.0}]
    curve = Curve(str(tmp_path), rows)
    curve.add({"round": 15, "loss": 0.5})
    curve.close("", [])
    assert (tmp_path / "curve.csv").read_text() == "round,loss\n5,2\n10,1\n15,0.5\n"
    assert [each.step for each in events(tmp_path) if each.HasField("session_log")] == [11]
    assert len(rows) == 2, "the rows of the caller are its own"


def test_without_rows_there_is_no_picture(tmp_path: Path) -> None:
    curve = Curve(str(tmp_path))
    curve.close("Title", [("loss",)])
    assert not (tmp_path / "curve.svg").exists()
    assert not any(each.HasField("session_log") for each in events(tmp_path))


ROWS = [
    {"round": 10.0, "a<b": 4.0, "other": 1.0},
    {"round": 15.0, "a<b": float("nan"), "other": 3.0},
    {"round": 30.0, "a<b": 2.0},
]


def test_a_picture_has_a_line_for_every_number() -> None:
    text = plot("x & y", ROWS, [("a<b", "other")])
    assert re.findall(r'points="([^"]*)" fill="none" stroke="([^"]*)"', text) == [
        ("0.0,0.0 640.0,133.3", "#3366cc"),
        ("0.0,200.0 160.0,66.7", "#dc3912"),
    ]
    assert re.findall(r'text-anchor="end">([^<]*)</text>', text) == ["1", "2.5", "4", "round 30"]
    assert re.findall(r'y="([^"]*)" text-anchor="end">', text) == ["204", "104", "4", "216"]
    assert 'text-anchor="start">round 10<' in text
    assert re.findall(r'<text x="(\d+)" y="-8" fill="[^"]*">([^<]*)<', text) == [
        ("0", "a&lt;b"),
        ("160", "other"),
    ]
    assert ">x &amp; y</text>" in text


@pytest.mark.parametrize(
    ("charts", "groups", "height"),
    [([("a<b",), ("other",)], 2, 560), ([("none",), ("other", "none")], 1, 300), ([("none",)], 0, 40)],
)
def test_a_picture_has_a_chart_for_every_group_with_numbers(
    charts: list[tuple[str, ...]], groups: int, height: int
) -> None:
    text = plot("", ROWS, charts)
    assert len(re.findall("<polyline", text)) == text.count("<g ") == text.count("</g>") == groups
    assert f'height="{height}"' in text
    assert re.findall(r"translate\(64,(\d+)\)", text) == ["50", "310"][:groups]


@pytest.mark.parametrize(
    ("values", "points"),
    [([2.0], "0.0,0.0"), ([2.0, 2.0], "0.0,0.0 640.0,0.0"), ([float("nan")], "")],
    ids=["one row", "always the same", "no number"],
)
def test_a_picture_of_numbers_without_a_span(values: list[float], points: str) -> None:
    text = plot("", [{"round": float(at), "x": value} for at, value in enumerate(values)], [("x",)])
    assert f'<polyline points="{points}"' in text
