# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc`: what is clang's stays clang's, what is ours reaches the plugin, what is wrong is said."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.log.reader import read_log
from tests.command import PASSPILOT, Done, refused, run

LEAF: Final = "static int leaf(int x) { return x * 3 + 1; }\n"
CALLS: Final = LEAF + "int twice(int x) { return leaf(x) + leaf(x + 1); }\n"
MAIN: Final = "int twice(int x);\nint main(int n, char **words) { return twice(n) == 11 ? 0 : !words; }\n"
NO_CALLS: Final = "int nothing(int x) { return x; }\n"
NO: Final = "--inline=const:0"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with small sources."""
    for name, text in {"calls.c": CALLS, "main.c": MAIN, "none.c": NO_CALLS}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "asm.s").write_text('.text\n.globl x\nx: ret\n.section .note.GNU-stack,"",@progbits\n')
    (tmp_path / "args.rsp").write_text('-O2 "-S"\n-o -')
    return tmp_path


def cc(*arguments: str | Path, cwd: Path, **variables: str) -> Done:
    given = [f"{name}={value}" for name, value in variables.items()]
    return run("env", *given, PASSPILOT, "cc", *arguments, cwd=cwd)


def good(*arguments: str | Path, cwd: Path, **variables: str) -> str:
    """What a command that must succeed in silence writes."""
    done = cc(*arguments, cwd=cwd, **variables)
    assert (done.code, done.err) == (0, ""), done
    return done.out.decode()


def calls(text: str) -> int:
    return text.count("call i32 @leaf") + len(re.findall(r"call.*@leaf", text.replace("call i32 @leaf", "")))


IR: Final = ("-O2", "-S", "-emit-llvm", "-o", "-", "calls.c")

CLANGS: Final = (
    ("--version",),
    ("-dumpmachine",),
    ("-print-resource-dir",),
    ("--print-search-dirs",),
    (),
    ("missing.c",),
    ("-E", "calls.c", "-Werror"),
    ("-M", "calls.c", "-Werror"),
    ("-fsyntax-only", "calls.c", "-Werror"),
    ("-c", "asm.s", "-o", "asm.o", "-Werror"),
    ("@args.rsp", "calls.c"),
    ("-S", "none.c", "-o", "-", "-Werror"),
    ("-xc", "-E", "-"),
    ("-O2", "--no-such-option", "calls.c"),
    ("-cc1", "-E", "calls.c"),
    ("-O2", "-c", "calls.c", "-o", "none/calls.o"),
)


# With an advisor `@args.rsp` compiles with advice.
WITH_ADVICE: Final = [arguments for arguments in CLANGS if "@args.rsp" not in arguments]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [*(((), arguments) for arguments in CLANGS), *(((NO,), arguments) for arguments in WITH_ADVICE)],
    ids=" ".join,
)
def test_what_generates_no_advised_code_is_clangs(
    arguments: tuple[str, ...], options: tuple[str, ...], here: Path
) -> None:
    theirs = run("clang-22", *arguments, cwd=here)
    ours = cc(*options, *arguments, cwd=here)
    assert (ours.code, ours.out, ours.err) == (theirs.code, theirs.out, theirs.err)


@pytest.mark.parametrize("options", [(), ("--inline=default",), ("--evict=default", "--priority=default")])
def test_by_default_the_object_is_the_same(options: tuple[str, ...], here: Path) -> None:
    run("clang-22", "-O2", "-g", "-c", "calls.c", "-o", "theirs.o", cwd=here)
    good(*options, "-O2", "-g", "-c", "calls.c", "-o", "ours.o", cwd=here)
    assert (here / "ours.o").read_bytes() == (here / "theirs.o").read_bytes()


def test_the_default_with_a_log_makes_the_same_object(here: Path) -> None:
    run("clang-22", "-O2", "-c", "calls.c", "-o", "theirs.o", cwd=here)
    good("--inline=default", "--log=logs/", "-O2", "-c", "calls.c", "-o", "ours.o", cwd=here)
    assert (here / "ours.o").read_bytes() == (here / "theirs.o").read_bytes()
    assert len(logs(here)) == 1


def logs(folder: Path) -> dict[str, int]:
    """The decisions in each log of a build."""
    return {path.name: sum(1 for _ in read_log(str(path))) for path in sorted((folder / "logs").iterdir())}


@pytest.mark.parametrize("place", [0, 2, len(IR)], ids=["first", "between", "last"])
def test_our_options_may_be_anywhere(place: int, here: Path) -> None:
    assert calls(good(*IR, cwd=here)) == 0
    assert calls(good(*IR[:place], NO, *IR[place:], cwd=here)) == 2


def test_values_of_clangs_options_are_not_ours(here: Path) -> None:
    source = "#ifdef FIRST\nint first;\n#endif\n"
    (here / "--inline=const:0").write_text(source)
    assert "int first;" in good("-E", "-DFIRST", "-xc", "-include", "--inline=const:0", "none.c", cwd=here)
    command = ("-E", "-xc", "--", "--inline=const:0")
    assert cc(*command, cwd=here).err == run("clang-22", *command, cwd=here).err


VARIABLES: Final[tuple[tuple[tuple[str, ...], dict[str, str], int], ...]] = (
    ((), {"PASSPILOT_INLINE": "const:0"}, 2),
    (("--inline=const:1",), {"PASSPILOT_INLINE": "const:0"}, 0),
    (("--inline=const:1",), {"PASSPILOT_ADVISE": "inline=const:0"}, 0),
    (("--advise=inline=const:0",), {"PASSPILOT_INLINE": "const:1"}, 2),
    ((), {"PASSPILOT_INLINE": "const:1", "PASSPILOT_ADVISE": "inline=const:0"}, 2),
    (("--inline=onnx:none.onnx", "--inline=const:1"), {}, 0),
    ((), {"PASSPILOT_INLINE": ""}, 0),
)


@pytest.mark.parametrize(("options", "variables", "left"), VARIABLES)
def test_flags_win_over_variables(
    options: tuple[str, ...], variables: dict[str, str], left: int, here: Path
) -> None:
    assert calls(good(*options, *IR, cwd=here, **variables)) == left


def test_one_log_per_unit_and_command(here: Path) -> None:
    (here / "more.c").write_text(CALLS.replace("twice", "more"))
    command = (NO, "--log=logs/", "-O2", "-c")
    good(*command, "calls.c", "more.c", "-DA", cwd=here)
    first = logs(here)
    assert [(name.split("-")[0], count) for name, count in first.items()] == [("calls.c", 2), ("more.c", 2)]
    good(*command, "calls.c", "more.c", "-DA", cwd=here)
    assert logs(here) == first
    good(*command, "calls.c", "-DB", cwd=here)
    assert len(logs(here)) == 3


def test_what_decides_without_being_asked_is_counted_as_nothing(here: Path) -> None:
    done = cc("--inline=default", "--stats", "-O2", "-c", "calls.c", cwd=here)
    assert (done.code, done.err) == (0, "inline advisor default: LLVM's own inliner; nothing was asked\n")


def test_an_error_names_the_file_that_is_compiled(here: Path) -> None:
    (here / "nan.py").write_text("def decide(obs):\n    return float('nan')\n")
    told = cc("--inline=python:nan.py:decide", "-O2", "-c", "calls.c", cwd=here).err
    assert "got float nan; return the decision itself" in told
    assert "[while compiling calls.c]" in told


def test_a_log_named_so_is_a_file(here: Path) -> None:
    good(NO, "--log=one.log", "-O2", "-c", "calls.c", cwd=here)
    assert sum(1 for _ in read_log(str(here / "one.log"))) > 0
    told = cc(NO, "--log=two.log", "-O2", "-c", "calls.c", "calls.c", cwd=here).err
    assert "expected a folder for a command with 2 compilations, got two.log" in told
    assert not (here / "two.log").exists()


def test_evict_and_priority_have_logs_of_their_own(here: Path) -> None:
    both = ("--evict=default", "--priority=default", "--log=logs/")
    good(*both, "-O2", "-c", "calls.c", cwd=here)
    assert any(name.endswith("-priority.log") and count > 0 for name, count in logs(here).items())


def test_unoptimized_code_is_clangs_unless_the_user_wants_to_know(here: Path) -> None:
    said = "nothing changes where nothing is optimized\n"
    for flags in (("-O0", "-c", "calls.c"), ("-c", "calls.c", "-Werror")):
        done = cc(NO, *flags, cwd=here)
        assert (done.code, done.err.count("\n")) == (0, 1)
        assert done.err.endswith(said)
    done = cc(NO, "--stats", "-c", "calls.c", cwd=here)
    assert done.code == 0
    assert "never asked" in done.err


def test_passes_run_in_unoptimized_code_too(here: Path) -> None:
    text = good("--at=optimizer-last=always-inline,strip", "-O0", *IR[1:], cwd=here)
    assert "%0" in text or "%1" in text


def test_units_that_ask_nothing_are_compiled_in_silence(here: Path) -> None:
    (here / "empty.c").write_text("int x;\n")
    every = (NO, "--evict=default", "--priority=default", "--log=logs/")
    for flags in (("-O2", "-c"), ("-O2", "-flto", "-c"), ("-O2", "-emit-llvm", "-c"), ("-O2", "-S")):
        assert good(*every, *flags, "none.c", "empty.c", cwd=here) == ""


@pytest.mark.parametrize(
    "flags", [("-Wall", "-Wextra", "-Werror"), ("-w",), ("-Wno-everything",), ("-flto",)]
)
def test_our_warnings_have_one_form_and_no_flag_of_clang_hides_them(
    flags: tuple[str, ...], here: Path
) -> None:
    """They are about advice, not about the program."""
    (here / "policy.py").write_text("def bad(obs):\n    raise ValueError('no')\n")
    advice = ("--inline=python:policy.py:bad", "--on-error=default")
    done = cc(*advice, "-O2", *flags, "-c", "calls.c", cwd=here)
    assert done.code == 0, done.err
    assert re.findall(r"^(.*?)inline advisor", done.err, re.MULTILINE)[0] == "passpilot: warning: "
    assert "backend-plugin" not in done.err


def test_a_failing_runner_ends_the_compilation(here: Path) -> None:
    (here / "policy.py").write_text("def bad(obs):\n    raise ValueError('no')\n")
    done = cc("--inline=python:policy.py:bad", "-O2", "-c", "calls.c", cwd=here)
    assert done.code == 1
    assert f"ValueError: no ({here / 'policy.py'}:2)" in done.err
    assert not (here / "calls.o").exists()
    done = cc("--inline=python:policy.py:bad", "--on-error=default", "-O2", "-c", "calls.c", cwd=here)
    assert done.code == 0
    assert "fell back to the default" in done.err


WRONG: Final = (
    (("--inline",), 2, "--inline: expected --inline=RUNNER, got no value"),
    (("--inline=",), 2, "--inline: expected --inline=RUNNER, got no value"),
    (
        ("--inlin=random:7",),
        2,
        "--inlin=random:7: expected an option of cc or clang; did you mean '--inline'?",
    ),
    (("--inline=onnx:none.onnx",), 1, "got 'none.onnx' in "),
    (("--inline=python:none.py:f",), 1, "builds change folders: begin paths with $PWD/"),
    (("--load=none.py",), 1, "--load: expected a file that exists, got 'none.py'"),
    (("--advise=inline",), 2, "--advise: expected POINT=RUNNER, got inline"),
    (
        ("--advise=inlinee=const:0",),
        2,
        "got 'inlinee'; others come from --load files; did you mean 'inline'?",
    ),
    (("--advise=mine=a;b",), 2, "--advise: expected a value without ';'"),
    (("--at=nowhere",), 2, "--at: expected POINT=PIPELINE, got nowhere"),
    (("--on-error=ignore",), 2, "--on-error: expected fail or default, got ignore"),
    (("--timeout=0",), 2, "--timeout: expected a number above 0, got 0"),
    (("--timeout=nan",), 2, "--timeout: expected a number above 0, got nan"),
    (("--size-budget=-1",), 2, "--size-budget: expected a number of 0 or more, got -1"),
    ((NO, "--log=none.c"), 1, "--log: expected a folder or a log, got none.c, which is another file"),
    ((NO, "-flto", "-fuse-ld=gold"), 1, "expected lld for link-time optimization, got gold"),
    ((NO, "-flto", "--target=wasm32-wasip1"), 1, "plugins for link-time optimization, got wasm-ld; remove"),
    ((NO, "-flto", "-fuse-ld=lld", "-target", "wasm32"), 1, "got wasm-ld; remove -flto, or give"),
)


@pytest.mark.parametrize(("options", "code", "text"), WRONG, ids=[" ".join(each[0]) for each in WRONG])
def test_what_is_wrong_is_said(options: tuple[str, ...], code: int, text: str, here: Path) -> None:
    assert text in refused("cc", *options, "-O2", "none.c", cwd=here, code=code)


def test_the_linker_of_wasm_loads_nothing(here: Path) -> None:
    (here / "wasm.c").write_text("int one(void) { return 1; }\n")
    link = ("--target=wasm32", "-nostdlib", "-fuse-ld=lld", "-Wl,--no-entry", "wasm.c", "-o", "wasm")
    done = cc(NO, "-O2", *link, cwd=here)
    assert (done.code, done.err) == (0, "")
    done = cc(NO, "-O2", "-flto", "--on-error=default", *link, cwd=here)
    assert (done.code, "the link is not advised" in done.err) == (0, True)


def test_errors_are_written_at_once(here: Path) -> None:
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)  # which keeps writes apart
    with mine, theirs:
        subprocess.run(
            [PASSPILOT, "cc", "--inline="], cwd=here, stderr=theirs.fileno(), check=False, timeout=60
        )
        assert mine.recv(4096).endswith(b"`passpilot cc --help`\n")


def test_wrong_variables_are_named(here: Path) -> None:
    prefix = ("env", "PASSPILOT_TIMEOUT=soon", "PASSPILOT_INLINE=const:0")
    assert "PASSPILOT_TIMEOUT: expected" in refused("cc", "none.c", cwd=here, code=2, prefix=prefix)


def test_typos_that_are_not_ours_are_clangs(here: Path) -> None:
    done = cc("--unknown-thing=x", "-c", "none.c", cwd=here)
    assert done.code == 1
    assert "clang-22: error: unknown argument: '--unknown-thing=x'" in done.err


def test_help_is_ours_and_clangs_behind_two_dashes(here: Path) -> None:
    assert "--inline=RUNNER" in good("--help", cwd=here)
    assert "OVERVIEW: clang" in good("--", "--help", cwd=here)


def test_cxx_is_clang_for_cxx(here: Path) -> None:
    source = here / "hello.cpp"
    source.write_text('#include <iostream>\nint main() { std::cout << "hello\\n"; }\n')
    done = run(PASSPILOT, "c++", "--inline=random:7", "-O2", source, "-o", "hello", cwd=here)
    assert done.code == 0, done.err
    assert run(here / "hello", cwd=here).out == b"hello\n"


@pytest.mark.parametrize("compiler", ["clang-22", "clang", "clang++-22"])
def test_a_launcher_is_told_the_compiler(compiler: str, here: Path) -> None:
    bindir = Path(subprocess.check_output(["llvm-config-22", "--bindir"], text=True).strip())
    path = bindir / compiler.removesuffix("-22")
    assert calls(good(NO, path, "-xc", *IR, cwd=here)) == 2
    if compiler.endswith("-22"):
        assert calls(good(NO, compiler, "-xc", *IR, cwd=here)) == 2


def test_a_launcher_refuses_another_compiler(here: Path) -> None:
    (here / "gcc").write_text("#!/bin/sh\n")
    (here / "gcc").chmod(0o755)
    assert "expected clang-22" in refused("cc", NO, here / "gcc", "-c", "none.c", cwd=here)


def test_without_clang_the_package_is_named(here: Path) -> None:
    text = refused("cc", "-c", "none.c", cwd=here, prefix=("env", f"PATH={here}"))
    assert "sudo apt-get install clang-22" in text


def test_a_clang_that_does_not_run_is_named(here: Path) -> None:
    (here / "clang-22").write_bytes(b"\0")
    (here / "clang-22").chmod(0o755)
    text = refused("cc", "-c", "none.c", cwd=here, prefix=("env", f"PATH={here}"))
    assert f"expected to run {here / 'clang-22'}, got: Exec format error" in text


def test_a_compilation_for_objective_c_is_unoptimized_too(here: Path) -> None:
    assert "passpilot" not in cc(NO, "-###", "-ObjC", "-c", "none.c", cwd=here).err
    assert "passpilot" in cc(NO, "-###", "-ObjC", "-O1", "-c", "none.c", cwd=here).err


def test_bytes_that_are_no_text_reach_clang(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9.c")
    (here / name).write_text(CALLS)
    done = subprocess.run(
        [PASSPILOT, "cc", NO, "--log=logs/", "-O2", "-S", name, "-o", "-"],
        cwd=here, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert rb'.file	"caf\351.c"' in done.stdout
    assert [name.split("-")[0] for name in logs(here)] == [name]


def test_a_closed_pipe_ends_clang_as_it_does_without_us(here: Path) -> None:
    (here / "long.c").write_text("int x;\n" * 50_000)
    codes = []
    for command in (["clang-22"], [str(PASSPILOT), "cc"]):
        with subprocess.Popen([*command, "-E", "long.c"], cwd=here, stdout=-1, stderr=-1) as child:
            assert child.stdout
            child.stdout.close()
            codes.append(child.wait(60))
    assert codes[0] == codes[1] != 0


def test_nothing_is_imported_that_takes_time() -> None:
    text = (
        "import sys, json, signal, passpilot.plugin\n"
        "before = set(sys.modules)\nfrom passpilot.cli.cc import main\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    added = json.loads(subprocess.check_output([sys.executable, "-c", text], text=True))
    assert {name for name in added if not name.startswith("passpilot")} <= {"__future__"}
    assert "passpilot.plugin._core" not in added
