# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot compare`: its figures are those of the stock tools and of the decision logs."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.runners.plurals import size_change
from tests import stock
from tests.command import Done, passpilot, refused

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL: Final = "--inline=python:policy.py:small"
POLICY: Final = "def small(obs):\n    return obs['callee_basic_block_count'].item() < 3\n"


@pytest.fixture
def folder(program: Path, tmp_path: Path) -> Path:
    """Two modules and a policy."""
    shutil.copy(program, tmp_path / "a.bc")
    stock.clang(
        "int f(int x) { return x * 3; }\nint g(int x) { return f(x) + f(x + 1); }\n", tmp_path / "b.bc"
    )
    (tmp_path / "policy.py").write_text(POLICY)
    return tmp_path


def compared(folder: Path, *arguments: str) -> dict[str, Any]:
    """What `--json` prints."""
    made: dict[str, Any] = json.loads(good(folder, *arguments, "--json").out)
    return made


def good(folder: Path, *arguments: str) -> Done:
    done = passpilot("compare", *arguments, cwd=folder)
    assert (done.code, done.err) == (0, "")
    return done


def by_stock_tools(module: Path, pipeline: str, *flags: str) -> int:
    """The machine code that stock opt and llc make of a module, as llvm-size counts it."""
    optimized, obj = module.with_suffix(".opt.bc"), module.with_suffix(".o")
    stock.run("opt", f"-passes={pipeline}", *flags, module, "-o", optimized)
    stock.run("llc", "-O2", "-filetype=obj", *flags, optimized, "-o", obj)
    lines = stock.run("llvm-size", "-A", obj).decode().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(".text"))


@pytest.mark.parametrize(
    ("pipeline", "flags"), [("default<Oz>", []), ("default<O2>", ["-mcpu=haswell"]), ("default<O2>", [])]
)
def test_llvms_own_row_is_what_the_stock_tools_make(
    folder: Path, pipeline: str, flags: Sequence[str]
) -> None:
    made = compared(folder, "a.bc", "b.bc", SMALL, f"-passes={pipeline}", *flags, "--repeat=0")
    sizes = [by_stock_tools(folder / name, pipeline, *flags) for name in ("a.bc", "b.bc")]
    assert [each["results"][0]["text"] for each in made["modules"]] == sizes
    assert made["total"][0]["text"] == sum(sizes)
    processor = flags[0] if flags else "-mcpu=x86-64"
    assert made["targets"] == [f"-mtriple=x86_64-pc-linux-gnu {processor}"]


def test_a_contenders_row_is_what_its_compilation_makes(folder: Path) -> None:
    flags = ("-passes=default<Oz>", SMALL, "--log=small.log", "-o", "small.bc")
    assert passpilot("opt", "a.bc", *flags, cwd=folder).code == 0
    made = compared(folder, "a.bc", "b.bc", SMALL, "--inline=const:0")
    assert made["contenders"] == ["LLVM", SMALL, "--inline=const:0"]
    llvm, small, none = made["modules"][0]["results"]
    assert small["text"] == by_stock_tools(folder / "small.bc", "")
    arrays = read_log(folder / "small.log").to_arrays(["inlining_default", "inlining_decision"])
    assert small["decisions"] == len(arrays["inlining_decision"]) > 0
    agreed = (arrays["inlining_default"] == arrays["inlining_decision"]).sum()
    assert small["agreed"] == agreed < small["decisions"]
    assert llvm["agreed"] == llvm["decisions"] > 0
    assert len({row["text"] for row in (llvm, small, none)}) == 3
    assert len({row["instructions"] for row in (llvm, small, none)}) == 3
    for index, whole in enumerate(made["total"]):
        for key in ("allocated", "text", "file", "xz", "instructions", "decisions", "agreed", "seconds"):
            parts = [module["results"][index][key] for module in made["modules"]]
            assert whole[key] == pytest.approx(sum(parts))
            assert whole[key] > 0 or key == "agreed"


def test_the_table_and_csv_have_the_same_figures(folder: Path) -> None:
    flags = ("a.bc", "b.bc", SMALL, "--repeat=0")
    made = compared(folder, *flags)
    lines = good(folder, *flags).out.decode().splitlines()
    assert lines[:3] == [
        "-passes=default<Oz>, then llc -O2 -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64",
        "LLVM  LLVM's own decisions",
        f"1     {SMALL}",
    ]
    assert lines[4].split() == [
        "module",
        "who",
        "allocated",
        "change",
        ".text",
        "file",
        "xz",
        "IR",
        "decisions",
        "as",
        "LLVM",
        "seconds",
    ]
    rows = [re.split(r"  +", line.strip()) for line in lines[5:]]
    assert [row[0] for row in rows[::2]] == ["a.bc", "b.bc", "total"]
    llvm, small = made["total"]
    share = f"{small['agreed'] / small['decisions']:.1%}"
    change = size_change(small["allocated"] / llvm["allocated"])
    assert rows[-1] == [
        "1",
        str(small["allocated"]),
        change,
        *(f"{small[size]:,}" for size in ("text", "file", "xz")),
        str(small["instructions"]),
        str(small["decisions"]),
        share,
        "-",
    ]
    listed = list(csv.DictReader(io.StringIO(good(folder, *flags, "--csv").out.decode())))
    results = [
        {"module": module, **{key: "" if value is None else str(value) for key, value in row.items()}}
        for module, rows in (
            *((each["module"], each["results"]) for each in made["modules"]),
            ("", made["total"]),
        )
        for row in rows
    ]
    assert listed == results


def test_the_logs_are_kept_and_replay(folder: Path) -> None:
    made = compared(folder, "a.bc", "b.bc", SMALL, "--repeat=0", "--log=logs")
    names = sorted(path.name for path in (folder / "logs").iterdir())
    assert names == [f"{start}.{who}.inline.log" for start in ("000-a", "001-b") for who in ("1", "LLVM")]
    small = made["modules"][0]["results"][1]
    again = compared(folder, "a.bc", f"--inline=replay:{small['logs']['inline']}", "--repeat=0")
    assert again["modules"][0]["results"][1]["text"] == small["text"]


def test_the_output_is_a_file(folder: Path) -> None:
    assert good(folder, "a.bc", SMALL, "--json", "-o", "made.json").out == b""
    assert json.loads((folder / "made.json").read_text())["total"][0]["seconds"] > 0


def test_evictions(pressed: Path, tmp_path: Path) -> None:
    """Beside inlining: each runner is a contender of its own, and a limit goes to its point."""
    flags = (
        "--evict=random:3",
        "--inline=default",
        "--eviction-limit=5",
        "--repeat=0",
        "-passes=default<O1>",
    )
    made = compared(tmp_path, str(pressed), *flags)
    assert made["contenders"] == ["LLVM", "--inline=default", "--evict=random:3"]
    llvm, inline, evict = made["total"]
    assert evict["decisions"] > evict["agreed"]
    assert evict["text"] != llvm["text"] == inline["text"]
    assert evict["instructions"] == llvm["instructions"], "the IR is the same"


POINT: Final = """
from dataclasses import dataclass
import passpilot

NOINLINE = passpilot.DecisionPoint(
    "noinline",
    features=[passpilot.Feature(passpilot.TensorSpec("size", "int64", (1,)), "instructions of the function")],
    advice=passpilot.TensorSpec("marked", "int64", (1,)),
    domain=passpilot.Flag(),
    default=lambda values: False,
)


@passpilot.llvm.module_pass("mark-noinline")
@dataclass(frozen=True)
class Mark:
    def run(self, module):
        for function in module.functions:
            if not function.is_declaration and NOINLINE.ask({"size": function.instruction_count}, function):
                function.add_attribute("noinline")
        return True
"""


def test_a_point_of_ones_own(folder: Path) -> None:
    (folder / "point.py").write_text(POINT)
    flags = ("--load=point.py", "-passes=mark-noinline,default<O2>", "--repeat=0")
    made = compared(folder, "a.bc", "--advise=noinline=const:1", SMALL, *flags)
    assert made["contenders"] == ["LLVM", SMALL, "--advise=noinline=const:1"]
    llvm, _, marked = made["total"]
    assert marked["agreed"] == 0 < marked["decisions"]
    assert marked["instructions"] != llvm["instructions"]


def test_a_runner_that_is_never_asked_is_a_warning(folder: Path) -> None:
    done = passpilot("compare", "a.bc", "--inline=const:0", "-passes=sroa", "--repeat=0", cwd=folder)
    assert done.code == 0
    lines = done.err.splitlines()
    assert len(lines) == 2
    assert "passpilot: warning: compare: --inline=const:0 was never asked: " in lines[1]


def test_a_failure_names_the_module_and_the_contender(folder: Path) -> None:
    (folder / "policy.py").write_text("def small(obs):\n    return 7\n")
    told = refused("compare", "b.bc", "a.bc", SMALL, "--json", "-o", "out.json", cwd=folder)
    assert f"error: b.bc with {SMALL}: inline advisor at decision 0" in told


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (["a.bc"], "expected a runner to compare with LLVM, got none; add --inline=RUNNER", 2),
        ([SMALL], "compare: expected IN, got none", 2),
        (["none.bc", SMALL], "compare: none.bc: expected a file, got no such file", 1),
        (["-", SMALL], "compare: -: expected a file, got something else: it is read several times", 1),
        (["policy.py", SMALL], "policy.py with LLVM: ", 1),
        (["a.bc", SMALL, "--json", "--csv"], "choose --json or --csv", 2),
        (["a.bc", SMALL, "--repeat=-1"], "expected a number of compilations, got '-1'", 2),
        (["a.bc", SMALL, "--eviction-limit=3"], "--eviction-limit has no effect without an advisor", 2),
        (["a.bc", "--advise=nobody=const:1"], "--advise: expected POINT=RUNNER with POINT among inline", 2),
        (["a.bc", SMALL, "--log=a.bc"], "--log: expected a folder at a.bc, got: File exists", 1),
        (["a.bc", SMALL, "-no-such-option=1"], "no-such-option", 2),
        (["a.bc", SMALL, "-passes=no-such-pass"], "a.bc with LLVM: ", 1),
    ],
)
def test_wrong_command_lines(folder: Path, arguments: list[str], told: str, code: int) -> None:
    assert told in refused("compare", *arguments, cwd=folder, code=code)
