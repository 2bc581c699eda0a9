# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mutations do not find: files that are none or have no end, depth, and what takes too long."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from passpilot import Module, optimize
from passpilot.cli.main import main
from passpilot.features.log.reader import read_log
from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import read_regular, read_secret
from passpilot.plugin.isolated import run_isolated
from passpilot.plugin.json_and_toml import parse_toml, read_json, read_toml
from passpilot.plugin.load import load_file
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.runners.foreign.mlbridge_grpc import compiled_service
from passpilot.runners.policy.bundle import read_bundle
from passpilot.runners.remote.auth import read_token
from passpilot.runners.spec import make_runner
from passpilot.training.corpus.compile_commands import read_commands
from passpilot.training.corpus.embedded import draft_objects, draft_params
from passpilot.training.corpus.from_bitcode import draft_bitcode
from passpilot.training.corpus.layout import Corpus
from passpilot.training.data.shards import DecisionShards
from passpilot.training.evaluation.unwind_check import _ElfTable
from passpilot.training.learning.checkpoint import Checkpoint
from passpilot.training.report.inputs import Report
from passpilot.training.tuning.decision_file import read_decisions
from tests.command import OPT, run
from tests.fuzz.readers import INLINE, limit_memory, written

MODULE: Final = b"define void @f() { ret void }\n"
READERS: Final[dict[str, Callable[[str], object]]] = {
    "decisions": read_decisions,
    "log": read_log,
    "JSON": read_json,
    "TOML": read_toml,
    "policy": lambda path: read_bundle(path, path),
    "python": load_file,
    "aot": lambda path: make_runner(f"aot:{path}", INLINE),
    "onnx": lambda path: make_runner(f"onnx:{path}", INLINE),
    "token": lambda path: read_token(f"@{path}", "x"),
    "commands": read_commands,
    "parameters": lambda path: draft_params(path, "/none"),
    "corpus": Corpus.read,
    "checkpoint": lambda path: Checkpoint.read(path, "key"),
    "report": lambda path: Report(1).add(path),
    "shard": DecisionShards,
    "proto": compiled_service,
    "unwind table": _ElfTable,
}
KINDS: Final[dict[str, Callable[[str], object]]] = {
    "FIFO": os.mkfifo,
    "device": lambda path: os.symlink("/dev/zero", path),
    "circle": lambda path: os.symlink(path, path),
    "sparse": lambda path: os.truncate(written(b"", Path(path).parent, "file"), 100 << 30),
    "folder": os.mkdir,
}


def refused(path: str) -> list[str]:
    """The readers that refuse what is at a path, in a process whose memory is bounded."""
    limit_memory()
    found = []
    for name, read in READERS.items():
        try:
            read(path)
        except Error:
            found.append(name)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_reader_waits_for_or_swells_by_what_is_no_input(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    KINDS[kind](path)
    assert run_isolated("readers", partial(refused, path), 60) == list(READERS)


def test_a_file_that_grows_is_read_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 1000)
    with open(tmp_path / "f", "ab") as file:
        grown = read_regular(tmp_path / "f")
        file.write(b"y")
    assert grown == b"x" * 1000
    with pytest.raises(OSError, match="File too large"):
        read_regular(tmp_path / "f", most=999)


def test_a_token_comes_from_a_pipe_too() -> None:
    reader, writer = os.pipe()

    def write() -> None:
        os.write(writer, b"secret\n")
        os.close(writer)

    thread = threading.Timer(0.2, write)
    thread.start()
    assert read_token(f"@/dev/fd/{reader}", "x") == "secret"
    thread.join()
    os.close(reader)
    with pytest.raises(OSError, match="File too large"):
        read_secret("/dev/zero")


MANY: Final = "a." * 65
DEEP: Final = (
    f"{MANY}b = 1",
    f"[{MANY}b]",
    "x = {" + "a . " * 65 + "b = 1}",
    '"a b".' * 65 + "c = 1",
    "'.'\t.\t" * 65 + "c = 1",
    "a." * 200_000 + "b = 1",
    f'x = """\n\\"""\n"""\n{MANY}b = 1',
)
FLAT: Final = (
    f'x = "{MANY}"',
    f"x = '{MANY}'",
    f"x = 1 # {MANY}",
    f'x = """\n{MANY}\\""""',
    f"x = '''\"{MANY}'''",
    "a." * 62 + "b = 1",
)


@pytest.mark.parametrize("text", DEEP, ids=range(len(DEEP)))
def test_keys_of_many_parts_are_refused_at_once(text: str) -> None:
    """Python's reader takes minutes for 100 kB of one key."""
    with pytest.raises(InputError, match="nesting of more than 64 levels"):
        parse_toml(text, "x")


@pytest.mark.parametrize("text", FLAT, ids=range(len(FLAT)))
def test_dots_elsewhere_are_no_keys(text: str) -> None:
    assert parse_toml(text, "x")


def test_strings_without_an_end_take_no_time() -> None:
    for text in ('"""\n\\' * 100_000, '"' + '\\"' * 100_000, "'''\n" * 100_001, '"""' + "\\" * 100_001):
        with pytest.raises(InputError, match="expected TOML"):
            parse_toml(f"a = 1\n{text}", "x")


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A folder of 1,500 levels, a file at the top, and links in circles."""
    folder = str(tmp_path_factory.mktemp("deep"))
    os.symlink(folder, f"{folder}/again")
    for suffix in ("log", "o", "bc"):
        Path(folder, f"x.{suffix}").write_bytes(b"no")
        os.symlink("loop", f"{folder}/loop.{suffix}")
    path = folder
    for _ in range(1500):
        path += "/a"
        os.mkdir(path)
    yield folder
    subprocess.run(["rm", "-r", folder], check=True)  # shutil.rmtree calls itself at every level


def test_deep_folders_are_searched(deep: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "show", deep]) == 1
    assert main(["report", deep, "-o", f"{deep}/r.html"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": expected")[0] for line in lines] == [
        f"passpilot: error: log {deep}/x.log at byte 2"
    ] * 2
    assert len(draft_objects(deep).problems) == 1
    assert [unit.name for unit in draft_bitcode(deep, None).units] == ["x"]


@pytest.mark.parametrize("level", ["function", "module", "cgscc", "loop"])
def test_pipelines_have_few_levels(level: str, tmp_path: Path) -> None:
    """LLVM's parser calls itself for each level: a decision file ended the compiler by a signal."""
    passes = {"function": "gvn", "module": "mergefunc", "cgscc": "inline", "loop": "licm"}
    pipeline = f"{level}(" * 100_000 + passes[level] + ")" * 100_000
    (tmp_path / "d").write_text(f"passpilot decisions 1\nunit a.ll\npipeline {pipeline}\n")
    with pytest.raises(InputError, match=r'd:3: expected .*, got "more than 64 levels of passes"'):
        read_decisions(str(tmp_path / "d"))
    with pytest.raises(Error, match="more than 64 levels of passes"):
        optimize(Module(MODULE), pipeline)
    few = f"{level}(" * 60 + passes[level] + ")" * 60
    if level != "loop":
        optimize(Module(MODULE), few)


def test_stock_tools_show_a_wrong_pipeline_with_escapes(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_bytes(MODULE)
    (tmp_path / "d").write_bytes(
        b"passpilot decisions 1\nunit \x1b[2J/a.ll\npipeline function(gvn<\x1b]0;x\xe2\x80\xae>)\n"
    )
    plugin = (f"-load-pass-plugin={llvm_plugin()}", "-passpilot-decisions=d")
    done = run(OPT, *plugin, "-passes=default<O2>", "a.ll", "-o", "out", cwd=tmp_path)
    assert done.code == 1
    assert "expected a pipeline, got 'function(gvn<\\x1b]0;x\\u202e>)'" in done.err
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err
