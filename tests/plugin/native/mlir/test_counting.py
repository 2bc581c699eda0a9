# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the plugin for stock mlir-opt counts: each kind of loop, constants, heights, visibility, recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from passpilot.features.log.reader import read_log
from tests.plugin.native.mlir.tools import CALL, inlined, stock, written

if TYPE_CHECKING:
    from pathlib import Path

LOOPS: Final = {
    "scf.for": "scf.for %i = %c to %n step %c {\n CALL\n }",
    "scf.while": "scf.while : () -> () {\n CALL\n scf.condition(%f)\n } do {\n scf.yield\n }",
    "scf.parallel": "scf.parallel (%i) = (%c) to (%n) step (%c) {\n CALL\n }",
    "scf.forall": "scf.forall (%i) in (%n) {\n CALL\n }",
    "affine.for": "affine.for %i = 0 to 4 {\n CALL\n }",
    "affine.parallel": "affine.parallel (%i) = (0) to (4) {\n CALL\n }",
    "scf.if": "scf.if %f {\n CALL\n }",
    "scf.execute_region": "scf.execute_region {\n CALL\n scf.yield\n }",
}


def logged(text: str, folder: Path) -> dict[tuple[str, str], dict[str, int]]:
    """The features of each decision, by caller and callee."""
    source = written(folder, "in.mlir", text)
    inlined("runner=const:0 default-pipeline= log=x.log", source)
    return {
        (each.caller, each.callee): {name: int(value.item()) for name, value in each.tensors.items()}
        for each in read_log(folder / "x.log")
    }


def test_each_kind_of_loop(tmp_path: Path) -> None:
    parameters = "%c: index, %n: index, %f: i1"
    text = "func.func private @leaf() {\n return\n}\n"
    for index, body in enumerate(LOOPS.values()):
        inside = body.replace("CALL", "func.call @leaf() : () -> ()")
        text += f"func.func private @f{index}({parameters}) {{\n {inside}\n return\n}}\n"
        text += f"func.func @g{index}({parameters}) {{\n"
        text += f" call @f{index}(%c, %n, %f) : (index, index, i1) -> ()\n return\n}}\n"
    seen = logged(text, tmp_path)
    assert len(seen) == 2 * len(LOOPS)
    for index, name in enumerate(LOOPS):
        loops = int(name not in {"scf.if", "scf.execute_region"})
        inner, outer = seen[f"f{index}", "leaf"], seen[f"g{index}", f"f{index}"]
        assert (name, inner["loop_depth"], outer["callee_loops"]) == (name, loops, loops)
        deepest = 3 if name == "scf.forall" else 2  # in its terminator
        assert (name, inner["region_depth"], outer["callee_region_depth"]) == (name, 2, deepest)
        assert (outer["loop_depth"], outer["region_depth"], inner["callee_loops"]) == (0, 1, 0)


GRAPH: Final = """\
func.func private @low() {
  return
}
func.func private @deep() {
  call @low() : () -> ()
  return
}
func.func nested @several() {
  call @deep() : () -> ()
  call @low() : () -> ()
  return
}
func.func private @itself(%f: i1) {
  cf.cond_br %f, ^again, ^end
^again:
  call @itself(%f) : (i1) -> ()
  cf.br ^end
^end:
  return
}
func.func private @ping(%f: i1) {
  call @low() : () -> ()
  call @pong(%f) : (i1) -> ()
  return
}
func.func private @pong(%f: i1) {
  call @ping(%f) : (i1) -> ()
  return
}
func.func @mentioned_outside() {
  return
}
func.func @top(%f: i1, %x: i32) {
  %true = arith.constant true
  %t = llvm.mlir.constant(3 : i32) : i32
  call @several() : () -> ()
  call @itself(%true) : (i1) -> ()
  call @ping(%f) : (i1) -> ()
  call @two(%t, %x) : (i32, i32) -> ()
  return
}
func.func private @two(%a: i32, %b: i32) {
  return
}
"""


def test_the_call_graph(tmp_path: Path) -> None:
    seen = logged(GRAPH, tmp_path)
    top = {callee: values for (caller, callee), values in seen.items() if caller == "top"}
    assert {name: values["callee_height"] for name, values in top.items()} == {
        "several": 2,
        "ping": 1,
        "two": 0,
    }
    assert {name: values["callee_is_recursive"] for name, values in top.items()} == {
        "several": 0,
        "ping": 1,
        "two": 0,
    }
    assert top["ping"]["callee_component_size"] == 2
    assert top["several"]["callee_is_private"] == 1, "the whole module is seen"
    assert (top["two"]["arguments"], top["two"]["constant_arguments"]) == (2, 1)
    assert top["several"]["caller_height"] == 3
    assert top["several"]["caller_is_private"] == 0


UNEVEN: Final = """\
func.func private @uneven(%f: i1) {
  scf.if %f {
    scf.if %f {
    }
  }
  scf.if %f {
  }
  return
}
func.func @user(%f: i1) {
  call @uneven(%f) : (i1) -> ()
  return
}
"""


def test_the_deepest_region_counts(tmp_path: Path) -> None:
    assert logged(UNEVEN, tmp_path)["user", "uneven"]["callee_region_depth"] == 3


@pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])
def test_functions_without_calls_are_simplified(engine: str, tmp_path: Path) -> None:
    text = "func.func @alone() {\n %c = arith.constant 1 : i32\n return\n}\n"
    assert "constant" not in inlined(f"runner=const:0 engine={engine}", written(tmp_path, "in.mlir", text))


NESTED_MODULE: Final = """\
module {
  module @inner {
    func.func nested @shown() {
      return
    }
    func.func private @hidden() {
      return
    }
    func.func @user() {
      call @shown() : () -> ()
      call @hidden() : () -> ()
      return
    }
  }
}
"""


def test_what_a_module_shows_to_the_one_around_it_is_not_private(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", NESTED_MODULE)
    pipeline = "builtin.module(advised-inline{runner=const:0 log=x.log})"
    done = stock(pipeline, source, cwd=tmp_path)
    assert done.code == 0, done.err
    private = {
        each.callee: int(each.tensors["callee_is_private"].item()) for each in read_log(tmp_path / "x.log")
    }
    assert private == {"shown": 0, "hidden": 1}


USED: Final = """\
func.func private @kept() {
  return
}
func.func private @free() {
  return
}
"test.uses"() {with = @kept} : () -> ()
func.func @user() {
  call @kept() : () -> ()
  call @free() : () -> ()
  return
}
"""


def test_what_is_used_outside_of_functions_is_not_private(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", USED)
    options = "runner=const:0 default-pipeline= log=x.log"
    done = stock(f"advised-inline{{{options}}}", source, "--allow-unregistered-dialect", cwd=tmp_path)
    assert done.code == 0, done.err
    private = {
        each.callee: int(each.tensors["callee_is_private"].item()) for each in read_log(tmp_path / "x.log")
    }
    assert private == {"kept": 0, "free": 1}


@pytest.mark.parametrize("runner", ["const:1", "const:0", "random:1"])
def test_marks_do_not_stay(runner: str, tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", GRAPH)
    made = inlined(f"runner={runner} engine=mark-and-run", source)
    assert "passpilot" not in made
    assert len(CALL.findall(made)) > (4 if runner == "const:0" else 0)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("log=a.log", "log=b.log"), "expected one log for the point mlir-inline, got two"),
        (("log=a.log", "log=mlir-inline=b.log"), "expected one log for the point mlir-inline, got two"),
        (("timeout=inf",), "--passpilot-timeout: expected a number above 0, got 'inf'"),
    ],
)
def test_flags_of_one_advisor(flags: tuple[str, ...], told: str, tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", GRAPH)
    given = [f"--passpilot-{flag}" for flag in ("inline=const:0", *flags)]
    done = stock("advised-inline", source, *given, cwd=tmp_path)
    assert (done.code, told in done.err) == (1, True), done.err


@pytest.mark.parametrize("flag", ["timeout=3", "on-error=default", "log=x.log"])
def test_flags_without_an_advisor(flag: str, tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", GRAPH)
    done = stock("advised-inline", source, f"--passpilot-{flag}", cwd=tmp_path)
    assert done.code == 1
    assert f"--passpilot-{flag.partition('=')[0]} has no effect without an advisor" in done.err
    done = stock("cse", source, f"--passpilot-{flag}", cwd=tmp_path)
    assert done.code == 1
    assert f"--passpilot-{flag.partition('=')[0]} has no effect without an advisor" in done.err
