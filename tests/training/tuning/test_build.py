# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning a whole build, and building with the result; decision files after changes of the source."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.training.rewards import allocated_bytes
from passpilot.training.tuning.build import RECORDING, rebuild_line, recorded_corpus, refuse_advice
from passpilot.training.tuning.decision_file import read_decisions
from tests.command import OPT, PASSPILOT, Done, passpilot, refused, run
from tests.training.tuning.units import sources

MAKEFILE: Final = """\
CXXFLAGS = -Oz
demo: main.o libother.a
\t$(CXX) -fuse-ld=lld -o $@ main.o -L. -lother
libother.a: other.o
\tar rcs $@ $^
clean:
\trm -f *.o *.a demo
"""
ENVIRONMENT: Final = {**os.environ, "PATH": f"{PASSPILOT.parent}:{os.environ['PATH']}"}
FLAGS: Final = ("--compiles=20", "--jobs=2")


def folder_with(tmp_path: Path) -> Path:
    """A build by make: a program and a library."""
    folder = tmp_path / "demo"
    folder.mkdir()
    sources(folder)
    (folder / "Makefile").write_text(MAKEFILE)
    return folder


def tuned(folder: Path, output: str, *more: str) -> Done:
    """What came of tuning the build."""
    done = passpilot("tune", *FLAGS, *more, "-o", output, "--", "make", cwd=folder)
    assert done.code == 0, done.err
    return done


def loaded_by(folder: Path, command: str) -> int:
    """What the program loads that a shell command builds."""
    subprocess.run(
        ["bash", "-ec", f"make -s clean; {command}"],
        cwd=folder,
        env=ENVIRONMENT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return allocated_bytes((folder / "demo").read_bytes())


def test_a_tuned_build_is_smaller_and_does_the_same(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    done = tuned(folder, "out")
    told = re.search(r"demo: allocated (\d+) -> (\d+) bytes", done.err)
    assert told
    assert int(told[2]) < int(told[1])
    assert {each.name for each in read_decisions(str(folder / "out/demo.decisions"))} == {
        "main.cpp",
        "other.cpp",
    }
    line = re.search(r"build demo with: (.*)\n", done.out.decode())
    assert line
    stock_size = loaded_by(folder, "make CXX=clang++-22")
    expected = subprocess.run([folder / "demo"], check=False).returncode
    assert loaded_by(folder, line[1]) - stock_size == int(told[2]) - int(told[1])
    assert subprocess.run([folder / "demo"], check=False).returncode == expected

    again = tuned(folder, "out")  # all objects are up to date
    assert "compiles nothing new; tuning what out/corpus has" in again.err
    other = passpilot("tune", *FLAGS, "-o", "out", "--", "true", cwd=folder)
    assert "the command of the build has changed since out/corpus was made" in other.err
    assert "expected true to compile something, got nothing" in other.err

    (folder / "mine.c").write_text(
        "static int half(int x) { return x / 2; }\nint f(int x) { return half(x); }\n"
    )
    done = passpilot("cc", "-Oz", "-c", "mine.c", "--decisions=out/demo.decisions", cwd=folder)
    lack = "expected decisions for mine.c, got those for main.cpp, other.cpp; the file is of another program"
    assert f"warning: decisions out/demo.decisions: {lack}" in done.err
    error = refused("cc", "--decisions=out", "-c", "mine.c", cwd=folder)
    assert "got 'out', which is a folder; did you mean 'out/demo.decisions'?" in error


def test_what_is_no_build_is_said(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int x;\n")
    error = refused("tune", "-o", "out", "true", "main.c", cwd=tmp_path, code=2)
    assert "tune: expected -- before the command of a build; write -- true main.c" in error
    error = refused("tune", "-o", "main.c", "--", "true", cwd=tmp_path, code=2)
    assert "tune: -o: expected a folder for programs, got main.c, a file" in error
    error = refused("tune", "--compiles=0", "-o", "out", "--", "true", cwd=tmp_path, code=2)
    assert "expected a number of compilations, 1 or more, got '0'" in error


OTHER: Final = """\
static int space(char c) { return c == ' ' || c == '\\n' || c == '\\t'; }
static const char *skip(const char *p) {
  while (space(*p)) ++p;
  return p;
}
int other(const char *text) {
  int found = 0;
  for (text = skip(text); *text; text = skip(text)) {
    ++found;
    while (*text && !space(*text)) ++text;
  }
  return found;
}
"""
GCC: Final = "CC = gcc\nLDFLAGS = -fuse-ld=lld\nCFLAGS = -Os\nmain: main.o other.o\nclean: ; rm -f main *.o\n"


def test_a_build_by_gcc_or_with_old_objects_is_said(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(
        "int other(const char *t);\nint main(int n, char **v) { return other(*v); }\n"
    )
    (tmp_path / "other.c").write_text(OTHER)
    (tmp_path / "Makefile").write_text(GCC)
    words = ("tune", "--compiles=8", "-o", "out", "--", "make")
    told = passpilot(*words, cwd=tmp_path).err
    assert "the build's compiler is not clang, but gcc (" in told
    assert "which this build has not compiled" not in told
    assert "main: before and after are programs of clang's; the build's own compiler is another" in told
    done = passpilot("build", "--policy=@oz", "--", "make", "-B", cwd=tmp_path)
    assert (done.code, done.err.count("the build's compiler is not clang, but gcc (")) == (0, 1)
    done = passpilot("build", "--policy=@oz", "--", "make", "-B", "CC=clang-22", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")

    (tmp_path / "main").unlink()
    told = passpilot("tune", "--compiles=2", "-o", "none", "--", "make", cwd=tmp_path).err
    assert not (tmp_path / "none").exists()
    assert "tune: expected make to compile something, got links alone; clean the build first" in told
    (tmp_path / "other.o").unlink()
    told = passpilot("tune", "--compiles=2", "-o", "half", "--", "make", cwd=tmp_path).err
    assert f"main links {tmp_path}/main.o, which this build has not compiled, and" in told


FIELDS: Final = """\
static int stops(char c) { return c == ',' || c == '\\n' || c == '\\0'; }
static const char *finish(const char *p) {
  while (!stops(*p)) ++p;
  return p;
}
int fields(const char *line) {
  int found = 1;
  for (line = finish(line); *line == ','; line = finish(line + 1)) ++found;
  return found;
}
int longest(const char *line) {
  int most = 0;
  for (const char *last = finish(line); *last == ','; last = finish(line = last + 1))
    if (last - line > most) most = last - line;
  return most;
}
"""


def test_an_update_finds_the_gain_of_a_function_with_a_new_name(tmp_path: Path) -> None:
    """A gain that only several decisions together bring, which a policy for inlining finds."""
    (tmp_path / "fields.c").write_text(FIELDS)
    (tmp_path / "Makefile").write_text(
        "CC = clang-22\nCFLAGS = -Oz\nall: fields.o\nclean: ; rm -f fields.o\n"
    )
    found = []
    for name, update in (("finish", ()), ("stop", ("--update=out-finish/library.decisions",))):
        (tmp_path / "fields.c").write_text(FIELDS.replace("finish", name))
        words = (
            "--search=inline",
            "--compiles=20",
            "--jobs=2",
            *update,
            "-o",
            f"out-{name}",
            "--",
            "make",
            "-B",
        )
        told = re.search(
            r"allocated \d+ -> (\d+) bytes .*; (\d+) of", passpilot("tune", *words, cwd=tmp_path).err
        )
        assert told
        assert int(told[2]) > 1
        found.append(told[1])
    assert found[0] == found[1]


@pytest.mark.parametrize("language", ["C", "CXX"])
def test_a_tree_with_launchers_is_said_to_have_them(language: str, tmp_path: Path) -> None:
    cache = f"CMAKE_{language}_COMPILER_LAUNCHER:STRING=passpilot;cc;--decisions=x\n"
    (tmp_path / "CMakeCache.txt").write_text(cache)
    hint = re.escape(f"after cmake -U 'CMAKE_*_COMPILER_LAUNCHER' {tmp_path}: the search tries")
    with pytest.raises(InputError, match=hint):
        refuse_advice(["--decisions=x"], str(tmp_path))
    (tmp_path / "CMakeCache.txt").write_text("CMAKE_C_COMPILER_LAUNCHER:STRING=ccache\n")
    with pytest.raises(InputError, match="build with clang alone: the search tries"):
        refuse_advice(["--decisions=x"], str(tmp_path))


def test_a_rebuild_replaces_the_builds_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = rebuild_line(["make", "-B", "CC=clang-22", "V=1"], "--decisions=x")
    assert line == "make -B V=1 CC='passpilot cc --decisions=x' CXX='passpilot c++ --decisions=x'"
    assert rebuild_line(["gmake", "CC:=gcc"], "-g").count("CC=") == 1
    line = rebuild_line(["make", "CC=clang-22 -m32"], "--decisions=x")
    assert line == "passpilot build --decisions=x -- make -B 'CC=clang-22 -m32'"


def test_changes_elsewhere_do_not_matter_and_an_update_repairs(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    tuned(folder, "out")
    file = folder / "out/demo.decisions"
    build = f"make CXX='passpilot c++ --decisions={file}'"
    size = loaded_by(folder, build)
    other = folder / "other.cpp"
    text = other.read_text()
    other.write_text(f"// a line\nint added(int x) {{ return x / 3 - 1; }}\n{text}")
    done = built(folder, build)
    assert done.returncode == 0
    assert "no longer match" not in done.stderr

    other.write_text(text.replace("s = mix(s, mix(p[i], b.sum()))", "s += p[i]"))
    told = re.search(
        r"decisions for other\.cpp: (\d+) of (\d+) no longer match a call", built(folder, build).stderr
    )
    before = next(each for each in read_decisions(str(file)) if each.name == "other.cpp")
    changed = {call for call in before.inline if call.caller == "_Z5otherPi"}
    gone = {call for call in changed if "mix" in call.callee}
    assert told is not None if gone else told is None or changed

    subprocess.run(["make", "-s", "clean"], cwd=folder, check=True)
    tuned(folder, "new", f"--update={file}")
    assert size > 0
    repaired = f"make CXX='passpilot c++ --decisions={folder / 'new/demo.decisions'}'"
    assert "no longer match" not in built(folder, repaired).stderr
    assert loaded_by(folder, repaired) <= loaded_by(folder, "make CXX=clang++-22")


ACROSS: Final = {
    "main.cpp": f"""void reset();
int main(int argc, char **) {{ {"reset(); " * 16}return argc; }}
""",
    "other.cpp": """volatile int first, second;
void reset() { first = 0x12345678; second = 0x23456789; }
""",
}
"""Only the linker can inline the calls. To LLVM two stores are cheaper than a call; they are larger."""


def test_link_time_optimization_is_tuned(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    for name, text in ACROSS.items():
        (folder / name).write_text(text)
    done = tuned(folder, "out", "--lto")
    told = re.search(r"demo: allocated (\d+) -> (\d+) bytes", done.err)
    assert told
    assert int(told[2]) < int(told[1])
    assert [each.name for each in read_decisions(str(folder / "out/demo.decisions"))] == ["ld-temp.o"]
    line = re.search(r"build demo with: (.*)\n", done.out.decode())
    assert line
    assert "unused" not in built(folder, line[1]).stderr, "clang warns of flags that only the link needs"
    flags = "-flto -fuse-ld=lld -Wl,--gc-sections,--icf=safe"
    stock_size = loaded_by(folder, f"make CXX='clang++-22 {flags}'")
    expected = subprocess.run([folder / "demo"], check=False).returncode
    assert loaded_by(folder, line[1]) - stock_size == int(told[2]) - int(told[1])
    assert subprocess.run([folder / "demo"], check=False).returncode == expected


def test_a_build_with_link_time_optimization_needs_its_search(tmp_path: Path) -> None:
    folder, options = folder_with(tmp_path), ("--compiles=1", "-o", "out", "--", "make")
    makefile = MAKEFILE.replace("-Oz", "-Oz -flto").replace("$(CXX)", "$(CXX) -flto")
    (folder / "Makefile").write_text(makefile)
    said = "expected --lto for a build that links with -flto, got no --lto; run `passpilot tune --lto ..."
    assert said in passpilot("tune", *options, cwd=folder).err
    assert "demo: allocated" in passpilot("tune", "--lto", *options, cwd=folder).err
    (folder / "Makefile").write_text(makefile.replace("-flto", "-flto=thin"))
    subprocess.run(["make", "-s", "clean"], cwd=folder, check=True)
    error = passpilot("tune", "--lto", "--compiles=1", "-o", "thin", "--", "make", cwd=folder).err
    assert "got -flto=thin, whose links decisions do not reach; build with -flto, clean" in error
    assert not (folder / "thin" / RECORDING).exists(), "the next call builds again"


def built(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """What came of a build."""
    return subprocess.run(
        ["bash", "-c", f"make -s clean; {command}"],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_doors_say_what_no_longer_matches(tmp_path: Path) -> None:
    (tmp_path / "f.decisions").write_text(
        "passpilot decisions 1\nunit calls.c\n"
        "inline 1 no two leaf 30\ninline 7 yes two leaf 12\ninline 1 no gone leaf 8\n"
    )
    (tmp_path / "calls.ll").write_text(
        'source_filename = "calls.c"\ntarget triple = "x86_64-pc-linux-gnu"\n'
        "define internal i32 @leaf(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n"
        "define i32 @two(i32 %x) {\n  %a = call i32 @leaf(i32 %x)\n  ret i32 %a\n}\n"
    )
    said = (
        "decisions for calls.c: 2 of 3 no longer match a call, worth 20 of 50 bytes; "
        "repair the file with `passpilot tune --update`"
    )
    ours = passpilot("opt", "calls.ll", "-O2", "--decisions=f.decisions", "-o", "out.bc", cwd=tmp_path)
    assert (ours.code, ours.err) == (0, f"passpilot: warning: {said}\n")
    loading = (f"-load-pass-plugin={llvm_plugin()}", "-passpilot-decisions=f.decisions")
    theirs = run(OPT, *loading, "-passes=default<O2>", "calls.ll", "-o", "theirs.bc", cwd=tmp_path)
    assert said in theirs.err
    assert theirs.code == 0


@pytest.mark.parametrize("compiler", ["clang-22 -m64", "clang-22 -std=gnu99"])
def test_flags_in_the_makefiles_compiler_are_kept(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "Makefile").write_text(f"CC = {compiler}\na: a.c\n\t$(CC) -Oz a.c -o a\n")
    monkeypatch.chdir(tmp_path)
    recorded_corpus(["make", "-B"], "out")
    line = rebuild_line(["make", "-B"], "--decisions=x", f"out/{RECORDING}")
    assert line == "passpilot build --decisions=x -- make -B"


@pytest.mark.soak
def test_the_guides_commands_make_lua_smaller(corpus: Callable[[str, str], Path], tmp_path: Path) -> None:
    """docs/tuning.md, on the source tree of Lua."""
    from tests.corpus.programs import programs

    assert corpus("lua", "Oz").exists()
    guide = (Path(__file__).parents[3] / "docs/tuning.md").read_text()
    command = re.search(r"^(passpilot tune --program=lua .*)$", guide, re.MULTILINE)
    assert command
    source = tmp_path / "lua"
    subprocess.run(["cp", "-r", programs()["lua"].source, source], check=True)
    done = passpilot(*shlex.split(command[1])[1:], cwd=source, timeout=900)
    assert done.code == 0, done.err
    line = re.search(r"build lua with: (.*)\n", done.out.decode())
    assert line
    sizes = []
    for build in ("make -j2 generic MYCFLAGS=-Oz CC='clang-22'", line[1]):
        subprocess.run(["make", "-s", "clean"], cwd=source, check=True)
        assert "no longer match" not in built_lua(source, build)
        sizes.append(allocated_bytes((source / "src/lua").read_bytes()))
    assert sizes[1] < sizes[0]


def built_lua(folder: Path, command: str) -> str:
    """What a build prints to standard error."""
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return done.stderr


WASM: Final = """\
CC = clang
prog.wasm: a.o
\t$(CC) --target=wasm32 -nostdlib -Wl,--no-entry -o $@ a.o
a.o: a.c
\t$(CC) --target=wasm32 -Oz -c a.c -o a.o
"""
WASM_SOURCE: Final = """\
static int step(int x, int y) { return x * 31 + y % 7 + (x > y ? x - y : y - x); }
__attribute__((export_name("work"))) int work(int n) {
  int s = n;
  for (int i = 0; i < 100; i++) s = step(s, i) ^ step(i, s);
  return s;
}
__attribute__((export_name("other"))) int other(int n) { return step(n, 3) + step(4, n) + step(n, n); }
"""


@pytest.mark.parametrize("more", [(), ("--lto",)])
def test_a_program_of_wasm_is_tuned(more: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(WASM)
    (tmp_path / "a.c").write_text(WASM_SOURCE)
    done = passpilot("tune", "--compiles=6", "--jobs=2", *more, "-o", "out", "--", "make", cwd=tmp_path)
    assert done.code == 0, done.err
    told = re.search(r"prog\.wasm: allocated (\d+) -> (\d+) bytes .* xz [01]\.", done.err)
    assert told
    assert allocated_bytes((tmp_path / "prog.wasm").read_bytes()) >= int(told[1]) >= int(told[2])
    assert int(told[1]) > int(told[2]) or more, "the units' own compilations have inlined all before the link"
