# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile of a program: what becomes of cold and hot functions, at every door, and what is no profile."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import pytest

import passpilot
from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import llvm_plugin
from tests.command import PASSPILOT, Done, run
from tests.command import passpilot as command

PROGRAM: Final = """\
volatile int sink;
static int loop(int n) { int s = 0; for (int i = 0; i < n; i++) s += sink ^ i; return s; }
__attribute__((noinline)) int hot(int n) { sink = n; sink = n + 1; sink = n + 2; return sink; }
__attribute__((noinline)) int never(int n) { sink = n; sink = n + 1; sink = n + 2; return n / 3; }
int caller(int n) { return loop(n) + hot(n); }
int main(int argc, char **argv) {
  for (int i = 0; i < 4000; i++) hot(i);
  return argc > 7 ? never(argc) : caller(5000) == 42;
}
"""

SAMPLES: Final = """\
hot:90000:4000
 1: 4000
loop:50000:1
 1: 5000
caller:2:1
 1: 1
main:4002:0
 1: 1
 2: 4000
"""

MARKS: Final = ("minsize", "optsize", "nooutline")


def marks(module: str) -> dict[str, list[str]]:
    """What is said of the functions with bodies."""
    groups = dict(re.findall(r"^attributes (#\d+) = \{(.*)\}$", module, re.MULTILINE))
    found = re.findall(r"^define .*@(\w+)\(.*?\).*?(#\d+)", module, re.MULTILINE)
    return {
        name: [mark for mark in MARKS if re.search(rf"\b{mark}\b", groups[group])] for name, group in found
    }


def done(*words: str | Path, cwd: Path) -> Done:
    """A command that succeeds in silence."""
    result = run(*words, cwd=cwd)
    assert (result.code, result.err) == (0, ""), result
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program, and profiles of it by name."""
    path = tmp_path_factory.mktemp("profile")
    (path / "src").mkdir()
    (path / "src/prog.c").write_text(PROGRAM)
    (path / "samples.prof").write_text(SAMPLES)
    done("clang-22", "-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "src/prog.c", cwd=path)
    for name, flag in (("ir", "-fprofile-generate"), ("clang", "-fprofile-instr-generate")):
        done("clang-22", "-O1", flag, path / "src/prog.c", "-o", name, cwd=path)
        done("env", f"LLVM_PROFILE_FILE={path}/{name}.profraw", path / name, cwd=path)
        done("llvm-profdata-22", "merge", f"{name}.profraw", "-o", f"{name}.profdata", cwd=path)
    return path


@pytest.mark.parametrize("profile", ["ir.profdata", "clang.profdata", "samples.prof"])
def test_cold_functions_are_for_size_and_nothing_is_outlined_from_hot_ones(
    folder: Path, profile: str
) -> None:
    module = passpilot.Module.read(folder / "prog.bc")
    passpilot.optimize(module, "O2", profile=str(folder / profile))
    found = marks(str(module))
    assert found["hot"] == ["nooutline"]
    assert found["never"] == ["optsize"]
    assert found["caller"] == ["nooutline"], "it has inlined the hottest loop"
    assert "passpilot-hot" not in str(module)


def test_elsewhere_than_on_x86_cold_functions_are_minimal(folder: Path) -> None:
    module = passpilot.Module.read(folder / "prog.bc", mtriple="aarch64-linux-gnu")
    passpilot.optimize(module, "Os", profile=str(folder / "ir.profdata"))
    assert marks(str(module))["never"] == ["minsize", "optsize"]


def test_all_doors_write_the_same(folder: Path) -> None:
    plugin, profile = llvm_plugin(), folder / "ir.profdata"
    levels = ("-passes=default<O2>", "-S", "prog.bc", "-o", "-")
    hosted = command("opt", *levels, f"--profile={profile}", cwd=folder).out
    stock = ("opt-22", f"-load-pass-plugin={plugin}", *levels)
    assert hosted == done(*stock, f"-passpilot-profile={profile}", cwd=folder).out
    assert hosted == done("env", f"PASSPILOT_PROFILE={profile}", *stock, cwd=folder).out
    assert hosted != done(*stock, cwd=folder).out
    flags = ("-O2", "-c", "src/prog.c", "-o")
    done(PASSPILOT, "cc", *flags, "cc.o", f"--profile={profile}", cwd=folder)
    done(
        "clang-22",
        *flags,
        "plugin.o",
        f"-fpass-plugin={plugin}",
        "-mllvm",
        f"-passpilot-profile={profile}",
        cwd=folder,
    )
    done("clang-22", *flags, "plain.o", cwd=folder)
    same = (folder / "cc.o").read_bytes()
    assert same == (folder / "plugin.o").read_bytes() != (folder / "plain.o").read_bytes()


@pytest.mark.parametrize("kind", ["-flto", "-flto=thin"])
def test_a_link_knows_what_is_hot(folder: Path, kind: str, tmp_path: Path) -> None:
    flags = (kind, "-O2", f"--profile={folder}/ir.profdata")
    done(PASSPILOT, "cc", *flags, "-c", folder / "src/prog.c", "-o", "prog.o", cwd=tmp_path)
    done(PASSPILOT, "cc", *flags, "prog.o", "-Wl,--save-temps", "-o", "prog", cwd=tmp_path)
    (optimized,) = tmp_path.glob("*.4.opt.bc")
    found = marks(str(passpilot.Module.read(optimized)))
    assert found["hot"] == ["nooutline"]
    assert found["never"] == ["optsize"]
    assert "nooutline" in found["main"], "it has inlined the hottest loop"


def test_clangs_own_use_of_a_profile_is_as_it_was(folder: Path) -> None:
    use = ("-O1", f"-fprofile-use={folder}/ir.profdata", "-Werror", "-c", folder / "src/prog.c", "-o")
    done(PASSPILOT, "cc", *use, "both.o", f"--profile={folder}/ir.profdata", cwd=folder)


def test_a_profile_of_another_program_is_one_warning(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text("int other(int n) { return n * 3; }\nint more(int n) { return n; }\n")
    flags = ("-O2", "-Werror", "-c", "other.c", "-o")
    told = run(PASSPILOT, "cc", *flags, "a.o", f"--profile={folder}/ir.profdata", cwd=tmp_path)
    assert told.code == 0
    assert told.err.count("warning: ") == 1
    assert told.err.startswith("passpilot: warning: profile ")
    assert "expected the program of other.c, got one without its functions" in told.err
    done("clang-22", *flags, "b.o", cwd=tmp_path)
    assert (tmp_path / "a.o").read_bytes() == (tmp_path / "b.o").read_bytes()


def test_a_pipeline_without_a_level_says_that_it_reads_none(folder: Path) -> None:
    module = passpilot.Module.read(folder / "prog.bc")
    with pytest.warns(UserWarning, match="--profile: the pipeline has no start"):
        passpilot.optimize(module, "instcombine", profile=str(folder / "ir.profdata"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "expected a readable file, got: No such file"),
        (b"", "expected a profile of llvm-profdata, or a sample profile such as AutoFDO's, got: "),
        (b"\x7fELF nothing", "expected a profile of llvm-profdata"),
        (b"main:x:y\n", "expected a profile of llvm-profdata"),
        ("raw", "expected a merged profile, got a raw one; run `llvm-profdata-22 merge"),
        ("cut", "expected a profile of llvm-profdata"),
        ("old", "expected a profile of llvm-profdata.*version"),
    ],
)
def test_what_is_no_profile_is_refused(
    folder: Path, tmp_path: Path, content: bytes | str | None, said: str
) -> None:
    path, good = tmp_path / "p", (folder / "ir.profdata").read_bytes()
    made = {
        "raw": (folder / "ir.profraw").read_bytes(),
        "cut": good[: len(good) // 2],
        "old": good[:8] + b"\x63" * 8 + good[16:],
    }
    if content is not None:
        path.write_bytes(made[content] if isinstance(content, str) else content)
    module = passpilot.Module.read(folder / "prog.bc")
    with pytest.raises(InputError, match=f"^profile {path}: {said}"):
        passpilot.optimize(module, "O2", profile=str(path))
    stock = (
        "opt-22",
        f"-load-pass-plugin={llvm_plugin()}",
        "-passes=default<O2>",
        "prog.bc",
        "-o",
        tmp_path / "out.bc",
    )
    refused = run(*stock, f"-passpilot-profile={path}", cwd=folder)
    assert refused.code == 1
    assert re.search(said, refused.err)
    assert not (tmp_path / "out.bc").exists()


DAMAGE: Final = """\
import random, sys, passpilot
from passpilot.plugin.errors import InputError
whole, chance = open(sys.argv[1], "rb").read(), random.Random(1)
module = open("prog.bc", "rb").read()
refused = 0
for _ in range(150):
    edited = bytearray(whole)
    for _ in range(chance.randrange(1, 4)):
        edited[chance.randrange(len(edited))] = chance.randrange(256)
    open("edited", "wb").write(edited)
    try:
        passpilot.optimize(passpilot.Module.read(module), "default<O1>", profile="edited")
    except InputError as error:
        assert "edited: expected" in str(error), error
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("kind", ["ir", "binary"])
def test_damage_crashes_nothing(folder: Path, kind: str, tmp_path: Path) -> None:
    """LLVM's readers may crash on a damaged file."""
    (tmp_path / "prog.bc").write_bytes((folder / "prog.bc").read_bytes())
    whole = folder / "ir.profdata"
    if kind == "binary":
        whole = tmp_path / "samples"
        words = ("llvm-profdata-22", "merge", "--sample", "--extbinary", folder / "samples.prof", "-o", whole)
        done(*words, cwd=tmp_path)
    found = run(sys.executable, "-c", DAMAGE, whole, cwd=tmp_path)
    assert found.code == 0, found
    assert int(found.out) > 20
