# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-inline` has the same options in stock mlir-opt and in `passpilot mlir-opt`."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.mlir.api import run_pipeline
from passpilot.passes.mlir.inline import AdvisedInline
from passpilot.plugin.errors import Error
from tests.passes.mlir.passes import parsed
from tests.plugin.native.mlir.tools import CALL, CALLS, inlined, refused, stock, written

ACCEPTED: Final = {
    "": 0,
    "runner=": 0,
    "runner=const:0": 4,
    "runner=const:0 engine=bottom-up": 4,
    "runner=const:1 engine=mark-and-run": 0,
    "runner=const:0 engine=mark-and-run": 4,
    "runner=const:0 default-pipeline=": 4,
    "runner=const:0 default-pipeline=none": 4,
    "runner=const:0 default-pipeline=cse,canonicalize": 4,
    "runner=const:0 default-pipeline=canonicalize{max-iterations=3 top-down=false},cse": 4,
    "runner=const:1 max-iterations=0": 0,
    "runner=const:1 max-iterations=9": 0,
    "runner=const:0 log=x.log": 4,
    "runner=const:0 log=": 4,
    "runner=default log=x.log": 0,
    "runner=python:policy.py:none": 4,
    "runner=python:policy.py:top": 0,
    "runner=python:policy.py:top engine=mark-and-run": 2,
    "runner=python:policy.py:fails on-error=default": 0,
    "runner=const:0 on-error=fail timeout=0.5": 4,
}
"""Options, and how many calls are left in the module."""

REFUSED: Final = {
    "runer=const:0": "runer",
    "engine=both": "expected bottom-up|mark-and-run for engine, got 'both'",
    "runner=const:0 on-error=maybe": "expected fail|default for on-error, got 'maybe'",
    "runner=const:0 timeout=0": "expected a timeout above 0, got 0",
    "runner=const:0 timeout=-1": "expected a timeout above 0, got -1",
    "runner=const:0 timeout=inf": "expected a timeout above 0, got inf",
    "runner=const:0 timeout=soon": "'soon'",
    "max-iterations=-1": "-1",
    "max-iterations=x": "'x'",
    "default-pipeline=nosuch": "nosuch",
    "default-pipeline=convert-func-to-llvm": "convert-func-to-llvm",
    "log=x.log": "expected a runner with log, on-error and timeout, got none; add runner=default",
    "on-error=default": "expected a runner with log, on-error and timeout, got none; add runner=default",
    "timeout=3": "expected a runner with log, on-error and timeout, got none; add runner=default",
    "runner=python:policy.py:fails": "ValueError: no",
    "runner=const:2": "runner const:2: expected const:0 or const:1, got '2'",
}
"""Options, and what both doors say of them."""

POLICY: Final = """\
def none(obs):
    return False


def top(obs):
    return obs["caller_height"] == 2


def fails(obs):
    raise ValueError("no")
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a policy beside it, in the working directory."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "policy.py", POLICY)
    return written(tmp_path, "in.mlir", CALLS)


def hosted(options: str) -> str:
    """The module after the pass in Python."""
    module = parsed(CALLS)
    run_pipeline(module, f"builtin.module(advised-inline{{{options}}})")
    return str(module)


def test_names_and_defaults(source: Path) -> None:
    done = stock("advised-inline", source, "--dump-pass-pipeline", cwd=source.parent)
    shown = re.search(r"advised-inline\{(.*)\}", done.err)
    assert shown
    theirs = dict(each.split("=", 1) for each in shown[1].split())
    ours = {each.name.replace("_", "-"): each.default for each in dataclasses.fields(AdvisedInline)}
    assert theirs.keys() == ours.keys()
    assert {**theirs, "timeout": str(float(theirs["timeout"]))} == {
        name: "" if default is None else str(default) for name, default in ours.items()
    }


@pytest.mark.filterwarnings("ignore:.*fell back to the default")
@pytest.mark.parametrize("options", ACCEPTED)
def test_both_doors_accept(options: str, source: Path) -> None:
    for made in (inlined(options, source), hosted(options)):
        assert len(CALL.findall(made)) == ACCEPTED[options]


@pytest.mark.parametrize("options", REFUSED)
def test_both_doors_refuse(options: str, source: Path) -> None:
    assert REFUSED[options] in refused(f"advised-inline{{{options}}}", source)
    with pytest.raises(Error, match=re.escape(REFUSED[options])):
        hosted(options)
