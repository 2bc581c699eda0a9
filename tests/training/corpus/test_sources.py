# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `corpus extract` takes beside recordings, compared with mlgo-utils, and what is wrong with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from passpilot.training.corpus.layout import Corpus
from tests.command import passpilot, refused
from tests.corpus.build import bindir
from tests.training.corpus.builds import SOURCES, run, write

EMBED = ("-Oz", "-Xclang", "-fembed-bitcode=all")
PLAIN = ("-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c")
EXTRACT = ("corpus", "extract", "-o", "new-corpus")
MLGO = "from mlgo.corpus.{0} import parse_args_and_run; parse_args_and_run()"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the sources of three units."""
    return write(tmp_path, SOURCES)


def clang(here: Path, *arguments: str | Path) -> None:
    run("clang-22", *arguments, cwd=here)


def extract(here: Path, *arguments: str | Path, warnings: int = 0) -> Corpus:
    """The corpus that the command makes."""
    done = passpilot("corpus", "extract", *arguments, "-o", "corpus", cwd=here)
    assert done.code == 0, done.err
    assert done.err.count("warning: ") == warnings, done.err
    return Corpus.read(here / "corpus")


def warned(here: Path, *arguments: str | Path) -> str:
    """The warnings, or the error, of the command."""
    return passpilot("corpus", "extract", *arguments, "-o", "corpus", cwd=here).err


def mlgo(tool: str, *arguments: str | Path, cwd: Path) -> None:
    """Run a tool of mlgo-utils."""
    run(sys.executable, "-c", MLGO.format(tool), *arguments, cwd=cwd)


def contents(folder: Path) -> dict[str, bytes | dict[str, object]]:
    """The files of MLGO's layout."""
    files: dict[str, bytes | dict[str, object]] = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.suffix in (".bc", ".cmd")
    }
    description: Mapping[str, object] = json.loads((folder / "corpus_description.json").read_text())
    files["description"] = {
        name: sorted(value) if isinstance(value, list) else value for name, value in description.items()
    }
    return files


def objects(here: Path) -> None:
    """Objects with embedded bitcode, below `build`."""
    (here / "build" / "lib").mkdir(parents=True)
    clang(here, *EMBED, "-c", "main.c", "-o", "build/main.o")
    for name in ("twice", "add"):
        clang(here, *EMBED, "-c", f"{name}.c", "-o", f"build/lib/{name}.o")


def test_a_folder_of_objects_as_mlgo_utils(here: Path) -> None:
    objects(here)
    corpus = extract(here, "--objects=build")
    assert list(corpus.units) == ["lib/add.o", "lib/twice.o", "main.o"]
    assert corpus.units["main.o"].level == "Oz"
    mlgo(
        "extract_ir",
        "--input=build",
        "--input_type=directory",
        "--obj_base_dir=build",
        "--output_dir=theirs",
        cwd=here,
    )
    assert contents(here / "corpus") == contents(here / "theirs")
    assert passpilot("corpus", "verify", "corpus", cwd=here).out == (
        b"corpus: 3 units: 3 make the code of the build, 0 compile, 0 broken\n"
    )
    assert passpilot("corpus", "verify", "theirs", cwd=here).out == (
        b"theirs: 3 units: 0 make the code of the build, 3 compile, 0 broken\n"
    )


def test_a_filter_as_mlgo_utils(here: Path) -> None:
    objects(here)
    clang(here, "-O2", *EMBED[1:], "-c", "main.c", "-o", "build/main.o")
    assert list(extract(here, "--objects=build", "--filter=^-Oz$").units) == ["lib/add.o", "lib/twice.o"]
    flags = ("--input=build", "--input_type=directory", "--obj_base_dir=build", "--cmd_filter=^-Oz$")
    mlgo("extract_ir", *flags, "--output_dir=theirs", cwd=here)
    ours, theirs = contents(here / "corpus"), contents(here / "theirs")
    assert ours["description"] == theirs["description"]


def test_objects_in_a_linkers_parameters(here: Path) -> None:
    objects(here)
    run(bindir() / "llvm-ar", "rc", "build/libboth.a", "build/lib/twice.o", "build/lib/add.o", cwd=here)
    (here / "params").write_text("-o\nprogram.o\n--start-lib\nbuild/main.o\n'build/libboth.a'\n-lm\nx.so\n")
    corpus = extract(here, "--params=params")
    assert list(corpus.units) == ["build/main.o", "build/libboth.a/twice.o", "build/libboth.a/add.o"]
    (here / "other").mkdir()
    done = passpilot("corpus", "extract", "--params=../params", "--base=..", "-o", "new", cwd=here / "other")
    assert done.code == 0
    assert "parameters, got: No such file" in refused(
        "corpus", "extract", "--params=none", "-o", "n", cwd=here
    )
    (here / "params").write_text("'build")
    assert "parameters, got: No closing quotation" in refused(
        "corpus", "extract", "--params=params", "-o", "n", cwd=here
    )


def test_objects_that_cannot_be_used(here: Path) -> None:
    objects(here)
    clang(here, "-Oz", "-c", "add.c", "-o", "build/plain.o")
    clang(here, "-Oz", "-flto", "-c", "add.c", "-o", "build/lto.o")
    clang(here, "-Oz", "-fembed-bitcode=marker", "-c", "add.c", "-o", "build/marker.o")
    clang(here, "-Oz", "-fembed-bitcode=bitcode", "-c", "add.c", "-o", "build/command.o")
    clang(here, "-r", "-nostdlib", "build/lib/add.o", "build/lib/twice.o", "-o", "build/several.o")
    whole = (here / "build/main.o").read_bytes()
    (here / "build/cut.o").write_bytes(whole[:700])
    (here / "build/text.o").write_text("text")
    place = whole.index(b"BC\xc0\xde") + 4
    (here / "build/damaged.o").write_bytes(whole[:place] + b"\xff" * 8 + whole[place + 8 :])
    (here / "build/gone.o").symlink_to("none")
    said = warned(here, "--objects=build")
    for line in (
        "command.o: expected an object with embedded arguments, got one without its arguments; compile with",
        "cut.o: expected an ELF object, got a damaged one",
        "damaged.o: expected LLVM IR or bitcode, got: ",
        "lto.o: expected an object, got bitcode, as -flto makes it; compile with",
        "marker.o: expected an object with embedded bitcode, got one without; compile with",
        "plain.o: expected an object with embedded bitcode, got one without; compile with",
        "several.o: expected an object with embedded arguments, got an object of several units; compile with",
        "text.o: expected an ELF object, got another file",
    ):
        assert f"passpilot: warning: {line}" in said
    assert said.endswith("passpilot: corpus: 3 units, 0 programs, 0 duplicates dropped, 8 left out\n")


def commands(here: Path, *entries: Mapping[str, object]) -> None:
    (here / "compile_commands.json").write_text(json.dumps(entries))


def test_compile_commands_with_embedded_bitcode_as_mlgo_utils(here: Path) -> None:
    objects(here)
    rows = {"main": "build/main.o", "twice": "build/lib/twice.o", "add": "build/lib/add.o"}
    commands(
        here,
        *(
            {"directory": str(here), "command": f"clang-22 -c {name}.c -o {place}", "file": f"{name}.c"}
            for name, place in rows.items()
        ),
    )
    corpus = extract(here, "--compile-commands=compile_commands.json")
    assert set(corpus.units) == set(rows.values())
    mlgo("extract_ir", "--input=compile_commands.json", "--input_type=json", "--output_dir=theirs", cwd=here)
    assert contents(here / "corpus") == contents(here / "theirs")


def test_compile_commands_without_objects_compile_the_sources(here: Path) -> None:
    (here / "a b.cpp").write_text("#ifndef X\n#error X\n#endif\nstruct S { S(); int x; }; S::S() : x(1) {}\n")
    (here / "wrong.c").write_text("int f(void) { return }\n")
    commands(
        here,
        {
            "directory": str(here),
            "command": "ccache /usr/bin/c++ -Os -DX='a b' -c 'a b.cpp' -o x.o",
            "file": "a b.cpp",
        },
        {
            "directory": str(here),
            "arguments": ["gcc-12", "-O2", "-c", "add.c"],
            "file": "add.c",
            "output": "o/add.o",
        },
        {"directory": str(here), "arguments": ["clang", "-c", "wrong.c", "-o", "wrong.o"], "file": "wrong.c"},
        {
            "directory": str(here),
            "arguments": ["cc", "-fno-such", "-c", "add.c", "-o", "b.o"],
            "file": "add.c",
        },
        {"directory": str(here), "arguments": ["cc", "-c", "none.c", "-o", "none.o"], "file": "none.c"},
    )
    corpus = extract(here, "--compile-commands=compile_commands.json", warnings=3)
    assert list(corpus.units) == ["x.o", "o/add.o"]
    assert {unit.level for unit in corpus.units.values()} == {"Os", "O2"}
    assert corpus.facts.origins["x.o"].language == "c++"
    assert corpus.facts.origins["x.o"].source == str(here / "a b.cpp")
    said = (here / "corpus" / "x.o.cmd").read_bytes()
    assert b"\0X=a b\0" in said


def test_compile_commands_that_are_wrong(here: Path) -> None:
    def line() -> str:
        return refused("corpus", "extract", "--compile-commands=c.json", "-o", "corpus", cwd=here)

    assert "c.json: expected a JSON file, got: No such file or directory" in line()
    for text, said in (
        ("{", "c.json: expected a JSON file, got other text"),
        ("{}", "c.json: expected a JSON array of commands, got another value"),
        ("[1]", "c.json: [0]: expected a JSON object, got 1"),
        ('[{"directory": "/", "file": "a.c"}]', "c.json: [0]: expected command or arguments, got none"),
        ('[{"command": "cc \'", "directory": "/", "file": "a.c"}]', "command: expected words as of a shell"),
        ('[{"command": "cc", "file": "a.c"}]', "c.json: [0]: expected directory, got none"),
        ("[]", "corpus: expected at least one unit, got none"),
    ):
        (here / "c.json").write_text(text)
        assert said in line()


def test_a_folder_of_bitcode_as_mlgo_utils(here: Path) -> None:
    (here / "bitcode" / "lib").mkdir(parents=True)
    for name, place, level in (
        ("main", "main.bc", "-Oz"),
        ("add", "lib/add.bc", "-Os"),
        ("twice", "t.bc", "-O3"),
    ):
        flags = ("-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", f"{name}.c")
        clang(here, level, *flags, "-o", f"bitcode/{place}")
    text = "-cc1 -triple x86_64-pc-linux-gnu -Oz -mrelocation-model pic"
    extract(here, "--bitcode=bitcode", f"--arguments={text}")
    mlgo("make_corpus", "--input_dir=bitcode", "--output_dir=theirs", f"--default_args={text}", cwd=here)
    assert contents(here / "corpus") == contents(here / "theirs")
    assert passpilot("corpus", "verify", "theirs", cwd=here).code == 0


def test_arguments_of_plain_bitcode(here: Path) -> None:
    (here / "in").mkdir()
    for name, level in (("main", "-Oz"), ("add", "-Os"), ("twice", "-O3")):
        clang(
            here,
            level,
            "-Xclang",
            "-disable-llvm-passes",
            "-emit-llvm",
            "-c",
            f"{name}.c",
            "-o",
            f"in/{name}.bc",
        )
    (here / "in/twice.cmd").write_bytes(b"-cc1\0-triple\0x86_64-pc-linux-gnu\0-O3\0")
    (here / "in/empty.bc").touch()
    corpus = extract(here, "--bitcode=in", warnings=1)
    assert {name: unit.level for name, unit in corpus.units.items()} == {
        "add": "Os",
        "main": "Oz",
        "twice": "O3",
    }
    assert corpus.units["main"].relocation_model == "pic"
    assert passpilot("corpus", "verify", "corpus", cwd=here).code == 0
    assert "none: expected a folder, got none" in refused(
        "corpus", "extract", "--bitcode=none", "-o", "x", cwd=here
    )


def thin_objects(here: Path) -> None:
    for name in ("main", "twice", "add"):
        clang(here, "-O2", "-flto=thin", "-c", f"{name}.c")


def test_a_thinlto_link_in_one_process_as_mlgo_utils(here: Path) -> None:
    thin_objects(here)
    flags = ("-Wl,--save-temps=import", "-Wl,--thinlto-emit-index-files", "-fuse-ld=lld", "-flto=thin")
    clang(here, "-O2", *flags, "main.o", "twice.o", "add.o", "-o", "program")
    corpus = extract(here, "--thinlto=.")
    assert set(corpus.units) == {"main.o", "twice.o", "add.o"}
    unit = corpus.units["twice.o"]
    assert unit.thinlto
    assert unit.level == "O2"
    mlgo("extract_ir", "--thinlto_build=local", "--obj_base_dir=.", "--output_dir=../theirs", cwd=here)
    theirs = here.parent / "theirs"
    ours = contents(here / "corpus")
    description = ours.pop("description")
    expected = contents(theirs)
    assert isinstance(description, dict)
    assert {**description, "global_command_override": ["<UNSPECIFIED>"]} == expected.pop("description")
    assert {name: data for name, data in ours.items() if not name.endswith(".cmd")} == expected
    assert passpilot("corpus", "verify", "corpus", cwd=here).code == 0
    assert "global_command_override: expected arguments" in refused("corpus", "verify", theirs, cwd=here)
    (here / "add.o.thinlto.bc").unlink()
    done = passpilot("corpus", "extract", "--thinlto=.", "--arguments=-cc1 -Oz", "-o", "new", cwd=here)
    assert (
        "warning: add.o: expected its index, add.o.thinlto.bc, beside add.o.3.import.bc, got none" in done.err
    )
    assert Corpus.read(here / "new").override == ("-cc1", "-Oz")


def test_a_distributed_thinlto_build_as_mlgo_utils(here: Path) -> None:
    thin_objects(here)
    flags = ("-fuse-ld=lld", "-flto=thin", "-Wl,--thinlto-index-only")
    clang(here, "-O2", *flags, "main.o", "twice.o", "add.o", "-o", "program")
    (here / "native").mkdir()
    for name in ("main", "twice", "add"):
        embed = ("-mllvm", "-lto-embed-bitcode=post-merge-pre-opt", f"-fthinlto-index={name}.o.thinlto.bc")
        clang(here, "-O2", *embed, "-c", "-x", "ir", f"{name}.o", "-o", f"native/{name}.o")
    (here / "params").write_text("native/main.o native/twice.o native/add.o\n")
    corpus = extract(here, "--params=params")
    assert all(unit.thinlto for unit in corpus.units.values())
    (here / "lines").write_text("native/main.o\nnative/twice.o\nnative/add.o\n")
    mlgo(
        "extract_ir",
        "--input=lines",
        "--input_type=params",
        "--thinlto_build=distributed",
        "--output_dir=theirs",
        cwd=here,
    )
    assert contents(here / "corpus") == contents(here / "theirs")
    assert passpilot("corpus", "verify", "corpus", cwd=here).code == 0
    (here / "add.o.thinlto.bc").unlink()
    assert (
        "native/add.o: expected its index for ThinLTO, add.o.thinlto.bc, got none"
        in passpilot("corpus", "extract", "--params=params", "-o", "again", cwd=here).err
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--objects=build", "--thinlto=build"), "--bitcode, got --objects and --thinlto"),
        (("--objects=build", "--filter=("), "--filter: expected a regular expression, got (: "),
        (
            ("--objects=build", "--arguments=-Oz"),
            "expected --arguments with --bitcode or --thinlto, got --obj",
        ),
        (("--objects=build", "--jobs=x"), "expected a number of processes, got 'x'"),
        (
            (),
            "expected one of --recording, --compile-commands, --objects, --params, --thinlto, --bitcode, got",
        ),
    ],
)
def test_a_wrong_command_line(here: Path, arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*EXTRACT, *arguments, cwd=here, code=2)


def test_nothing_is_left(here: Path) -> None:
    objects(here)
    line = refused(*EXTRACT, "--objects=build", "--filter=none", cwd=here)
    assert "expected at least one unit, got none" in line
