# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The features that the plugin for stock mlir-opt computes, against a second count of the same IR."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.features.mlir.inline import FEATURES
from passpilot.plugin.toolchain import mlir_plugin
from tests.command import passpilot, run
from tests.corpus.modules import unpacked
from tests.features.mlir.recount import LLVM, NESTED, calls_between, counted, functions_of, graph_of
from tests.passes.mlir.passes import parsed
from tests.plugin.native.mlir.tools import CALL, MLIR_OPT, inlined, written

POLICY: Final = """\
import json

module = 0
decision = -1


def decide(obs):
    global decision, module
    decision += 1
    if decision < module:
        return decision % TIMES == 0
    names = {"caller": obs.site.caller_name, "callee": obs.site.callee_name}
    print(json.dumps({**names, **{name: obs[name].item() for name in obs}}))
    module, decision = module + 1, -1
    raise ValueError("look here")
"""
"""Fails at decision N of the N-th module; mlir-opt then prints the module as it is at this decision."""

FEATURE_NAMES: Final = [row.spec.name for row in FEATURES]

DUMP: Final = re.compile(
    r"^// -----// IR Dump After [^\n]*\n((?:#[^\n]*\n)*module .*?^})$", re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("text", [NESTED, LLVM])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_each_feature_is_recounted(text: str, times: int, tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", text)
    counting = "import itertools\nCOUNT = itertools.count()\ndef decide(obs):\n"
    written(tmp_path, "policy.py", f"{counting}    return next(COUNT) % {times} == 0\n")
    inlined("runner=python:policy.py:decide default-pipeline= log=all.log", source)
    count = len(list(read_log(str(tmp_path / "all.log"))))
    written(tmp_path, "looking.py", POLICY.replace("TIMES", str(times)))
    source.write_text("// -----\n".join([text] * count))
    options = "runner=python:looking.py:decide default-pipeline="
    pipeline = f"--pass-pipeline=builtin.module(advised-inline{{{options}}})"
    flags = ("--split-input-file", "--mlir-print-ir-after-failure")
    done = run(MLIR_OPT, f"--load-pass-plugin={mlir_plugin()}", source, pipeline, *flags, cwd=tmp_path)
    seen = [json.loads(line) for line in done.out.decode().splitlines() if line[0] == "{"]
    dumps = DUMP.findall(done.err)
    assert len(seen) == len(dumps) == count > 4
    first = parsed(text)
    graph = graph_of(functions_of(first))
    for values, dump in zip(seen, dumps, strict=True):
        module = parsed(dump)
        functions = functions_of(module)
        calls = calls_between(functions, values.pop("caller"), values.pop("callee"))
        counts = [counted(functions, graph, call) for call in calls]
        seen_here = {name: values[name] for name in FEATURE_NAMES}
        closest = min(counts, key=lambda each: len(each.items() ^ seen_here.items()))
        assert seen_here == closest


def test_a_policy_on_the_blocks_of_the_caller(tmp_path: Path) -> None:
    """Three calls of a function with an `scf.if`: the caller has more blocks after the first one."""
    source = written(tmp_path, "in.mlir", NESTED)
    written(tmp_path, "policy.py", "def decide(obs):\n    return obs['caller_blocks'] < 2\n")
    made = inlined("runner=python:policy.py:decide default-pipeline=", source)
    flag = "--pass-pipeline=builtin.module(advised-inline{default-pipeline=none})"
    hosted = passpilot("mlir-opt", source, flag, "--inline=python:policy.py:decide", cwd=tmp_path)
    assert len(CALL.findall(made)) == len(CALL.findall(hosted.out.decode())) == 5


MENTIONED: Final = """\
llvm.func @kept(%x: i64) -> i64 attributes {sym_visibility = "private"} {
  llvm.return %x : i64
}
llvm.func @dropped(%x: i64) -> i64 attributes {sym_visibility = "private"} {
  llvm.return %x : i64
}
llvm.func @main(%x: i64) -> i64 {
  %0 = llvm.call @kept(%x) : (i64) -> i64
  %1 = llvm.call @dropped(%0) : (i64) -> i64
  llvm.return %1 : i64
}
"""

ADDRESS: Final = "{\n  %0 = llvm.mlir.addressof @kept : !llvm.ptr\n  llvm.return %0 : !llvm.ptr\n}"


@pytest.mark.parametrize(
    "mention",
    ['"t.use"() {f = @kept} : () -> ()', f"llvm.mlir.global internal @table() : !llvm.ptr {ADDRESS}"],
)
def test_a_function_that_something_else_mentions_is_not_private(mention: str, tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", f"{MENTIONED}{mention}\n")
    unregistered = "--allow-unregistered-dialect"
    inlined("runner=const:0 default-pipeline= log=stock.log", source, unregistered)
    flag = "--pass-pipeline=builtin.module(advised-inline{default-pipeline=none})"
    advised = ("--inline=const:0", "--log=hosted.log")
    done = passpilot("mlir-opt", source, unregistered, flag, *advised, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    for log in ("stock.log", "hosted.log"):
        private = [bool(each.tensors["callee_is_private"][0]) for each in read_log(str(tmp_path / log))]
        assert private == [False, True]


@pytest.mark.parametrize("name", ["jax_ode_and_linalg", "scipy_bfgs_rosenbrock"])
def test_mixed_logs_of_real_programs_replay(name: str, tmp_path: Path) -> None:
    source = written(tmp_path, "in.mlir", unpacked(name, tmp_path).text)
    written(tmp_path, "policy.py", "def decide(obs):\n    return obs['caller_blocks'] % 4 != 2\n")
    inlined("runner=python:policy.py:decide default-pipeline= log=stock.log", source)
    advice = {int(each.tensors["inlining_decision"][0]) for each in read_log(str(tmp_path / "stock.log"))}
    assert advice == {0, 1}
    flag = "--pass-pipeline=builtin.module(advised-inline{default-pipeline=none})"
    advised = ("--inline=replay:stock.log", "--log=hosted.log")
    done = passpilot("mlir-opt", source, flag, *advised, "-o", "out.mlir", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    inlined("runner=replay:hosted.log default-pipeline=", source)
