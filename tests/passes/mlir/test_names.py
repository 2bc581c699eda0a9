# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names in MLIR that are not UTF-8, in the hosted and in the stock mlir-opt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.plugin.toolchain import mlir_plugin
from tests.command import PASSPILOT, Done, run
from tests.plugin.native.mlir.tools import MLIR_OPT

PROGRAM: Final = rb"""func.func private @"g\FF"(%x: i32) -> i32 attributes {note = "n\FD"} {
  %c = arith.constant {tag = "t\FC"} 1 : i32
  %y = arith.addi %x, %c : i32
  return %y : i32
}
func.func private @"g\FE"(%x: i32) -> i32 {
  return %x : i32
}
func.func @"f\C3\A9"(%x: i32) -> i32 {
  %a = call @"g\FF"(%x) : (i32) -> i32 loc("l\FB.mlir":3:4)
  %b = call @"g\FE"(%a) : (i32) -> i32
  return %b : i32
}
"""
PYTHON: Final = """
from dataclasses import dataclass
from passpilot import DecisionPoint, TensorSpec, mlir

COLD = DecisionPoint(
    "cold",
    features=[TensorSpec("n", "int64", (1,))],
    advice=TensorSpec("is_cold", "int64", (1,)),
    default=lambda values: 0,
)


@mlir.pass_("mark-cold", anchor="func.func")
@dataclass(frozen=True)
class MarkCold:
    def run(self, function):
        if COLD.ask({"n": 1}, function):
            function.attributes["cold"] = mlir.bindings().ir.UnitAttr.get(function.context)


@mlir.pass_("show")
@dataclass(frozen=True)
class Show:
    def run(self, module):
        name = module.regions[0].blocks[0].operations[0].attributes["sym_name"].value_bytes
        print(name.decode("utf-8", "surrogateescape"))
        raise ValueError(repr("in\\udcff"))


def decide(obs):
    return obs.site.callee_name == "g\\udcff"


def cold(obs):
    return obs.site.attributes["sym_name"].value_bytes == b"g\\xfe"
"""
FF, FE, CALLER = "g\udcff", "g\udcfe", "f\u00e9"
SOURCE, FILE, LOG = os.fsdecode(b"in\xff.mlir"), os.fsdecode(b"p\xfe.py"), os.fsdecode(b"log\xff")

Flags = tuple[str | Path, ...]
HOSTED: Final[Flags] = (PASSPILOT, "mlir-opt", f"--load={FILE}")
STOCK: Final[Flags] = (MLIR_OPT, f"--load-pass-plugin={mlir_plugin()}", f"--passpilot-load={FILE}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    (folder / SOURCE).write_bytes(PROGRAM)
    (folder / FILE).write_text(PYTHON)
    return folder


def both(folder: Path, pipeline: str, *flags: str) -> list[Done]:
    """A compilation in the hosted and in the stock mlir-opt; a flag without the prefix of the stock one."""
    words = (SOURCE, f"--pass-pipeline=builtin.module({pipeline})")
    return [
        run(*door, *words, *(f"--{prefix}{flag}" for flag in flags), cwd=folder)
        for door, prefix in ((HOSTED, ""), (STOCK, "passpilot-"))
    ]


@pytest.mark.parametrize("flag", ["--mlir-print-debuginfo", "--emit-bytecode"])
def test_a_module_without_passes_stays_as_it_is(folder: Path, flag: str) -> None:
    made = run(MLIR_OPT, SOURCE, flag, cwd=folder)
    done = run(PASSPILOT, "mlir-opt", SOURCE, flag, "-o", "out\udcff", cwd=folder)
    assert (made.code, done.code, done.err) == (0, 0, "")
    assert (folder / "out\udcff").read_bytes() == made.out
    again = run(PASSPILOT, "mlir-opt", "out\udcff", flag, cwd=folder)
    assert again.out == made.out


@pytest.mark.parametrize(
    ("pipeline", "point", "decided"),
    [
        ("advised-inline{default-pipeline=none}", "mlir-inline", [(CALLER, FF, True), (CALLER, FE, False)]),
        ("func.func(mark-cold)", "cold", [(FF, "", False), (FE, "", True), (CALLER, "", False)]),
    ],
)
def test_both_doors_decide_alike(
    folder: Path, pipeline: str, point: str, decided: list[tuple[str, str, bool]]
) -> None:
    function = "decide" if point == "mlir-inline" else "cold"
    outputs, logs = [], []
    for flags in (
        (f"advise={point}=python:{FILE}:{function}", f"log={point}={LOG}"),
        (f"advise={point}=replay:{LOG}", f"log={point}={LOG}"),
    ):
        for done in both(folder, pipeline, *flags):
            assert (done.code, done.err) == (0, "")
            outputs.append(done.out)
            logs.append((folder / LOG).read_bytes())
    assert len(set(outputs)) == len(set(logs)) == 1
    name = "caller" if point == "mlir-inline" else "context"
    asked = list(read_log(folder / LOG))
    advice = [bool(o.tensors["inlining_decision" if point == "mlir-inline" else "is_cold"]) for o in asked]
    assert [(getattr(o, name), o.callee, said) for o, said in zip(asked, advice, strict=True)][
        : len(decided)
    ] == decided
    assert rb'@"g\FE"' in outputs[0]
    shown = run(PASSPILOT, "log", "show", LOG, cwd=folder)
    assert b"g\\xff" in shown.out


def test_messages_show_bytes(folder: Path) -> None:
    for done in both(folder, "show"):
        assert done.code == 1
        assert done.out == b"g\xff\n"
        assert r"ValueError: 'in\xff' (" in done.err
        assert r"p\xfe.py:" in done.err
    done = run(PASSPILOT, "mlir-opt", "no\udcff.mlir", cwd=folder)
    assert r"no\xff.mlir: expected a file that can be read" in done.err
    (folder / SOURCE).write_bytes(rb'func.func private @"g\FF"() func.func private @"g\FF"()')
    done = run(PASSPILOT, "mlir-opt", SOURCE, cwd=folder)
    assert done.err.startswith(r"in\xff.mlir:1:29: error: redefinition of symbol named 'g\xff'")


def test_pipelines_have_such_names(folder: Path) -> None:
    for done in both(folder, "symbol-privatize{exclude=g\udcff,g\udcfe}"):
        assert done.code == 0
        assert rb'func.func private @"f\C3\A9"' in done.out


def test_operations_of_such_names_are_refused(folder: Path) -> None:
    """Upstream's bindings would end the process; attributes of such names and texts are no trouble."""
    for text, code in (
        (rb'"foo.\FF"() : () -> ()', 1),
        (b'"foo.x"() {a = #u<"\xff">, "k\\FF"} : () -> ()', 0),
    ):
        (folder / SOURCE).write_bytes(b"func.func @f() {\n  " + text + b"\n  return\n}")
        for door in (HOSTED, STOCK):
            pipeline = "--pass-pipeline=builtin.module(func.func(mark-cold))"
            done = run(*door, SOURCE, "--allow-unregistered-dialect", pipeline, cwd=folder)
            assert done.code == code, done.err
            assert (text in done.out) == (not code)
            assert (r"expected names of operations in UTF-8" in done.err) == bool(code)
