# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of options, compared with what the commands, `passpilot cc` and the plugins take and say."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from passpilot.cli import attach, llc, mlir_opt, opt
from passpilot.cli.cc.options import FLAGS, OPTIONS, help_text
from passpilot.cli.options_table import DOORS, TABLE, options_of
from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from tests.corpus.build import bindir

if TYPE_CHECKING:
    from passpilot.cli.options_table import Door
    from passpilot.cli.parser import Parser

PARSERS: Final[dict[Door, Parser]] = {
    "opt": opt.make_parser(),
    "llc": llc.make_parser(),
    "mlir-opt": mlir_opt.make_parser(),
    "attach": attach.make_parser(),
}
ROW: Final = re.compile(r"\s*--passpilot-([a-z-]+)(?:=<(\S+)>)?\s+-\s+(.*)")


def expected(door: Door) -> dict[str, tuple[str, str]]:
    """The value and help of each option of a plugin, in LLVM's manner."""
    said = {option.name: option.said(door) for option in options_of(door)}
    return {name: (value, text[0].upper() + text[1:]) for name, (value, text) in said.items()}


def shown(*command: str) -> dict[str, tuple[str, str]]:
    """The value and help of each of our options that a tool lists."""
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [match for line in text.splitlines() if (match := ROW.fullmatch(line))]
    assert len(rows) == text.count("--passpilot-")
    return {match[1]: (match[2] or "", match[3]) for match in rows}


@pytest.mark.parametrize("listing", ["-help", "-help-hidden"])
@pytest.mark.parametrize(("tool", "load"), [("opt", "-load-pass-plugin"), ("llc", "-load")])
def test_the_plugin_has_the_options_of_the_table(tool: str, load: str, listing: str) -> None:
    assert shown(f"{bindir()}/{tool}", f"{load}={llvm_plugin()}", listing) == expected("plugin")


@pytest.mark.parametrize("listing", ["--help", "--help-hidden"])
def test_the_plugin_for_mlir_opt_has_those_of_its_own(listing: str) -> None:
    tool = (f"{bindir()}/mlir-opt", f"--load-pass-plugin={mlir_plugin()}")
    assert shown(*tool, listing) == expected("mlir-plugin")


@pytest.mark.parametrize("door", PARSERS)
def test_a_command_has_its_options(door: Door) -> None:
    known = PARSERS[door]._option_string_actions
    for option in TABLE:
        if door in option.doors:
            value, text = option.said(door)
            action = known[f"--{option.name}"]
            assert known[f"-{option.name}"] is action
            assert (action.help, action.dest) == (text, option.keyword)
            assert action.metavar == (value if value and not option.choices else None)
            assert tuple(action.choices or ()) == option.choices
        elif option.name not in ("inline", "traceback"):  # mlir-opt's own --inline; every command's
            assert f"--{option.name}" not in known


def test_cc_has_its_options() -> None:
    assert [*OPTIONS, *FLAGS] == [option.name for option in options_of("cc")]
    text = re.sub(r"\n {28}", " ", help_text("cc", "clang"))
    for option in options_of("cc"):
        value, said = option.said("cc")
        flag = f"--{option.name}={value}" if value else f"--{option.name}"
        assert re.search(rf"^  {re.escape(flag)} +{re.escape(said)}$", text, re.MULTILINE)


def test_the_table_is_sound() -> None:
    names = [option.name for option in TABLE]
    assert len(set(names)) == len(names)
    for option in TABLE:
        assert set(option.wording) <= set(option.doors) <= set(DOORS)
        assert (option.kind == "flag") == (option.value == "")
        assert (option.kind == "choice") == bool(option.choices)
