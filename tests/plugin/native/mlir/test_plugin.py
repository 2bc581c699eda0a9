# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-inline` of the plugin for stock mlir-opt, beside MLIR's own `inline` and the hosted point."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.passes.mlir.api import bindings, run_pipeline
from passpilot.plugin.toolchain import mlir_plugin
from tests.command import passpilot, run
from tests.corpus.modules import LARGE, MODULES, unpacked
from tests.passes.mlir.programs import Program
from tests.plugin.native.mlir.tools import CALL, CALLS, MLIR_OPT, inlined, native, stock, written

Row = tuple[str, str, str, str, dict[str, list[int]]]

LOWER: Final = (
    "convert-scf-to-cf,expand-strided-metadata,finalize-memref-to-llvm,convert-func-to-llvm,"
    "convert-arith-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts"
)
LOWER_REAL: Final = (
    f"convert-linalg-to-loops,expand-strided-metadata,lower-affine,convert-math-to-llvm,{LOWER}"
)
ENTRY: Final = """
  func.func @entry() -> i64 {
    %a = arith.constant 12345 : i64
    %b = arith.constant -77 : i64
    %r = func.call @main(%a, %b) : (i64, i64) -> i64
    func.return %r : i64
  }
}
"""
"""What runs a generated program; the end of its module."""


def generated(folder: Path, seed: int) -> Path:
    """A generated program that can be run."""
    text = Program(seed).text().rstrip().removesuffix("}") + ENTRY
    return written(folder, f"{seed}.mlir", text)


def rows(log: Path) -> list[Row]:
    """What a log says of each decision."""
    return [
        (
            *(each.context, each.location, each.caller, each.callee),
            {name: value.tolist() for name, value in each.tensors.items()},
        )
        for each in read_log(str(log))
    ]


def test_path_is_printed(tmp_path: Path) -> None:
    done = passpilot("plugin-path", "--mlir", cwd=tmp_path)
    assert (done.code, done.out.decode().strip()) == (0, str(mlir_plugin()))


@pytest.mark.parametrize("runner", ["default", "const:1", "default log=x.log"])
@pytest.mark.parametrize("seed", [0, 5, 14, 27])
def test_accepting_all_is_what_inline_does(seed: int, runner: str, tmp_path: Path) -> None:
    source = generated(tmp_path, seed)
    assert inlined(f"runner={runner}", source) == native(source)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] * (name == LARGE)) for name in MODULES]
)
def test_real_programs(name: str, tmp_path: Path) -> None:
    real = unpacked(name, tmp_path)
    source = written(tmp_path, "in.mlir", real.text)
    made = inlined("runner=const:1", source)
    assert made == native(source)
    assert len(CALL.findall(made)) < len(CALL.findall(real.text))
    lowered = native(written(tmp_path, "some.mlir", inlined("runner=random:2", source)), LOWER_REAL)
    translate = MLIR_OPT.with_name("mlir-translate")
    llvm = run(translate, "--mlir-to-llvmir", written(tmp_path, "lowered.mlir", lowered), cwd=tmp_path)
    real.run(llvm.out.decode())


def test_rejecting_all_leaves_all_calls(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", CALLS)
    assert inlined("runner=const:0 default-pipeline=", source) == native(source, "")
    assert len(CALL.findall(inlined("runner=const:0", source))) == 4


def test_default_pipeline_and_iterations(tmp_path: Path) -> None:
    source = generated(tmp_path, 14)
    options = "default-pipeline=cse,canonicalize max-iterations=1"
    assert inlined(f"runner=const:1 {options}", source) == native(source, f"inline{{{options}}}")


def executed(text: str, folder: Path) -> str:
    """What the program prints."""
    lowered = native(written(folder, "whole.mlir", text), LOWER)
    source = written(folder, "lowered.mlir", lowered)
    flags = ["-e", "entry", "-entry-point-result=i64"]
    library = MLIR_OPT.parents[1] / "lib" / "libmlir_c_runner_utils.so"
    done = run(MLIR_OPT.with_name("mlir-runner"), source, *flags, f"--shared-libs={library}", cwd=folder)
    assert done.code == 0, done.err
    return done.out.decode()


@pytest.mark.parametrize("seed", range(8))
def test_random_policies_change_no_result(seed: int, tmp_path: Path) -> None:
    source = generated(tmp_path, seed)
    assert executed(inlined(f"runner=random:{seed}", source), tmp_path) == executed(
        source.read_text(), tmp_path
    )


def test_features_are_those_of_the_hosted_point(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", CALLS)
    inlined("runner=const:1 log=x.log", source)
    point = find_point("mlir-inline")
    default, *features = reversed(point.features)
    assert list(read_log(str(tmp_path / "x.log")).features) == [*reversed(features), default, point.advice]


@pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])
@pytest.mark.parametrize(
    ("runner", "pipeline"), [("const:0", ""), ("const:0", "cse"), ("const:1", "cse"), ("random:5", "")]
)
def test_values_are_those_of_the_hosted_point(
    runner: str, pipeline: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for source in (written(tmp_path, "calls.mlir", CALLS), *(generated(tmp_path, seed) for seed in range(6))):
        log = source.with_suffix(".log")
        options = f"engine={engine} default-pipeline={pipeline}"
        made = inlined(f"runner={runner} log={log.name} {options}", source)
        module = bindings().ir.Module.parseFile(str(source), bindings().ir.Context())
        advised = f"runner=replay:{log.name} log=hosted.log {options}"
        run_pipeline(module, f"builtin.module(advised-inline{{{advised}}})")
        assert rows(log) == rows(tmp_path / "hosted.log")
        assert rows(log)
        if runner != "const:0":  # else the module in Python stays as it was
            assert native(written(tmp_path, "hosted.mlir", str(module)), "") == made


def test_log_replays(tmp_path: Path) -> None:
    source = generated(tmp_path, 3)
    made = inlined("runner=random:7 log=x.log", source)
    assert inlined("runner=replay:x.log", source) == made
    assert inlined("runner=replay:x.log log=y.log", source) == made
    assert (tmp_path / "y.log").read_bytes() == (tmp_path / "x.log").read_bytes()
    assert {each.caller for each in read_log(str(tmp_path / "x.log"))} > {"main"}


def test_python_and_native_runners_see_the_same(tmp_path: Path) -> None:
    source = generated(tmp_path, 9)
    written(tmp_path, "policy.py", "def small(obs):\n    return obs['callee_operations'][0] < 20\n")
    made = inlined("runner=python:policy.py:small log=x.log", source)
    assert inlined("runner=replay:x.log", source) == made
    for each in read_log(str(tmp_path / "x.log")):
        small = each.tensors["callee_operations"][0] < 20
        assert each.tensors["inlining_decision"][0] == small


def test_site_of_a_policy(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", CALLS)
    policy = "def see(obs):\n    print(obs.site, *obs.site.place, obs.default())\n    return False\n"
    written(tmp_path, "policy.py", policy)
    lines = inlined("runner=python:policy.py:see", source).splitlines()
    assert lines[0] == f"middle -> leaf at {source}:7:8 {source} 7 8 True"


def test_features_of_the_users(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", CALLS)
    feature = "import passpilot\n@passpilot.feature('int64[1]', point='mlir-inline')\ndef depth(site):\n"
    written(tmp_path, "mine.py", f"{feature}    return len(site.callee_name)\n")
    inlined("runner=const:0 log=x.log", source, "--passpilot-load=mine.py")
    lengths = {int(each.tensors["depth"][0]) for each in read_log(str(tmp_path / "x.log"))}
    assert lengths == {len("leaf"), len("middle")}


def test_native_runners_need_no_python(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", CALLS)
    for name in ("libpasspilot_mlir.so", "libpasspilot_llvm.so"):
        shutil.copy(mlir_plugin().with_name(name), tmp_path)
    load = f"--load-pass-plugin={tmp_path / 'libpasspilot_mlir.so'}"
    for runner, code in (("random:1 log=x.log", 0), ("python:policy.py", 1)):
        pipeline = f"--pass-pipeline=builtin.module(advised-inline{{runner={runner}}})"
        done = run(MLIR_OPT, load, source, pipeline, cwd=tmp_path)
        assert done.code == code, done.err
        assert ("expected the packages of" in done.err) == bool(code)


def test_several_modules_have_no_log_in_common(tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", f"{CALLS}// -----\n{CALLS}")
    done = stock("advised-inline{runner=const:0 log=x.log}", source, "--split-input-file", cwd=tmp_path)
    assert done.code == 1
    assert re.search(r"error: decision log x\.log: expected one compilation per log, got a second", done.err)
