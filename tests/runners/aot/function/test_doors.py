# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled decision function in every door: the same bytes as by `python:`, and its errors by line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import llvm_plugin
from tests.command import passpilot, refused, run
from tests.corpus.build import bindir

POLICY: Final = '''\
LIMIT = 2 * 20


def bonus(obs, each=5):
    """What calls with few callers are worth."""
    return each * (obs["callee_users"] <= 2) - obs["caller_users"] // 3


def inline(obs):
    size = obs["cost_estimate"].item() / 1.5 - bonus(obs)
    return size < LIMIT and not obs["callsite_height"] % 2 or obs["nr_ctant_params"] > 0 and obs.default()


def evict(obs):
    best, least = 32, 0
    for column in range(33):
        if obs["mask"][0][column]:
            weight = obs["weighed_reads_by_max"][0][column] + obs["weighed_writes_by_max"][0][column] * 0.7
            if best == 32 or weight < least:
                best, least = column, weight
    return best


def priority(obs):
    return max(obs["li_size"].item() % 1009, 0.5) + obs["stage"]


def own(obs):
    return obs["twice"] < 5


def bad(obs):
    known = obs["cost_estimate"].item()
    return known // (known - known) > 1
'''
CALLS: Final = "".join(
    f"static int f{i}(int x) {{ return x % {i + 3} ? x * {i} : x - {i}; }}\n"
    f"int g{i}(int x) {{ return f{i}(x) + f{i}({i}) * f{i // 2}(x + 1); }}\n"
    for i in range(12)
)
VALUES: Final = ", ".join(f"double x{i}" for i in range(24))
PRESSURE: Final = (
    f"double p(const double *a, long n, {VALUES}) {{ double s = 0; for (long i = 0; i < n; ++i) {{"
    + "".join(f" x{i} = x{i} * a[i] + x{(i * 7 + 1) % 24};" for i in range(24))
    + " s += "
    + " + ".join(f"x{i} * x{(i + 5) % 24}" for i in range(24))
    + "; } return s; }\n"
)
FEATURE: Final = """\
import passpilot


@passpilot.feature("int64[1]")
def twice(site):
    return 2 * site.callee.opcode_counts.get("mul", 0)
"""
LOAD: Final = "--load=own.py"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the policies compiled, C files, and their IR."""
    folder = tmp_path_factory.mktemp("doors")
    for name, text in (("p.py", POLICY), ("g.c", CALLS), ("p.c", PRESSURE), ("own.py", FEATURE)):
        (folder / name).write_text(text)
    rows = {
        "inline": (),
        "evict": ("--point=evict",),
        "priority": ("--point=priority",),
        "own": (LOAD,),
        "bad": (),
    }
    for name, options in rows.items():
        done = passpilot("aot", f"python:p.py:{name}", "-o", f"{name}.so", *options, cwd=folder)
        assert done.code == 0, done.err
        assert done.err == (
            "passpilot: own.so: a compiler needs --load=own.py for twice\n" if name == "own" else ""
        )
    clang = (bindir() / "clang", "-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm")
    assert run(*clang, "g.c", "-o", "g.ll", cwd=folder).code == 0
    assert run(bindir() / "clang", "-O2", "-S", "-emit-llvm", "p.c", "-o", "p.ll", cwd=folder).code == 0
    return folder


def made(name: str, here: Path, *words: str | Path) -> bytes:
    """The output of a command that succeeds in silence."""
    done = run(*words, "-o", "out", cwd=here) if name else passpilot(*words, "-o", "out", cwd=here)
    assert (done.code, done.err) == (0, "")
    return (here / "out").read_bytes()


def same(here: Path, point: str, *words: str | Path, stock: str = "") -> None:
    """Both policies give the same bytes, and others than the compiler's own decisions."""
    flag = stock or "--{}={}"
    found = [
        made(stock, here, *words, *flag.format(point, runner).split())
        for runner in (f"aot:{point}.so", f"python:p.py:{point}", "default")
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_cc(here: Path) -> None:
    same(here, "inline", "cc", "-O2", "-c", "g.c")
    same(here, "evict", "cc", "-O2", "-mno-avx", "-c", "p.c")
    same(here, "priority", "cc", "-O2", "-mno-avx", "-c", "p.c")


def test_opt_and_llc(here: Path) -> None:
    same(here, "inline", "opt", "-O2", "g.ll")
    same(here, "evict", "llc", "-O2", "-filetype=obj", "p.ll")


def test_stock_tools(here: Path) -> None:
    plugin = llvm_plugin()
    stock = "-passpilot-{}={}"
    same(here, "inline", bindir() / "opt", f"-load-pass-plugin={plugin}", "-O2", "g.ll", stock=stock)
    clang = (bindir() / "clang", f"-fpass-plugin={plugin}", "-Xclang=-load", f"-Xclang={plugin}")
    same(
        here, "inline", *clang[:2], "-O2", "-c", "g.c", stock=f"-Xclang -load -Xclang {plugin} -mllvm {stock}"
    )


def test_a_feature_of_users(here: Path) -> None:
    found = [
        made("", here, "cc", LOAD, f"--inline={runner}", "-O2", "-c", "g.c")
        for runner in ("aot:own.so", "python:p.py:own")
    ]
    assert found[0] == found[1]
    done = passpilot("cc", "--inline=aot:own.so", "-O2", "-c", "g.c", cwd=here)
    assert done.code == 1
    assert "own.py: add --load=" in done.err


def test_a_feature_of_the_same_file_needs_load(here: Path) -> None:
    text = "@passpilot.feature('int64[1]')\ndef mine(site):\n    return 1\n\n\n"
    (here / "both.py").write_text(
        f"import passpilot\n\n\n{text}def decide(obs):\n    return obs['mine'] > 0\n"
    )
    done = passpilot("aot", "both.py:decide", "-o", "both.so", cwd=here)
    assert done.code == 1
    assert "got 'mine'; add --load=both.py, which defines it" in done.err
    assert passpilot("aot", "both.py:decide", "--load=both.py", "-o", "both.so", cwd=here).code == 0


def test_an_error_of_the_run_names_its_line(here: Path) -> None:
    text = f"(g0 -> f0): p.py:{len(POLICY.splitlines())}: ZeroDivisionError: division by zero"
    for words in (("opt", "g.ll", "-o", "none.bc"), ("cc", "-c", "g.c", "-o", "none.o")):
        done = passpilot(*words, "-O2", "--inline=aot:bad.so", cwd=here)
        assert done.code == 1
        assert text in done.err
    assert not list(here.glob("none*"))


def test_the_same_file_gives_the_same_bytes(here: Path) -> None:
    (here / "elsewhere").mkdir()
    done = passpilot("aot", "../p.py:inline", "-o", "again.so", cwd=here / "elsewhere")
    assert done.code == 0
    assert (here / "elsewhere/again.so").read_bytes() == (here / "inline.so").read_bytes()


REFUSED: Final = {
    ("p.py", "-o", "x.so"): (2, "aot: expected FILE.py:NAME, got 'p.py'"),
    ("python:p:inline", "-o", "x.so"): (2, "aot: expected FILE.py:NAME, got 'python:p:inline'"),
    ("p.py:inline", "-o", "x.so", "--shape=x:1"): (
        2,
        "aot: expected --output and --shape with a model, got a",
    ),
    ("p.py:inlin", "-o", "x.so"): (1, "p.py: expected a function of this file (bonus, inline, evict"),
    ("p.py:evict", "-o", "x.so"): (1, "p.py:17: expected a feature of inline, got 'mask'"),
    ("absent.py:inline", "-o", "x.so"): (1, "absent.py: expected a Python file, got: No such file"),
}


@pytest.mark.parametrize("words", REFUSED, ids=lambda words: words[0])
def test_wrong_command_lines(words: tuple[str, ...], here: Path) -> None:
    code, text = REFUSED[words]
    assert text in refused("aot", *words, cwd=here, code=code)
    assert not (here / "x.so").exists()
