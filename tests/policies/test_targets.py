# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of a recipe for some targets, and recipes that are chosen by what they are for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from passpilot import Error, Module, emit
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.training.policy_folder import PolicyText, RecipeChoice, write_policy
from tests.command import passpilot
from tests.policies.bundles import SOURCE

ALWAYS, NEVER = "enable-machine-outliner=always", "enable-machine-outliner=never"
RECIPES = (
    RecipeChoice("function(gvn)", (NEVER,), targets={"x86_64": (ALWAYS, "disable-lsr")}),
    RecipeChoice("function(gvn)", (ALWAYS,), targets={"aarch64": (NEVER,)}, aim="file"),
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a policy and a program for two targets."""
    folder = tmp_path_factory.mktemp("targets")
    write_policy(str(folder / "aims"), PolicyText(name="aims", description="x", card="x"), {}, RECIPES)
    (folder / "a.c").write_text(SOURCE)
    for name in ("x86_64", "aarch64"):
        command = ["clang-22", f"--target={name}-linux-gnu", "-Oz", "-w", "-emit-llvm", "-c", "a.c", "-o"]
        subprocess.run([*command, f"{name}.bc"], cwd=folder, check=True, timeout=60)
    return folder


@pytest.mark.parametrize(
    ("target", "query", "outlines"),
    [
        ("x86_64", "", True),
        ("aarch64", "", False),
        ("x86_64", "?aim=file", True),
        ("aarch64", "?aim=file", False),
    ],
)
def test_every_door_takes_the_options_of_the_target(
    here: Path, tmp_path: Path, target: str, query: str, outlines: bool
) -> None:
    spec, source, out = f"{here}/aims{query}", f"{here}/{target}.bc", tmp_path / "out.s"
    stock = ["llc-22", f"-load={llvm_plugin()}", f"-passpilot-policy={spec}", source, "-o", str(out)]
    subprocess.run(stock, check=True, timeout=60)
    texts = [out.read_text()]
    cc = ("cc", f"--policy={spec}", f"--target={target}-linux-gnu", "-Oz", "-w", "-S")
    for command in (("llc", f"--policy={spec}"), cc):
        done = passpilot(*command, source, "-o", out, cwd=tmp_path)
        assert done.code == 0, done.err
        texts.append(out.read_text())
    texts.append(emit(Module.read(source), "asm", policy=spec).decode())
    assert ["OUTLINED" in text for text in texts] == [outlines] * 4


def test_an_unknown_aim_is_refused(here: Path) -> None:
    with pytest.raises(Error, match="expected recipe=N with N of 1 to 2, or aim=file, got 'aim=speed'"):
        emit(Module.read(here / "x86_64.bc"), policy=f"{here}/aims?aim=speed")
    done = passpilot("cc", f"--policy={here}/aims?aim=speed", "-Oz", "-w", "-c", "a.c", cwd=here)
    assert done.code == 1
    assert "or aim=file, got 'aim=speed'" in done.err
    with pytest.raises(Error, match=r"expected one of recipe=N and aim=NAME, got 'aim=file&recipe=2'"):
        emit(Module.read(here / "x86_64.bc"), policy=f"{here}/aims?aim=file&recipe=2")
    both = passpilot("cc", f"--policy={here}/aims?aim=file&tries=2", "-Oz", "-c", "a.c", cwd=here)
    assert (both.code, "expected tries=N or recipe=N or aim=NAME, got both" in both.err) == (2, True)
