# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The advice flags of commands, what becomes of advisors, and the outputs beside them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.cli.advice import AdviceFlags, close_advisors, contending
from passpilot.cli.main import main
from passpilot.cli.outputs import check_outputs
from passpilot.cli.parser import Parser
from passpilot.plugin.errors import Error, PasspilotWarning, UsageError
from tests.command import passpilot, program

POLICY: Final = """\
from pathlib import Path


class Policy:
    def __call__(self, obs):
        return False

    def close(self):
        Path(__file__).with_suffix(".closed").touch()
"""


def advice(*flags: str, command: str = "opt") -> AdviceFlags:
    """The advice that a command takes from flags."""
    parser = Parser(f"passpilot {command}", description="", epilog="")
    parser.table_options(command)  # type: ignore[arg-type]
    return AdviceFlags.of(command, parser.values(flags))


class Closing:
    """An advisor that notes that it is closed, and may fail."""

    def __init__(self, closed: list[str], name: str, error: Exception | None = None) -> None:
        self.closed, self.name, self.error = closed, name, error

    def close(self) -> None:
        self.closed.append(self.name)
        if self.error:
            raise self.error


def test_all_advisors_are_closed_and_the_first_error_counts() -> None:
    closed: list[str] = []
    last, middle = ValueError("last"), ValueError("middle")
    made: list[Any] = [Closing(closed, "a"), Closing(closed, "b", middle), Closing(closed, "c", last)]
    with pytest.raises(ValueError, match=r"^last$"):
        close_advisors(made)
    assert closed == ["c", "b", "a"]


def test_an_advisor_that_cannot_be_made_closes_those_before_it(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY)
    flags = (f"--inline=python:{tmp_path}/policy.py:Policy", "--advise=advised-size=random:x")
    with pytest.raises(Error, match="random"):
        advice(*flags).resolve().make_advisors()
    assert (tmp_path / "policy.closed").exists()


def test_runners_come_in_the_order_of_the_catalogue() -> None:
    flags = ("--advise=advised-size=const:0", "--advise=inline=const:1")
    assert list(advice(*flags).resolve().runners.items()) == [
        ("inline", "const:1"),
        ("advised-size", "const:0"),
    ]
    flags = ("--priority=const:0", "--evict=const:32")
    assert list(advice(*flags, command="llc").resolve().runners) == ["evict", "priority"]


def test_an_old_name_of_a_point_is_told_and_taken() -> None:
    with pytest.warns(PasspilotWarning, match="decision point 'size' is called 'advised-size' now"):
        assert advice("--advise=size=const:0").resolve().runners == {"advised-size": "const:0"}


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        (["x.log"], {"inline": "x.log"}),
        (["inline=x.log"], {"inline": "x.log"}),
        (["other=x.log"], {"inline": "other=x.log"}),
        (["evict=x.log"], {"inline": "evict=x.log"}),
        (["inline=a=b"], {"inline": "a=b"}),
    ],
)
def test_the_log_of_the_only_advisor(logs: list[str], expected: dict[str, str]) -> None:
    flags = [f"--log={each}" for each in logs]
    assert advice("--inline=const:0", *flags).resolve().logs == expected


def test_logs_of_two_advisors() -> None:
    made = advice("--inline=a", "--advise=advised-size=b", "--log=inline=a", "--log=advised-size=b").resolve()
    assert made.logs == {"inline": "a", "advised-size": "b"}


def test_keywords_go_to_the_contenders_that_have_them() -> None:
    parser = Parser("passpilot compare", description="", epilog="")
    parser.table_options("compare")
    flags = [
        "--evict=a",
        "--inline=b",
        "--inline=c",
        "--advise=advised-size=d",
        "--eviction-limit=3",
        "--timeout=2",
    ]
    made = contending("compare", parser.values(flags))
    assert [dict(each.runners) for each in made] == [
        {"inline": "b"},
        {"inline": "c"},
        {"evict": "a"},
        {"advised-size": "d"},
    ]
    assert [dict(each.keywords) for each in made] == [
        {"timeout": 2.0},
        {"timeout": 2.0},
        {"timeout": 2.0, "eviction_limit": 3},
        {"timeout": 2.0},
    ]


@pytest.mark.parametrize(
    ("outputs", "remarks", "told"),
    [
        (
            [("-o", "x"), ("--report", "x")],
            "",
            "--report: expected a file of its own, got x, which -o writes",
        ),
        ([("-o", "x"), ("--report", "./x")], "", "--report: expected a file of its own, got ./x, which -o"),
        ([("-o", "link"), ("--report", "x")], "", "--report: expected a file of its own, got x, which -o"),
        (
            [("-o", "-"), ("--report", "-")],
            "",
            "--report: expected a file of its own, got -, which -o writes",
        ),
        ([("-o", "x")], "x", "-pass-remarks-output: expected a file of its own, got x, which -o writes"),
        ([("-o", "a.log")], "", "--log: expected a file of its own, got a.log, which -o writes"),
        ([("-o", "y")], "a.log", "-pass-remarks-output: expected a file of its own, got a.log, which --log"),
        ([("-o", None), ("--report", None)], "", ""),
        ([("-o", ""), ("--report", "")], "", ""),
        ([("-o", "/dev/null"), ("--report", "/dev/null")], "/dev/null", ""),
        ([("-o", "x"), ("--report", "y"), ("--other", "-")], "z", ""),
    ],
)
def test_outputs_are_different_files(
    outputs: list[tuple[str, str | None]],
    remarks: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").touch()
    (tmp_path / "link").symlink_to("x")
    made = advice("--inline=const:0", "--log=a.log").resolve()
    if told:
        with pytest.raises(UsageError) as caught:
            check_outputs(made, *outputs, remarks=remarks)
        assert str(caught.value).startswith(f"opt: {told}")
    else:
        check_outputs(made, *outputs, remarks=remarks)


@pytest.mark.parametrize("arguments", [["-h"], ["-help"], ["--help"], ["help"]])
def test_help_ends_well_and_no_command_does_not(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert main([]) == 2
    assert capsys.readouterr().out == text
    assert text.startswith("usage: passpilot COMMAND ...")


@pytest.mark.parametrize("argument", ["-version", "--version"])
def test_version_names_both(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([argument]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("passpilot ")
    assert second.startswith("  ")


@pytest.mark.parametrize(
    ("arguments", "code", "traceback"),
    [
        (["log", "show", "none"], 1, False),
        (["log", "show"], 2, False),
        (["log", "show", "none", "--traceback"], 1, True),
        (["log", "show", "none", "-traceback"], 1, True),
        (["sho\x1bw"], 2, False),
        (["log", "show", "no\x1bne"], 1, False),
    ],
)
def test_an_error_is_one_line(
    arguments: list[str], code: int, traceback: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    done = capsys.readouterr()
    assert done.out == ""
    *rest, last = done.err.splitlines()
    assert last.startswith("passpilot: error: ")
    assert bool(rest) is traceback
    assert "\x1b" not in done.err


def _interrupted(_: list[str]) -> int:
    raise KeyboardInterrupt


def _broken(_: list[str]) -> int:
    raise ZeroDivisionError


@pytest.mark.parametrize("run", [_interrupted, _broken])
def test_what_is_no_error_of_ours(
    run: Callable[[list[str]], int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("passpilot.cli.log.main", run)
    if run is _interrupted:
        assert main(["log"]) == 130
        assert capsys.readouterr().err == "passpilot: interrupted\n"
    else:
        with pytest.raises(ZeroDivisionError):
            main(["log"])


def test_a_log_may_be_a_folder_in_every_command(tmp_path: Path) -> None:
    """A slash or what exists says so; each input has files of its own."""
    for name in ("a.ll", "b.ll"):
        (tmp_path / name).write_text(program(2))
    (tmp_path / "there").mkdir()
    opt = ("opt", "-O2", "--inline=const:0", "-o", "x.bc")
    for name in ("a.ll", "b.ll"):
        assert passpilot(*opt, name, "--log=new/", cwd=tmp_path).code == 0
    assert passpilot(*opt, "a.ll", "--log", "inline=there", cwd=tmp_path).code == 0
    llc = ("llc", "a.ll", "--evict=const:32", "--priority=default", "--log=there/", "-o", "a.s")
    assert passpilot(*llc, cwd=tmp_path).code == 0
    names = {folder: sorted(os.listdir(tmp_path / folder)) for folder in ("new", "there")}
    assert [name.partition("-")[0] for name in names["new"]] == ["a.ll", "b.ll"]
    assert [name.rsplit("-", 1)[1] for name in names["there"]] == ["evict.log", "inline.log", "priority.log"]
    shown = passpilot("log", "show", "new", cwd=tmp_path)
    assert b"all logs of inlining_decision" in shown.out
