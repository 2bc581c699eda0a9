# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision files and policies are data: what they may name, and what all doors refuse by name and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

import passpilot
from passpilot.passes.python.names import llvm_names
from passpilot.passes.python.registry import LLVM
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.runners.policy.bundle import find_bundle
from passpilot.training.by_reward.settings import EvolveSettings
from passpilot.training.learning.toml_settings import read_settings
from passpilot.training.tuning import recipes
from passpilot.training.tuning.decision_file import read_decisions
from tests.command import OPT, files_in, refused, run
from tests.command import passpilot as command
from tests.training.tuning.test_decision_file import CALLS, REPEATED, written

EVIL: Final = "open('ran', 'w').close()\ndef decide(obs):\n    return 0\n"

LINES: Final = {
    "option passpilot-evict=python:evil.py:decide": "passpilot-evict=python:evil.py:decide",
    "option passpilot-load=evil.py": "passpilot-load=evil.py",
    "option load=evil.so": "load=evil.so",
    "option info-output-file=written": "info-output-file=written",
    "option pass-remarks-output=written": "pass-remarks-output=written",
    "option enable-machine-outliner=a/b": "enable-machine-outliner=a/b",
    "option disable-lsr=": "disable-lsr=",
    "option -disable-lsr": "-disable-lsr",
    "pipeline function(dot-cfg)": "dot-cfg",
    "pipeline mergefunc,function(gvn,loop(dot-ddg))": "dot-ddg",
    "pipeline default<O2>": "default",
    "pipeline memprof-use<profile-filename=x>": "memprof-use",
    "pipeline repeat<99>(function(gvn))": "repeat",
    "pipeline print": "print",
    "pipeline internalize": "internalize",
    "pipeline users-own": "users-own",
    "pipeline <x>": "<x>",
}


@pytest.mark.parametrize("line", LINES)
def test_all_doors_refuse_what_is_no_data(line: str, tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/calls.ll").write_text(CALLS)
    path = written(tmp_path, "unit src/calls.c", "inline 1 yes f g", line)
    before = files_in(tmp_path)
    told = f'decisions {path}:4: expected {expected(line)}, got "{LINES[line]}"; decision files are data'
    with pytest.raises(InputError, match=re.escape(told)):
        read_decisions(path)
    for name in ("opt", "llc", "cc"):
        flags = ("-O2", "-c") if name == "cc" else ("-O2",)
        output = ("-o", "out")
        assert told in refused_by(name, *flags, "src/calls.ll", f"--decisions={path}", *output, cwd=tmp_path)
    plugin = (f"-load-pass-plugin={llvm_plugin()}", f"-passpilot-decisions={path}")
    stock = run(OPT, *plugin, "-passes=default<O2>", "src/calls.ll", "-o", "out", cwd=tmp_path)
    assert stock.code
    assert told in stock.err
    assert files_in(tmp_path) == before


def expected(line: str) -> str:
    return _core.EXPECTED_PASS if line.startswith("pipeline") else _core.EXPECTED_OPTION


def refused_by(*arguments: str, cwd: Path) -> str:
    done = command(*arguments, cwd=cwd)
    assert done.code
    return done.err


@pytest.mark.parametrize("line", LINES)
def test_policies_refuse_the_same(line: str, tmp_path: Path) -> None:
    """The line of TOML is named. A pass that LLVM does not have may be one that is loaded later."""
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "calls.ll").write_text(CALLS)
    kind, _, text = line.partition(" ")
    recipe = f'options = ["{text}"]' if kind == "option" else f'pipeline = "{text}"'
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/policy.toml").write_text(
        f'name = "mine"\ndescription = "x"\nllvm = 22\nlevel = "Oz"\nlicense = "x"\n[[recipes]]\n{recipe}\n'
    )
    before = files_in(tmp_path)
    name = LINES[line]
    for door in ("opt", "cc"):
        flags = ("-Oz", "-c") if door == "cc" else ("-Oz",)
        told = refused_by(door, *flags, "calls.ll", "--policy=mine", "-o", "out", cwd=tmp_path)
        assert f"got '{name}'" in told or "options such as" in told or "level's own" in told
        if name not in ("users-own", "default") and "options such as" not in told:
            assert f"policy.toml:7: expected {expected(line)}, got '{name}'" in told
    assert [file for file in files_in(tmp_path) if "cache" not in file] == before


VALUES: Final = {
    "enable-machine-outliner=sometimes": "always, optimistic-pgo, conservative-pgo or never",
    "tail-merge-size=x": "a number",
    "disable-lsr=maybe": "true or false",
    "split-spill-mode": "default, size or speed",
}


@pytest.mark.parametrize("option", VALUES)
def test_all_doors_refuse_values_that_llvm_does_not_take(option: str, tmp_path: Path) -> None:
    (tmp_path / "calls.ll").write_text(CALLS)
    path = written(tmp_path, "unit src/calls.c", f"option {option}")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/policy.toml").write_text(
        'name = "mine"\ndescription = "x"\nllvm = 22\nlevel = "Oz"\nlicense = "x"\n'
        f'[[recipes]]\noptions = ["{option}"]\n'
    )
    values = f"expected {option.partition('=')[0]}={VALUES[option]}"
    wrong = {
        f"--decisions={path}": f'decisions {path}:3: {values}, got "{option}"; make',
        "--policy=mine": f"policy.toml:7: {values}, got '{option}'",
    }
    before = files_in(tmp_path)
    for flag, told in wrong.items():
        for door in ("cc", "llc"):
            flags = ("-Oz", "-c") if door == "cc" else ("-O2",)
            done = command(door, *flags, "calls.ll", flag, "-o", "out", cwd=tmp_path)
            assert (done.code, told in done.err) == (1, True), done.err
            assert ": for the --" not in done.err
    assert [file for file in files_in(tmp_path) if "cache" not in file] == before


def test_the_table_has_the_values_that_llvm_takes(tmp_path: Path) -> None:
    """Each value of the table is accepted by LLVM, and each value of its help is in the table."""
    (tmp_path / "calls.ll").write_text(CALLS)
    told = {
        option: _core.expected_value(f"{option}=?").partition("=")[2] for option in _core.permitted_options()
    }
    numbers = {option: "1" for option, values in told.items() if values == "a number"}
    words = {option: values for option, values in told.items() if option not in numbers}
    flags = [f"-{option}={value}" for option, value in numbers.items()]
    flags += [f"-{option}={re.split(', | or ', values)[-1]}" for option, values in words.items()]
    plugin = ("-load", llvm_plugin(), f"-load-pass-plugin={llvm_plugin()}")
    done = run(OPT, *plugin, *flags, "-passes=dce", "calls.ll", "-o", "out", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    text = run(OPT, *plugin, "--help-hidden", cwd=tmp_path).out.decode()
    for option, values in words.items():
        rows = re.search(rf"^  --{option}=<value>.*\n((?:    =.*\n)+)", text, re.MULTILINE)
        if rows:
            names = re.findall(r"^    =([\w-]+)", rows[1], re.MULTILINE)
            assert sorted(names) == sorted(re.split(", | or ", values)), option
        else:
            assert values == "true or false", option


def test_the_cached_record_of_a_policy_is_checked() -> None:
    text = "passpilot policy 1\npolicy x\nrecipe\noption {}\n"
    assert not _core.PolicyRecord.parse(text.format("tail-merge-size=x"))
    assert _core.PolicyRecord.parse(text.format("disable-lsr"))
    assert not _core.PolicyRecord.parse(text.format("info-output-file=x"))
    runner = "passpilot policy 1\npolicy x\nrecipe\nrunner inline {}\n"
    for spec in ("default", "const:0.5", "onnx:/m.onnx?as=probability", "aot:/m.so"):
        assert _core.PolicyRecord.parse(runner.format(spec))
    for spec in ("python:evil.py:decide", "pipe:/x", "grpc:host:1", "replay:x", "defaults", "@oz", ""):
        assert not _core.PolicyRecord.parse(runner.format(spec))


def test_settings_of_trainers_name_only_permitted_passes(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    for good in ("default<Oz>", "function(gvn),mergefunc", ""):
        path.write_text(f'modules = ["a.bc"]\npipeline = "{good}"\n')
        assert read_settings(str(path), EvolveSettings).pipeline == good
    for text in ("function(dot-cfg)", "default<Oz>,memprof-use<profile-filename=x>", "print"):
        path.write_text(f'modules = ["a.bc"]\npipeline = "{text}"\n')
        with pytest.raises(InputError, match=r"s.toml: pipeline: expected an optimization pass of LLVM's"):
            read_settings(str(path), EvolveSettings)


PASS: Final = """\
from dataclasses import dataclass
from passpilot import llvm

@llvm.module_pass("users-own")
@dataclass(frozen=True)
class Own:
    def run(self, module):
        print("it runs", flush=True)
        return False
"""


def test_a_pass_of_the_users_runs_if_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "calls.ll").write_text(CALLS)
    (tmp_path / "own.py").write_text(PASS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/policy.toml").write_text(
        'name = "mine"\ndescription = "x"\nllvm = 22\nlevel = "Oz"\nlicense = "x"\n'
        '[[recipes]]\npipeline = "users-own,mergefunc"\n'
    )
    arguments = ("opt", "-Oz", "calls.ll", "--policy=mine", "-o", "out")
    told = refused(*arguments, cwd=tmp_path)
    assert (
        f"policy mine at {tmp_path}/mine: expected {_core.EXPECTED_PASS}, got 'users-own' in a pipeline"
        in told
    )
    done = command(*arguments, "--load=own.py", cwd=tmp_path)
    assert (done.code, done.err, done.out) == (0, "", b"it runs\n")
    decisions = written(tmp_path, "unit src/calls.c", "pipeline users-own")
    plugin = (f"-load-pass-plugin={llvm_plugin()}", "-passpilot-load=own.py")
    for flag in ("-passpilot-policy=mine", f"-passpilot-decisions={decisions}"):
        done = run(OPT, *plugin, flag, "-passes=default<Oz>", "calls.ll", "-o", "out", cwd=tmp_path)
        assert (done.code, done.err, done.out) == (0, "", b"it runs\n")
        done = run(OPT, plugin[0], flag, "-passes=default<Oz>", "calls.ll", "-o", "out", cwd=tmp_path)
        assert (done.code, done.out) == (1, b"")
        assert "users-own" in done.err
    policy = tmp_path / "mine/policy.toml"
    policy.write_text(policy.read_text().replace("users-own", "gvnn"))
    told = (
        "got 'gvnn' in a pipeline of policy.toml; policies are data: load its code yourself, "
        "or leave it out; did you mean 'gvn'?"
    )
    assert told in refused(*arguments, cwd=tmp_path)
    stock = (OPT, plugin[0], "-passpilot-policy=mine", "-passes=default<Oz>", "calls.ll", "-o", "out")
    assert told in run(*stock, cwd=tmp_path).err


def test_the_table_has_what_levers_and_policies_name() -> None:
    tails = [*recipes.TAILS, *recipes.SPEED_TAILS]
    options = [option for some in (*recipes.OPTIONS, *recipes.EVICTION, *recipes.SCHEDULE) for option in some]
    for policy in ("@oz", "@spill"):
        for recipe in find_bundle(policy).recipes:
            tails.append(recipe.pipeline)
            options += recipe.options
    assert [name for tail in tails for name in _core.other_passes(tail)] == []
    assert [option for option in options if not _core.is_permitted_option(option)] == []


def test_the_table_has_passes_that_exist_and_use_no_files() -> None:
    names = set(_core.permitted_passes())
    assert names - llvm_names() == {*LLVM.own, "estimate-profile"}
    others = ("dot-", "view-", "print", "debugify", "trigger", "verify", "instr-", "pgo", "sample", "memprof")
    assert not [name for name in names if name.startswith(others)]


def test_options_take_numbers_and_choices_alone() -> None:
    """LLVM says which values an option takes; none of these takes a text, such as a file's name."""
    text = run(OPT.parent / "llc", "--help-hidden", cwd=Path.cwd()).out.decode()
    ours = {"unwind", "unwind-share", "move-small-constants", "write-wasm-ifs"}
    for name in set(_core.permitted_options()) - ours:
        found = re.search(rf"^ +--{re.escape(name)}(?:=<(\w+)>)? ", text, re.MULTILINE)
        assert found, name
        assert found[1] in (None, "uint", "int", "number", "value"), name


def test_all_that_is_permitted_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.c").write_text(REPEATED)
    values = {
        "enable-machine-outliner": "=always",
        "machine-outliner-reruns": "=1",
        "min-jump-table-entries": "=8",
        "optsize-jump-table-density": "=10",
        "outliner-benefit-threshold": "=16",
        "pre-RA-sched": "=source",
        "split-spill-mode": "=size",
        "tail-merge-size": "=2",
        "tail-merge-threshold": "=500",
        "unwind": "=shared",
        "unwind-share": "=8",
    }
    numbers = dict.fromkeys(
        ("regalloc-csr-first-time-cost", "regalloc-eviction-max-interference-cutoff"), "=9"
    )
    lines = [f"option {name}{(values | numbers).get(name, '')}" for name in _core.permitted_options()]
    path = written(tmp_path, "unit a.c", *lines)
    done = command("cc", "-Oz", "-c", "a.c", f"--decisions={path}", "-o", "a.o", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, b"", "")
    for name in set(_core.permitted_passes()) & llvm_names():
        path = written(tmp_path, "unit src/calls.c", f"pipeline {name}")
        passpilot.optimize(passpilot.Module(CALLS.encode()), "default<O1>", decisions=path)
    assert files_in(tmp_path) == ["a.c", "a.o", "f.decisions"]


@pytest.mark.parametrize(
    "runner", ["python:evil.py:decide", "aot:evil.so", "./evil.so", "pipe:x", "onnx:m.onnx"]
)
def test_a_policy_names_no_runner_that_is_code(runner: str, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        'name = "mine"\ndescription = "x"\nllvm = 22\nlevel = "Oz"\nlicense = "x"\n'
        f'[points.inline]\nrunner = "{runner}"\n'
    )
    with pytest.raises(InputError, match=re.escape(f"or const:N in [points.inline], got '{runner}'")):
        find_bundle(str(tmp_path))
