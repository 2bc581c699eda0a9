# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines with a slip: what was probably meant, and options that would swallow others."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from passpilot.cli import attach, llc, mlir_opt, opt
from tests.command import PASSPILOT, passpilot, program, refused, run

LOAD: Final = """\
from dataclasses import dataclass

import passpilot


@passpilot.llvm.function_pass("mul-to-shift")
@dataclass(frozen=True)
class MulToShift:
    def run(self, function):
        return False
"""

SLIPS: Final = {
    "ot in.ll": (2, "got 'ot'; did you mean 'opt'?"),
    "opt in.ll --inlne=const:1": (
        2,
        "--inlne: expected an option of passpilot opt or LLVM; did you mean '--inline'?",
    ),
    "opt in.ll -inlne=const:1": (
        2,
        "-inlne: expected an option of passpilot opt or LLVM; did you mean '--inline'?",
    ),
    "llc in.ll --evct=const:1": (
        2,
        "--evct: expected an option of passpilot llc or LLVM; did you mean '--evict'?",
    ),
    "mlir-opt --avise=x": (
        2,
        "mlir-opt: --avise: expected an option of passpilot mlir-opt; did you mean '--advise'?",
    ),
    "mlir-opt -canonicalize": (2, "passes are written --pass-pipeline='builtin.module(canonicalize)'"),
    "cc --polcy=@oz -Oz -c in.ll": (2, "option of cc or clang; did you mean '--policy'?"),
    "c++ --evct=const:0 -Oz -c in.ll": (2, "option of c++ or clang; did you mean '--evict'?"),
    "cc --best-of=9 -Oz -c in.ll": (2, "--best-of: expected a number of variants up to 4, got 9"),
    "log in.ll": (2, "log: expected show or diff, got in.ll; `passpilot log show in.ll` prints it"),
    "serve const:1 --gprc 0": (
        2,
        "serve: --gprc: expected an option of passpilot serve; did you mean '--grpc'?",
    ),
    "doctor x": (2, "doctor: expected no more arguments, got x; see `passpilot doctor --help`"),
    "corpus splt": (
        2,
        "corpus: COMMAND: expected one of extract, verify, split, stats, debian, got 'splt'; did you mean 's",
    ),
    "features --point=inlin": (2, "got 'inlin'; others come from --load files; did you mean 'inline'?"),
    "opt in.ll -mark-cold": (
        2,
        "-mark-cold: expected an option of passpilot opt or LLVM; passes are written -passes=mark-cold",
    ),
    "opt in.ll -O2 -inline-treshold=50": (2, "-inline-treshold=50'. Did you mean '--inline-threshold=50'?\n"),
    "tune in.ll --foo -o x": (
        2,
        "tune: --foo: expected an option of passpilot tune or LLVM; see `passpilot tune --help`\n",
    ),
    **{
        f"{command} --foo": (
            2,
            f"{command}: --foo: expected an option of passpilot {command}; see `passpilot {command}",
        )
        for command in ("size", "eval", "report", "serve", "log show", "train imitate")
    },
    "tune": (2, "tune: expected modules, or --corpus=DIR, or -- and the command of a build, got none"),
    "tune in.ll --jobs=0 -o x": (2, "tune: --jobs: expected a number of jobs, 1 or more, got '0'"),
    "features --json --proto": (2, "features: choose --json or --proto"),
    "llc -x foo in.ll": (2, "llc: -x: expected ir, got 'foo'"),
    "--verison": (2, "got '--verison'; did you mean '--version'?"),
    "cc --unwind=fault -Oz -c in.ll": (2, "exceptions or none, got fault; did you mean 'faults'?"),
    "opt in.ll -O2 --inline=python:pol.py:decid": (
        1,
        "expected a name that pol.py defines (decide), got 'decid'; did you mean 'decide'?",
    ),
    "train imitate source.o -o x": (1, "source.o: expected TOML, got binary data"),
    "opt source.o": (1, "source.o:1:1: expected LLVM IR or bitcode, got: binary data of another kind"),
    "opt in.ll -o source.c/none/out.bc": (1, "got: Not a directory\n"),
    "opt in.ll -o none/out.bc": (1, "got: No such file or directory; make its folder by `mkdir -p"),
    "opt in.ll -O7": (2, "opt: expected -O0, -O1, -O2, -O3, -Os, -Oz, got '-O7'"),
    "llc in.ll -O7": (2, "llc: expected -O0, -O1, -O2, -O3, got '-O7'"),
    "opt in.ll -passes=default<O2": (1, "'default<O2'; the '<' behind default is not closed"),
    "opt in.ll --evict=const:0": (
        2,
        "opt: --evict: expected --inline, got a point of `passpilot llc`; give it",
    ),
    "mlir-opt in.mlir --evict=const:0": (
        2,
        "mlir-opt: --evict: expected an option of passpilot mlir-opt, got a point of `passpilot llc`",
    ),
    "tune --evict=const:0 in.ll": (2, "tune: --evict: expected an option of passpilot tune, got a point of"),
    "opt in.ll -O2 --advise=advised-sise=const:1": (
        2,
        "; --load=FILE.py adds others; did you mean 'advised-size'?",
    ),
    "opt in.ll -passes=function(inline)": (1, "'inline'; inline is a cgscc pass: write it in cgscc(...)"),
    "opt in.ll -passes=loop(sroa)": (1, "'sroa'; sroa is a function pass: write it in function(...)"),
    "opt in.ll -passes=function(sroa": (1, "'function(sroa'; the '(' at column 9 is not closed"),
    "opt in.ll -passes=sroa)": (1, "invalid pipeline 'sroa)'; the ')' at column 5 closes none"),
    "opt in.ll -passes=count-cals": (1, "'count-cals'; --load=FILE.py adds passes in Python; did you"),
    "opt in.ll -O2 --at=optimizer-lst=dce": (1, "'; did you mean 'optimizer-last'?"),
    "opt in.mlir": (1, "; passpilot mlir-opt reads MLIR"),
    "mlir-opt in.mlir --cse": (2, "; passes are written --pass-pipeline='builtin.module(cse)'"),
    "import source.c -o m.onnx": (
        1,
        "source.c: expected a SavedModel's folder or a TFLite file, got an",
    ),
    "import none -o m.onnx": (1, "none: expected a SavedModel's folder or a TFLite file, got: No such file"),
    "import models -o m.onnx": (
        1,
        "expected a SavedModel's folder or a TFLite file, got no saved_model.pb",
    ),
    "tune in.ll --compiles=2 --budget=3 -o x": (2, "tune: expected --budget or --compiles, got both"),
    "opt in.ll -O2 --inline=const:1 --inline=const:0": (
        2,
        "opt: --inline: expected one value, got --inline=const:1 and --inline=const:0",
    ),
    "opt in.ll -O2 --advise=mlir-tile=default": (2, "advised-vectorize, got 'mlir-tile=default'"),
    "opt in.ll -O2 --best-of=3": (
        2,
        "opt: --best-of: expected an option of passpilot opt, got one of",
    ),
    "opt in.ll -O2 --compiles=3": (
        2,
        "opt: --compiles: expected an option of passpilot opt, got one of passpilot tune",
    ),
    "tune --policy=@oz -o x -- make": (2, "got one of passpilot opt or passpilot llc or passpilot cc"),
    "cc -c in.c --budget=3": (
        2,
        "cc: --budget=3: expected an option of cc or clang, got one of passpilot tune",
    ),
    "opt in.ll -passes=advised-tile": (1, "advised-tile is a pass of MLIR, which `passpilot mlir-opt` runs"),
    "size in.ll --compiles=3": (
        2,
        "size: --compiles: expected an option of passpilot size, got one of passpilot tune",
    ),
    "opt in.ll --pass-pipeline=sroa": (2, "; did you mean '--passes'?"),
    "mlir-opt in.mlir --passes=cse": (2, "; did you mean '--pass-pipeline'?"),
    "eval --corpus=parts --contender=default --inline=const:0": (2, "expected --contender=RUNNER or --conte"),
    "opt in.ll -passes=sroa,default<O2>": (
        1,
        "a module pass: write passes of other levels before it in",
    ),
    "cache --clear --most=5M": (2, "cache: expected --clear or --most, got both"),
    "imitate imitate.toml": (2, "got 'imitate'; did you mean 'train imitate'?"),
    "log show source.c": (1, "expected a line of JSON, got other text"),
    "corpus stats source.c": (1, "source.c: expected the folder of a corpus, got a file"),
    "unwind check source.c source.c": (1, "source.c: expected an ELF file, got: another file"),
    "opt in.ll -O2 --policy=models": (
        1,
        "expected a folder with policy.toml, got a trained model, which a point takes: --inline=onnx:",
    ),
    "opt in.ll -O2 --policy=@ozz": (1, "; did you mean '@oz'?"),
    "cc -c source.c --policy=@ozz": (1, "; did you mean '@oz'?"),
    "tune --compiles=8 -o new make -B": (
        2,
        "tune: expected -- before the command of a build; write -- make -B",
    ),
    "build --policy=@ozz -- true": (1, "; did you mean '@oz'?"),
    "build --decisions=tuned -- true": (1, "'tuned', which is a folder; it has a.decisions, b.decisions"),
    "train data in.ll --teacher=defalt -o data": (1, "runner scheme 'defalt': expected one of "),
    "corpus stats recording": (1, "got a recording; `passpilot corpus extract` makes a corpus of it"),
    "corpus stats parts": (1, "parts: expected the folder of a corpus, got a folder of corpora: test, train"),
    "corpus stats models": (1, "models: expected the folder of a corpus, got another folder"),
    "opt in.ll -O2 --policy=slip": (1, "got 'discription'; did you mean 'description'?"),
    "opt in.ll -O2 --inline=model.onnx": (
        1,
        "got 'model.onnx' as the scheme; did you mean 'onnx:model.onnx'?",
    ),
    "opt in.ll -O2 --inline=onnx": (1, "expected onnx:FILE, got no file"),
    "opt in.ll -O2 --inline=aot:m.so?treshold=1": (1, "got treshold; did you mean 'threshold'?"),
    "train imitate imitate.toml -o new": (1, "got 'tree'; did you mean 'trees'?"),
    "opt in.ll -O2 --inline=onnx:models": (1, "Is a directory; did you mean models/model.onnx?"),
    "opt source.c -O2": (1, "; clang-22 -O2 -Xclang -disable-llvm-passes -c -emit-llvm makes it of a source"),
    "opt in.ll -O2 --inline=./policy.py:decide": (1, "; did you mean 'python:./policy.py:decide'?"),
    "opt in.ll -O2 --inline=policy.so": (1, "; did you mean 'aot:policy.so'?"),
    "opt in.ll -O2 --inline=old.log": (1, "; did you mean 'replay:old.log'?"),
    "opt in.ll -O2 --inline=pyhton:policy.py:decide": (1, "'passpilot.runners'; did you mean 'python'?"),
    "opt in.ll -O2 --inline=random": (1, "random:SEED with a 64-bit unsigned seed, such as random:7, got ''"),
    "opt in.ll --load=passes.py -passes=mul-to-shft": (1, "'mul-to-shft'; did you mean 'mul-to-shift'?"),
    "opt in.ll -passes=function(instcombin)": (1, "; did you mean 'instcombine'?"),
    "opt in.ll -passes=function(instcombin<x>)": (1, "; did you mean 'instcombine'?"),
    "opt in.ll -passes=cgscc(inlin)": (1, "; did you mean 'inline'?"),
    "llc in.ll --report -filetype=obj": (
        2,
        "llc: --report: expected F.json, got the option -filetype=obj; "
        "write --report=-filetype=obj if it is the value",
    ),
    "cc -O2 -c source.c --log=x": (2, "cc: --log has no effect without an advisor; add --inline=RUNNER"),
    "cc -c source.c --log=x": (2, "cc: --log has no effect without an advisor; add --inline=RUNNER"),
    "cc --policy=@oz -c source.c --log=x": (2, "cc: --log has no effect without an advisor"),
    "build --log=x -- true": (2, "build: --log has no effect without an advisor; add --inline=RUNNER"),
    "rustc --log=x source.rs": (2, "rustc: --log has no effect without an advisor; add --inline=RUNNER"),
    "opt in.ll -O2 --log=x": (
        2,
        "opt: --log has no effect without an advisor; add --inline=RUNNER, or --advise=POINT=RUNNER for the",
    ),
    "llc in.ll --log=x": (2, "llc: --log has no effect without an advisor; add --evict=RUNNER"),
    "mlir-opt in.mlir --log=x": (2, "mlir-opt: --log has no effect without an advisor"),
    "log diff old.log tuned": (
        1,
        "log diff: expected two logs, which are files, got tuned, a folder; it has no file *.log",
    ),
    "opt in.ll -O2 --inline=cnst:0": (1, "replay, or @NAME, a policy; others come from --load files"),
    "tune source.c": (2, "got source.c, no module; put the command that builds the program behind --"),
    "opt in.ll -o -S": (2, "opt: -o: expected OUT, got the option -S; write -o=-S if it is the value"),
    "opt in.ll --log --stats": (2, "opt: --log: expected FILE|FOLDER/, got the option --stats; "),
    "attach --inline --stats -- opt-22": (2, "attach: --inline: expected RUNNER, got the option --stats; "),
    "serve --pipe --once const:1": (
        2,
        "serve: --pipe: expected BASE, got the option --once; write --pipe=--once",
    ),
}


@pytest.mark.parametrize("command", SLIPS)
def test_a_slip(command: str, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program(2))
    (tmp_path / "passes.py").write_text(LOAD)
    (tmp_path / "source.c").write_text("int x;\n")
    (tmp_path / "source.o").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "pol.py").write_text("def decide(obs):\n    return 1\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/model.onnx").touch()
    (tmp_path / "in.mlir").write_text("module {}\n")
    (tmp_path / "imitate.toml").write_text('policy = "tree"\n[data]\ntrain = ["none"]\n')
    for name in ("tuned/a.decisions", "tuned/b.decisions", "recording/commands/a.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for part in ("train", "test"):
        (tmp_path / "parts" / part).mkdir(parents=True)
        (tmp_path / "parts" / part / "corpus_description.json").touch()
    (tmp_path / "slip").mkdir()
    (tmp_path / "slip/policy.toml").write_text("discription = 'small'\n")
    code, told = SLIPS[command]
    assert told in refused(*command.split(), cwd=tmp_path, code=code)


@pytest.mark.parametrize("command", ["cc", "build"])
def test_variables(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "source.c").write_text("int x;\n")
    words = ("cc", "-c", "source.c") if command == "cc" else ("build", "--policy=@oz", "--", "true")
    monkeypatch.setenv("PASSPILOT_LOG", "logs")
    if command == "cc":
        told = refused(*words, cwd=tmp_path, code=2)
        assert "cc: PASSPILOT_LOG has no effect without an advisor; add --inline=RUNNER" in told
    monkeypatch.delenv("PASSPILOT_LOG")
    for name, meant in {"INLIN": "INLINE", "POLCY": "POLICY", "DECISION": "DECISIONS"}.items():
        with monkeypatch.context() as patch:
            patch.setenv(f"PASSPILOT_{name}", "const:0")
            told = refused(*words, cwd=tmp_path, code=2)
            assert (
                f"{command}: variable PASSPILOT_{name}: expected the name of an option, got another" in told
            )
            assert f"; did you mean 'PASSPILOT_{meant}'?" in told
    for name in ("CACHE", "UNIT", "OTHER", "STATS"):
        monkeypatch.setenv(f"PASSPILOT_{name}", "0")
    assert passpilot("cc", "-c", "source.c", cwd=tmp_path).err == ""


def test_a_misspelt_pass_of_mlir(tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text("")
    done = passpilot("mlir-opt", "in.mlir", "--pass-pipeline=builtin.module(advised-inlin)", cwd=tmp_path)
    assert done.code == 1
    assert (
        "nobody has registered; --load=FILE.py adds passes in Python; did you mean 'advised-inline'?"
        in done.err
    )


def test_names_that_are_like_nothing_get_no_suggestion(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program(2))
    for command in ("zzz in.ll", "opt in.ll -passes=zzz", "opt in.ll --inline=zzz:1", "log show --zzz x"):
        told = refused(*command.split(), cwd=tmp_path, code=1 if "in.ll -" in command else 2)
        assert "did you mean" not in told


def test_values_that_begin_with_a_dash_but_are_no_options(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program(2))
    done = passpilot("opt", "in.ll", "-O2", "-o", "-", "-S", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert b"define" in done.out
    told = refused("opt", "in.ll", "-O2", "--inline=const:0", "--size-budget", "-1", cwd=tmp_path, code=2)
    assert "-size-budget: expected a number of times, got '-1'" in told
    assert passpilot("llc", "in.ll", "--report=-filetype=obj", "-o", "-", cwd=tmp_path).code == 0
    assert (tmp_path / "-filetype=obj").exists()


def test_attach_needs_no_dashes(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(program(2))
    command = ("attach", "--inline", "const:0", "-timeout=60", "opt-22", "-O2", "in.ll", "-S", "-o", "out.ll")
    assert (passpilot(*command, cwd=tmp_path).code) == 0
    assert (tmp_path / "out.ll").read_text().count("call i32 @callee") == 2


@pytest.mark.parametrize("command", ["opt", "log"])
def test_help_of_a_command(command: str, tmp_path: Path) -> None:
    asked = run(PASSPILOT, "help", command, cwd=tmp_path)
    assert asked.out == run(PASSPILOT, command, "--help", cwd=tmp_path).out
    assert (asked.code, asked.err) == (0, "")


def test_help_alone(tmp_path: Path) -> None:
    assert run(PASSPILOT, "help", cwd=tmp_path).out == run(PASSPILOT, "--help", cwd=tmp_path).out
    assert "did you mean 'opt'?" in refused("help", "otp", cwd=tmp_path, code=2)


def test_help_shows_options_as_people_type_them_and_the_advice_first() -> None:
    text = opt.make_parser().format_help()
    assert text.startswith("usage: passpilot opt [option ...] [IN]\n")
    for option in (
        "  -o OUT ",
        "  -S ",
        "  -O0, -O1, -O2, -O3, -Os, -Oz\n",
        "  -f ",
        "  --inline=RUNNER",
        "  --help, -h",
        "  --passes=PIPELINE, -p PIPELINE",
    ):
        assert f"\n{option}" in text
    assert "--o OUT" not in text
    assert "--O2" not in text
    heads = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["positional arguments:", "advice:", "options:", "remarks:", "example:"]
    assert "\n  --asm-verbose[=BOOL]" in llc.make_parser().format_help()
    assert attach.make_parser().format_help().startswith("usage: passpilot attach [option ...] [--] COMPILER")
    advice = mlir_opt.make_parser().format_help().partition("advice:")[2].partition("\n\n")[0]
    assert "--inline=RUNNER" in advice
