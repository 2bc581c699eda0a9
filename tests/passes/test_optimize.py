# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001
"""`optimize`: pipelines, nested and concurrent compilations, LLVM's own options."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.compile import PipelineOptions, Remarks
from passpilot.plugin.errors import InputError, PolicyError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock

GENEROUS = 60.0
"""Seconds that no test comes near unless something is broken."""

Policy = Callable[[Observation], object]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stock.clang(stock.MANY_CALLS, tmp_path_factory.mktemp("optimize") / "in.bc")


def compiled(source: Path, policy: Policy | None, pipeline: str = "default<O2>") -> bytes:
    module = Module.read(source)
    optimize(module, pipeline, [InlineAdvisor(policy)] if policy else [])
    return module.bitcode()


def never(obs: Observation) -> bool:
    return False


def default(obs: Observation) -> object:
    return obs.default()


@pytest.mark.parametrize(
    "pipeline",
    [
        "",
        "function(instcombine)",
        "function(sroa,instcombine<max-iterations=2>),cgscc(inline)",
        "default<O0>",
        "default<O1>",
        "default<Os>",
        "thinlto-pre-link<O2>",
        "lto-pre-link<O2>",
    ],
)
def test_any_textual_pipeline(source: Path, pipeline: str) -> None:
    module = Module.read(source)
    optimize(module, pipeline)
    assert (module.bitcode(), module.assembly()) == stock.opt(source, pipeline)


@pytest.mark.parametrize(
    ("pipeline", "complaint"),
    [
        ("default<O7>", "O7"),
        ("no-such-pass", "unknown pass name 'no-such-pass'"),
        ("function(", r"invalid pipeline 'function\('"),
    ],
)
def test_a_wrong_pipeline_leaves_the_module_alone(source: Path, pipeline: str, complaint: str) -> None:
    module = Module.read(source)
    before = module.bitcode()
    with pytest.raises(InputError, match=complaint):
        optimize(module, pipeline)
    with pytest.raises(InputError, match=complaint):
        optimize(module, pipeline, [InlineAdvisor(default)])
    assert module.bitcode() == before
    optimize(module, "default<O2>")


def test_wrong_options_are_named(source: Path, tmp_path: Path) -> None:
    module = Module.read(source)
    with pytest.raises(InputError, match=r"-aa-pipeline.*nonsense"):
        optimize(module, "default<O2>", options=PipelineOptions(aa_pipeline="nonsense"))
    with pytest.raises(InputError, match=r"-load-pass-plugin .*none\.so"):
        optimize(module, "default<O2>", options=PipelineOptions(pass_plugins=[str(tmp_path / "none.so")]))
    with pytest.raises(InputError, match="-pass-remarks-output"):
        optimize(module, "default<O2>", remarks=Remarks(str(tmp_path / "none" / "remarks")))


def test_one_module_runs_several_pipelines(source: Path) -> None:
    module = Module.read(source)
    optimize(module, "default<O1>", [InlineAdvisor(default)])
    optimize(module, "default<Oz>", [InlineAdvisor(default)])
    again = Module.read(source)
    for level in ("O1", "Oz"):
        optimize(again, f"default<{level}>")
    assert module.bitcode() == again.bitcode()


def test_one_advisor_serves_several_compilations(source: Path) -> None:
    advisor = InlineAdvisor(default)
    made = []
    for _ in range(3):
        module = Module.read(source)
        optimize(module, "default<O2>", [advisor])
        made.append((module.bitcode(), advisor.stats.decisions))
    codes, decisions = zip(*made, strict=True)
    assert set(codes) == {compiled(source, None)}
    assert decisions == (decisions[0], 2 * decisions[0], 3 * decisions[0])


@pytest.mark.parametrize(("inner", "outer"), [(never, default), (default, never)])
def test_compiles_another_module_within_a_policy(source: Path, inner: Policy, outer: Policy) -> None:
    inside: list[bytes] = []

    def decide(obs: Observation) -> object:
        before = obs["callee_basic_block_count"].copy(), obs.site
        if len(inside) < 3:
            inside.append(compiled(source, inner))
        callee = before[1].callee.name  # type: ignore[attr-defined]
        assert callee
        assert obs["callee_basic_block_count"] == before[0]
        return outer(obs)

    assert compiled(source, decide) == compiled(source, outer)
    assert inside == [compiled(source, inner)] * 3


def test_nests_more_than_once(source: Path) -> None:
    def nested(depth: int) -> Policy:
        todo = [depth]

        def decide(obs: Observation) -> object:
            if todo.pop() if todo else 0:
                assert compiled(source, nested(depth - 1)) == compiled(source, None)
            return obs.default()

        return decide

    assert compiled(source, nested(3)) == compiled(source, None)


def test_the_module_in_work_is_refused(source: Path) -> None:
    module = Module.read(source)
    told: list[str] = []

    def decide(obs: Observation) -> object:
        if not told:
            for use in (
                partial(optimize, module, "default<O1>"),
                partial(optimize, Module.read(source), "default<O1>", [advisor]),
            ):
                with pytest.raises(InputError) as caught:
                    use()
                told.append(str(caught.value))
        return obs.default()

    advisor = InlineAdvisor(decide)
    optimize(module, "default<O2>", [advisor])
    assert told[0] == (
        f"module {source}: expected it to be free, got one that is being compiled; copy it first"
    )
    assert "inline advisor: another compilation is using it" in told[1]
    assert module.bitcode() == compiled(source, None)


def test_an_error_of_a_nested_compilation_reaches_the_outer_policy(source: Path) -> None:
    def inner(obs: Observation) -> object:
        raise ValueError("within")

    def decide(obs: Observation) -> object:
        with pytest.raises(PolicyError, match="within"):
            compiled(source, inner)
        return obs.default()

    assert compiled(source, decide) == compiled(source, None)


def test_two_threads_do_not_disturb_each_other(source: Path) -> None:
    together = threading.Barrier(2, timeout=GENEROUS)
    asked: dict[str, bool] = {}
    results: dict[str, bytes] = {}

    def start_together(policy: Policy) -> Policy:
        def decide(obs: Observation) -> object:
            if not asked.get(policy.__name__):
                asked[policy.__name__] = True
                together.wait()
            return policy(obs)

        return decide

    def compile_by(policy: Policy) -> None:
        results[policy.__name__] = compiled(source, start_together(policy))

    alone = {"never": compiled(source, never), "default": compiled(source, default)}
    threads = [threading.Thread(target=compile_by, args=(policy,)) for policy in (never, default)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GENEROUS)
    assert results == alone
    assert results["never"] != results["default"]


def test_only_one_inline_advisor(source: Path) -> None:
    with pytest.raises(InputError, match="expected one advisor of the point inline, got 2"):
        optimize(Module.read(source), "default<O2>", [InlineAdvisor(default), InlineAdvisor(never)])


OPTIONS = """
import sys
import passpilot

source, target, runner, *options = sys.argv[1:]
passpilot.llvm_options(options)
module = passpilot.Module.read(source)
advisors = [passpilot.InlineAdvisor(lambda obs: obs.default())] if runner == "echo" else []
passpilot.optimize(module, "default<O2>", advisors)
module.write(target)
"""


@pytest.mark.parametrize("runner", ["echo", "none"])
@pytest.mark.parametrize("options", [["-inline-threshold=2000"], ["-mcpu=znver4", "-inline-threshold", "0"]])
def test_options_of_llvm(source: Path, tmp_path: Path, runner: str, options: list[str]) -> None:
    target = tmp_path / "out.bc"
    subprocess.run([sys.executable, "-c", OPTIONS, source, target, runner, *options], check=True)
    plain, _ = stock.opt(source, "default<O2>", *options)
    assert target.read_bytes() == plain
    assert plain != stock.opt(source, "default<O2>")[0]


def test_a_wrong_option_of_llvm(source: Path, tmp_path: Path) -> None:
    files = [str(source), str(tmp_path / "out.bc")]
    command = [sys.executable, "-c", OPTIONS, *files, "none", "-inline-treshold=3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("passpilot.errors.InputError: LLVM option: Unknown command line argument")
    assert "-inline-treshold=3" in last
    assert not (tmp_path / "out.bc").exists()
