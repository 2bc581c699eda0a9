# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a question of a pass in Python is: its function and its line, for each kind of site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from passpilot.passes.site import context_of, describe_site
from passpilot.plugin.module import Module
from tests import stock
from tests.passes.python.passes import run_once

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function

pytestmark = pytest.mark.usefixtures("restored_registries")

C = """\
int sum(const int *p, int n) {
  int s = 0;
  for (int i = 0;
       i < n; i++)
    s += p[i] * s;
  return s;
}
"""
NOWHERE = ("", 0, 0, "", "")


def test_each_kind_of_site_has_a_function_and_a_line(tmp_path: Path) -> None:
    module = Module.read(stock.clang(C, tmp_path / "in.bc", "-O1", "-fno-unroll-loops", "-g"))
    seen: list[tuple[str, tuple[str, int]]] = []

    def run(function: Function) -> bool:
        (loop,) = function.loops
        block = loop.header
        product = next(each for each in function.instructions if each.opcode == "mul")
        for site in (product, block, loop, function, function.name):
            file, line, column, *names = describe_site(site)
            assert names == ["", ""]
            assert bool(column) is bool(line)
            seen.append((context_of(site), (Path(file).name, line)))
        return False

    run_once("function", run, module)
    assert seen == [
        ("sum", ("in.c", 5)),
        ("sum", ("in.c", 3)),
        ("sum", ("in.c", 3)),
        ("sum", ("", 0)),
        ("sum", ("", 0)),
    ]


@pytest.mark.parametrize("site", [None, 3, object()])
def test_other_sites_are_nowhere(site: object) -> None:
    assert (context_of(site), describe_site(site)) == ("", NOWHERE)


def test_a_whole_module_and_code_without_debug_information_are_nowhere() -> None:
    module = Module.read(b"define i32 @f(i32 %x) {\n  ret i32 %x\n}")
    (function,) = module.functions
    assert (context_of(module), describe_site(module)) == ("", NOWHERE)
    (only,) = function.instructions
    assert (context_of(only), describe_site(only)) == ("f", NOWHERE)
