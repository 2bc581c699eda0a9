# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that a stock tool cannot use are said, wrong ones are errors: the same in opt, llc and clang."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.plugin.toolchain import llvm_plugin
from tests import stock
from tests.corpus.build import bindir
from tests.passes.allocation import pressure
from tests.plugin.native.stock.tools import Done, run, tool

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: Final = {"opt": ("-passes=default<O2>",), "llc": ("-filetype=obj",)}

WRONG: Final = {
    "load=missing.py": "file missing.py: expected a Python file that can be read, got: No such file",
    "load=broken.py": "file broken.py:1: expected Python that runs, got ZeroDivisionError",
    "evict=": "-passpilot-evict: expected a value, got none",
    "inline=": "-passpilot-inline: expected a value, got none",
    "advise=inline": "-passpilot-advise: expected POINT=RUNNER, got 'inline'",
    "at=nowhere=dce": "-passpilot-at=nowhere: expected a point among pipeline-start, ",
    "at=vectorizer-ends=dce": "got 'vectorizer-ends'; did you mean 'vectorizer-end'?",
    "at=vectorizer-end=nobody": "-passpilot-at=vectorizer-end: unknown function pass 'nobody'",
    "on-error=panic": "-passpilot-on-error: expected fail or default, got 'panic'",
    "timeout=soon": "-passpilot-timeout: expected a number above 0, got 'soon'",
    "eviction-limit=-1": "-passpilot-eviction-limit: expected a number of 0 or more, got '-1'",
    "eviction-limit=0.5": "-passpilot-eviction-limit: expected an integer of 0 to 4294967295",
    "size-budget=much": "-passpilot-size-budget: expected a number of 0 or more, got 'much'",
    "log=x.log": "-passpilot-log has no effect without an advisor; add -passpilot-inline=RUNNER",
    "on-error=default": "-passpilot-on-error has no effect without an advisor",
    "timeout=3": "-passpilot-timeout has no effect without an advisor",
    "eviction-limit=7": " has no effect without an advisor; add -passpilot-evict=RUNNER",
    "inline=const:0 log=evict=x.log": "add -passpilot-evict=RUNNER",
}

UNUSED: Final = {
    ("llc", "inline=const:0"): "inline advisor: runner const:0 was never asked",
    ("llc", "advise=nosuch=random:1"): "-passpilot-advise=nosuch: the pipeline has no pass in Python",
    ("llc", "at=vectorizer-end=dce"): "-passpilot-at=vectorizer-end: the pipeline has no such point",
    ("opt", "advise=nosuch=random:1"): "-passpilot-advise=nosuch: the pipeline has no pass in Python",
    ("opt", "evict=const:32"): "evict advisor: the runner was never asked: this process",
    ("opt", "advise=priority=const:1"): "priority advisor: the runner was never asked",
}

MINE: Final = """\
import passpilot

@passpilot.feature("int64[1]", point="evict")
def one(site):
    return 1

class Echo(passpilot.Runner):
    def __init__(self, point):
        self.inputs = point.select(["evict_default"])
        self.output = point.advice

    def evaluate(self):
        return self.tensors["evict_default"].item()

@passpilot.runner_scheme("echo")
def echo(target, options, point, timeout):
    return Echo(point)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module, and a file that cannot be loaded."""
    (tmp_path / "broken.py").write_text("1 / 0\n")
    return stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")


def flags(options: str) -> list[str]:
    return [f"-passpilot-{each}" for each in options.split()]


def refused(done: Done, expected: str, output: Path) -> None:
    """It has failed with one error and no output."""
    assert done.code == 1, done
    assert expected in done.err
    assert len(re.findall(r"^error: ", done.err, re.MULTILINE)) == 1
    assert "Traceback" not in done.err
    assert not output.exists()


@pytest.mark.parametrize(("name", "options"), list(itertools.product(TOOLS, WRONG)))
def test_wrong_options(name: str, options: str, source: Path) -> None:
    done = tool(name, *flags(options), *TOOLS[name], source, "-o", "out", cwd=source.parent)
    refused(done, WRONG[options], source.parent / "out")


@pytest.mark.parametrize(("name", "options"), list(UNUSED))
def test_what_a_tool_cannot_use_is_said(name: str, options: str, source: Path) -> None:
    """It is no error: the variables of a build hold for all its tools. The output is the tool's own."""
    here = source.parent
    done = tool(name, *flags(options), *TOOLS[name], source, "-o", "out", cwd=here)
    assert done.code == 0, done.err
    assert f"warning: {UNUSED[name, options]}" in done.err
    assert done.err.count("warning: ") == 1
    plain = run(bindir() / name, *TOOLS[name], source, "-o", "plain", cwd=here)
    assert plain.code == 0
    assert (here / "plain").read_bytes() == (here / "out").read_bytes()
    option, _, value = options.partition("=")
    again = tool(
        name,
        *TOOLS[name],
        source,
        "-o",
        "out",
        cwd=here,
        env={f"PASSPILOT_{option.upper()}": value},
    )
    assert (again.code, again.err) == (0, done.err)


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_clang_may_leave_code_generation_to_the_linker(by: str, source: Path) -> None:
    """Then a variable is for the linker, but a flag is lost."""
    flag = ("-mllvm", "-passpilot-evict=const:32") if by == "flag" else ()
    env = {"PASSPILOT_EVICT": "const:32"} if by == "variable" else {}
    done = tool(
        "clang", "-O1", "-flto", "-c", "-x", "ir", source, *flag, "-o", "out", cwd=source.parent, env=env
    )
    assert done.code == 0
    assert ("evict advisor: the runner was never asked" in done.err) == (by == "flag")
    assert "warning" in done.err or by == "variable"


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("flag", ["-enable-new-pm", "-passes=no-op-module"])
def test_the_new_pass_manager_of_llc(flag: str, position: int, source: Path) -> None:
    """Its register allocator asks nobody; the order of the flags does not matter."""
    words = [f"-load={llvm_plugin()}", "-passpilot-evict=const:32"]
    words.insert(position, flag)
    done = run(bindir() / "llc", *words, "-filetype=obj", source, "-o", "out", cwd=source.parent)
    expected = f"passpilot: expected llc's own choice of a pass manager, got {flag.partition('=')[0]}"
    refused(done, expected, source.parent / "out")


def test_a_single_pass_of_llc_asks_nobody_and_says_so(tmp_path: Path) -> None:
    """LLVM calls a plugin only for whole code generations; -run-pass is none."""
    source = pressure.compiled(tmp_path)
    stopped = run(bindir() / "llc", "-stop-before=greedy", source, "-o", "a.mir", cwd=tmp_path)
    assert stopped.code == 0, stopped.err
    words = ("-run-pass=greedy", "a.mir", "-o", "b.mir")
    plain = tool("llc", *words, cwd=tmp_path)
    assert (plain.code, plain.err) == (0, "")
    done = tool("llc", "-passpilot-evict=const:32", *words, cwd=tmp_path)
    assert done.code == 0
    assert done.err.startswith(
        "passpilot: warning: evict advisor: the runner was never asked: this process has generated"
    )


def test_features_and_schemes_of_a_loaded_file_in_llc(tmp_path: Path) -> None:
    """They are as in `passpilot llc`: the scheme answers, the log has the feature."""
    source = pressure.compiled(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    words = ("-passpilot-load=mine.py", "-passpilot-evict=echo:", "-passpilot-log=x.log")
    done = tool("llc", *words, "-filetype=obj", source, "-o", "out", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    decisions = list(read_log(tmp_path / "x.log"))
    assert {int(each.tensors["one"][0]) for each in decisions} == {1}
