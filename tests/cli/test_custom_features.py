# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model carries the names and the file of the features of its author: errors say what to load."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import onnx
import pytest

from passpilot.features.columns import CUSTOM
from tests.command import passpilot, program, refused

FEATURE: Final = """\
import passpilot


@passpilot.feature("int64[1]")
def blocks_twice(site):
    return 2 * site.callee.opcode_counts.get("mul", 0)
"""
SETTINGS: Final = """\
policy = "linear"
features = ["callee_users", "blocks_twice"]
[data]
train = ["data/train"]
"""
C: Final = "static int f(int x) { return x * x; }\nint g(int x) { return f(x) + f(x + 1); }\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that reads a feature of `own.py`, and the library that aot makes of it."""
    folder = tmp_path_factory.mktemp("custom")
    (folder / "lib").mkdir()
    for name, text in (("lib/own.py", FEATURE), ("s.toml", SETTINGS), ("in.ll", program(2)), ("g.c", C)):
        (folder / name).write_text(text)
    load = "--load=lib/own.py"
    for words in (
        ("train", "data", "in.ll", "--teacher=const:1", "--teacher=const:0", load, "-o", "data"),
        ("train", "imitate", "s.toml", load, "-o", "model"),
    ):
        done = passpilot(*words, cwd=folder)
        assert done.code == 0, done.err
    done = passpilot("aot", "model/model.onnx", "-o", "model/policy.so", cwd=folder)
    assert done.code == 0
    assert "model/policy.so: a compiler needs --load=model/own.py for blocks_twice\n" in done.err
    return folder


COMMANDS: Final = {
    "opt": ("opt", "in.ll", "-O2", "-o", "out.bc"),
    "cc": ("cc", "-O2", "-c", "g.c", "-o", "out.o"),
    "cc with two files": ("cc", "-O2", "-c", "g.c", "h.c"),
    "cc with LTO": ("cc", "-O2", "-flto", "-c", "g.c", "-o", "out.o"),
}


@pytest.mark.parametrize("model", ["onnx:model/model.onnx", "aot:model/policy.so"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_error_says_what_to_load_which_then_works(command: str, model: str, here: Path) -> None:
    (here / "h.c").write_text(C)
    words = (*COMMANDS[command], f"--inline={model}")
    done = passpilot(*words, cwd=here)
    assert done.code == 1
    expected = r"got 'blocks_twice'; the model's feature is registered by (\S*model/own\.py): add --load=\1"
    assert len(re.findall(expected, done.err)) == 1 + ("two files" in command)
    assert passpilot(*words, "--load=model/own.py", cwd=here).code == 0


def test_nothing_is_loaded_of_itself(here: Path) -> None:
    """Models are data: the file beside one is never run unasked."""
    ran = here / "ran"
    own = here / "model/own.py"
    text = own.read_text()
    own.write_text(f"open({str(ran)!r}, 'w')\n{text}")
    refused("opt", "in.ll", "-O2", "--inline=onnx:model/model.onnx", "-o", "out.bc", cwd=here)
    own.write_text(text)
    assert not ran.exists()


def test_a_model_names_no_file_elsewhere(here: Path) -> None:
    model = onnx.load(here / "model/model.onnx")
    (entry,) = (entry for entry in model.metadata_props if entry.key == CUSTOM)
    entry.value = "blocks_twice=../lib/own.py"
    onnx.save(model, here / "model/other.onnx")
    told = refused("opt", "in.ll", "-O2", "--inline=onnx:model/other.onnx", "-o", "out.bc", cwd=here)
    assert told.endswith(": add --load=model/own.py\n")
    done = passpilot("aot", "model/other.onnx", "-o", "model/other.so", cwd=here)
    assert "a compiler needs --load=model/own.py for blocks_twice\n" in done.err


def test_learning_from_a_feature_that_nobody_registers_names_load(here: Path) -> None:
    told = refused("train", "imitate", "s.toml", "-o", "other", cwd=here)
    assert "blocks_twice" in told
    assert "--load=FILE.py" in told
