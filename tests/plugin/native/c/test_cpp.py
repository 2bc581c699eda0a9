# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilers in C++ on libLLVM whose own PassBuilder is advised, as their authors build them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests import stock
from tests.command import PASSPILOT, files_in, passpilot
from tests.command import run as ran
from tests.plugin.native.c.test_programs import ENVIRONMENT, EXAMPLES
from tests.plugin.native.c.test_programs import run as told_by
from tests.shared import made_once

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST: Final = Path(__file__).with_name("cpp_host.cpp")
SECONDS: Final = 300.0
STRICT: Final = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-maybe-uninitialized")

POLICY: Final = """\
def draw(obs):
    return obs["callee_users"].item() % 3 != 1

def first(obs):
    return int(obs["mask"].argmax())

def breaks(obs):
    raise ValueError("no idea")

failures = []

def breaks_once(obs):
    if not failures:
        failures.append(obs)
        raise ValueError("no idea")
    return False
"""
PASSES: Final = """\
from dataclasses import dataclass
import passpilot

@passpilot.llvm.function_pass("mark-cold")
@dataclass(frozen=True)
class MarkCold:
    below: int = 10

    def run(self, function):
        if function.instruction_count >= self.below:
            return False
        function.add_attribute("cold")
        return True

@passpilot.llvm.function_pass("no-luck")
@dataclass(frozen=True)
class NoLuck:
    def run(self, function):
        if function.name == "kept":
            raise ValueError("no luck with " + function.name)
        return False
"""

TIDY: Final = """\
from dataclasses import dataclass
import passpilot

@passpilot.llvm.module_pass("tidy")
@dataclass(frozen=True)
class Tidy:
    def run(self, module):
        return module.run("function(simplifycfg),globaldce,default<O1>")
"""


@dataclass(frozen=True)
class Compiled:
    """What came of the example."""

    code: int
    err: str
    object: bytes


def shell(command: str) -> list[str]:
    """The words that a command prints."""
    return shlex.split(
        subprocess.check_output(["bash", "-c", command], env=ENVIRONMENT, text=True, cwd=EXAMPLES)
    )


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiler of examples/cpp, built by its own CMakeLists.txt."""

    def build(folder: Path) -> None:
        shutil.copytree(EXAMPLES / "cpp", folder, dirs_exist_ok=True)
        cmake = PASSPILOT.with_name("cmake")
        found = (
            f"-DLLVM_DIR={shell('llvm-config-22 --cmakedir')[0]}",
            f"-Dpasspilot_DIR={shell('passpilot plugin-path --cmakedir')[0]}",
        )
        told = told_by(cmake, "-B", "build", *found, f"-DCMAKE_CXX_FLAGS={' '.join(STRICT)}", cwd=folder)
        told += told_by(cmake, "--build", "build", cwd=folder)
        assert "warning" not in told.lower()

    return made_once(tmp_path_factory, "cpp-example", build) / "build" / "compile"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiler of several modules, built by pkg-config's flags, without RTTI."""

    def build(folder: Path) -> None:
        flags = shell(
            "llvm-config-22 --cxxflags --ldflags --libs && "
            "PKG_CONFIG_PATH=$(passpilot plugin-path --pkgconfigdir) pkg-config --cflags --libs "
            "passpilot-llvm"
        )
        told_by("c++", HOST, *STRICT, "-fno-rtti", "-pthread", *flags, "-o", "host", cwd=folder)

    return made_once(tmp_path_factory, "cpp-host", build) / "host"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where to compile: three modules in bitcode, a file of policies and one of passes."""
    (tmp_path / "policy.py").write_text(POLICY)
    (tmp_path / "passes.py").write_text(PASSES)
    for index in range(3):
        more = "".join(
            f"int more{n}(int x) {{ return pick(x, {n}) + first(x, {n}); }}\n" for n in range(index)
        )
        stock.clang(stock.MANY_CALLS + more, tmp_path / f"in{index}.bc")
    return tmp_path


def compiled(example: Path, folder: Path, *options: str, pipeline: str = "default<O2>") -> Compiled:
    """What the example makes of the first module."""
    out = folder / "out.o"
    out.unlink(missing_ok=True)
    done = ran(example, "in0.bc", out, pipeline, *options, cwd=folder, timeout=SECONDS)
    assert not done.out
    return Compiled(done.code, done.err, out.read_bytes() if out.exists() else b"")


def ours(folder: Path, options: tuple[str, ...] = (), source: str = "in0.bc", log: bool = False) -> bytes:
    """The object that passpilot's own tools make."""
    inline = [f"--{each}" for each in options if each.startswith("inline=")]
    others = [f"--{each}" for each in options if not each.startswith("inline=")]
    logs = (["--log=ours.inline"], ["--log=ours.evict"]) if log else ([], [])
    for arguments in (
        ("opt", source, "-passes=default<O2>", *inline, *logs[0], "-o", "ours.bc"),
        ("llc", "ours.bc", "-filetype=obj", *others, *logs[1], "-o", "ours.o"),
    ):
        done = passpilot(*arguments, cwd=folder)
        assert done.code == 0, done.err
    return (folder / "ours.o").read_bytes()


def test_it_is_llvm_by_default(example: Path, folder: Path) -> None:
    stock.run("opt", folder / "in0.bc", "-passes=default<O2>", "-o", folder / "stock.bc")
    stock.run("llc", folder / "stock.bc", "-filetype=obj", "-o", folder / "stock.o")
    expected = Compiled(0, "", (folder / "stock.o").read_bytes())
    assert compiled(example, folder) == expected
    assert compiled(example, folder, "inline=default", "evict=default", "priority=default") == expected


@pytest.mark.parametrize(
    "options",
    [
        ("inline=random:5",),
        ("inline=random:3", "evict=random:2", "priority=default"),
        ("inline=python:policy.py:draw",),
        ("inline=const:0", "evict=python:policy.py:first"),
    ],
    ids="+".join,
)
def test_it_decides_as_our_tools_do(example: Path, folder: Path, options: tuple[str, ...]) -> None:
    mine = compiled(example, folder, *options)
    assert (mine.code, mine.err) == (0, "")
    same, other = mine.object == ours(folder, options), mine.object != ours(folder)
    assert same
    assert other


@pytest.mark.parametrize("scheme", ["random:4", "python:policy.py:{}"])
def test_its_logs_are_those_of_our_tools(example: Path, folder: Path, scheme: str) -> None:
    options = (f"inline={scheme.format('draw')}", f"evict={scheme.format('first')}")
    mine = compiled(example, folder, *options, "log=inline=mine.inline", "log=evict=mine.evict")
    same = mine == Compiled(0, "", ours(folder, options, log=True))
    assert same, mine.err
    for point in ("inline", "evict"):
        assert (folder / f"mine.{point}").read_bytes() == (folder / f"ours.{point}").read_bytes()
    replayed = ("inline=replay:mine.inline", "evict=replay:mine.evict")
    same = compiled(example, folder, *replayed).object == mine.object
    assert same


def test_pipelines_name_passes_in_python(example: Path, folder: Path) -> None:
    plain = compiled(example, folder)
    marked = compiled(example, folder, "load=passes.py", pipeline="default<O2>,function(mark-cold{below=99})")
    assert (marked.code, marked.err) == (0, "")
    cold = b".text.unlikely."
    assert cold in marked.object
    assert cold not in plain.object
    placed = compiled(example, folder, "load=passes.py", "at=optimizer-last=mark-cold{below=99}")
    assert cold in placed.object


@pytest.mark.parametrize(
    ("options", "pipeline", "why"),
    [
        (
            ("inlin=const:0",),
            "default<O2>",
            r"registerAdvisors: expected an option such as .+, got 'inlin=const:0'",
        ),
        (("inline",), "default<O2>", r"registerAdvisors: expected an option .+, got 'inline'"),
        (
            ("on-error=maybe", "inline=const:0"),
            "default<O2>",
            r"on-error: expected fail or default, got 'maybe'",
        ),
        (("inline=onnx:nobody.onnx",), "default<O2>", r"model nobody.onnx: expected an ONNX file, .+"),
        (("evict=onnx:nobody.onnx",), "default<O2>", r"model nobody.onnx: expected an ONNX file, .+"),
        (
            ("inline=python:policy.py:breaks",),
            "default<O2>",
            r"inline advisor at .+: ValueError: no idea \(.+:8\)",
        ),
        (
            ("evict=python:policy.py:breaks",),
            "default<O2>",
            r"evict advisor at .+: ValueError: no idea \(.+:8\)",
        ),
        (
            ("inline=const:0", "log=no/where.log"),
            "default<O2>",
            r"decision log no/where.log: expected a file .+",
        ),
        (("load=nobody.py",), "default<O2>", r".*nobody.py.*"),
        (("load=passes.py",), "function(no-luck)", r".*no-luck.*no luck with kept.*"),
        (("load=passes.py",), "function(no-luck),default<O2>", r".*no-luck.*no luck with kept.*"),
        (("at=nowhere=sroa",), "default<O2>", r".*nowhere.*"),
        ((), "no-pass", r"unknown pass name 'no-pass'"),
    ],
)
def test_what_goes_wrong_is_the_contexts_error(
    example: Path, folder: Path, options: tuple[str, ...], pipeline: str, why: str
) -> None:
    before = files_in(folder)
    done = compiled(example, folder, *options, pipeline=pipeline)
    assert (done.code, done.object) == (1, b""), done.err
    assert re.fullmatch(f"compile: error: {why}\n", done.err), done.err
    assert files_in(folder) == before


def test_who_is_never_asked_is_a_warning(example: Path, folder: Path) -> None:
    done = compiled(example, folder, "inline=random:1", pipeline="function(sroa)")
    assert done.code == 0
    assert done.err.startswith("compile: warning: inline advisor: runner random:1 was never asked: ")


def test_the_environment_has_what_the_program_leaves_open(
    example: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never, plain = compiled(example, folder, "inline=const:0"), compiled(example, folder)
    monkeypatch.setenv("PASSPILOT_INLINE", "const:0")
    assert compiled(example, folder).object == never.object != plain.object
    assert compiled(example, folder, "inline=default").object == plain.object


def hosted(host: Path, folder: Path, mode: str, *options: str, pipeline: str = "default<O2>") -> str:
    """What the compiler of several modules says; its objects are in `objects`."""
    (folder / "objects").mkdir(exist_ok=True)
    inputs = sorted(path.name for path in folder.glob("in*.bc"))
    done = ran(host, mode, "objects", pipeline, *inputs, "--", *options, cwd=folder, timeout=SECONDS)
    assert done.code in {0, 1}, done.err
    assert bool(done.code) == ("error: " in done.err), done.err
    return done.err


@pytest.mark.parametrize("mode", ["again", "threads", "kept"])
@pytest.mark.parametrize(
    "options",
    [("inline=random:5", "evict=random:2"), ("inline=python:policy.py:draw", "evict=python:policy.py:first")],
    ids=["native", "python"],
)
def test_several_modules(host: Path, folder: Path, mode: str, options: tuple[str, ...]) -> None:
    assert hosted(host, folder, mode, *options) == ""
    expected = [ours(folder, options, f"in{index}.bc") for index in range(3)]
    for made in (folder / "objects").iterdir():
        same = made.read_bytes() == expected[int(made.stem[-1])]
        assert same, made
    assert len(list((folder / "objects").iterdir())) == (9 if mode == "threads" else 3)


@pytest.mark.parametrize("mode", ["again", "kept"])
@pytest.mark.parametrize("scheme", ["random:4", "python:policy.py:{}"])
def test_each_module_has_logs(host: Path, folder: Path, mode: str, scheme: str) -> None:
    (folder / "logs").mkdir()
    options = (f"inline={scheme.format('draw')}", f"evict={scheme.format('first')}", "log=logs")
    assert hosted(host, folder, mode, *options) == ""
    logs = sorted(re.sub("-[0-9a-f]+-", "-", name) for name in files_in(folder / "logs"))
    assert logs == [f"in{index}.bc-{point}.log" for index in range(3) for point in ("evict", "inline")]
    ours(folder, options[:2], "in1.bc", log=True)
    [mine] = (folder / "logs").glob("in1.bc-*-inline.log")
    assert mine.read_bytes() == (folder / "ours.inline").read_bytes()


@pytest.mark.parametrize("mode", ["again", "threads", "kept"])
def test_passes_and_failures_of_several_modules(host: Path, folder: Path, mode: str) -> None:
    """A failure is that of its module: each has one of its own."""
    threads = 3 if mode == "threads" else 1
    failing = hosted(host, folder, mode, "inline=python:policy.py:breaks")
    assert failing.count("error: inline advisor at ") == 3 * threads
    failing = hosted(host, folder, mode, "load=passes.py", pipeline="default<O2>,function(no-luck)")
    assert failing.count("no luck with kept") == 3 * threads
    pipeline = "default<O2>,function(mark-cold{below=99})"
    assert hosted(host, folder, mode, "load=passes.py", pipeline=pipeline) == ""
    for made in (folder / "objects").iterdir():
        assert b".text.unlikely." in made.read_bytes()


def test_a_builder_keeps_its_options_and_need_not_live(host: Path, folder: Path) -> None:
    """Other builders have other options, and all are gone before the pipelines run."""
    assert hosted(host, folder, "staged", "inline=random:%") == ""
    for index in range(3):
        same = (folder / f"objects/0-{index}.o").read_bytes() == ours(
            folder, (f"inline=random:{index}",), f"in{index}.bc"
        )
        assert same, index


DENSITIES: Final = (5, 90, 60)
SWITCHES: Final = "volatile int sink;\n" + "".join(
    f"int s{gap}(int x) {{ switch (x) {{"
    + "".join(f"case {gap * n + n // 5}: sink = {9 * n + gap}; sink += x; break;" for n in range(13))
    + "} return sink; }\n"
    for gap in (5, 2, 1)
)


def decided(folder: Path, sections: Mapping[int, str]) -> str:
    """Write a decision file with lines for some of the modules."""
    units = "".join(f"unit {folder / f'in{index}.c'}\n{lines}\n" for index, lines in sections.items())
    (folder / "all.decisions").write_text("passpilot decisions 1\n" + units)
    return "decisions=all.decisions"


@pytest.mark.parametrize("mode", ["threads", "kept", "staged"])
def test_a_module_has_its_own_options_of_llvm(host: Path, folder: Path, mode: str) -> None:
    for index in range(3):
        stock.clang(SWITCHES, folder / f"in{index}.bc", "-Oz")
    expected = {}
    for index, density in enumerate(DENSITIES):
        hosted(host, folder, "kept", decided(folder, {index: f"option optsize-jump-table-density={density}"}))
        expected[index] = (folder / f"objects/0-{index}.o").read_bytes()
    assert len(set(expected.values())) > 1
    sections = {i: f"option optsize-jump-table-density={density}" for i, density in enumerate(DENSITIES)}
    assert hosted(host, folder, mode, decided(folder, sections)) == ""
    for made in (folder / "objects").iterdir():
        same = made.read_bytes() == expected[int(made.stem[-1])]
        assert same, made


def test_options_that_choose_passes_want_the_thread_that_optimized(host: Path, folder: Path) -> None:
    """LLVM adds the passes before it names the module, which has to be the one that was optimized last."""
    option = "option enable-machine-outliner=always"
    found = hosted(host, folder, "staged", decided(folder, {0: option, 1: "#", 2: "#"}))
    assert re.fullmatch(
        r"error: options of LLVM for in0\.bc: expected enable-machine-outliner=always before the passes of "
        r"its code generation were added, got another module's; optimize it on the same thread "
        r"right before\n",
        found,
    ), found
    assert hosted(host, folder, "staged", decided(folder, dict.fromkeys(range(3), option))) == ""
    assert hosted(host, folder, "kept", decided(folder, {0: option, 1: "#", 2: "#"})) == ""


def test_decided_pipelines_and_runs_outlive_the_builder(host: Path, folder: Path) -> None:
    (folder / "tidy.py").write_text(TIDY)
    lines = "pipeline function(simplifycfg),tidy,globaldce"
    options = (decided(folder, {0: "#", 1: lines, 2: "#"}), "load=tidy.py", "at=optimizer-early=tidy")
    assert hosted(host, folder, "kept", *options) == ""
    expected = [path.read_bytes() for path in sorted((folder / "objects").iterdir())]
    assert hosted(host, folder, "staged", *options) == ""
    found = [path.read_bytes() for path in sorted((folder / "objects").iterdir())]
    assert [mine == theirs for mine, theirs in zip(found, expected, strict=True)] == [True] * 3


@pytest.mark.parametrize("mode", ["again", "kept"])
def test_later_modules_keep_their_passes_of_code_generation(host: Path, folder: Path, mode: str) -> None:
    """A failure does not reach the modules that the process compiles later."""
    (folder / "logs").mkdir()
    options = ("inline=python:policy.py:breaks_once", "advise=advised-outliner=const:0", "log=logs")
    failing = hosted(host, folder, mode, *options)
    assert failing.count("error: inline advisor at ") == failing.count("error: ") == 1
    logs = [name.split(".")[0] for name in files_in(folder / "logs") if "advised-outliner" in name]
    assert sorted(logs) == ["in1", "in2"]


@pytest.mark.parametrize(
    "pipeline", ["function(sroa)", "function(mark-cold{below=1})"], ids=["native", "python"]
)
def test_compilations_leave_no_memory_behind(
    host: Path, folder: Path, pipeline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "malloc")  # so that its objects are counted
    done = ran(
        host, "flat", "objects", pipeline, "in0.bc", "--", "load=passes.py", cwd=folder, timeout=SECONDS
    )
    assert (done.code, done.err) == (0, "")
    assert int(done.out) < 200 * 1000, "bytes of 1000 compilations"
