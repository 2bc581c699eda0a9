# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flags of the plugin for stock mlir-opt that advise all passes, and passes that need no flag."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.plugin.toolchain import mlir_plugin
from tests.command import Done, files_in, passpilot, run
from tests.passes.python.test_third_party import PACKAGE
from tests.plugin.native.mlir.tools import CALL, CALLS, MLIR_OPT, inlined, stock, written

MATMUL: Final = """\
func.func @f(%a: tensor<64x32xf32>, %b: tensor<32x16xf32>, %c: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x16xf32>)
    outs(%c : tensor<64x16xf32>) -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}
"""

ASKING: Final = """\
from dataclasses import dataclass

from passpilot import DecisionPoint, TensorSpec, mlir

MARK = DecisionPoint(
    "mark",
    features=[TensorSpec("operations", "int64", (1,))],
    advice=TensorSpec("is_marked", "int64", (1,)),
    default=lambda values: 0,
)


@mlir.pass_("mark", anchor="func.func")
@dataclass(frozen=True)
class Mark:
    def run(self, function):
        count = sum(1 for block in function.regions[0] for _ in block.operations)
        if MARK.ask({"operations": count}, function):
            function.attributes["marked"] = mlir.bindings().ir.UnitAttr.get(function.context)


def large(obs):
    return obs["operations"] > 3


def raises(obs):
    raise ValueError("no idea")
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module with a file of a pass and policies beside it."""
    written(tmp_path, "asking.py", ASKING)
    return written(tmp_path, "in.mlir", CALLS)


def asked(source: Path, pipeline: str, *flags: str) -> Done:
    """A run with the file loaded."""
    return stock(pipeline, source, "--passpilot-load=asking.py", *flags, cwd=source.parent)


def test_a_point_of_a_pass_in_python(source: Path) -> None:
    flags = ("--passpilot-advise=mark=python:asking.py:large", "--passpilot-log=x.log")
    done = asked(source, "func.func(mark)", *flags, "--passpilot-stats")
    assert (done.code, done.out.decode().count("marked")) == (0, 1)
    assert "mark advisor python:asking.py:large:\n         3 decisions\n" in done.err
    hosted = passpilot(
        *("mlir-opt", source, "--load=asking.py", "--pass-pipeline=builtin.module(func.func(mark))"),
        *("--advise=mark=replay:x.log", "--log=y.log", "-o", "out.mlir"),
        cwd=source.parent,
    )
    assert (hosted.code, hosted.err) == (0, "")
    again = asked(source, "func.func(mark)", "--passpilot-advise=mark=replay:y.log")
    assert (again.code, again.err, again.out) == (0, "", done.out)


def test_a_misspelt_point_is_refused(source: Path) -> None:
    """Also where no pass asks; the tool keeps no output then."""
    flags = ("--passpilot-advise=mrak=const:1", "-o", "out.mlir")
    for pipeline in ("func.func(mark)", "func.func(cse)"):
        done = asked(source, pipeline, *flags)
        assert done.code == 1, done.err
        assert "got 'mrak'; --passpilot-load=FILE.py adds others; did you mean 'mark'?" in done.err
        assert not source.with_name("out.mlir").exists()


def test_a_misspelt_operation_is_refused(source: Path) -> None:
    """As hosted; an operation of a dialect that MLIR does not know is none."""
    source.with_name("adding.py").write_text(
        "from dataclasses import dataclass\n\nfrom passpilot import mlir\n\n\n"
        '@mlir.pass_("adding", anchor="func.func")\n@dataclass(frozen=True)\nclass Adding:\n'
        "    def run(self, function):\n"
        '        mlir.rewrite_greedily(function, {"arith.adi": lambda op, rewriter: None})\n'
    )
    source.write_text(
        "func.func @f(%x: i32) -> i32 {\n  %y = arith.addi %x, %x : i32\n  return %y : i32\n}\n"
    )
    told = "rewrite_greedily: expected names of operations, got 'arith.adi'; did you mean 'arith.addi'?"
    unknown = ("--allow-unregistered-dialect",)
    for flags in ((), unknown):
        done = stock("func.func(adding)", source, "--passpilot-load=adding.py", *flags, cwd=source.parent)
        assert (done.code, told in done.err) == (1, True), done.err
        pipeline = "--pass-pipeline=builtin.module(func.func(adding))"
        hosted = passpilot("mlir-opt", source, "--load=adding.py", pipeline, *flags, cwd=source.parent)
        assert (hosted.code, told in hosted.err) == (1, True), hosted.err


def test_two_points_and_two_logs(source: Path) -> None:
    logs = ("--passpilot-log=mark=m.log", "--passpilot-log=mlir-inline=i.log")
    runners = ("--passpilot-advise=mark=random:1", "--passpilot-inline=const:1")
    pipeline = "advised-inline{default-pipeline=},func.func(mark),advised-inline"
    done = asked(source, pipeline, *logs, *runners)
    assert (done.code, done.err) == (0, "")
    assert len(list(read_log(str(source.with_name("m.log"))))) == 1
    assert len(list(read_log(str(source.with_name("i.log"))))) == 4, "two passes, one log"


def test_the_same_command_in_two_places_has_two_logs_in_a_folder(tmp_path: Path) -> None:
    for name in ("one", "two", "two"):
        (tmp_path / name).mkdir(exist_ok=True)
        written(tmp_path / name, "in.mlir", CALLS)
        flags = ("--passpilot-inline=default", f"--passpilot-log={tmp_path}/logs/")
        done = stock("advised-inline", Path("in.mlir"), *flags, cwd=tmp_path / name)
        assert (done.code, done.err) == (0, "")
    assert len(list((tmp_path / "logs").iterdir())) == 2


def test_the_default_writes_a_log(source: Path) -> None:
    done = stock(
        "advised-inline", source, "--passpilot-inline=default", "--passpilot-log=x.log", cwd=source.parent
    )
    assert (done.code, done.err) == (0, "")
    assert len(list(read_log(str(source.with_name("x.log"))))) == 4


def test_failures(source: Path) -> None:
    raising = "python:asking.py:raises"
    before = files_in(source.parent)
    for pipeline, flag, told in (
        ("func.func(mark)", f"advise=mark={raising}", "mark advisor at decision 0 (function leaf, "),
        ("advised-inline", f"inline={raising}", "mlir-inline advisor at decision 0 (middle -> leaf, "),
    ):
        done = asked(source, pipeline, f"--passpilot-{flag}", "--passpilot-log=x.log", "-o", "out.mlir")
        assert (done.code, told in done.err, "Traceback" in done.err) == (1, True, False), done.err
        assert "ValueError: no idea" in done.err
        assert files_in(source.parent) == before
        done = asked(source, pipeline, f"--passpilot-{flag}", "--passpilot-on-error=default")
        assert done.code == 0
        assert "decisions fell back to the default; the first:" in done.err


CAST: Final = """\
func.func @cast(%a: tensor<4xf32>) -> memref<4xf32> {
  %b = builtin.unrealized_conversion_cast %a : tensor<4xf32> to memref<4xf32>
  return %b : memref<4xf32>
}
"""
"""What `one-shot-bufferize` refuses."""


def test_no_log_of_a_compilation_that_fails_later(source: Path) -> None:
    source.write_text(f"{CALLS}{CAST}")
    advice = ("--passpilot-advise=mark=const:1", "--passpilot-inline=const:0")
    logs = ("--passpilot-log=mark=m.log", "--passpilot-log=mlir-inline=i.log")
    for last, code in (("cse", 0), ("one-shot-bufferize", 1)):
        done = asked(source, f"func.func(mark),advised-inline,{last}", *advice, *logs)
        assert done.code == code, done.err
        assert len(list(source.parent.glob("*.log*"))) == (0 if code else 2)
        for log in source.parent.glob("*.log"):
            log.unlink()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--passpilot-advise=mark"], "--passpilot-advise: expected POINT=RUNNER, got 'mark'"),
        (["--passpilot-advise=nosuch=const:1"], "expected POINT=RUNNER with POINT among"),
        (
            ["--passpilot-advise=inline=const:1"],
            "expected a point of MLIR's passes, got inline, which is LLVM's",
        ),
        (["--passpilot-advise=mark=nosuch:1"], "runner scheme 'nosuch': expected one of"),
        (
            ["--passpilot-advise=mark=const:1", "--passpilot-advise=mark=const:0"],
            "one runner for the point mark",
        ),
        (["--passpilot-inline="], "--passpilot-inline: expected a value, got none"),
        (["--passpilot-inline=const:3"], "runner const:3: expected const:0 or const:1, got '3'"),
        (["--passpilot-log=x.log"], "--passpilot-log has no effect without an advisor"),
        (["--passpilot-on-error=maybe"], "--passpilot-on-error: expected fail or default, got 'maybe'"),
        (["--passpilot-timeout=0"], "--passpilot-timeout: expected a number above 0, got '0'"),
        (
            ["--passpilot-inline=const:1", "--passpilot-advise=mark=const:1", "--passpilot-log=x.log"],
            "--passpilot-log: expected POINT=FILE with the point of an advisor, got 'x.log'",
        ),
    ],
)
def test_wrong_flags(flags: list[str], told: str, source: Path) -> None:
    done = asked(source, "func.func(mark),advised-inline", *flags)
    assert (done.code, done.out, told in done.err) == (1, b"", True), done.err


def test_flags_that_advise_nothing_are_told(source: Path) -> None:
    done = stock("cse", source, "--passpilot-inline=const:0", cwd=source.parent)
    assert done.code == 0
    assert "passpilot: warning: the flags that begin with --passpilot advise nothing" in done.err
    done = stock("advised-inline", source.with_name("none.mlir"), cwd=source.parent)
    assert done.code == 1


def test_tile_sizes(source: Path) -> None:
    source.write_text(MATMUL)
    made = [
        stock(f"func.func(advised-tile{options})", source, *flags, cwd=source.parent)
        for options, *flags in (
            ("", "--passpilot-advise=mlir-tile=random:7", "--passpilot-log=t.log"),
            ("{runner=random:7}",),
            ("", "--passpilot-advise=mlir-tile=replay:t.log"),
            ("",),
        )
    ]
    assert [(done.code, done.err) for done in made] == [(0, "")] * 4
    assert made[0].out == made[1].out == made[2].out
    assert b"scf.for" in made[0].out
    assert b"scf.for" not in made[3].out
    assert len(list(read_log(str(source.with_name("t.log"))))) == 3


def test_a_pass_of_an_installed_package(source: Path) -> None:
    package = PACKAGE / "src" if (PACKAGE / "src").exists() else PACKAGE
    info = source.parent / "site" / "example-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    entry = "example-mark = passpilot_example_passes.mlir:Mark"
    (info / "entry_points.txt").write_text(f"[passpilot.mlir_passes]\n{entry}\n")
    path = os.pathsep.join(map(str, (info.parent, package)))
    command = (MLIR_OPT, f"--load-pass-plugin={mlir_plugin()}", source)
    done = run(
        *("env", f"PYTHONPATH={path}", *command, "--passpilot-advise=example-mark=const:1"),
        "--pass-pipeline=builtin.module(func.func(example-mark{name=seen}),advised-inline)",
        cwd=source.parent,
    )
    assert (done.code, done.err) == (0, "")
    assert b"seen" in done.out


def test_names_in_options_start_no_python(source: Path) -> None:
    done = run(
        *("env", "PYTHONHOME=/nosuch", MLIR_OPT, f"--load-pass-plugin={mlir_plugin()}", source),
        "--pass-pipeline=builtin.module(func.func(canonicalize{max-iterations=3},cse),any(cse),advised-inline)",
        cwd=source.parent,
    )
    assert (done.code, done.err) == (0, "")
    assert not CALL.findall(done.out.decode())
    assert inlined("", source) == done.out.decode()
