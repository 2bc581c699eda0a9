# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of `passpilot cc`: which compilations need the plugin, and what reaches it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from passpilot.cli.cc.best_of import VARIANTS, variants_of
from passpilot.cli.cc.log_names import make_folders
from passpilot.cli.cc.options import Options, help_text
from passpilot.plugin.errors import InputError, UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a decision file, and no variables of ours."""
    for name in [each for each in os.environ if each.startswith("PASSPILOT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "x.d").write_text("")
    (tmp_path / "p.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def options(line: str) -> Options:
    return Options("cc", line.split())


@pytest.mark.parametrize(
    ("line", "optimized", "unoptimized"),
    [
        ("", False, False),
        ("--inline=default", False, False),
        ("--inline=default --stats", False, False),
        ("--inline=default --log=logs/", True, False),
        ("--log=logs/", False, False),
        ("--inline=const:0", True, False),
        ("--inline=const:0 --stats", True, True),
        ("--evict=default --priority=const:1", True, False),
        ("--inline=const:0 --inline=default", False, False),
        ("--decisions=x.d", True, False),
        ("--policy=@oz", True, False),
        ("--load=p.py", True, True),
        ("--at=pipeline-start=sroa", True, True),
        ("--advise=advised-size=default", True, True),
        ("--timeout=3", False, False),
    ],
)
def test_what_needs_the_plugin(line: str, optimized: bool, unoptimized: bool) -> None:
    made = options(line)
    assert (made.asks(unoptimized=False), made.asks(unoptimized=True)) == (optimized, unoptimized)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", {}),
        ("--inline=const:0 --inline=const:1", {"PASSPILOT_INLINE": "const:1"}),
        ("--load=p.py --load=x.d", {"PASSPILOT_LOAD": "p.py;x.d"}),
        ("--at=a=b --at=c=d", {"PASSPILOT_AT": "a=b;c=d"}),
        ("--advise=a=b --advise=evict=c", {"PASSPILOT_ADVISE": "a=b", "PASSPILOT_EVICT": "c"}),
        ("--stats", {"PASSPILOT_STATS": "1"}),
        ("--traceback", {"PASSPILOT_TRACEBACK": "1"}),
        ("--policy=@oz?tries=3", {"PASSPILOT_POLICY": "@oz"}),
        ("--policy=@oz?recipe=2", {"PASSPILOT_POLICY": "@oz?recipe=2"}),
        ("--on-error=default --timeout=1e3", {"PASSPILOT_ON_ERROR": "default", "PASSPILOT_TIMEOUT": "1e3"}),
    ],
)
def test_what_reaches_the_plugin(line: str, told: dict[str, str]) -> None:
    assert options(line).environment() == told


def test_variables_are_read_unless_a_flag_replaces_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSPILOT_LOAD", "p.py;;x.d")
    monkeypatch.setenv("PASSPILOT_ADVISE", "inline=const:3")
    monkeypatch.setenv("PASSPILOT_STATS", "0")
    made = options("")
    assert made.environment() == {
        "PASSPILOT_LOAD": "p.py;x.d",
        "PASSPILOT_INLINE": "const:3",
        "PASSPILOT_ADVISE": "",
    }
    assert not made.stats
    assert options("--load=x.d").environment()["PASSPILOT_LOAD"] == "x.d"
    monkeypatch.setenv("PASSPILOT_STATS", "1")
    assert options("").stats


def test_the_rest_is_clangs() -> None:
    assert options("-c --inline=const:0 -o --stats a.c --stats").rest == ["-c", "-o", "--stats", "a.c"]
    assert options("-- --help").rest == ["--help"]
    assert options("-c -- --help").rest == ["-c", "--", "--help"]
    assert options("--in --i -include").rest == ["--in", "--i", "-include"], "too short for a slip"
    with pytest.raises(
        UsageError, match=r"^cc: --inl: expected an option of cc or clang; did you mean '--inline'\?$"
    ):
        options("--inl")


@pytest.mark.parametrize(
    ("line", "variants"),
    [
        ("", ()),
        ("--best-of=1", ()),
        ("--best-of=2", VARIANTS[:2]),
        ("--best-of=4", VARIANTS),
        ("--policy=@oz?tries=1", ()),
        ("--policy=@oz?tries=2", ["@oz?recipe=1", "@oz?recipe=2"]),
    ],
)
def test_what_is_compiled_several_times(line: str, variants: object) -> None:
    assert variants_of(options(line)) == variants


def test_tries_are_at_most_all_recipes() -> None:
    assert len(variants_of(options("--policy=@oz?tries=1000"))) < 100


def test_folders_of_logs_are_made_but_not_for_a_file_of_a_point(here: Path) -> None:
    make_folders(options("--inline=const:0 --log=logs/deep/ --log=inline=x.log --log=other=y/"))
    assert sorted(each.name for each in here.iterdir()) == ["logs", "other=y", "p.py", "x.d"]
    assert (here / "logs/deep").is_dir()
    make_folders(options("--advise=mine=const:0 --log=mine=z.log"))
    assert not (here / "mine=z.log").exists()
    assert options("--inline=const:0 --log=x.d").logs() == ([], ["x.d"])  # a file
    with pytest.raises(InputError, match=r"^cc: --log: expected a folder, got x\.d/: "):
        make_folders(options("--inline=const:0 --log=x.d/"))


@pytest.mark.parametrize(
    ("line", "good"),
    [
        ("--inline=python:p.py:f", True),
        ("--inline=python:none.py:f", False),
        ("--inline=python:package.module:f", True),
        ("--inline=onnx:x.d?as=logits", True),
        ("--inline=onnx:none?as=logits", False),
        ("--advise=mine=aot:none.so", False),
        ("--inline=replay:none", False),
        ("--inline=pipe:none", True),
        ("--load=none", False),
        ("--load=none --load=p.py", False),
        ("--decisions=none", False),
        ("--decisions=none --decisions=x.d", True),
        ("--policy=none", False),
    ],
)
def test_files_that_options_name_must_be_there(line: str, good: bool) -> None:
    if good:
        options(line)
    else:
        told = r"expected (a file that exists, got 'none|a folder with policy\.toml)"
        with pytest.raises(InputError, match=told):
            options(line)


def test_a_recording_needs_a_folder(here: Path) -> None:
    options(f"--record={here}/new/recording")
    assert (here / "new/recording").is_dir()
    with pytest.raises(InputError, match=r"^cc: --record: expected a folder, got .*x\.d: File exists$"):
        options(f"--record={here}/x.d")


def test_help_names_the_command_and_its_compiler() -> None:
    text = help_text("c++", "clang++-22")
    assert text.startswith("usage: passpilot c++ [option ...] [any argument of clang++-22 ...]")
    assert "\n  --inline=RUNNER " in text
    assert "\n  --stats  " in text
    assert "`passpilot c++ -- --help` shows clang's" in text


def test_values_behind_a_space_and_clangs_own_options() -> None:
    options = Options("cc", ["--inline", "const:0", "-O2", "--unwindlib=libgcc", "--target=x86_64"], {})
    assert options.value("inline") == "const:0"
    assert options.rest == ["-O2", "--unwindlib=libgcc", "--target=x86_64"]
    with pytest.raises(UsageError, match="--inline: expected --inline=RUNNER, got no value"):
        Options("cc", ["--inline", "-O2"], {})


def test_the_folder_of_a_model_is_named(here: Path) -> None:
    (here / "model").mkdir()
    with pytest.raises(InputError, match=r"expected a file, got 'model', which is a folder$"):
        options("--inline=onnx:model")
    (here / "model" / "model.onnx").write_text("")
    with pytest.raises(InputError, match=r"which is a folder; did you mean 'model/model.onnx'\?$"):
        options("--inline=onnx:model")
