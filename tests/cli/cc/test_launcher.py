# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `passpilot` itself: it starts clang just as `passpilot cc` in Python would, or else Python."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NoReturn

import pytest

from passpilot.cli.cc import main as cc
from passpilot.plugin.errors import Error
from tests.command import PASSPILOT

PYTHON: Final = f"python3.{sys.version_info.minor}"
WORDS: Final = """
    -c -S -E -M -O0 -O1 -O2 -Oz -O -O3 --optimize=0 --optimize=2 --optimize -ObjC -flto -flto=thin
    -fno-lto -fltoo -fuse-ld=lld -fuse-ld=bfd -fuse-ld=/usr/bin/ld.lld --ld-path=/x/ld.lld -o a.o
    -include -I -Dx -D -Xclang -mllvm -mllvm=-x -print-search-dirs --print-x --version -dumpmachine - --
    @args --no-such --sysroot=/ --sysroot a.c b.o clang-22 ./clang-22 clang-21 gcc link/clang++-22
    -target x86_64-linux --help --stats --traceback --inl --i --= --inline=const:0 --inline=default
    --inline=random:7 --inline= --inline --inline=onnx:model.onnx --inline=onnx:model.onnx?as=logits
    --inline=onnx:no.onnx --inline=python:policy.py:decide --inline=python:no.py:decide
    --inline=python:module:decide --inline=python:policy.py --inline=onnx --inline=aot:logs
    --evict=random:1 --evict=default --priority=const:0 --log=logs/ --log=new --log=evict=x.log
    --on-error=default --on-error=fail --on-error=maybe --on-error=fail|default --timeout=5 --timeout=0
    --timeout=1e3 --timeout=0x10 --timeout=nan --timeout=1_0 --size-budget=0 --size-budget=.5
    --size-budget=1.5 --size-budget=-1 --eviction-limit=3 --advise=inline=const:0 --load=policy.py
    --at=vectorizer-start=dce --llvm=22 --llvm=23 --llvm=24 --llvm
    --decisions=policy.py --decisions=none
    --policy=@oz --policy=@oz-2 --policy=@Oz --policy=@ --policy=@oz?recipe=2 --policy=@oz?recipe=x
    --policy=mine --policy=logs --policy=none --policy= --policy --policy=@ozz --inline=cnst:0 a.s -E
"""
VARIABLES: Final = """
    PASSPILOT_INLINE=const:1 PASSPILOT_INLINE=default PASSPILOT_EVICT=random:2 PASSPILOT_INLINE=
    PASSPILOT_LOG=logs PASSPILOT_LOG=a;b PASSPILOT_ON_ERROR=default PASSPILOT_ON_ERROR=no
    PASSPILOT_STATS=1 PASSPILOT_STATS=0 PASSPILOT_ADVISE= PASSPILOT_ADVISE=inline=const:0
    PASSPILOT_LOAD=policy.py PASSPILOT_TIMEOUT=3 PASSPILOT_TRACEBACK=1 PASSPILOT_INLIN=default PASSPILOT_X=1
    PASSPILOT_POLICY=@oz PASSPILOT_POLICY=mine PASSPILOT_POLICY=none PASSPILOT_LLVM=22 PASSPILOT_LLVM=23
"""
ADVICE: Final = ("--inline=random:7", "--inline=python:policy.py:decide", "--evict=const:0", "--log=logs/")


class StartedError(Exception):
    """What `passpilot cc` in Python would have become."""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prefix with the command, a package, and a program in place of clang and Python that shows words."""
    prefix = tmp_path_factory.mktemp("prefix")
    plugin = prefix / "lib" / PYTHON / "site-packages/passpilot/plugin"
    plugin.mkdir(parents=True)
    (plugin / "libpasspilot.so").touch()
    (prefix / "bin").mkdir()
    shutil.copy(PASSPILOT, prefix / "bin")
    show = prefix / "show"
    subprocess.run(["clang-22", Path(__file__).with_name("show.c"), "-o", show], check=True)
    for name in (PYTHON, "clang-22", "clang++-22", "clang-21", "gcc"):
        shutil.copy(show, prefix / "bin" / name)
    return prefix


@pytest.fixture
def here(tmp_path: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files that WORDS name, and the prefix first on the PATH."""
    for name in ("model.onnx", "policy.py", "a.c"):
        (tmp_path / name).touch()
    (tmp_path / "args").write_text("-O2 -c")
    (tmp_path / "logs").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/policy.toml").touch()
    (tmp_path / "link").mkdir()
    (tmp_path / "link/clang++-22").symlink_to(prefix / "bin/clang-22")
    (tmp_path / "clang-22").symlink_to(prefix / "bin/clang-22")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{prefix / 'bin'}:/usr/bin:/bin")
    for name in os.environ:
        if name.startswith("PASSPILOT_"):
            monkeypatch.delenv(name)
    return tmp_path


def started(prefix: Path, *arguments: str, **variables: str) -> list[str]:
    """The arguments and variables that the command starts a program with, the variables in order."""
    done = subprocess.run(
        [prefix / "bin/passpilot", *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, **variables},
    )
    words = done.stdout.decode().split("\0")[:-1]
    count = len(words) - sum(word.startswith("PASSPILOT_") for word in words)
    return words[:count] + sorted(words[count:])


def by_python(prefix: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str] | None:
    """What `cli/cc` would start; none if it shows help or refuses."""

    def become(_: str, words: list[str], environment: dict[str, str]) -> NoReturn:
        own = (f"{name}={value}" for name, value in environment.items() if name.startswith("PASSPILOT_"))
        raise StartedError([*words, *sorted(own)])

    plugin = str(prefix / "lib" / PYTHON / "site-packages/passpilot/plugin/libpasspilot.so")
    monkeypatch.setattr(cc, "become", become)
    monkeypatch.setattr(cc, "installed", lambda _: plugin)
    try:
        (cc.c if arguments[0] == "cc" else cc.cxx)(arguments[1:])
    except StartedError as words:
        result: list[str] = words.args[0]
        return result
    except Error:
        pass
    return None


def test_random_command_lines(here: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(7)
    at_once = advised = 0
    for _ in range(300):
        with monkeypatch.context() as patch:
            for word in chosen.sample(VARIABLES.split(), chosen.choice((0, 0, 0, 1, 2))):
                name, _, value = word.partition("=")
                patch.setenv(name, value)
            words = chosen.sample(WORDS.split(), chosen.randint(0, 3))
            if chosen.random() < 0.6:
                words.append(chosen.choice(ADVICE))
            if chosen.random() < 0.8:
                words += ["-O2", "-c", "a.c"]
            if chosen.random() < 0.1:
                words.insert(0, chosen.choice(("clang-22", "link/clang++-22", "clang-21", "gcc")))
            arguments = (chosen.choice(("cc", "c++")), *words)
            native = started(prefix, *arguments)
            if not native[0].endswith(PYTHON):
                assert native == by_python(prefix, patch, *arguments), (arguments, native)
                at_once += 1
                advised += any("-fpass-plugin" in each for each in native)
            shutil.rmtree(here / "new", ignore_errors=True)
    assert at_once > 60
    assert advised > 30


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--inline=default",),
        ("--inline=const:0", "--on-error=default"),
        ("--inline=onnx:model.onnx?as=logits", "--log=logs/"),
        ("--inline=python:policy.py:decide", "--timeout=5"),
        ("--evict=random:7", "--eviction-limit=3"),
        ("--decisions=model.onnx",),
        ("--policy=@oz",),
        ("--policy=@oz", "--llvm=22"),
        ("--policy=mine", "--evict=default"),
        ("clang-22", "--inline=grpc:127.0.0.1:4000"),
    ],
    ids=" ".join,
)
def test_usual_compilations_need_no_python(
    options: tuple[str, ...], here: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("cc", *options, "-Oz", "-c", "a.c", "-o", "a.o")
    words = started(prefix, *arguments)
    assert words[0] == "clang-22"
    assert words == by_python(prefix, monkeypatch, *arguments)
    assert here == Path.cwd()


@pytest.mark.parametrize("arguments", [(), ("opt", "--help"), ("--version",), ("cc", "--help"), ("ccc",)])
def test_everything_else_is_python(arguments: tuple[str, ...], here: Path, prefix: Path) -> None:
    words = started(prefix, *arguments)
    assert words == [
        str(prefix / "bin" / PYTHON),
        "-Pc",
        "from passpilot.cli.main import run; run()",
        *arguments,
    ]
    assert here == Path.cwd()


@pytest.mark.parametrize("words", [("@args",), ("-o", "@args"), ("-I", "@args"), ("-Xclang", "@none")])
def test_a_response_file_is_pythons_wherever_it_stands(
    words: tuple[str, ...], here: Path, prefix: Path
) -> None:
    assert started(prefix, "cc", "--inline=const:0", "-c", "a.c", *words)[0] == str(prefix / "bin" / PYTHON)
    assert here == Path.cwd()


def test_another_llvm_is_never_passed_by(here: Path, prefix: Path) -> None:
    python = str(prefix / "bin" / PYTHON)
    assert started(prefix, "cc", "--llvm=23", "-c", "a.c")[0] == python
    assert started(prefix, "c++", "-c", "a.c", PASSPILOT_LLVM="21")[0] == python
    assert here == Path.cwd()


def test_a_recording_is_never_passed_by(here: Path, prefix: Path) -> None:
    folder = str(here / "recording")
    python = str(prefix / "bin" / PYTHON)
    for words in (("-c", "a.c"), ("a.o",), ("--inline=const:0", "-O2", "-c", "a.c")):
        assert started(prefix, "cc", f"--record={folder}", *words)[0] == python
        assert started(prefix, "c++", *words, PASSPILOT_RECORD=folder)[0] == python


@pytest.mark.parametrize(
    "words", ["--policy=@oz -O2", "--policy=@oz?x -O2", "--policy=@oz", "--inline=const:0"]
)
def test_a_note_of_the_same_build_spares_python(words: str, here: Path, prefix: Path) -> None:
    """What Python has said about the level in a build is not said again, so Python need not start."""
    script = "{0} cc {2} -c a.c >log 2>&1; {1} cc {2} -c a.c; :"
    line = script.format(PASSPILOT, prefix / "bin/passpilot", words)
    cache = {**os.environ, "XDG_CACHE_HOME": str(here / "cache")}
    done = subprocess.run(
        ["sh", "-c", line], check=True, capture_output=True, env=cache, start_new_session=True
    )
    program = done.stdout.decode().split("\0")[0]
    assert Path(program).name == (PYTHON if "?" in words else "clang-22")


def test_variables_with_a_wrong_letter_are_pythons(here: Path, prefix: Path) -> None:
    arguments = ("cc", "-c", "a.c")
    assert started(prefix, *arguments, PASSPILOT_INLIN="const:0")[0] == str(prefix / "bin" / PYTHON)
    assert started(prefix, *arguments, PASSPILOT_CACHE="x", PASSPILOT_OTHER="x")[0] == "clang-22"
    assert here == Path.cwd()


def test_python_is_found_on_the_path(prefix: Path, tmp_path: Path) -> None:
    """As after `pip install --user`, where no interpreter is beside the command."""
    shutil.copytree(prefix / "lib", tmp_path / "lib")
    (tmp_path / "bin").mkdir()
    shutil.copy(prefix / "bin/passpilot", tmp_path / "bin")
    assert started(tmp_path, "opt", PATH=f"{prefix / 'bin'}")[0] == PYTHON
    done = subprocess.run(
        [tmp_path / "bin/passpilot", "opt"],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": "/none"},
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"passpilot: error: expected {PYTHON} in {tmp_path / 'bin'} or on the PATH, got: No such file or "
        "directory; install passpilot again\n"
    )


def test_modules_are_not_taken_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken')\n")
    done = subprocess.run([PASSPILOT, "--version"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.startswith("passpilot ")
