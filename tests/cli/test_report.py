# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot report`: the table of an allocation report."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.command import GENEROUS, PASSPILOT, passpilot, refused
from tests.passes.allocation.pressure import allocated, compiled
from tests.training.report.test_report import data_of

SIDE = {"cost": 12.000000001, "counts": {"spills": 2, "reloads": 3, "folded_both": 1, "copies": 4}}
REPORT = {
    "module": "in\x1b.bc",
    "triple": "x86_64-pc-linux-gnu",
    "total": {},
    "functions": [
        {"name": "same", "advised": SIDE, "default": SIDE},
        {
            "name": "worse",
            "advised": {"cost": 30000.4, "counts": {"spills": 10}},
            "default": {"cost": 20000.0, "counts": {}},
        },
        {"name": "free", "advised": {"cost": 0, "counts": {}}, "default": {"cost": 0, "counts": {}}},
    ],
}


def written(folder: Path, report: object) -> Path:
    path = folder / "r.json"
    path.write_text(report if isinstance(report, str) else json.dumps(report))
    return path


def test_the_table(tmp_path: Path) -> None:
    done = passpilot("report", written(tmp_path, REPORT), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.decode().splitlines() == [
        r"module in\x1b.bc, x86_64-pc-linux-gnu",
        "function   cost  default        change  spills  reloads  copies",
        "worse     30000    20000  50.0% larger  10 (0)    0 (0)   0 (0)",
        "same         12       12      the same   3 (3)    4 (4)   4 (4)",
        "free          0        0             -   0 (0)    0 (0)   0 (0)",
        "---------------------------------------------------------------",
        "total     30012    20012  50.0% larger  13 (3)    4 (4)   4 (4)",
        "cost: spills, reloads and copies per call by block frequency, with the weights of LLVM's "
        "RegAllocScore;",
        "lower is better. Instructions are counted once each: advised, and in brackets LLVM's default.",
    ]


def test_some_functions_and_cycles(tmp_path: Path) -> None:
    report = json.loads(json.dumps(REPORT))
    report["functions"][0]["advised"]["cycles"] = 7.25
    report["functions"][0]["default"]["cycles"] = 8.0
    done = passpilot("report", written(tmp_path, report), "--limit=1", cwd=tmp_path)
    lines = done.out.decode().splitlines()
    assert lines[1].endswith("  cycles  default")
    assert lines[3] == "... 2 more"
    assert lines[5].startswith("total ")
    assert lines[5].endswith("    7.25        8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "expected the report of `passpilot llc --report`, got: No such file or directory"),
        ("{", "expected the report of `passpilot llc --report`, got other text: Expecting"),
        ("[]", "expected the report of `passpilot llc --report`, got: TypeError"),
        ("{}", "expected the report of `passpilot llc --report`, got: KeyError 'functions'"),
        (
            '{"functions": [{"name": "f"}]}',
            "expected the report of `passpilot llc --report`, got: KeyError 'advised'",
        ),
    ],
)
def test_what_is_no_report(tmp_path: Path, text: str | None, told: str) -> None:
    if text is not None:
        written(tmp_path, text)
    assert f"r.json: {told}" in refused("report", "r.json", cwd=tmp_path)


def test_a_report_of_llc_on_a_terminal_and_in_a_pipe(tmp_path: Path) -> None:
    source = str(compiled(tmp_path))
    command = [str(PASSPILOT), "llc", source, "--evict=random:1", "--report=-", "-filetype=obj", "-o", "o.o"]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=GENEROUS).stdout
    master, slave = pty.openpty()
    with open(master, "rb", buffering=0) as ours:
        subprocess.run(command, cwd=tmp_path, stdout=slave, stderr=slave, check=True, timeout=GENEROUS)
        shown = os.read(ours.fileno(), 1 << 16).decode().replace("\r\n", "\n")
        os.close(slave)
    table = passpilot("report", written(tmp_path, piped.decode()), cwd=tmp_path).out.decode()
    assert shown == table
    assert "lower is better" in shown


def test_a_page_of_an_allocation_report_and_of_objects(tmp_path: Path) -> None:
    report, code = written(tmp_path, REPORT), tmp_path / "crowd.o"
    code.write_bytes(allocated(compiled(tmp_path)))
    page = tmp_path / "page.html"
    done = passpilot("report", report, f"--before={code}", f"--after={code}", "-o", page, cwd=tmp_path)
    assert (done.code, done.err, done.out) == (0, "", b"")
    data = data_of(page.read_bytes())
    (cost,), (sizes,) = data["costs"], data["sizes"]
    assert (cost["advised"], cost["default"]) == pytest.approx((30012.4, 20012.0))
    assert sizes["functions"]["before"] == sizes["functions"]["after"]
    assert sum(sizes["functions"]["after"]) > 1000


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["r.json", "r.json"], "expected -o PAGE.html for a page, got none", 2),
        (["r.json", "--before=x.o", "-o", "p.html"], "--before and --after belong together", 2),
        (["r.json", "--before=r.json", "--after=r.json", "-o", "p.html"], "expected an ELF object or", 1),
        (["none.log", "-o", "p.html"], "No such file", 1),
        (["r.json", "-o", "none/p.html"], "expected a file to write", 1),
    ],
)
def test_a_page_that_cannot_be_made(tmp_path: Path, arguments: list[str], message: str, code: int) -> None:
    written(tmp_path, REPORT)
    assert message in refused("report", *arguments, cwd=tmp_path, code=code)
