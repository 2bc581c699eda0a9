# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for stock tools: who starts Python, custom features, profiles, logs, tools it refuses."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import LoggedDecision, read_log
from passpilot.plugin.toolchain import llvm_plugin
from tests import stock
from tests.command import files_in
from tests.corpus.build import bindir
from tests.plugin.native.stock.tools import Done, made, run, tool

LIBRARIES: Final = ("libpasspilot.so", "libpasspilot_llvm.so")
O2: Final = "-passes=default<O2>"

PROFILE: Final = """\
first:900000:500
 3: 90000 pick:60000 kept:30000
pick:300000:60000
 1: 60000
 2: 9000 small:9000
main:5000:1
 0: 1 first:1 second:1
"""

FEATURE: Final = """\
import passpilot

@passpilot.feature("int64[1]", point="inline")
def arguments(site):
    return len(site.arguments)

def decide(obs):
    return obs["arguments"] == 1
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module with some dozens of decisions."""
    return stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")


def refused(done: Done, folder: Path, before: set[str], expected: str) -> None:
    """It has failed with one error, without a traceback and without a file."""
    assert done.code == 1
    assert re.search(expected, done.err), done.err
    assert "Traceback" not in done.err
    assert set(files_in(folder)) == before


def copied(folder: Path) -> Path:
    """The plugin somewhere else."""
    folder.mkdir(parents=True)
    for name in LIBRARIES:
        shutil.copy(llvm_plugin().with_name(name), folder)
    return folder / LIBRARIES[0]


def test_native_runners_start_no_python(source: Path, tmp_path: Path) -> None:
    plugin = copied(tmp_path / "elsewhere")
    logged = ("-passpilot-inline=random:1", "-passpilot-log=x.log", O2, source, "-o", "out.bc")
    done = tool("opt", *logged, cwd=tmp_path, plugin=plugin)
    assert (done.code, done.err) == (0, "")
    before = set(files_in(tmp_path))
    flags = ("-passpilot-inline=python:policy.py", O2, source, "-o", "new.bc")
    expected = r"error: passpilot: expected the packages of /.*, got ModuleNotFoundError: "
    refused(tool("opt", *flags, cwd=tmp_path, plugin=plugin), tmp_path, before, expected)


@pytest.mark.parametrize("name", ["opt", "clang", "llc"])
def test_python_without_the_packages(name: str, source: Path, tmp_path: Path) -> None:
    """An environment in which only the plugin's own files are."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    plugin = copied(tmp_path / "venv/lib" / version / "site-packages/passpilot/plugin")
    program = tmp_path / "venv/bin" / version
    program.parent.mkdir()
    program.symlink_to(Path(sys.base_prefix) / "bin" / version)
    (tmp_path / "venv/pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    point = "evict" if name == "llc" else "inline"
    flags = {"opt": (O2,), "clang": ("-O2", "-c", "-x", "ir"), "llc": ("-filetype=obj",)}[name]
    before = set(files_in(tmp_path))
    env = {f"PASSPILOT_{point.upper()}": "python:policy.py"}
    done = tool(name, *flags, source, "-o", "out", cwd=tmp_path, env=env, plugin=plugin)
    expected = (
        rf"error: passpilot: expected the packages of .*{program.name}, got ModuleNotFoundError: .*; install"
    )
    refused(done, tmp_path, before, expected)


@pytest.mark.parametrize("name", ["opt-14", "clang-14", "llc-14"])
def test_tools_of_another_llvm(name: str, tmp_path: Path) -> None:
    """The plugin would bring its own LLVM along, of which such a tool knows nothing."""
    text = tmp_path / "in.ll"
    text.write_text("define i32 @f(i32 %x) {\n  ret i32 %x\n}\n")
    load = {"opt-14": "-load-pass-plugin={}", "clang-14": "-fpass-plugin={}", "llc-14": "-load={}"}[name]
    flags: dict[str, tuple[str, ...]]
    flags = {"opt-14": (O2,), "clang-14": ("-O2", "-c"), "llc-14": ("-filetype=obj",)}
    before = set(files_in(tmp_path))
    command: tuple[str | Path, ...] = (
        f"/usr/bin/{name}",
        load.format(llvm_plugin()),
        *flags[name],
        text,
        "-o",
        "out",
    )
    done = run(*command, cwd=tmp_path, env={"PASSPILOT_INLINE": "const:0", "PASSPILOT_EVICT": "const:32"})
    expected = r"error: passpilot: expected a tool with libLLVM\.so\.22\.1, .* got /usr/lib/llvm-14/"
    refused(done, tmp_path, before, expected)


def test_features_of_the_users(source: Path, tmp_path: Path) -> None:
    """They are computed in Python, for runners that are not, and for the log."""
    (tmp_path / "mine.py").write_text(FEATURE)
    logs: list[list[LoggedDecision]] = []
    for runner in ("python:mine.py:decide", "const:1"):
        log = tmp_path / f"{len(logs)}.log"
        flags = (
            "-passpilot-load=mine.py",
            f"-passpilot-inline={runner}",
            f"-passpilot-log={log}",
            O2,
            source,
        )
        done = tool("opt", *flags, "-o", "out.bc", cwd=tmp_path)
        assert done.code == 0, done.err
        logs.append(list(read_log(str(log))))
    decided = {
        (int(each.tensors["arguments"][0]), int(each.tensors["inlining_decision"][0])) for each in logs[0]
    }
    assert decided == {(0, 0), (1, 1), (2, 0)} & decided
    assert len(decided) > 1
    assert all("arguments" in each.tensors for each in logs[1])


def test_a_log_replays(source: Path, tmp_path: Path) -> None:
    first = made("opt", tmp_path / "a.bc", "-passpilot-inline=random:7", "-passpilot-log=a.log", O2, source)
    again = made(
        "opt", tmp_path / "b.bc", "-passpilot-inline=replay:a.log", "-passpilot-log=b.log", O2, source
    )
    assert first == again
    assert (tmp_path / "a.log").read_bytes() == (tmp_path / "b.log").read_bytes()


def test_a_module_with_a_profile(tmp_path: Path) -> None:
    """The decisions of clang with a profile are replayed by clang, and are others than without it."""
    program = tmp_path / "p.c"
    program.write_text(stock.MANY_CALLS)
    (tmp_path / "p.prof").write_text(PROFILE)
    sampled = ("-O2", program, "-gline-tables-only", f"-fprofile-sample-use={tmp_path / 'p.prof'}")
    assert b"ProfileSummary" in stock.run("clang", *sampled, "-S", "-emit-llvm", "-o", "-")
    profile = (*sampled, "-c")
    assert run(bindir() / "clang", *profile, "-o", "stock.o", cwd=tmp_path).code == 0
    echo = made(
        "clang", tmp_path / "a.o", *profile, env={"PASSPILOT_INLINE": "default", "PASSPILOT_LOG": "a.log"}
    )
    assert echo == (tmp_path / "stock.o").read_bytes()
    random = {"PASSPILOT_INLINE": "random:3", "PASSPILOT_LOG": "b.log"}
    once = made("clang", tmp_path / "b.o", *profile, env=random)
    assert once == made("clang", tmp_path / "c.o", *profile, env={"PASSPILOT_INLINE": "replay:b.log"})
    assert once != echo


def test_one_log_for_two_processes(tmp_path: Path) -> None:
    """Clang compiles two files in two processes, and the second does not replace the log of the first."""
    (tmp_path / "a.c").write_text(stock.MANY_CALLS)
    (tmp_path / "b.c").write_text("static int one(int x) { return x; }\nint two(int x) { return one(x); }\n")
    env = {"PASSPILOT_INLINE": "const:0", "PASSPILOT_LOG": "x.log"}
    done = tool("clang", "-O2", "-flto", "-c", "a.c", "b.c", cwd=tmp_path, env=env)
    assert done.code == 1
    assert "x.log" in done.err
    assert {o.callee for o in read_log(str(tmp_path / "x.log"))} != {"one"}


def test_the_environment_and_flags(source: Path, tmp_path: Path) -> None:
    """Flags win over variables, the last of two flags over the first."""
    no = made("opt", tmp_path / "a.bc", "-passpilot-inline=const:0", O2, source)
    env = {"PASSPILOT_INLINE": "const:1"}
    yes = made("opt", tmp_path / "b.bc", O2, source, env=env)
    assert made("opt", tmp_path / "c.bc", "-passpilot-inline=const:0", O2, source, env=env) == no != yes
    both = ("-passpilot-inline=const:1", "-passpilot-inline=const:0")
    assert made("opt", tmp_path / "d.bc", *both, O2, source) == no
    assert made("opt", tmp_path / "e.bc", "-passpilot-advise=inline=const:0", O2, source) == no


def test_views_end_with_the_compilation(source: Path, tmp_path: Path) -> None:
    """What a pass has kept cannot be looked at once the compiler has its module back."""
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom passpilot import llvm\nKEPT = []\n"
        "@llvm.module_pass('keep')\n@dataclass(frozen=True)\nclass Keep:\n"
        "    def run(self, module):\n"
        "        KEPT.extend([module, *module.functions, module.functions[0].type])\n"
        "        return False\n"
        "def look():\n"
        "    for each in KEPT:\n"
        "        try:\n            print(each.name if hasattr(type(each), 'name') else str(each))\n"
        "        except Exception as error:\n            print(type(error).__name__)\n"
        "import passpilot.passes.stock.llvm_door as loaded\n"
        "finish = loaded._LoadedCompilation.end\n"
        "def end(self, **keywords):\n    finish(self, **keywords)\n    look()\n"
        "loaded._LoadedCompilation.end = end\n"
    )
    done = tool("opt", "-passpilot-load=mine.py", "-passes=keep", source, "-o", "out.bc", cwd=tmp_path)
    assert done.code == 0, done.err
    lines = done.out.decode().split()
    assert len(lines) > 3
    assert set(lines) == {"StaleViewError"}


def test_the_interpreter_is_the_environments(source: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("import sys\nprint(sys.prefix)\ndef no(obs):\n    return False\n")
    done = tool("opt", "-passpilot-inline=python:policy.py:no", O2, source, "-o", "out.bc", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.decode().strip() == sys.prefix


def test_hosted_and_loaded_see_the_same(source: Path, tmp_path: Path) -> None:
    """Every tensor of every question, and the views."""
    (tmp_path / "policy.py").write_text(
        "import hashlib\nSEEN = hashlib.sha256()\n"
        "def look(obs):\n"
        "    for name in obs:\n        SEEN.update(name.encode() + obs[name].tobytes())\n"
        "    site = obs.site\n"
        "    SEEN.update(f'{site.caller.name} {site.callee.name} {len(site.arguments)}'.encode())\n"
        "    print(SEEN.hexdigest())\n"
        "    return obs.default()\n"
    )
    loaded = tool("opt", "-passpilot-inline=python:policy.py:look", O2, source, "-o", "out.bc", cwd=tmp_path)
    assert loaded.code == 0, loaded.err
    passpilot_command = Path(sys.executable).with_name("passpilot")
    flags = ("--inline=python:policy.py:look", "-o", "hosted.bc")
    hosted = run(passpilot_command, "opt", source, O2, *flags, cwd=tmp_path)
    assert hosted.code == 0, hosted.err
    assert hosted.out == loaded.out
    assert loaded.out.count(b"\n") > 10


def test_flags_win_over_variables_of_other_options(source: Path, tmp_path: Path) -> None:
    yes = made("opt", tmp_path / "a.bc", "-passpilot-inline=const:1", O2, source)
    env = {"PASSPILOT_ADVISE": "inline=const:0"}
    assert made("opt", tmp_path / "b.bc", "-passpilot-inline=const:1", O2, source, env=env) == yes
    assert made("opt", tmp_path / "c.bc", O2, source, env=env) != yes


def test_what_a_policy_writes_is_there(source: Path, tmp_path: Path) -> None:
    """The interpreter never ends; exit functions run, and files are flushed, all the same."""
    (tmp_path / "policy.py").write_text(
        "import atexit\nFILE = open('written.txt', 'w')\natexit.register(lambda: FILE.write('end'))\n"
        "def no(obs):\n    FILE.write('.')\n    return False\n"
    )
    flags = ("-passpilot-inline=python:policy.py:no", O2)
    assert tool("opt", *flags, source, "-o", "out.bc", cwd=tmp_path).code == 0
    assert re.fullmatch(r"\.+end", (tmp_path / "written.txt").read_text())


def test_a_log_that_nobody_reads(source: Path, tmp_path: Path) -> None:
    """A FIFO without another end is refused, not waited for."""
    os.mkfifo(tmp_path / "log")
    before = set(files_in(tmp_path))
    flags = ("-passpilot-inline=const:0", "-passpilot-log=log", O2, source, "-o", "out.bc")
    refused(
        tool("opt", *flags, cwd=tmp_path),
        tmp_path,
        before,
        "error: decision log log: expected a file to write",
    )


def test_a_default_without_a_log_beside_one_with_a_log(source: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FEATURE)
    env = {"PASSPILOT_INLINE": "default", "PASSPILOT_EVICT": "random:1", "PASSPILOT_LOG": "evict=e.log"}
    flags = ("-O2", "-c", "-x", "ir", source, "-mllvm", "-passpilot-load=mine.py", "-o", "out.o")
    done = tool("clang", *flags, cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert (tmp_path / "out.o").exists()
