# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Advisors and runners that are used again, or that end badly; outputs that would share a file."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import LogError, PasspilotWarning, PeerError, PolicyError, RunnerSpecError
from passpilot.plugin.module import Module
from passpilot.runners.base import Runner
from passpilot.runners.python import Observation, PythonRunner
from passpilot.runners.spec import RunnerLike, make_runner
from tests.command import passpilot, refused

IR = """
define i32 @leaf(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @root(i32 %x) {
  %a = call i32 @leaf(i32 %x)
  %b = call i32 @leaf(i32 %a)
  ret i32 %b
}
"""


def compile_ir(advisor: InlineAdvisor, pipeline: str = "default<O2>") -> None:
    optimize(Module.read(IR.encode()), pipeline, [advisor])


@pytest.mark.parametrize("spec", ["random:1", "python"])
def test_a_runner_serves_one_advisor(spec: str) -> None:
    point = find_point("inline")
    runner: Runner = PythonRunner(lambda obs: False, point) if spec == "python" else make_runner(spec, point)  # noqa: ARG005
    InlineAdvisor(runner)
    with pytest.raises(RunnerSpecError, match="already used by another advisor"):
        InlineAdvisor(runner)


def test_each_compilation_that_asks_nothing_is_warned_of() -> None:
    advisor = InlineAdvisor("const:0")
    compile_ir(advisor)
    with pytest.warns(PasspilotWarning, match="never asked"):
        compile_ir(advisor, "default<O0>")


def test_fallbacks_are_told_per_compilation() -> None:
    failing = [True, False, False, True]

    def decide(obs: Observation) -> bool:  # noqa: ARG001
        if failing.pop(0):
            raise ValueError(f"with {len(failing)} to go")
        return False

    advisor = InlineAdvisor(decide, on_error="default")
    with pytest.warns(PasspilotWarning, match=r"1 of 2 decisions .*: ValueError: with 3 to go"):
        compile_ir(advisor)
    with pytest.warns(PasspilotWarning, match=r"1 of 2 decisions .*: ValueError: with 0 to go"):
        compile_ir(advisor)


def test_a_logged_feature_is_computed_once_and_the_policy_sees_what_the_log_has(tmp_path: Path) -> None:
    calls = []

    @feature("int64[1]")
    def counter(site: object) -> int:  # noqa: ARG001
        calls.append(1)
        return len(calls)

    seen = []

    def decide(obs: Observation) -> bool:
        seen.append(int(obs["counter"].item()))
        return False

    try:
        compile_ir(InlineAdvisor(decide, log=str(tmp_path / "log")))
        logged = read_log(tmp_path / "log").to_arrays(["counter"])["counter"]
    finally:
        unregister("counter")
    assert seen == logged.ravel().tolist() == [1, 2]


@pytest.mark.parametrize("log", ["none/a.log", "/dev/full"])
def test_a_log_that_fails_leaves_the_advisor_free(log: str, tmp_path: Path) -> None:
    advisor = InlineAdvisor("const:0", log=str(tmp_path / log))
    for _ in range(2):
        with pytest.raises(
            LogError, match=r"^decision log .*: expected (a file to write|to write it), got: No s"
        ):
            compile_ir(advisor)


def test_a_log_of_a_compilation_that_failed_may_be_written_again(tmp_path: Path) -> None:
    failing, log = [True, False, False], tmp_path / "log"

    def decide(obs: Observation) -> bool:  # noqa: ARG001
        if failing.pop(0):
            raise ValueError("no luck")
        return False

    advisor = InlineAdvisor(decide, log=str(log))
    with pytest.raises(PolicyError, match="no luck"):
        compile_ir(advisor)
    assert not log.exists()
    compile_ir(advisor)
    assert len(list(read_log(log))) == 2
    with pytest.raises(LogError, match="an earlier compilation has written it; make a new advisor"):
        compile_ir(advisor)


class Never:
    def decide(self, _: Observation) -> bool:
        return False


def never(_: Observation) -> bool:
    return False


@pytest.mark.parametrize(
    ("runner", "name"), [(Never, "Never"), (Never(), "Never"), (never, "never"), ("const:0", "const:0")]
)
def test_the_report_names_the_runner(runner: RunnerLike, name: str) -> None:
    assert InlineAdvisor(runner).report().startswith(f"inline advisor {name}:\n")


def test_a_token_is_not_shown() -> None:
    runner = "grpc:127.0.0.1:9?token=s3cret"
    with InlineAdvisor(runner, on_error="default", timeout=0.1) as advisor:
        with pytest.warns(PasspilotWarning, match="2 of 2 decisions fell back") as caught:
            compile_ir(advisor)
        assert advisor.report().startswith("inline advisor grpc:127.0.0.1:9?token=...:\n")
    assert not any("s3cret" in str(each.message) for each in caught)
    with pytest.raises(PeerError) as refused:
        InlineAdvisor(runner, timeout=0.1)
    assert "s3cret" not in str(refused.value)


POLICIES = """
class Closing:
    def decide(self, obs):
        return False
    def close(self):
        raise OSError("no more")
class Leaving:
    def __init__(self):
        raise SystemExit(0)
    def decide(self, obs):
        return False
"""


@pytest.mark.parametrize(("name", "told"), [("Closing", "OSError: no more"), ("Leaving", "SystemExit: 0")])
def test_a_policy_that_ends_badly_leaves_no_output(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "in.ll").write_text(IR)
    (tmp_path / "p.py").write_text(POLICIES)
    line = refused("opt", "in.ll", "-O2", f"--inline=python:p.py:{name}", "-o", "out.bc", cwd=tmp_path)
    assert told in line
    assert "p.py:" in line


def test_close_of_a_policy_is_called_once() -> None:
    closed = []

    class Policy:
        def decide(self, obs: Observation) -> bool:  # noqa: ARG002
            return False

        def close(self) -> None:
            closed.append(1)
            raise ValueError

    runner = PythonRunner(Policy, find_point("inline"))
    with pytest.raises(PolicyError):
        runner.close()
    runner.close()
    assert closed == [1]


@pytest.mark.parametrize(
    "flags",
    [
        ("--inline=const:0", "--log=x", "-o", "x"),
        ("--inline=const:0", "--log=x", "-o", "./x"),
        ("--inline=const:0", "--log=-"),
        ("--inline=const:0", "--log=x", "-pass-remarks-output=x", "-o", "y"),
        ("--timeout=1", "-o", "y"),
        ("--on-error=default", "-o", "y"),
        ("--size-budget=2", "-o", "y"),
    ],
)
def test_flags_that_cannot_be(tmp_path: Path, flags: tuple[str, ...]) -> None:
    (tmp_path / "in.ll").write_text(IR)
    done = passpilot("opt", "in.ll", "-O2", *flags, cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("passpilot: error: opt: ")
    assert [path.name for path in tmp_path.iterdir()] == ["in.ll"]


def test_an_output_keeps_the_mode_of_the_file_it_replaces(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(IR)
    out = tmp_path / "out.bc"
    out.write_text("old")
    out.chmod(0o600)
    assert passpilot("opt", "in.ll", "-O2", "-o", "out.bc", cwd=tmp_path).code == 0
    assert out.stat().st_mode & 0o777 == 0o600


def test_the_public_names_agree() -> None:
    import passpilot as package

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in package.__all__:
            assert getattr(package, name) is not None
    assert {*package._HOMES, *package._MODULES, "__version__"} == {*package.__all__}
