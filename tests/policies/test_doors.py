# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One policy through every door: the same bytes, hosted, under the plugin, and by `passpilot cc`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.optimize import optimize
from passpilot.plugin.module import Module
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.training.rewards import code_bytes
from tests.command import Done, passpilot, run
from tests.corpus.build import bindir
from tests.policies.bundles import PIPELINE

OZ: Final = "-passes=default<Oz>"

pytestmark = pytest.mark.usefixtures("tiny")


def tool(name: str, *arguments: str | Path, cwd: Path, **variables: str) -> Done:
    """A stock tool with the plugin."""
    load = {"opt": "-load-pass-plugin=", "llc": "-load=", "clang": "-fpass-plugin="}[name]
    given = [f"{key}={value}" for key, value in variables.items()]
    return run("env", *given, bindir() / name, f"{load}{llvm_plugin()}", *arguments, cwd=cwd)


def text_of(done: Done) -> bytes:
    """What a command that must succeed in silence writes."""
    assert (done.code, done.err) == (0, ""), done
    return done.out


@pytest.fixture(params=["name", "folder"])
def spec(request: pytest.FixtureRequest, tiny: Path) -> str:
    return "@tiny" if request.param == "name" else str(tiny)


def test_optimized_ir_is_the_same(spec: str, here: Path) -> None:
    hosted = text_of(passpilot("opt", OZ, f"--policy={spec}", "-S", "calls.bc", "-o", "-", cwd=here))
    flag = text_of(tool("opt", OZ, f"-passpilot-policy={spec}", "-S", "calls.bc", "-o", "-", cwd=here))
    variable = text_of(tool("opt", OZ, "-S", "calls.bc", "-o", "-", cwd=here, PASSPILOT_POLICY=spec))
    plain = text_of(passpilot("opt", OZ, "-S", "calls.bc", "-o", "-", cwd=here))
    assert hosted == flag == variable
    assert hosted != plain


def test_its_parts_are_those_of_the_single_options(tiny: Path, here: Path) -> None:
    parts = ("--inline=@tiny", f"--at=optimizer-last={PIPELINE}")
    whole = text_of(passpilot("opt", OZ, "--policy=@tiny", "-S", "calls.bc", "-o", "-", cwd=here))
    assert whole == text_of(passpilot("opt", OZ, *parts, "-S", "calls.bc", "-o", "-", cwd=here))
    alone = text_of(passpilot("opt", OZ, parts[0], "-S", "calls.bc", "-o", "-", cwd=here))
    model = text_of(
        passpilot(
            "opt", OZ, f"--inline=onnx:{tiny}/inline.onnx?as=logits", "-S", "calls.bc", "-o", "-", cwd=here
        )
    )
    assert alone == model != whole


def test_objects_are_the_same(here: Path) -> None:
    text_of(passpilot("opt", OZ, "--policy=@tiny", "calls.bc", "-o", "ours.bc", cwd=here))
    flags = ("-filetype=obj", "-O2", "-relocation-model=pic", "ours.bc", "-o")
    text_of(passpilot("llc", "--policy=@tiny", *flags, "ours.o", cwd=here))
    text_of(tool("llc", "-passpilot-policy=@tiny", *flags, "theirs.o", cwd=here))
    assert (here / "ours.o").read_bytes() == (here / "theirs.o").read_bytes()
    text_of(passpilot("llc", *flags, "plain.o", cwd=here))
    assert b"OUTLINED_FUNCTION" in (here / "ours.o").read_bytes()
    assert b"OUTLINED_FUNCTION" not in (here / "plain.o").read_bytes()

    command = ("-Oz", "-c", "calls.c", "-o")
    text_of(passpilot("cc", "--policy=@tiny", *command, "cc.o", cwd=here))
    text_of(tool("clang", *command, "clang.o", cwd=here, PASSPILOT_POLICY="@tiny"))
    text_of(tool("clang", "-mllvm", "-passpilot-policy=@tiny", *command, "flag.o", cwd=here))
    made = {(here / name).read_bytes() for name in ("cc.o", "clang.o", "flag.o")}
    assert len(made) == 1
    assert code_bytes(made.pop()) == code_bytes((here / "ours.o").read_bytes())


def test_the_linker_compiles_with_it(here: Path) -> None:
    sizes = {}
    for policy in ("", "--policy=@tiny"):
        words = (policy,) if policy else ("-fuse-ld=lld",)
        text_of(passpilot("cc", *words, "-Oz", "-flto", "-w", "calls.c", "-o", "program", cwd=here))
        sizes[policy] = (here / "program").read_bytes()
        assert run(here / "program", cwd=here).code == run(here / "program", cwd=here).code
    assert sizes[""] != sizes["--policy=@tiny"]


def test_a_runner_of_its_own_wins(here: Path) -> None:
    none = ("--inline=const:0", f"--at=optimizer-last={PIPELINE}")
    ours = text_of(passpilot("opt", OZ, *none, "-S", "calls.bc", "-o", "-", cwd=here))
    both = ("--policy=@tiny", "--inline=const:0")
    assert ours == text_of(passpilot("opt", OZ, *both, "-S", "calls.bc", "-o", "-", cwd=here))
    stock = ("-passpilot-policy=@tiny", "-passpilot-inline=const:0")
    assert ours == text_of(tool("opt", OZ, *stock, "-S", "calls.bc", "-o", "-", cwd=here))


def test_a_pipeline_of_its_own_wins(here: Path) -> None:
    """The user's pipeline replaces the policy's; the policy's model still decides."""
    calls, own = ("-S", "calls.bc", "-o", "-"), "at=optimizer-last=globaldce"
    alone = text_of(passpilot("opt", OZ, "--inline=@tiny", f"--{own}", *calls, cwd=here))
    both = text_of(passpilot("opt", OZ, "--policy=@tiny", f"--{own}", *calls, cwd=here))
    stock = ("-passpilot-policy=@tiny", f"-passpilot-{own}")
    assert alone == both == text_of(tool("opt", OZ, *stock, *calls, cwd=here))
    assert alone != text_of(passpilot("opt", OZ, "--policy=@tiny", *calls, cwd=here))


def test_a_decision_file_wins(tiny: Path, here: Path) -> None:
    """Neither the policy's model nor its pipeline has a say beside it."""
    path = here / "f.decisions"
    path.write_text("passpilot decisions 1\nunit calls.c\npipeline globaldce\n")

    def optimized(**keywords: str) -> bytes:
        module = Module.read(here / "calls.bc")
        optimize(module, "Oz", **keywords)  # type: ignore[arg-type]
        return module.assembly()

    alone, policy = optimized(decisions=str(path)), optimized(policy=str(tiny))
    assert alone == optimized(decisions=str(path), policy=str(tiny)) != policy
    stock = ("-passpilot-policy=@tiny", f"-passpilot-decisions={path}", "-S", "calls.bc", "-o", "-")
    theirs = text_of(tool("opt", OZ, *stock, cwd=here))
    assert theirs.splitlines()[1:] == alone.splitlines()[1:]


@pytest.mark.parametrize("own", ["", "-enable-machine-outliner=never"])
def test_an_option_of_llvms_of_its_own_wins(own: str, here: Path) -> None:
    flags, built = ("-filetype=obj", "calls.bc", "-o"), ("-Oz", "-c", "calls.c", "-o")
    given, passed = ([own], ["-mllvm", own]) if own else ([], [])
    text_of(passpilot("llc", "--policy=@tiny", *given, *flags, "llc.o", cwd=here))
    text_of(tool("llc", "-passpilot-policy=@tiny", *given, *flags, "stock.o", cwd=here))
    text_of(passpilot("cc", "--policy=@tiny", *passed, *built, "cc.o", cwd=here))
    text_of(tool("clang", *passed, *built, "clang.o", cwd=here, PASSPILOT_POLICY="@tiny"))
    made = [(here / f"{name}.o").read_bytes() for name in ("llc", "stock", "cc", "clang")]
    assert [b"OUTLINED_FUNCTION" in each for each in made] == [not own] * 4


def test_a_recipe_is_chosen(here: Path) -> None:
    third = [
        text_of(passpilot("opt", OZ, "--policy=@tiny?recipe=3", "-S", "calls.bc", "-o", "-", cwd=here)),
        text_of(tool("opt", OZ, "-passpilot-policy=@tiny?recipe=3", "-S", "calls.bc", "-o", "-", cwd=here)),
        text_of(passpilot("opt", OZ, "-S", "calls.bc", "-o", "-", cwd=here)),  # its inliner is LLVM's
    ]
    assert len(set(third)) == 1


def test_in_python(here: Path) -> None:
    script = (
        "import passpilot, sys\n"
        "m = passpilot.Module.read('calls.bc')\n"
        "passpilot.optimize(m, 'Oz', policy='@tiny')\n"
        "print(m.assembly().decode(), end='')\n"
        "r = passpilot.make_runner('@tiny', passpilot.find_point('inline'))\n"
        "print(*(spec.name for spec in r.inputs), file=sys.stderr)\n"
    )
    done = run(sys.executable, "-c", script, cwd=here)
    assert (done.code, done.err.strip()) == (0, "cost_estimate callsite_height callee_basic_block_count")
    assert done.out == text_of(passpilot("opt", OZ, "--policy=@tiny", "-S", "calls.bc", "-o", "-", cwd=here))


def test_the_second_process_needs_no_python(here: Path) -> None:
    """The record is enough: with a Python that cannot start, the plugin still finds the policy."""
    text_of(passpilot("cc", "--policy=@tiny", "-Oz", "-c", "calls.c", "-o", "first.o", cwd=here))
    command = ("-Oz", "-c", "calls.c", "-o", "second.o")
    text_of(tool("clang", *command, cwd=here, PASSPILOT_POLICY="@tiny", PYTHONHOME="/none"))
    assert (here / "second.o").read_bytes() == (here / "first.o").read_bytes()


def test_stats_name_the_policy(here: Path) -> None:
    done = passpilot("cc", "--policy=@tiny", "--stats", "-Oz", "-c", "calls.c", cwd=here)
    assert done.code == 0
    assert "inline advisor @tiny on calls.c:" in done.err
    done = passpilot("opt", OZ, "--policy=@tiny", "--stats", "calls.bc", "-o", "out.bc", cwd=here)
    assert "inline advisor @tiny:" in done.err


def test_unoptimized_code_is_clangs(here: Path) -> None:
    done = passpilot("cc", "--policy=@tiny", "-O0", "-c", "calls.c", "-o", "ours.o", cwd=here)
    assert "cc: --policy=@tiny: expected a level such as -Oz, got -O0; nothing changes" in done.err
    subprocess.run(["clang-22", "-O0", "-c", "calls.c", "-o", "theirs.o"], cwd=here, check=True)
    assert (here / "ours.o").read_bytes() == (here / "theirs.o").read_bytes()
