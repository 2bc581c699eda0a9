# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of runner at `mlir-inline`, logs, and what becomes of runners that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from passpilot.cli.aot import main as aot
from passpilot.features.log.reader import read_log
from passpilot.features.mlir.inline import FEATURES
from passpilot.passes.mlir.api import run_pipeline
from passpilot.passes.mlir.inline import MLIR_INLINE
from passpilot.plugin.errors import AdviceError, Error, PasspilotWarning, PeerError, PolicyError
from passpilot.runners.conformance import check_runner
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike
from tests.passes.mlir.passes import parsed
from tests.passes.mlir.programs import Program
from tests.runners.aot.models import mlp
from tests.runners.serving import grpc_serving, serving

BOTH = pytest.mark.parametrize("engine", ["bottom-up", "mark-and-run"])

TEXT = Program(37).text()

SOURCE = """\
def decide(obs):
    return obs["callee_operations"].item() % 2 == 0


def dies(obs):
    import os

    os._exit(3)
"""

MAP = "x:callee_operations,caller_operations,arguments"


def inlined(runner: RunnerLike, engine: str = "bottom-up", **keywords: Any) -> str:
    """The module after the inlining that a runner advises."""
    module = parsed(TEXT)
    with MLIR_INLINE.advisor(runner, timeout=60, **keywords) as advisor:
        run_pipeline(module, f"builtin.module(advised-inline{{engine={engine}}})", [advisor])
        assert advisor.stats.decisions > 2
    assert module.operation.verify()
    return str(module)


def decide(obs: Observation) -> bool:
    """The policy of `SOURCE`."""
    return bool(obs["callee_operations"].item() % 2 == 0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The policy in a file."""
    path = tmp_path / "policy.py"
    path.write_text(SOURCE)
    return path


@BOTH
def test_policies_everywhere_agree(engine: str, file: Path, tmp_path: Path) -> None:
    expected = inlined(decide, engine)
    assert expected not in (inlined("const:0", engine), inlined("const:1", engine))
    assert inlined(f"python:{file}:decide", engine) == expected
    with serving.served(f"python:{file}:decide", str(tmp_path / "ch"), "--point", "mlir-inline"):
        assert inlined(f"pipe:{tmp_path}/ch", engine) == expected
    with grpc_serving.served(f"python:{file}:decide", "--point", "mlir-inline") as (_, target):
        assert inlined(f"grpc:{target}", engine) == expected


def test_models_agree(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(mlp((3, 8, 1)), str(path))
    assert aot([str(path), "-o", f"{tmp_path}/m.so"]) == 0
    options = f"?threshold=0&{'map=' + MAP}"
    assert inlined(f"onnx:{path}{options}") == inlined(f"aot:{tmp_path}/m.so{options}")


def test_random_and_default() -> None:
    assert inlined("random:1") == inlined("random:1")
    assert len({inlined(f"random:{seed}") for seed in range(4)}) > 1
    native = parsed(TEXT)
    run_pipeline(native, "builtin.module(advised-inline)")
    defaulted = parsed(TEXT)
    with MLIR_INLINE.advisor("default") as advisor:
        run_pipeline(defaulted, "builtin.module(advised-inline)", [advisor])
    assert str(defaulted) == str(native)


@pytest.mark.parametrize("spec", ["random:3", "const:1", "default"])
def test_runners_keep_the_contract(spec: str) -> None:
    check_runner(spec, "mlir-inline")


@BOTH
def test_log_and_replay(engine: str, tmp_path: Path) -> None:
    log = tmp_path / "decisions.log"
    made = inlined("random:5", engine, log=str(log))
    arrays = read_log(log).to_arrays()
    assert set(arrays) > {row.spec.name for row in FEATURES}
    assert set(arrays["inlining_decision"].reshape(-1).tolist()) == {0, 1}
    assert arrays["callee_operations"].min() > 0, "values that nobody but the log reads"
    assert inlined(f"replay:{log}", engine) == made
    with pytest.raises(AdviceError, match="compare the input, the pipeline, and the versions"):
        run_other_program(f"replay:{log}", engine)


def run_other_program(runner: str, engine: str) -> None:
    """Ask a runner about another module."""
    with MLIR_INLINE.advisor(runner) as advisor:
        other = parsed(Program(17).text())
        run_pipeline(other, f"builtin.module(advised-inline{{engine={engine}}})", [advisor])


@BOTH
@pytest.mark.parametrize("answer", [2, None, float("nan"), 0.5, "yes"])
def test_wrong_answers(answer: object, engine: str) -> None:
    told = r"mlir-inline advisor at decision 0 \(\w+ -> \w+, -:\d+:\d+\): expected .* got"
    with pytest.raises(AdviceError, match=told):
        inlined(lambda _: answer, engine)


@BOTH
def test_exceptions_tell_where_the_call_is(engine: str) -> None:
    def raises(obs: Observation) -> bool:
        return bool(1 / (obs["arguments"].item() - 3))

    told = r"mlir-inline advisor at decision 0 \(\w+ -> \w+, -:\d+:\d+\): ZeroDivisionError"
    with pytest.raises(PolicyError, match=told):
        inlined(raises, engine)
    with pytest.warns(PasspilotWarning, match="fell back to the default"):
        made = inlined(raises, engine, on_error="default")
    assert made == inlined("const:1", engine)


@pytest.mark.parametrize("spec", ["pipe:{}/nobody", "grpc:127.0.0.1:9"])
def test_absent_peers(spec: str, tmp_path: Path) -> None:
    with pytest.raises(PeerError):
        MLIR_INLINE.advisor(spec.format(tmp_path), timeout=0.2)


@BOTH
def test_a_peer_that_dies(engine: str, file: Path, tmp_path: Path) -> None:
    with (
        serving.served(f"python:{file}:dies", str(tmp_path / "ch"), "--point", "mlir-inline"),
        pytest.raises(Error, match=r"at decision 0 \(\w+ -> \w+, -:\d+:\d+\)"),
    ):
        inlined(f"pipe:{tmp_path}/ch", engine)
