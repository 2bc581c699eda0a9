# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report of an allocation: its counts are those of LLVM's own remarks, its costs follow from them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import stock
from tests.command import passpilot, refused
from tests.passes.allocation.allocated import by_llc, for_target, optimized

WEIGHTS = {
    "spills": 1,
    "reloads": 4,
    "folded_spills": 1,
    "folded_reloads": 4,
    "folded_both": 5,
    "copies": 0.2,
    "cheap_rematerializations": 0.2,
    "rematerializations": 1,
}


def reported(source: Path, folder: Path, *flags: str | Path) -> dict[str, Any]:
    out = ("-filetype=obj", "-relocation-model=pic", "-o", folder / "out.o", "--report", folder / "r.json")
    done = passpilot("llc", "-x", "ir", source, *out, *flags, cwd=folder)
    assert done.code == 0, done.err
    report: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return report


def remarks(source: Path, folder: Path) -> dict[str, dict[str, float]]:
    """What stock llc itself says of each function."""
    path = folder / "remarks.yaml"
    flags = [f"-pass-remarks-output={path}", "-pass-remarks-filter=regalloc", "-relocation-model=pic"]
    stock.run("llc", *flags, source, "-o", "/dev/null")
    found: dict[str, dict[str, float]] = {}
    for block in path.read_text().split("--- !"):
        if re.search(r"^Name: +SpillReloadCopies$", block, re.MULTILINE):
            name = re.search(r"^Function: +'?(.+?)'?$", block, re.MULTILINE)
            assert name
            numbers = re.findall(r"- (\w+): +'([-+.\de]+)'", block)
            found[name[1]] = {key: float(value) for key, value in numbers}
    return found


@pytest.mark.parametrize(
    ("name", "target"),
    [("libyaml", "x86-64"), pytest.param("lz4", "x86-64", marks=pytest.mark.soak), ("libsvm", "aarch64")],
)
def test_the_default_agrees_with_llvms_remarks(name: str, target: str, tmp_path: Path) -> None:
    source = for_target(name, target)
    told = remarks(source, tmp_path)
    rows = {row["name"]: row["default"] for row in reported(source, tmp_path, "--evict=default")["functions"]}
    assert len(told) > 10
    assert told.keys() <= rows.keys()
    for function, side in rows.items():
        expected = told.get(function, {})
        counts, frequencies = side["counts"], side["frequencies"]
        both = counts["folded_both"]
        assert counts["spills"] == expected.get("NumSpills", 0), function
        assert counts["reloads"] == expected.get("NumReloads", 0), function
        assert counts["folded_spills"] + both == expected.get("NumFoldedSpills", 0), function
        assert counts["folded_reloads"] + both == expected.get("NumFoldedReloads", 0), function
        assert counts["copies"] == expected.get("NumVRCopies", 0), function
        for kind, key in (("spills", "Spills"), ("reloads", "Reloads"), ("copies", "Copies")):
            assert frequencies[kind] == pytest.approx(expected.get(f"Total{key}Cost", 0), rel=1e-4), function


def test_the_cost_is_the_weighted_sum(tmp_path: Path) -> None:
    report = reported(optimized("libyaml"), tmp_path, "--evict=random:1", "--priority=random:1")
    for row in report["functions"]:
        for side in (row["advised"], row["default"]):
            expected = sum(WEIGHTS[kind] * value for kind, value in side["frequencies"].items())
            assert side["cost"] == pytest.approx(expected)
        if row["default"]["cost"]:
            assert row["ratio"] == pytest.approx(row["advised"]["cost"] / row["default"]["cost"])
    total = report["total"]
    assert total["advised"] == pytest.approx(sum(row["advised"]["cost"] for row in report["functions"]))
    assert total["ratio"] > 1.05  # chance is worse than LLVM


def test_an_echo_costs_what_the_default_costs(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text("def echo(obs):\n    return obs.default()\n")
    report = reported(optimized("libyaml"), tmp_path, "--evict=python:echo.py:echo")
    assert report["total"]["ratio"] == 1
    assert all(row["advised"] == row["default"] for row in report["functions"])
    assert (tmp_path / "out.o").read_bytes() == by_llc(optimized("libyaml"))


def test_llvm_mca(tmp_path: Path) -> None:
    flags = ("--report-mca", "--evict=random:1", "-mcpu=skylake")
    report = reported(optimized("libyaml"), tmp_path, *flags)
    rows = report["functions"]
    assert sum(row["default"]["cycles"] > 0 for row in rows) > len(rows) * 0.9
    changed = [row for row in rows if row["advised"]["cycles"] != row["default"]["cycles"]]
    assert 0 < len(changed) < len(rows)
    # The decisions were taken from a log of our own, which is gone.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.o", "r.json"]


def test_llvm_mca_of_another_target(tmp_path: Path) -> None:
    flags = ("--report-mca", "--priority=random:1", "-mcpu=cortex-a57", "--log", "priority.log")
    report = reported(for_target("libsvm", "aarch64"), tmp_path, *flags)
    assert all(row["default"]["cycles"] > 0 for row in report["functions"])
    assert (tmp_path / "priority.log").stat().st_size > 1000


def test_a_processor_that_llvm_mca_cannot_judge(tmp_path: Path) -> None:
    source = tmp_path / "in.ll"
    source.write_text('target triple = "loongarch64"\ndefine i32 @f(i32 %x) {\n  ret i32 %x\n}\n')
    told = refused(
        "llc", source, "--report=r.json", "--report-mca", "-filetype=obj", "-o", "o.o", cwd=tmp_path
    )
    assert "expected a processor it can judge" in told


def test_wrong_command_lines(tmp_path: Path) -> None:
    source = tmp_path / "in.ll"
    source.write_text("define i32 @f(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n")
    told = refused("llc", source, "--report-mca", "-o", "o.s", cwd=tmp_path, code=2)
    assert "--report-mca has no effect without a report" in told
    told = refused("llc", source, "--report=o.s", "-o", "o.s", cwd=tmp_path, code=2)
    assert "expected a file of its own" in told
    told = refused("llc", source, "--report=no/r.json", "-o", "o.s", cwd=tmp_path)
    assert "expected a file to write" in told


def test_remarks_are_those_of_the_advised_compilation(tmp_path: Path) -> None:
    source, remarks = optimized("libyaml"), ("-pass-remarks-filter=regalloc", "-pass-remarks-output")
    reported(source, tmp_path, "--evict=random:1", *remarks, tmp_path / "with.yaml")
    out = ("-filetype=obj", "-relocation-model=pic", "-o", tmp_path / "other.o")
    done = passpilot(
        *("llc", "-x", "ir", source, *out, "--evict=random:1", *remarks, tmp_path / "without.yaml"),
        cwd=tmp_path,
    )
    assert done.code == 0
    assert (tmp_path / "with.yaml").read_bytes() == (tmp_path / "without.yaml").read_bytes()


def test_llvm_mca_reads_either_syntax_and_any_name(tmp_path: Path) -> None:
    source = tmp_path / "in.ll"
    source.write_text(
        'target triple = "x86_64-unknown-linux-gnu"\n'
        'define i64 @"a b"(ptr %p, i64 %x) {\n'
        "  %y = load i64, ptr %p\n  %z = sdiv i64 %x, %y\n  store i64 %z, ptr %p\n  ret i64 %z\n}\n"
    )
    flags = ("--report-mca", "--priority=random:1", "-mcpu", "skylake")
    (att,) = reported(source, tmp_path, *flags)["functions"]
    (intel,) = reported(source, tmp_path, *flags, "-x86-asm-syntax=intel")["functions"]
    assert att["name"] == "a b"
    assert att["default"]["cycles"] > 1
    assert att == intel


def test_a_report_and_no_other_output(tmp_path: Path) -> None:
    done = passpilot("llc", "-x", "ir", optimized("lz4"), "-filetype=null", "--report", "-", cwd=tmp_path)
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["functions"]) > 10
