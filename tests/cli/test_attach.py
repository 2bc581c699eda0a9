# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot attach` and the distribution's own opt, llc, clang and ld.lld."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import stock
from tests.command import GENEROUS, PASSPILOT, finished, passpilot, program, refused, started
from tests.command import stock as stock_opt
from tests.corpus.build import bindir
from tests.passes.allocation.allocated import optimized
from tests.runners.serving import grpc_serving
from tests.runners.serving.serving import served

Corpus = Callable[[str, str], Path]

POLICIES = """
def by_cost(obs):
    return obs["cost_estimate"] < 20 or obs.default()

by_cost.features = ("cost_estimate", "callee_users", "inlining_default")

def last_legal(obs):
    return int(obs["mask"][0].nonzero()[0][-1] if obs["progress"] > 0.1 else obs["mask"][0].argmax())

def illegal(obs):
    return int((obs["mask"][0] == 0).argmax())

def short_first(obs):
    return 1 << 32 - obs["li_size"].item().bit_length()

def nan(obs):
    return float("nan")

def interrupts(obs):
    import os, signal
    os.kill(os.getpid(), signal.SIGINT)
    return False

def fails(obs):
    raise ValueError("no idea")
"""


@pytest.fixture
def policies(tmp_path: Path) -> str:
    path = tmp_path / "policies.py"
    path.write_text(POLICIES)
    return f"python:{path}"


def attached(*arguments: str | Path, cwd: Path) -> str:
    """What `passpilot attach` says on stderr when all is well."""
    done = passpilot("attach", *arguments, cwd=cwd)
    assert done.code == 0, done.err
    return done.err


@pytest.mark.parametrize(
    ("name", "level"),
    [
        pytest.param("lz4", "Oz", marks=pytest.mark.soak),
        pytest.param("picosat", "O2", marks=pytest.mark.soak),
        ("libyaml", "Oz"),
    ],
)
def test_an_echo_of_the_default_is_stock_opt(corpus: Corpus, tmp_path: Path, name: str, level: str) -> None:
    command = ("opt-22", f"-passes=default<{level}>", corpus(name, level), "-o")
    said = attached("--inline=default", "--stats", "--", *command, tmp_path / "ours.bc", cwd=tmp_path)
    rows = {what: int(count) for count, what in re.findall(r"^ +(\d+) (\w+)", said, re.MULTILINE)}
    assert rows["decisions"] == rows["accepted"] + rows["refused"] > 100
    assert rows["accepted"] > 0 < rows["refused"]
    subprocess.run([*command, tmp_path / "stock.bc"], check=True)
    assert (tmp_path / "ours.bc").read_bytes() == (tmp_path / "stock.bc").read_bytes()


@pytest.mark.parametrize(
    "runner", [pytest.param("random:3", marks=pytest.mark.soak), "by_cost", "pipe", "grpc"]
)
def test_inlines_as_passpilot_opt(corpus: Corpus, tmp_path: Path, policies: str, runner: str) -> None:
    spec = runner if ":" in runner else f"{policies}:by_cost"
    common = ("-passes=default<O2>", corpus("libsvm", "O2"), "-o")
    passpilot("opt", f"--inline={spec}", "--size-budget=0", *common, "ours.bc", cwd=tmp_path)
    if runner == "pipe":
        with served(spec, f"{tmp_path}/ch"):
            attached(f"--inline=pipe:{tmp_path}/ch", "--", "opt-22", *common, "theirs.bc", cwd=tmp_path)
    elif runner == "grpc":  # whose threads are there before the compiler is
        with grpc_serving.served(spec) as (_, target):
            attached(f"--inline=grpc:{target}", "--", "opt-22", *common, "theirs.bc", cwd=tmp_path)
    else:
        attached(f"--inline={spec}", "--", "opt-22", *common, "theirs.bc", cwd=tmp_path)
    assert (tmp_path / "theirs.bc").read_bytes() == (tmp_path / "ours.bc").read_bytes()


@pytest.mark.parametrize(("name", "runner"), [("libsvm", "random:7"), ("picosat", "last_legal")])
def test_evicts_as_passpilot_llc(tmp_path: Path, policies: str, name: str, runner: str) -> None:
    spec = runner if ":" in runner else f"{policies}:{runner}"
    common = ("-O2", "-filetype=obj", optimized(name), "-o")
    passpilot("llc", f"--evict={spec}", *common, "ours.o", cwd=tmp_path)
    attached(f"--evict={spec}", "--", "llc-22", *common, "theirs.o", cwd=tmp_path)
    assert (tmp_path / "theirs.o").read_bytes() == (tmp_path / "ours.o").read_bytes()


def test_two_points_of_one_llc(tmp_path: Path, policies: str) -> None:
    runners = ("--evict=random:7", f"--priority={policies}:short_first")
    common = ("-O2", "-filetype=obj", optimized("picosat"), "-o")
    passpilot("llc", *runners, *common, "ours.o", cwd=tmp_path)
    said = attached(*runners, "--stats", "--", "llc-22", *common, "theirs.o", cwd=tmp_path)
    assert said.count(" 1 session\n") == 2
    assert (tmp_path / "theirs.o").read_bytes() == (tmp_path / "ours.o").read_bytes()


def test_clang_asks_at_all_points_and_for_each_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.c").write_text(stock.MANY_CALLS)
    clang = str(bindir() / "clang")
    runners = ("--inline=random:1", "--evict=random:1", "--priority=random:1")
    said = attached(*runners, "--stats", "--", clang, "-Werror", "-O2", "-c", "a.c", "b.c", cwd=tmp_path)
    assert said.count("2 sessions") == 3
    subprocess.run([clang, "a.o", "-o", "a"], check=True, cwd=tmp_path)
    subprocess.run([clang, "-w", "-O0", "a.c", "-o", "plain"], check=True, cwd=tmp_path)
    codes = [subprocess.run([tmp_path / name], check=False).returncode for name in ("a", "plain")]
    assert codes[0] == codes[1]


def test_clang_and_its_cc1_echo_the_default(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(stock.MANY_CALLS)
    clang = str(bindir() / "clang")
    commands = (("-Os", "-c"), ("-cc1", "-Os", "-emit-obj", "-disable-free"))
    for number, flags in enumerate(commands):
        stock_object, ours = f"stock{number}.o", f"ours{number}.o"
        subprocess.run([clang, *flags, "a.c", "-o", stock_object], check=True, cwd=tmp_path)
        attached("--inline=default", "--", clang, *flags, "a.c", "-o", ours, cwd=tmp_path)
        assert (tmp_path / ours).read_bytes() == (tmp_path / stock_object).read_bytes()


@pytest.fixture(scope="module")
def thin(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The units of a program, ready for ThinLTO."""
    folder, made = tmp_path_factory.mktemp("thin"), []
    for unit in sorted(corpus("libyaml", "O2").parent.glob("*.c.bc")):
        made.append(folder / unit.with_suffix(".o").name)
        stock.run("opt", "-passes=thinlto-pre-link<O2>", "--thinlto-bc", unit, "-o", made[-1])
    assert len(made) > 3
    return made


def test_thin_lto_on_one_thread(thin: list[Path], tmp_path: Path) -> None:
    common: tuple[str | Path, ...] = ("-shared", *thin, "-o")
    said = attached("--inline=default", "--stats", "--", "ld.lld-22", *common, "ours.so", cwd=tmp_path)
    assert f"{len(thin)} sessions" in said
    stock.run("ld.lld", *common, tmp_path / "stock.so")
    assert (tmp_path / "ours.so").read_bytes() == (tmp_path / "stock.so").read_bytes()


def test_thin_lto_on_two_threads_is_refused(thin: list[Path], tmp_path: Path) -> None:
    command: tuple[str | Path, ...] = ("ld.lld-22", "--thinlto-jobs=2", "-shared", *thin, "-o", "out.so")
    assert "--thinlto-jobs=1" in refused("attach", "--inline=default", "--", *command, cwd=tmp_path)


def test_the_standard_streams_are_those_of_the_compiler(tmp_path: Path) -> None:
    with subprocess.Popen(
        [PASSPILOT, "attach", "--inline=const:1", "--", "opt-22", "-O2", "-", "-S", "-o", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    ) as child:
        out, _ = child.communicate(program(3), timeout=GENEROUS)
    assert out.count(" @caller") == 3
    assert " call " not in out


@pytest.mark.parametrize("command", [("opt-22", "-passes=instcombine"), ("opt-22", "-O0")])
def test_a_compiler_that_never_asks(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "in.ll").write_text(program())
    said = attached("--inline=const:1", "--", *command, "in.ll", "-disable-output", cwd=tmp_path)
    assert said.startswith("passpilot: warning: inline advisor: runner const:1 was never asked")


def test_a_compilers_own_error(tmp_path: Path) -> None:
    done = passpilot("attach", "--inline=const:1", "--", "opt-22", "missing.ll", cwd=tmp_path)
    assert done.code == 1
    assert done.err.startswith("opt-22: missing.ll: error: Could not open input file")
    assert "passpilot" not in done.err


@pytest.mark.parametrize(
    ("flag", "command", "text"),
    [
        (
            "--inline={}:fails",
            "opt-22 -O2 in.ll -o out",
            "inline advisor at decision 0: ValueError: no idea (",
        ),
        ("--inline={}:fails", "clang-22 -w -O2 -c in.ll -o out", "inline advisor at decision 0: ValueError"),
        ("--evict={}:illegal", "llc-22 {} -o out", "expected a column that 'mask' allows ("),
        (
            "--priority={}:nan",
            "llc-22 in.ll -o out",
            "priority advisor at decision 0 (callee): advice: expected",
        ),
        ("--evict=default", "llc-22 in.ll -o out", "no default of evict and priority: use `passpilot llc`"),
    ],
)
def test_a_failing_runner_leaves_no_output(
    tmp_path: Path, policies: str, flag: str, command: str, text: str
) -> None:
    (tmp_path / "in.ll").write_text(program())
    words = command.format(optimized("picosat")).split()
    assert text in refused("attach", flag.format(policies), "--", *words, cwd=tmp_path)


def test_a_failing_runner_leaves_it_to_llvm(tmp_path: Path, policies: str) -> None:
    (tmp_path / "in.ll").write_text(program())
    flags = (f"--inline={policies}:fails", "--on-error=default")
    said = attached(*flags, "--", "opt-22", "-O2", "in.ll", "-o", "ours.bc", cwd=tmp_path)
    assert "30 of 30 decisions fell back to the default; the first: inline advisor at decision 0: " in said
    assert (tmp_path / "ours.bc").read_bytes() == stock_opt(Path("in.ll"), "-O2", cwd=tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_compiler_too(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "in.ll").write_text(program())
    (tmp_path / "policy.py").write_text(
        "import os, threading\ndef decide(obs):\n    os.write(1, b'asked')\n    threading.Event().wait()\n"
    )
    command = ("--inline=python:policy.py:decide", "--", "opt-22", "-O2", "in.ll", "-o", "out.bc")
    with started("env", f"TMPDIR={tmp_path}", PASSPILOT, "attach", *command, cwd=tmp_path) as child:
        assert child.stdout is not None
        assert os.read(child.stdout.fileno(), 5) == b"asked"
        child.send_signal(number)
        assert finished(child, 0.0).code == 128 + number
    assert not (tmp_path / "out.bc").exists()
    assert not list(tmp_path.glob("passpilot-*"))


def test_a_killed_passpilot_takes_the_compiler_with_it(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program())
    (tmp_path / "policy.py").write_text(
        "import os, signal, psutil\ndef decide(obs):\n    (child,) = psutil.Process().children()\n"
        "    print(child.pid, flush=True)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = ("--inline=python:policy.py:decide", "--", "opt-22", "-O2", "in.ll", "-o", "out.bc")
    with started("env", f"TMPDIR={tmp_path}", PASSPILOT, "attach", *command, cwd=tmp_path) as child:
        out, _ = child.communicate(timeout=GENEROUS)  # until the compiler has closed them, too
        assert child.returncode == -signal.SIGKILL
    assert out.split()
    assert not (tmp_path / "out.bc").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("", "expected a compiler and its arguments, got none"),
        ("--inline=const:1", "expected a compiler and its arguments, got none"),
        ("--inline=const:1 --", "expected a compiler and its arguments, got none"),
        ("--inline=const:1 --colour -- opt-22", "attach: --colour: expected an option of passpilot attach"),
        ("--ra-order=const:0 -- llc-22", "--ra-order: expected a point of an unmodified compiler"),
        ("-- opt-22", "expected a runner, got none; add --inline"),
        ("--inline=const:1 -- gcc -c", "expected one of opt, llc, clang, flang, ld.lld, rustc, got 'gcc'"),
        ("--evict=const:1 -- opt-22", "--evict: expected a point of opt-22, --inline"),
        ("--inline=const:1 -- llc-22", "--inline: expected a point of llc-22, --evict or --priority"),
        ("--evict=const:1 --on-error=default -- llc-22", "expected --inline alone, got --evict"),
        ("--on-error=never --inline=const:1 -- opt-22", "--on-error"),
    ],
)
def test_a_wrong_command_line(tmp_path: Path, arguments: str, text: str) -> None:
    assert text in refused("attach", *arguments.split(), cwd=tmp_path, code=2)


def test_custom_features_are_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from passpilot import feature\n@feature('int64[1]')\ndef own(site):\n    return 1\n"
        "def decide(obs):\n    return True\ndecide.features = ('own',)\n"
    )
    flags = ("--load=own.py", "--inline=python:own.py:decide")
    text = refused("attach", *flags, "--", "opt-22", "-O2", "in.ll", cwd=tmp_path)
    assert "got own" in text
    assert "no custom features" in text
