# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`compile_commands.json`: what an entry says, which compiler it means, and how its units are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.corpus.builder import CorpusDraft
from passpilot.training.corpus.compile_commands import CompileCommand, draft_commands, read_commands
from tests.training.corpus.builds import SOURCES, run, write


def read(folder: Path, *entries: object) -> list[CompileCommand]:
    (folder / "c.json").write_text(json.dumps(entries))
    return read_commands(str(folder / "c.json"))


def test_an_entry_says_where_its_files_are(tmp_path: Path) -> None:
    made = read(
        tmp_path,
        {"directory": "/d", "file": "a.c", "command": "cc -DX='a b' -o x.o -c a.c -o y.o", "output": "z.o"},
        {"directory": "/d", "file": "/e/b.c", "arguments": ["cc", "-c"], "command": "'", "output": "/f/b.o"},
        {"directory": "/d", "file": "c.c", "arguments": ["cc", "-c", "c.c", "-o"]},
    )
    assert made == [
        CompileCommand("/d", ("cc", "-DX=a b", "-o", "x.o", "-c", "a.c", "-o", "y.o"), "/d/a.c", "/d/y.o"),
        CompileCommand("/d", ("cc", "-c"), "/e/b.c", "/f/b.o"),
        CompileCommand("/d", ("cc", "-c", "c.c", "-o"), "/d/c.c", ""),
    ]


@pytest.mark.parametrize(
    ("words", "arguments", "is_cxx", "is_ours"),
    [
        ("cc -c a.c", "-c a.c", False, False),
        ("/usr/bin/clang++-22 -c", "-c", True, False),
        ("ccache x86_64-linux-gnu-g++-12.2 -c g++", "--target=x86_64-linux-gnu -c g++", True, False),
        ("/opt/bin/arm-none-eabi-gcc -c a.c", "--target=arm-none-eabi -c a.c", False, False),
        ("arm-none-eabi-clang-22 -target thumbv6m -c", "-target thumbv6m -c", False, False),
        ("my-clang -c", "-c", False, False),
        ("gcc-12 -c", "-c", False, False),
        ("distcc ccache c++ -c", "-c", True, False),
        ("passpilot cc --log=x -c", "--log=x -c", False, True),
        ("ccache /opt/passpilot c++ -c", "-c", True, True),
        ("a b passpilot -c", "b passpilot -c", False, False),
        ("mycompiler -c a.c", "-c a.c", False, False),
        ("cc a b clang++", "a b clang++", False, False),
    ],
)
def test_the_compiler_of_a_command(words: str, arguments: str, *, is_cxx: bool, is_ours: bool) -> None:
    made = CompileCommand("/", tuple(words.split()), "", "")
    assert (" ".join(made.arguments), made.is_cxx, made.is_ours) == (arguments, is_cxx, is_ours)


def test_a_cross_compilers_entry_has_its_target_and_all_its_features(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int twice(int x) { return 2 * x; }\n")
    words = ["riscv32-unknown-elf-gcc", "-march=rv32imac", "-Oz", "-c", "a.c"]
    made = draft(tmp_path, {"directory": str(tmp_path), "file": "a.c", "arguments": words})
    (unit,) = made.units
    (tmp_path / "a.bc").write_bytes(unit.bitcode())
    module = str(Module.read(tmp_path / "a.bc"))
    assert 'target triple = "riscv32-unknown-unknown-elf"' in module
    assert ",-v," in module
    assert ",-target-feature" not in module


def draft(folder: Path, *entries: object, options: tuple[str, ...] = ()) -> CorpusDraft:
    (folder / "c.json").write_text(json.dumps(entries))
    (folder / "scratch").mkdir()
    return draft_commands(str(folder / "c.json"), folder / "scratch", 1, options)


def test_units_are_named_by_objects_below_the_common_folder(tmp_path: Path) -> None:
    write(tmp_path / "s", SOURCES)
    there, build = str(tmp_path / "s"), str(tmp_path / "b")
    (tmp_path / "b").mkdir()
    made = draft(
        tmp_path,
        {"directory": there, "file": "add.c", "command": "cc -O2 -c add.c -o add.o"},
        {"directory": build, "file": "../s/main.c", "command": f"cc -c {there}/main.c ../s/twice.c"},
        {"directory": there, "file": "add.c", "command": "cc -Oz -c add.c -o add.o"},
    )
    assert [unit.name for unit in made.units] == ["s/add.o", "s/main.c", "s/main.c.2"]
    assert made.problems == []
    first, _, last = made.units
    assert "-Oz" in first.arguments(None)  # type: ignore[arg-type]
    assert first.origin.directory == there
    assert first.origin.output == f"{there}/add.o"
    assert first.origin.command == ("cc", "-Oz", "-c", "add.c", "-o", "add.o")
    assert last.bitcode() != made.units[1].bitcode()
    assert last.bitcode().startswith(b"BC")
    assert (last.origin.language, last.origin.output, last.origin.sha256) == ("c", "", "")


def test_our_options_are_not_clangs(tmp_path: Path) -> None:
    """They may have values; another compiler's arguments stay as they are."""
    write(tmp_path, SOURCES)
    entry = {"directory": str(tmp_path), "file": "add.c"}
    command = "--log=x --inline -Oz -c add.c -o add.o"
    options = ("log", "inline")
    made = draft(tmp_path, {**entry, "command": f"passpilot cc {command}"}, options=options)
    assert [unit.name for unit in made.units] == ["add.o"]
    (tmp_path / "c.json").write_text(json.dumps([{**entry, "command": f"cc {command}"}]))
    other = draft_commands(str(tmp_path / "c.json"), tmp_path / "scratch", 1, options)
    assert other.units == []
    (problem,) = other.problems
    assert problem.startswith("add.o: clang: expected it to succeed, got ")
    assert "--log=x" in problem


def test_an_object_with_bitcode_is_taken_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, SOURCES)
    run("clang-22", "-O1", "-Xclang", "-fembed-bitcode=all", "-c", "add.c", "-o", "add.o", cwd=tmp_path)
    run("clang-22", "-O1", "-c", "twice.c", "-o", "twice.o", cwd=tmp_path)
    made = draft(
        tmp_path,
        *(
            {"directory": str(tmp_path), "file": f"{name}.c", "command": f"cc -Oz -c {name}.c -o {name}.o"}
            for name in ("add", "twice")
        ),
    )
    levels = [[each for each in unit.arguments(None) if each.startswith("-O")] for unit in made.units]  # type: ignore[arg-type]
    assert levels == [["-O1"], ["-Oz"]]
    assert [bool(unit.origin.code_sha256) for unit in made.units] == [True, False]


def test_without_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for compiler, name in (("cc", "clang-22"), ("g++", "clang++-22")):
        (tmp_path / compiler).mkdir()
        entry = {"directory": "/", "file": "a.c", "command": f"{compiler} -c a.c"}
        with pytest.raises(InputError) as caught:
            draft(tmp_path / compiler, entry)
        assert str(caught.value) == (f"corpus: {name} is not on the PATH; sudo apt-get install clang-22")
