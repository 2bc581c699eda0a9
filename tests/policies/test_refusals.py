# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is refused, in one line: policies for something else, and folders that are none."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin.errors import Error
from passpilot.runners.policy.bundle import FILE, read_bundle
from passpilot.runners.policy.prepare import prepare_policy
from tests.command import passpilot, refused
from tests.policies.test_doors import OZ, tool

Change = Callable[[str], str]

OTHER_LLVM: Change = lambda text: text.replace("llvm = 22", "llvm = 21")  # noqa: E731
OTHER_FEATURES: Change = lambda text: re.sub('features = ".*"', 'features = "0123"', text)  # noqa: E731
OTHER_MODEL: Change = lambda text: re.sub('sha256 = ".*"', 'sha256 = "0123"', text)  # noqa: E731
OTHER_TARGET: Change = lambda text: text.replace('targets = "any"', 'targets = ["aarch64"]')  # noqa: E731


PART_OF_TARGET: Change = lambda text: text.replace('targets = "any"', 'targets = ["x86", "x86_6"]')  # noqa: E731


@pytest.fixture
def changed(tiny: Path, tmp_path: Path) -> Callable[[Change], Path]:
    """A copy of the policy, with another policy.toml."""

    def copy(change: Change) -> Path:
        folder = tmp_path / "changed"
        shutil.copytree(tiny, folder)
        text = (folder / FILE).read_text()
        assert change(text) != text
        (folder / FILE).write_text(change(text))
        return folder

    return copy


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (OTHER_LLVM, "expected LLVM 22, got LLVM 21; "),
        (OTHER_FEATURES, "expected a model for the features "),
        (OTHER_MODEL, "expected inline.onnx with SHA-256 0123, got "),
        (OTHER_TARGET, "expected a module for aarch64, got one for x86_64-"),
        (PART_OF_TARGET, "expected a module for x86 or x86_6, got one for x86_64-"),
    ],
    ids=["llvm", "features", "model", "target", "part of the target"],
)
def test_a_policy_for_something_else(
    change: Change, said: str, changed: Callable[[Change], Path], here: Path
) -> None:
    folder = changed(change)
    who = f"policy tiny at {folder}: "
    assert who + said in refused("opt", OZ, f"--policy={folder}", "calls.bc", "-o", "out.bc", cwd=here)
    assert who + said in refused("llc", f"--policy={folder}", "calls.bc", "-o", "out.s", cwd=here)
    for name, command in {
        "opt": (OZ, "calls.bc", "-o", "out.bc"),
        "llc": ("calls.bc", "-o", "out.s"),
        "clang": ("-Oz", "-c", "calls.c", "-o", "out.o"),
    }.items():
        done = tool(name, *command, cwd=here, PASSPILOT_POLICY=str(folder))
        assert done.code == 1, name
        assert done.err.count("error: ") == 1, done.err
        assert who + said in done.err
        assert not list(here.glob("out.*"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected the keys name, description, llvm, level, license in policy.toml, got none of "),
        ("name = ", "policy.toml: expected TOML, got other text: "),
        ("colour = 1", "expected keys among name, description, "),
        ('name = "a b"', "expected the keys"),
    ],
)
def test_a_file_that_is_no_policy(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(Error, match=re.escape(said)):
        read_bundle(str(tmp_path), str(tmp_path))


HEAD = 'name = "x"\ndescription = "d"\nllvm = 22\nlevel = "Oz"\nlicense = "l"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD.replace('"x"', '"X y"'), "expected a name of a-z, 0-9 and '-' in policy.toml, got 'X y'"),
        (HEAD.replace("22", '"22"'), "expected LLVM's major version, such as llvm = 22, got '22'"),
        (HEAD.replace("Oz", "O9"), "expected a level among O1, O2, O3, Os, Oz in policy.toml, got 'O9'"),
        (f"{HEAD}targets = []", "expected targets = "),
        (f"{HEAD}[points]\ninline = 1", "expected a table as [points.inline], got 1"),
        (f"{HEAD}[points.inline]", "expected a model or a runner in [points.inline], got {}"),
        (f'{HEAD}[points.inline]\nrunner = "python:x"', "expected runner = default or const:N"),
        (f'{HEAD}[points.inline]\nmodel = "../x"', "expected the name of a file in the folder, got '../x'"),
        (
            f'{HEAD}[points.inline]\nmodel = "none"',
            "expected the file none in the folder, which policy.toml names, got none",
        ),
        (
            f'{HEAD}[points.inlin]\nrunner = "const:0"',
            "expected a decision point in [points.inlin], got 'inlin'; did you mean 'inline'?",
        ),
        (f'{HEAD}[[recipes]]\npipeline = "default<Oz>"', "expected passes to run behind the level's own"),
        (f'{HEAD}[[recipes]]\noptions = ["a b"]', "expected options such as "),
        (f"{HEAD}recipes = []", "expected tables [[recipes]], got []"),
    ],
)
def test_wrong_values(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(Error, match=re.escape(said)):
        read_bundle(str(tmp_path), str(tmp_path))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD.replace("Oz", "O9"), 4),
        (f'{HEAD}[points.inline]\nrunner = "python:x"', 7),
        (f'{HEAD}[[recipes]]\npipeline = "default<Oz>"', 7),
        (f'{HEAD}[[recipes]]\naim = "A b"', 7),
        (f"{HEAD}colour = 1", 6),
    ],
)
def test_wrong_values_have_a_line(text: str, line: int, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(Error, match=f": {FILE}:{line}: expected "):
        read_bundle(str(tmp_path), str(tmp_path))


def test_a_pass_that_nobody_has_is_shown(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(f'{HEAD}[[recipes]]\npipeline = "function(gvnn,sroa)"')
    done = passpilot("policies", tmp_path, cwd=tmp_path)
    assert "needs a pass of a --load file: gvnn; did you mean 'gvn'?" in done.out.decode()


def test_unknown_names_and_keys(tiny: Path, here: Path) -> None:
    compile_ = (OZ, "calls.bc", "-o", "out.bc")
    text = refused("opt", *compile_, "--policy=@tiny2", cwd=here)
    assert "policy @tiny2: expected one of " in text
    assert "@tiny" in text
    text = refused("opt", *compile_, f"--policy={here}", cwd=here)
    assert "expected a folder with policy.toml, got a folder without it" in text
    text = refused("opt", *compile_, "--policy=@tiny?recipe=4", cwd=here)
    assert f"policy @tiny at {tiny}: expected recipe=N with N of 1 to 3, got 'recipe=4'" in text
    text = refused("opt", *compile_, "--policy=@tiny?tries=2", cwd=here)
    assert "expected `passpilot cc` for tries, got tries=2 elsewhere" in text
    text = refused("llc", "calls.bc", "--evict=@tiny", "-o", "out.s", cwd=here)
    assert "expected a policy for the decision point evict, got one for inline" in text
    for command in (("cc", "-Oz", "-c", "calls.c"), ("opt", *compile_)):
        text = refused(*command, "--policy=tiny", cwd=here)
        assert (
            "policy tiny: expected a folder, got the name of an installed policy; did you mean '@tiny'?"
            in text
        )
        text = refused(*command, "--policy=none", cwd=here)
        assert "expected a folder with policy.toml, got No such file or directory" in text
    done = passpilot("opt", "calls.bc", "--policy=@tiny", "-o", "same.bc", cwd=here)
    assert "--policy: expected -O1 to -Oz, or -passes, beside it, got neither" in done.err
    assert "policy @: expected one of " in refused("cc", "--policy=@", "-Oz", "-c", "calls.c", cwd=here)
    for value in ("@tiny?x=1", "@tiny?tries=0", "@tiny?tries=2&recipe=1"):
        text = refused("cc", f"--policy={value}", "-Oz", "-c", "calls.c", cwd=here, code=2)
        assert "cc: --policy: expected " in text


def test_stock_tools_refuse_the_same(tiny: Path, here: Path) -> None:
    for spec, said in {
        "@tiny2": "policy @tiny2: expected one of ",
        "@tiny?recipe=4": f"policy @tiny at {tiny}: expected recipe=N with N of 1 to 3, got 'recipe=4'",
        "@tiny?tries=2": "expected `passpilot cc` for tries, got tries=2 elsewhere",
    }.items():
        done = tool("opt", OZ, f"-passpilot-policy={spec}", "calls.bc", "-o", "out.bc", cwd=here)
        assert done.code == 1
        assert done.err.count("error: ") == 1, done.err
        assert said in done.err
    done = tool("llc", "-passpilot-evict=@tiny", "calls.bc", "-o", "out.s", cwd=here)
    assert done.code == 1
    assert "expected a policy for the decision point evict, got one for inline" in done.err


def test_a_wrong_pipeline_or_option(changed: Callable[[Change], Path], here: Path) -> None:
    folder = changed(lambda text: text.replace("gvn,", "gvnn,").replace("enable-machine-outliner", "no-such"))
    done = tool("opt", OZ, "calls.bc", "-o", "out.bc", cwd=here, PASSPILOT_POLICY=str(folder))
    assert ": policy.toml:17: expected an option " in done.err
    assert "got 'no-such=always'" in done.err
    text = (folder / FILE).read_text().replace("no-such", "enable-machine-outliner")
    (folder / FILE).write_text(text)
    done = tool("opt", OZ, "calls.bc", "-o", "out.bc", cwd=here, PASSPILOT_POLICY=str(folder))
    assert (
        "got 'gvnn' in a pipeline of policy.toml; policies are data: load its code yourself, or leave it "
        "out; did you mean 'gvn'?" in done.err
    )
    assert "got 'gvnn' in a" in refused("opt", OZ, f"--policy={folder}", "calls.bc", "-o", "out.bc", cwd=here)
    (folder / FILE).write_text(text.replace("gvnn,", "mergefunc,"))
    done = tool("opt", OZ, "calls.bc", "-o", "out.bc", cwd=here, PASSPILOT_POLICY=str(folder))
    assert "expected a pipeline, got 'function(mergefunc," in done.err
    assert "mergefunc" in refused("opt", OZ, f"--policy={folder}", "calls.bc", "-o", "out.bc", cwd=here)


def test_a_record_says_what_it_is_of(tiny: Path) -> None:
    lines = prepare_policy(str(tiny)).splitlines()
    assert lines[0] == "passpilot policy 1"
    assert "policy tiny" in lines
    assert f"folder {tiny}" in lines
    assert lines.count("recipe") == 3
