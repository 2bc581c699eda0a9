# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tool a program is, and the flags that make it ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError, UsageError
from passpilot.runners.attach.answers import Answers
from passpilot.runners.attach.run import asking_command, attach, tool_of

INLINE = ["-enable-ml-inliner=release", "-inliner-interactive-channel-base=/f/inline"]
UNLIMITED = "-ml-advisor-size-increase-threshold=1e9"
EVICT = ["-regalloc-enable-advisor=release", "-regalloc-evict-interactive-channel-base=/f/evict"]


@pytest.mark.parametrize(
    ("program", "tool"),
    [
        ("opt", "opt"),
        ("/usr/bin/opt-22", "opt"),
        ("llc-22.1", "llc"),
        ("clang++", "clang"),
        ("x86_64-linux-gnu-clang++-22", "clang"),
        ("dir.opt/ld.lld-22", "ld.lld"),
        ("/home/user/.cargo/bin/rustc", "rustc"),
        ("flang-22", "flang"),
    ],
)
def test_tools_by_their_names(program: str, tool: str) -> None:
    assert tool_of(program) == tool


@pytest.mark.parametrize("program", ["gcc", "xopt", "opt22", "clang-format", "clang-x", "ldXlld", "opt/gcc"])
def test_other_programs(program: str) -> None:
    with pytest.raises(
        UsageError, match=r"attach: expected one of opt, llc, clang, flang, ld\.lld, rustc, got "
    ):
        tool_of(program)


def test_a_link_is_the_tool_that_it_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clang-22").touch(0o755)
    (tmp_path / "cc").symlink_to("clang-22")
    assert tool_of(str(tmp_path / "cc")) == "clang"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool_of("cc") == "clang"


def asking(*command: str, inline: str = "const:1", evict: bool = False) -> list[str]:
    answers = [Answers("inline", inline)] + [Answers("evict", "const:32")] * evict
    return asking_command(command, answers, "/f")


def test_opt_and_llc_take_the_flags_before_their_arguments() -> None:
    assert asking("opt-22", "-O2", "in.ll") == ["opt-22", *INLINE, UNLIMITED, "-O2", "in.ll"]
    answers = [Answers("evict", "const:32")]
    assert asking_command(["llc", "in.bc"], answers, "/f") == ["llc", *EVICT, "in.bc"]


def test_every_point_has_its_flags() -> None:
    assert asking("opt", evict=True) == ["opt", *INLINE, UNLIMITED, *EVICT]


@pytest.mark.parametrize(
    "own", ["-ml-advisor-size-increase-threshold=2", "--ml-advisor-size-increase-threshold"]
)
def test_the_users_own_limit_stays(own: str) -> None:
    assert asking("opt", "-O2", own) == ["opt", *INLINE, "-O2", own]


def test_llvms_decision_is_asked_for_if_the_runner_reads_it() -> None:
    default = "-inliner-interactive-include-default"
    assert asking("opt", inline="default") == ["opt", *INLINE, UNLIMITED, default]
    assert asking_command(["opt"], [Answers("inline", "const:1", default_on_error=True)], "/f")[-1] == default


def test_clang_hands_them_on() -> None:
    words = [word for flag in (*INLINE, UNLIMITED) for word in ("-mllvm", flag)]
    quiet = ["--start-no-unused-arguments", *words, "--end-no-unused-arguments"]
    assert asking("clang++", "-c", "a.c") == ["clang++", *quiet, "-c", "a.c"]
    assert asking("clang", "-cc1", "-O2", "a.c") == ["clang", "-cc1", *words, "-O2", "a.c"]
    assert asking("clang", "-O2", "-cc1") == ["clang", *quiet, "-O2", "-cc1"]


def test_lld_compiles_on_one_thread_unless_told() -> None:
    words = [word for flag in (*INLINE, UNLIMITED) for word in ("-mllvm", flag)]
    assert asking("ld.lld", "a.o") == ["ld.lld", *words, "--thinlto-jobs=1", "a.o"]
    told = ["--thinlto-jobs=2", "a.o"]
    assert asking("ld.lld", *told) == ["ld.lld", *words, *told]


def test_rustc_takes_options_of_llvm_one_by_one() -> None:
    flags = [f"-Cllvm-args={flag}" for flag in (*INLINE, UNLIMITED)]
    assert asking("rustc", "a.rs") == ["rustc", *flags, "-Ccodegen-units=1", "a.rs"]
    assert asking("rustc", "-Ccodegen-units=4", "a.rs") == ["rustc", *flags, "-Ccodegen-units=4", "a.rs"]
    assert asking("rustc", "+nightly", "a.rs")[:3] == ["rustc", "+nightly", flags[0]]


def test_rustc_wants_a_folder_without_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "a b"))
    with pytest.raises(InputError, match="expected a folder without spaces, at which rustc splits options"):
        attach(["rustc", "a.rs"], [Answers("inline", "const:1")], 10)
