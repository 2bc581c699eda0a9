# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recorded commands may carry: the same in all readers; flags that load, read or write are left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.training.corpus.builder import CorpusDraft, UnitDraft, build_corpus
from passpilot.training.corpus.carried import Carried
from passpilot.training.corpus.embedded import draft_objects
from passpilot.training.corpus.from_bitcode import draft_bitcode
from passpilot.training.corpus.layout import Corpus, CorpusProgram, command_bytes
from tests.command import files_in
from tests.command import passpilot as command
from tests.training.corpus.builds import run, write

SEARCHED: Final = re.compile(
    r"-(I|iquote|isysroot|.*isystem|iprefix|iwithprefix(before)?|internal-iframework)"
)
"""Flags with folders that clang's front end searches; bitcode has nothing to include."""

HARMLESS: Final = frozenset(
    (
        "-fmacro-prefix-map",
        "-fcoverage-prefix-map",
        "-fdebug-prefix-map",
        "-object-file-name",
        "-ferror-limit",
    )
)
"""Flags whose value is a text that goes into the module, and no file."""

WRONG_LINKS: Final = (
    *("-fplugin=x.so", "-fpass-plugin=x.so", "-Wl,--load-pass-plugin=x.so", "-Wl,-load-pass-plugin=x.so"),
    *("-Wl,-plugin", "-Wl,--plugin-opt=x", "-Wl,-mllvm", "-Wl,-mllvm=-load=x.so", "-Wl,-Map=x", "-Wl,-o"),
    *("-Wl,--error-handling-script=x", "-Wl,-error-handling-script=x", "-Wl,--reproduce=x", "-Wl,@x", "@x"),
    *("-Wl,--dependency-file=x", "-Wl,--time-trace=x", "-Wl,--save-temps", "-Wl,--format=binary", "-B/tmp"),
    *("-Wl,--why-extract=x", "-Wl,--thinlto-index-only=x", "-fuse-ld=/tmp/x", "--ld-path=/tmp/x", "-specs=x"),
    *("-Wl,a.o,--load-pass-plugin=x.so", "-Wl,--soname=x,-plugin,x.so", "-Wl,--rpath=a,@x", "-Wl,-z,-mllvm"),
    *("--config=x", "-Xclang", "-Xlinker", "-wrapper", "-o", "-save-temps", "-mllvm"),
)


def test_flags_of_clang_that_name_files_are_left_out() -> None:
    """Derived from clang's own help: what has a file, a folder or a library behind it."""
    text = run("clang-22", "-cc1", "--help", cwd=Path.cwd()).stdout.decode()
    rows = re.findall(r"^  (--?[\w-]+)([ =])<([^>]*(?:file|path|dir|dso|list)[^>]*)>", text, re.MULTILINE)
    rows += [
        (name, "=", "")
        for name in re.findall(r"^  (--?[\w-]*(?:list|path|plugin|(?<!pro)file)[\w-]*)=", text, re.MULTILINE)
    ]
    assert len(rows) > 50
    for name in re.findall(r"^  (-[\w-]+) <", text, re.MULTILINE):
        assert Carried().compilation([name]) in ((), (name, "")), name  # its value is no flag of its own
    for name, sign, _ in rows:
        words = [name, "x"] if sign == " " else [f"{name}=x"]
        if "-strip-path-" not in name and not SEARCHED.fullmatch(name) and name not in HARMLESS:
            assert Carried().compilation(words) == (), name


@pytest.mark.parametrize(
    "words",
    ["-load x.so", "-mllvm -load=x.so", "-mllvm -info-output-file=x", "-o x", "-x c x.c", "@x", "-plugin x",
     "-fbasic-block-sections=list=x", "-mlink-builtin-bitcode x", "-fembed-offload-object=x",
     "-ivfsoverlay x", "-opt-record-file x", "-fmodules-user-build-path x"],
)  # fmt: skip
def test_other_flags_are_left_out(words: str) -> None:
    carried = Carried()
    assert carried.compilation(["-cc1", *words.split(), "-Oz"]) == ("-cc1", "-Oz")


def test_options_of_llvm_are_those_of_decision_files() -> None:
    words = ("-mllvm", "-enable-machine-outliner=always", "-mllvm", "--tail-merge-size=2")
    assert Carried().compilation((*words, "-mllvm")) == words


@pytest.mark.parametrize("word", WRONG_LINKS)
def test_links_carry_no_code_and_no_outputs(word: str) -> None:
    carried = Carried()
    found = carried.program(
        CorpusProgram("p", "c", "cc", (), foreign=("-lx", "a.o"), arguments=("-lm", word))
    )
    assert (found.foreign, found.arguments) == (("a.o",), ("-lm",))
    assert carried.problem("corpus c") == (
        f"corpus c: expected flags that a corpus may carry, got -lx, {word.partition('=')[0]}, left out; "
        "recorded commands are data; the list is in training/corpus/carried.py"
    )


def test_flags_of_reproducible_builds_and_of_shared_libraries_are_carried() -> None:
    carried = Carried()
    words = ("-cc1", "-source-date-epoch", "1700000000", "-Oz")
    assert carried.compilation(words) == words
    linking = ("-ffile-prefix-map=/build/source=.", "-ffile-compilation-dir=.", "--shared")
    found = carried.program(CorpusProgram("p", "c", "cc", (), arguments=linking))
    assert found.arguments == (*linking[:2], "-shared")  # as other parts ask for it
    assert carried.problem("corpus c") == ""


@pytest.mark.parametrize(
    "words",
    ["--sysroot=/usr/x --gcc-toolchain=/usr -Wl,--orphan-handling=warn -Wl,--target2=rel -Wl,-EL",
     "-Oz -Wl,--export=run -Wl,--export-all -Wl,--initial-memory=131072 -Wl,--max-memory=1048576",
     "-Wl,--import-memory -Wl,--stack-first -Wl,--global-base=1024 -Wl,--shared-memory"],
)  # fmt: skip
def test_links_for_other_targets_are_carried(words: str) -> None:
    carried = Carried()
    found = carried.program(CorpusProgram("p", "c", "cc", (), arguments=tuple(words.split())))
    assert (found.arguments, carried.problem("c")) == (tuple(words.split()), "")


@pytest.mark.parametrize(
    ("count", "named"), [(5, "-Wl,-a0, -Wl,-a1, -Wl,-a2, -Wl,-a3, -Wl,-a4,"), (7, "-Wl,-a4 and 2 more, left")]
)
def test_five_of_the_flags_that_are_left_out_are_named(count: int, named: str) -> None:
    carried = Carried()
    carried.program(CorpusProgram("p", "c", "cc", (), arguments=tuple(f"-Wl,-a{n}" for n in range(count))))
    assert named in carried.problem("corpus c")


@pytest.mark.parametrize(
    "flags",
    ["-O2 -g -fsanitize=address -fno-sanitize-ignorelist",
     "-O3 -march=native -fopenmp -flto=thin -fvisibility=hidden",
     "-Os -gsplit-dwarf -fstack-protector-strong -fstack-clash-protection -fcf-protection -pthread",
     "-x c++ -O2 -std=c++20 -fno-exceptions -fno-rtti", "--target=riscv32 -Os -march=rv32imac",
     "--target=arm-none-eabi -mthumb -mcpu=cortex-m4 -mfloat-abi=hard -ffreestanding -Oz",
     "-fxray-instrument -O1", "--target=x86_64-w64-mingw32 -O2", "-ffast-math -O2",
     "--target=aarch64-linux-gnu -mbranch-protection=standard"],
)  # fmt: skip
def test_flags_of_ordinary_builds_are_carried(flags: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int x;\n")
    done = run("clang-22", "-###", "-c", *flags.split(), "a.c", "-o", "a.o", cwd=tmp_path)
    text = done.stderr.decode()
    (line,) = [line for line in text.splitlines() if '"-cc1"' in line]
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)[1:]
    carried = Carried()
    assert carried.compilation(words) == tuple(words[: words.index("-o")])
    assert carried.problem("c") == ""


MARK: Final = (
    '#include <stdio.h>\n__attribute__((constructor)) void f(void) { fclose(fopen("loaded", "w")); }\n'
)


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A folder with a library that leaves a file when it is loaded, and a corpus of one program."""
    write(tmp_path, {"mark.c": MARK, "a.c": "int main(void) { return 0; }\n"})
    run("clang-22", "-shared", "-fPIC", "mark.c", "-o", "x.so", cwd=tmp_path)
    run(
        "clang-22",
        "-Oz",
        "-emit-llvm",
        "-Xclang",
        "-disable-llvm-passes",
        "-c",
        "a.c",
        "-o",
        "a.bc",
        cwd=tmp_path,
    )
    (tmp_path / "corpus").mkdir()
    (tmp_path / "a.bc").rename(tmp_path / "corpus/a.bc")
    described(tmp_path, ["a"])
    program = {"name": "a", "language": "c", "compiler": "cc", "objects": ["a"], "arguments": []}
    (tmp_path / "corpus/programs.json").write_text(json.dumps({"programs": [program]}))
    return tmp_path


WORDS: Final = ("-cc1", "-triple", "x86_64-pc-linux-gnu", "-Oz", "-load", "x.so", "-mllvm", "-load=x.so")


def described(folder: Path, names: list[str], override: tuple[str, ...] = ()) -> None:
    (folder / "corpus/a.cmd").write_bytes(command_bytes(WORDS))
    value = {"modules": names, "has_thinlto": False, "global_command_override": override}
    (folder / "corpus/corpus_description.json").write_text(json.dumps(value))


def linked(folder: Path) -> None:
    path = folder / "corpus/programs.json"
    value = json.loads(path.read_text())
    value["programs"][0] |= {
        "arguments": ["-fplugin=x.so", "-Wl,--load-pass-plugin=x.so"],
        "directory": str(folder),
    }
    path.write_text(json.dumps(value))


@pytest.mark.parametrize(
    "change",
    [lambda _: None, lambda folder: described(folder, ["a"], WORDS), linked],
    ids=["cmd", "override", "programs"],
)
def test_eval_loads_nothing_that_a_corpus_names(evil: Path, change: Callable[[Path], None]) -> None:
    change(evil)
    done = command("eval", "--corpus=corpus", "--baselines=-Oz", "--no-runs", "-o", "r.json", cwd=evil)
    assert done.code == 0, done.err
    assert done.err.count("expected flags that a corpus may carry, got -load, -mllvm -load") == 1
    assert not (evil / "loaded").exists()
    done = command("corpus", "verify", "corpus", cwd=evil)
    assert done.code == 0, done.err
    assert not (evil / "loaded").exists()


def test_what_is_extracted_has_only_what_may_be_carried(evil: Path) -> None:
    """From objects with `.llvmcmd`, and from files `.cmd` beside modules."""
    embed = ("-Oz", "-Xclang", "-fembed-bitcode=all", "-Xclang", "-load", "-Xclang", "./x.so")
    run("clang-22", *embed, "-c", "a.c", "-o", "corpus/b.o", cwd=evil)
    (evil / "loaded").unlink()
    for name, draft in {
        "embedded": draft_objects(str(evil / "corpus")),
        "plain": draft_bitcode(str(evil / "corpus"), None),
        "told": draft_bitcode(str(evil / "corpus"), WORDS),
    }.items():
        built = build_corpus(str(evil / name), draft)
        assert any("got -load" in line for line in built.problems), built.problems
        (unit,) = built.corpus.units.values()
        assert "-Oz" in unit.arguments
        assert "-load" not in unit.arguments
        assert Corpus.read(evil / name).units == built.corpus.units


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "", "x\0y"])
def test_names_that_lead_out_are_refused_before_anything_is_written(name: str, evil: Path) -> None:
    good = UnitDraft("a", (evil / "corpus/a.bc").read_bytes, lambda _: WORDS)
    built = build_corpus(
        str(evil / "new"), CorpusDraft([UnitDraft(name, good.bitcode, good.arguments), good])
    )
    assert list(built.corpus.units) == ["a"]
    assert built.problems[0].endswith(f"expected names of files in the folder, got {name!r}")
    described(evil, [name])
    before = files_in(evil)
    with pytest.raises(InputError, match="expected names of files in the folder"):
        Corpus.read(evil / "corpus")
    assert files_in(evil) == before


def test_links_out_of_a_corpus_are_refused(evil: Path) -> None:
    for suffix in (".cmd", ".thinlto.bc", ".bc"):
        path = evil / f"corpus/a{suffix}"
        path.unlink(missing_ok=True)
        path.symlink_to("../a.c")
        with pytest.raises(InputError, match="modules: expected names of files in the folder, got 'a'"):
            Corpus.read(evil / "corpus")
        path.unlink()
        described(evil, ["a"])


def test_an_index_and_members_elsewhere_are_refused(evil: Path) -> None:
    (evil / "objects").mkdir()
    flags = ("-Oz", "-Xclang", "-fembed-bitcode=all")
    run("clang-22", *flags, "-c", "a.c", "-o", "objects/b.o", cwd=evil)
    data = (evil / "objects/b.o").read_bytes()
    for index in ("/etc/hostname", "../a.c"):
        (evil / "objects/b.o").write_bytes(data)
        (evil / "cmd").write_bytes(b"-cc1\0-Oz\0-fthinlto-index=" + index.encode() + b"\0")
        run("llvm-objcopy-22", "--update-section", ".llvmcmd=cmd", "objects/b.o", cwd=evil)
        draft = draft_objects(str(evil / "objects"))
        assert draft.problems == [
            f"b.o: expected its index for ThinLTO below {evil / 'objects'}, got {index}"
        ]


def test_a_read_corpus_says_once_what_it_left_out(evil: Path) -> None:
    with pytest.warns(
        PasspilotWarning, match="corpus: expected flags that a corpus may carry, got -load"
    ) as seen:
        corpus = Corpus.read(evil / "corpus")
    assert len(seen) == 1
    assert corpus.units["a"].arguments == ("-cc1", "-triple", "x86_64-pc-linux-gnu", "-Oz")
