# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that write source: the launcher's tables, and the modules of messages."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from passpilot.cli.cc.build_process import SHELLS, TOOLS
from passpilot.cli.cc.clang_arguments import COMPILED, COMPILERS, FOR_PARTS, NO_CODE, NO_LINK, WITH_VALUE
from passpilot.cli.options_table import FILES, options_of
from passpilot.features.catalogue import HOOKED
from passpilot.runners.spec import BUILT_IN
from tools import proto

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The header for LLVM 99."""
    path = tmp_path_factory.mktemp("tables") / "tables.h"
    subprocess.run([sys.executable, ROOT / "tools/launcher_tables.py", "99", path], check=True, cwd="/")
    return path.read_text()


def test_every_option_with_a_value_has_a_row(tables: str) -> None:
    rows = tables.partition("kOptions[] = {\n")[2].partition("\n};")[0].splitlines()
    options = [each for each in options_of("cc") if each.kind != "flag"]
    assert len(rows) == len(options)
    for row, each in zip(rows, options, strict=True):
        assert row.startswith(f'  {{"{each.name}", "{each.variable}", Kind::')
        choices = "99" if each.name == "llvm" else "|".join(each.choices)  # the launcher is of one LLVM
        assert row.endswith(f'"{choices}", {"true" if each.several else "false"}}},')
        kind = row.split("Kind::")[1].partition(",")[0]
        assert (kind == "runner") == (each.name in HOOKED)
        assert (kind == "folder") == (each.name == "log")
        if each.kind in ("file", "policy", "choice", "seconds", "number"):
            assert kind == each.kind or each.name in (*HOOKED, "log")


def test_lists_of_words(tables: str) -> None:
    def words(name: str) -> list[str]:
        text = tables.partition(f"*{name}[] = {{")[2].partition("};")[0]
        return [each.strip('"') for each in text.split(", ")]

    assert words("kFlags") == ["help", *(each.name for each in options_of("cc") if each.kind == "flag")]
    assert words("kFlagVariables") == [each.variable for each in options_of("cc") if each.name == "stats"]
    assert words("kWithValue") == sorted(WITH_VALUE)
    assert words("kNoCode") == sorted(NO_CODE)
    assert words("kNoLink") == sorted(NO_LINK)
    assert words("kForParts") == list(FOR_PARTS)
    assert words("kCompiled") == list(COMPILED)
    assert words("kCompilers") == list(COMPILERS)
    assert words("kFiles") == list(FILES)
    assert sorted(words("kSchemes")) == sorted(BUILT_IN)
    assert words("kPolicies") == sorted(path.parent.name for path in ROOT.glob("policies/*/policy.toml"))
    assert words("kBuildTools") == list(TOOLS)
    assert words("kShells") == list(SHELLS)
    assert {each.variable for each in options_of("cc")} < set(words("kVariables"))
    assert all(len(each) < 16 for each in (*TOOLS, *SHELLS)), "as the system has them"
    assert 'kClang = "clang-99", *kClangxx = "clang++-99";' in tables


def described() -> FileDescriptorProto:
    """A file of two messages that imports another one."""
    file = FileDescriptorProto(
        name="a/b.proto", package="passpilot.test", dependency=["x/y.proto", "z.proto"]
    )
    for name in ("First", "Second"):
        file.message_type.add(name=name).field.add(name="text", number=1, type=9, label=1, json_name="t" * 60)
    return file


def test_a_module_of_messages() -> None:
    lines = proto.module(described()).splitlines()
    assert lines[1].startswith('"""The messages of a/b.proto, made from it')
    assert lines[5:8] == ["import x.y_pb2", "import z_pb2", ""]
    assert lines[-2:] == [
        f'{name} = GetMessageClass(DESCRIPTOR.message_types_by_name["{name}"])'
        for name in ("First", "Second")
    ]
    data = [line.strip() for line in lines if line.startswith("    b")]
    assert len(data) > 2
    assert b"".join(ast.literal_eval(each) for each in data) == described().SerializeToString()


def test_an_enum_outside_of_messages_is_refused() -> None:
    file = described()
    file.enum_type.add(name="Kind")
    with pytest.raises(SystemExit, match=r"a/b\.proto: expected each enum inside a message, got Kind"):
        proto.module(file)


def test_the_tool_prints_the_only_module(tmp_path: Path) -> None:
    plain = described()
    plain.ClearField("dependency")
    (tmp_path / "set").write_bytes(FileDescriptorSet(file=[plain]).SerializeToString())
    command: list[str | Path] = [sys.executable, ROOT / "tools/proto.py", tmp_path / "set"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == proto.module(plain) + "\n"
