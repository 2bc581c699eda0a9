# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SECURITY.md says of all kinds of input whether they are code or data; what reads data is fuzzed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from passpilot.runners.spec import BUILT_IN
from tests.fuzz.readers import READERS

TEXT: Final = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
ROWS: Final = re.findall(r"^\| ([^|\n]+) \| (code|data|data for LLVM) \| ([^|\n]+) \|$", TEXT, re.MULTILINE)

FUZZED: Final = {
    "decision files": "decision file|decision file in compilers|kernel",
    "policies": "policy|policy record",
    "settings": "split|imitation|evolution",
    "`onnx:`": "model",
    "corpora": "corpus_description.json|a.cmd|programs.json|passpilot.json|recording",
    "objects": "object|program|program.wasm|unwind table|archive|thin archive",
    "commands of builds": "compile commands|response file|linker parameters",
    "checkpoints": "checkpoint|network",
    "shards": "shard",
    "results": "evaluation|costs|report of an evaluation|report of a search|report of a ladder|"
    "report of costs|report of decisions|sizes of an earlier build",
    "studies": "kept by a search|cache of compilations|study",
    "decision logs": "log|log show|replay|vocabulary",
    "answers": "welcome|json|protobuf|bitstream|MLGO header|MLGO context",
    "questions": "hello|gRPC hello",
    "messages of agents": "compiler service",
    "runner specs": "runner spec",
}
"""How the rows of data begin, and their readers."""


def test_every_kind_of_data_has_readers_that_are_fuzzed() -> None:
    data = [name for name, kind, _ in ROWS if kind == "data"]
    assert [next((start for start in FUZZED if name.startswith(start)), name) for name in data] == list(
        FUZZED
    )
    assert sorted("|".join(FUZZED.values()).split("|")) == sorted(READERS)


def test_every_scheme_of_runners_is_code_or_data() -> None:
    for scheme in BUILT_IN:
        named = f"`{scheme}`" if scheme == "default" else f"`{scheme}:`"
        kinds = {kind for name, kind, _ in ROWS if named in name}
        assert kinds == ({"code"} if scheme in ("python", "aot") else {"data"}), scheme


def test_all_rows_are_read() -> None:
    table = TEXT.partition("| input | kind | what holds |")[2].partition("\n\n")[0]
    assert len(ROWS) == table.count("\n") - 1
