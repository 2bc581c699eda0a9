# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tutorial on a real program: a policy of one's own for Lua, from its modules to a smaller interpreter.

It is soak, and takes some minutes. The bar is processor time, which other work on the machine hardly changes.
"""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Final

import pytest

from tests.command import Done, passpilot
from tests.corpus.export import export

MOST: Final = 15 * 60
"""The seconds of processor time that all commands may take together."""

SETTINGS: Final = """\
policy = "trees"
features = ["*", "inlining_default"]

[data]
train = ["data/train"]

[weights]
base = 0.02
gain = 1.0

[trees]
rounds = 60
"""


@pytest.mark.soak
def test_a_policy_for_lua_takes_less_than_fifteen_minutes(tmp_path: Path) -> None:
    before = used()
    assert not export(tmp_path / "corpus", ["lua"], "Oz", reference="R1")

    def done(*arguments: str) -> Done:
        made = passpilot(*arguments, cwd=tmp_path, timeout=3600)
        assert made.code == 0, made.err
        return made

    done("train", "data", "--corpus=corpus", "--flips=12", "--part=train", "-o", "data")
    (tmp_path / "a.toml").write_text(SETTINGS)
    done("train", "imitate", "a.toml", "-o", "model")
    done("aot", "model/model.onnx", "-o", "model.so")
    done(
        "eval",
        "--corpus=corpus",
        f"--contender=onnx:{tmp_path}/model/model.onnx",
        "--baselines=-Oz",
        "--rounds=0",
        "-o",
        "r.json",
    )
    seconds = used() - before
    (lua,) = json.loads((tmp_path / "r.json").read_text())["programs"]
    llvm, own = lua["results"]["-Oz"], lua["results"][f"onnx:{tmp_path}/model/model.onnx"]
    assert own["output"] == "right"
    assert own["allocated"] < llvm["allocated"]
    assert seconds < MOST


def used() -> float:
    """The processor time of all children so far."""
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime
