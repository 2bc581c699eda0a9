# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python, by their names, in stock mlir-opt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import psutil
import pytest

from passpilot.plugin.toolchain import mlir_plugin
from tests.command import GENEROUS, passpilot, run, started
from tests.plugin.native.mlir.tools import CALLS, MLIR_OPT, native, refused, stock, written
from tests.plugin.test_process_end import stream

PASSES: Final = '''\
import ctypes
import os
from dataclasses import dataclass

from passpilot import mlir


@mlir.pass_("double", anchor="func.func")
@dataclass(frozen=True)
class Double:
    """Double small constants."""

    limit: int = 10
    name: str = ""

    def run(self, operation):
        ir = mlir.bindings().ir

        def see(each):
            value = each.attributes["value"] if each.name == "arith.constant" else None
            if value is not None and value.value < self.limit:
                each.attributes["value"] = ir.IntegerAttr.get(value.type, 2 * value.value)
            return ir.WalkResult.ADVANCE

        operation.walk(see)


@mlir.pass_("look")
@dataclass(frozen=True)
class Look:
    def run(self, operation):
        print("looked at", operation.name)


@mlir.pass_("tell", anchor="func.func")
@dataclass(frozen=True)
class Tell:
    fail: bool = False

    def run(self, operation):
        place = operation.regions[0].blocks[0].operations[0].location
        with place.context:
            place.emit_error("not like this") if self.fail else None
        if self.fail:
            mlir.signal_pass_failure()


@mlir.pass_("raise")
@dataclass(frozen=True)
class Raise:
    def run(self, operation):
        raise KeyError("nothing")


@mlir.pass_("die")
@dataclass(frozen=True)
class Die:
    def run(self, operation):
        ctypes.CDLL(None)._exit(7)


@mlir.pass_("endless")
@dataclass(frozen=True)
class Endless:
    def run(self, operation):
        os.write(1, b"%d\\n" % os.getpid())
        while True:
            pass


@mlir.pass_("annotate")
@dataclass(frozen=True)
class Annotate:
    def run(self, operation):
        ir = mlir.bindings().ir
        operation.attributes["my.seen"] = ir.StringAttr.get("yes", operation.context)
'''

RICH: Final = """\
#name = loc("in \\"quotes\\"")
#place = loc("other.mlir":3:7)
memref.global "private" constant @weights : memref<4xf32> = dense<[1.0, -0.0, 0x7FC00001, 3.4]>
llvm.mlir.global internal constant @text("a\\00b")
func.func private @outside(memref<4xf32>) -> f64
func.func @rich(%a: f64 {my.note = [1 : i8, "x\\0Ay", @weights]}) -> f64 attributes {
  k = {b, c = 0xFFF0000000000000 : f64}} {
  %c = arith.constant 3 : i64 loc(fused<"tag">[#name, #place])
  %w = memref.get_global @weights : memref<4xf32> loc(callsite(#name at #place))
  %r = call @outside(%w) : (memref<4xf32>) -> f64
  %s = arith.addf %a, %r fastmath<nnan,ninf> : f64
  %t = scf.execute_region -> f64 {
    cf.br ^next(%s : f64)
  ^next(%x: f64):
    scf.yield %x : f64
  }
  return %t : f64
}
"""
"""Attributes, properties and locations that must come back as they were."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module, with passes beside it."""
    written(tmp_path, "mine.py", PASSES)
    return written(tmp_path, "in.mlir", CALLS)


def changed(pipeline: str, source: Path, *flags: str) -> str:
    """The module after passes of which some are in Python."""
    done = stock(pipeline, source, *flags, "--passpilot-load=mine.py", cwd=source.parent)
    assert done.code == 0, done.err
    return done.out.decode()


def test_between_native_passes_with_options(source: Path) -> None:
    made = changed("func.func(double,canonicalize,double{limit=8 name=ab}),inline,symbol-dce", source)
    doubled = CALLS.replace("constant 3", "constant 12").replace("constant 5", "constant 10")
    expected = native(written(source.parent, "expected.mlir", doubled), "inline,symbol-dce")
    assert made == expected


@pytest.mark.parametrize(
    "flags", [[], ["--mlir-disable-threading"], ["--mlir-elide-elementsattrs-if-larger=1"]]
)
def test_many_functions_in_threads(flags: list[str], source: Path) -> None:
    many = "".join(CALLS.replace("@", f"@m{number}_") for number in range(12))
    source.write_text(many)
    made = changed("func.func(double{limit=4})", source, *flags)
    assert made == native(
        written(source.parent, "expected.mlir", many.replace("constant 3", "constant 6")), ""
    )


def test_the_same_pass_runs_behind_the_other_door(source: Path) -> None:
    flag = "--pass-pipeline=builtin.module(func.func(double))"
    done = passpilot("mlir-opt", source, "--load=mine.py", flag, "-o", "-", cwd=source.parent)
    assert done.out.decode().strip() == changed("func.func(double)", source).strip()


@pytest.mark.parametrize("pipeline", ["annotate", "func.func(annotate),llvm.func(annotate)"])
def test_all_else_comes_back_as_it_was(pipeline: str, source: Path) -> None:
    source.write_text(RICH)
    flags = ("--mlir-print-debuginfo", "--mlir-print-op-generic")
    before = run(MLIR_OPT, source, *flags, "--mlir-print-local-scope", cwd=source.parent).out.decode()
    made = changed(pipeline, source, *flags, "--mlir-print-local-scope")
    assert made.count('my.seen = "yes"') == (1 if pipeline == "annotate" else 2)
    made = made.replace(', my.seen = "yes"', "").replace(' {my.seen = "yes"}', "")
    assert made == before


def test_a_module_keeps_its_resources(source: Path) -> None:
    resource = (
        "func.func @f() -> tensor<2xi32> {\n  %c = arith.constant dense_resource<blob> : tensor<2xi32>\n"
    )
    data = '{-# dialect_resources: { builtin: { blob: "0x040000000100000002000000" } } #-}\n'
    source.write_text(f"{resource}  return %c : tensor<2xi32>\n}}\n{data}")
    assert "0x040000000100000002000000" in changed("annotate", source)
    told = refused("func.func(annotate)", source, "--passpilot-load=mine.py")
    assert "expected an operation that can be handed to Python, got one with resources" in told


def test_what_looks_on_changes_nothing(source: Path) -> None:
    made = changed("look,func.func(look)", source)
    looks = ["looked at builtin.module", *["looked at func.func"] * 3]
    assert made.splitlines()[:4] == looks
    assert made.splitlines()[4:] == native(source, "").splitlines()


def test_environment_names_files_too(source: Path) -> None:
    command: list[str | Path] = [
        "env",
        "PASSPILOT_LOAD=mine.py",
        MLIR_OPT,
        f"--load-pass-plugin={mlir_plugin()}",
        source,
    ]
    done = run(*command, "--pass-pipeline=builtin.module(look)", cwd=source.parent)
    assert done.out.startswith(b"looked at builtin.module\n"), done.err


@pytest.mark.parametrize(
    ("pipeline", "told"),
    [
        ("raise", "error: pass raise: KeyError: 'nothing' ("),
        ("func.func(tell{fail=true})", "in.mlir:2:8: error: not like this"),
        ("die", "pass die: expected an answer of the process in which it runs, got its end with code 7"),
        ("double", "Can't add pass 'double' restricted to 'func.func'"),
        ("func.func(double{limt=1})", "options at column 1: expected options among limit=int"),
        ("func.func(double{limit=x})", "options at column 7: expected int for limit, got 'x'"),
        ("nobody", "'nobody' does not refer to a registered pass or pass pipeline"),
    ],
)
def test_failures_are_those_of_the_tool(pipeline: str, told: str, source: Path) -> None:
    assert told in refused(pipeline, source, "--passpilot-load=mine.py")


@pytest.mark.parametrize("flag", [[], ["--mlir-disable-threading"]])
def test_a_failure_is_said_once_and_not_for_every_function(flag: list[str], source: Path) -> None:
    errors = refused("func.func(tell{fail=true})", source, *flag, "--passpilot-load=mine.py")
    assert errors.count("not like this") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "import nothing_like_this",
            "error: file bad.py:1: expected Python that runs, got ModuleNotFoundError",
        ),
        (
            PASSES.replace('"look"', '"cse"'),
            "error: pass 'cse': expected a new name, got one that MLIR itself owns",
        ),
        (PASSES.replace('"look"', '"double"'), "expected a new name, got one that the pass at"),
    ],
)
def test_files_that_cannot_be_loaded(text: str, told: str, source: Path) -> None:
    written(source.parent, "bad.py", text)
    assert told in refused("cse", source, "--passpilot-load=bad.py")
    assert "expected a Python file that can be read" in refused("cse", source, "--passpilot-load=no.py")


def test_the_process_of_passes_ends_with_the_tool(source: Path) -> None:
    load = (f"--load-pass-plugin={mlir_plugin()}", "--passpilot-load=mine.py")
    with started(
        MLIR_OPT, *load, source, "--pass-pipeline=builtin.module(endless)", cwd=source.parent
    ) as tool:
        worker = psutil.Process(int(stream(tool.stdout).readline()))
        assert tool.pid in {each.pid for each in worker.parents()}
        tool.kill()
        worker.wait(GENEROUS)


THREADS: Final = """\
import ctypes
import os
from dataclasses import dataclass

from passpilot import mlir


@mlir.pass_("threads", anchor="func.func")
@dataclass(frozen=True)
class Threads:
    def run(self, operation):
        print(len(os.listdir(f"/proc/{os.getppid()}/task")), "thread")
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="MLIR has one thread on one processor")
def test_no_thread_changes_what_a_pass_reads_of_other_functions(tmp_path: Path) -> None:
    """The text of a function has declarations of its siblings, so no other thread runs passes on these."""
    written(tmp_path, "threads.py", THREADS)
    source = written(tmp_path, "in.mlir", CALLS)
    done = stock("func.func(canonicalize,threads)", source, "--passpilot-load=threads.py", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.decode().count("1 thread\n") == 3, done.out
