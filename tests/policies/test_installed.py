# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies of other distributions, and `passpilot policies`."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from passpilot.runners.policy.bundle import installed_names
from tests.command import passpilot, run
from tests.policies.bundles import install
from tests.policies.test_doors import OZ, text_of, tool


def test_the_list(tiny: Path, here: Path) -> None:
    text = text_of(passpilot("policies", cwd=here)).decode()
    start = text.index("@tiny: Inlines cheap calls\n")
    size = (tiny / "inline.onnx").stat().st_size / 1024
    assert text[start:].startswith(
        "@tiny: Inlines cheap calls\n"
        f"  folder: {tiny}\n"
        "  for -Oz, any target, LLVM 22\n"
        f"  decides inline; 3 recipes; {size:.0f} KiB of models\n"
        "  license: Apache-2.0 WITH LLVM-exception\n"
        "  Inlines cheap calls; fitted on one program.\n"
    )


def test_one_is_prepared(tiny: Path, here: Path) -> None:
    text = text_of(passpilot("policies", str(tiny), "--prepare", cwd=here)).decode()
    assert text.startswith("tiny: Inlines cheap calls\n")
    assert "\n  prepared: aot:" in text
    assert "\n  prepared: default\n" in text


def test_one_is_compiled_into_its_folder(tiny: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries are code: they run if the policy is installed, not if the user names its folder."""
    folder = here / "mine"
    shutil.copytree(tiny, folder)
    text = text_of(passpilot("policies", folder, "--compile", cwd=here)).decode()
    [library] = (folder / "compiled").iterdir()
    assert f"\n  compiled: {library}\n" in text
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    install(here / "site", folder)
    monkeypatch.setenv("PYTHONPATH", str(here / "site"))
    text = text_of(passpilot("policies", "@tiny", "--prepare", cwd=here)).decode()
    assert f"\n  prepared: aot:{library}?as=logits\n" in text
    assert [path.suffix for path in (here / "cache/passpilot/policies").iterdir()] == [".policy"]
    text = text_of(passpilot("policies", folder, "--prepare", cwd=here)).decode()
    assert f"\n  prepared: aot:{here}/cache/passpilot/policies/{library.name}?as=logits\n" in text


def test_help_has_an_example(tmp_path: Path) -> None:
    text = text_of(passpilot("policies", "--help", cwd=tmp_path)).decode()
    assert "passpilot cc -Oz -c prog.c --policy=@oz -o prog.o" in text


def test_a_broken_policy_hides_no_other(tiny: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = here / "site"
    install(site, here / "nowhere", "broken", "somebody")
    monkeypatch.setenv("PYTHONPATH", f"{site}:{tiny.parent / 'site'}")
    done = passpilot("policies", cwd=here)
    assert done.code == 1
    assert b"@tiny: " in done.out
    assert done.err.startswith("passpilot: error: policy @broken at ")


def test_two_distributions_have_the_name(tiny: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = here / "site"
    install(site, here, "tiny", "somebody")
    monkeypatch.setenv("PYTHONPATH", f"{site}:{tiny.parent / 'site'}")
    done = passpilot("opt", OZ, "--policy=@tiny", "calls.bc", "-o", "out.bc", cwd=here)
    assert done.code == 1
    assert "policy @tiny: expected one distribution that has it, got " in done.err
    done = tool("opt", OZ, "-passpilot-policy=@tiny", "calls.bc", "-o", "out.bc", cwd=here)
    assert "policy @tiny: expected one distribution that has it, got " in done.err


def test_without_the_distribution_there_is_none(
    tiny: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tiny.is_dir()
    text_of(passpilot("opt", OZ, "--policy=@tiny", "calls.bc", "-o", "out.bc", cwd=here))
    monkeypatch.delenv("PYTHONPATH")
    done = tool("opt", OZ, "-passpilot-policy=@tiny", "calls.bc", "-o", "out.bc", cwd=here)
    assert done.code == 1
    assert "policy @tiny: expected one of " in done.err


ASKS: Final = """\
import numpy as np
from passpilot.features.llvm.inline import TABLE
from tests.plugin.native.c.client import flag, runner
features = {spec.name: (spec.dtype, spec.shape) for spec in TABLE.point().features[:-1]}
for _ in range(2):  # Python prepares the policy; then its record is enough
    with runner("@tiny", features, flag(), name="inline") as made:
        print(*(made.ask(cost_estimate=cost, callsite_height=1) for cost in (-900, 900)))
"""


def test_the_c_api_takes_it(tiny: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler of somebody else's asks the policy's model, by the names of the features."""
    monkeypatch.setenv("PYTHONPATH", f"{tiny.parent / 'site'}:{Path(__file__).parents[2]}")
    assert text_of(run(sys.executable, "-c", ASKS, cwd=here)) == b"1 0\n1 0\n"


def test_wheels_have_the_policies() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    (package,) = project["tool"]["scikit-build"]["wheel"]["packages"]
    assert (Path(__file__).parents[2] / package / "policies").samefile(Path(__file__).parents[2] / "policies")
    assert {"oz", "spill"} <= set(installed_names())
