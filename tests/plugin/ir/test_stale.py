# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles whose values are gone: each use raises, whoever erased the value, however long they are kept."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import ir
from passpilot.plugin.errors import InputError, StaleViewError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock
from tests.plugin.ir import named as ir_named
from tests.plugin.ir.named import function

TEXT = """
@g = internal global i32 3
@h = internal alias i32, ptr @g
define internal void @unused(i32 %a) {
entry:
  ret void
}
define i32 @f(i32 %n) {
entry:
  %dead = add i32 %n, 1
  %kept = mul i32 %n, 5
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, 10
  br i1 %c, label %loop, label %done
done:
  ret i32 %kept
island:
  br label %done
}
"""


def read() -> Module:
    return Module.read(TEXT.encode(), name="text")


def instruction(module: Module, name: str) -> ir.Instruction:
    return ir_named.instruction(function(module, "f"), name)


def names_of(handle: ir.Value) -> Iterator[str]:
    """The properties and the methods without arguments that change nothing."""
    for name in dir(type(handle)):
        if not name.startswith("_") and isinstance(getattr(type(handle), name), property):
            yield name


def check_stale(handle: ir.Value) -> None:
    assert not handle.is_valid
    seen = 0
    for name in names_of(handle):
        if name in ("is_valid", "module"):
            continue
        with pytest.raises(StaleViewError, match=r"of module text: expected one .* look it up again"):
            getattr(handle, name)
        seen += 1
    assert seen > 3
    with pytest.raises(StaleViewError):
        str(handle)
    assert "erased" in repr(handle)
    assert {handle: 1}[handle] == 1


def test_an_erased_instruction() -> None:
    module = read()
    dead, again = instruction(module, "dead"), instruction(module, "dead")
    assert dead == again
    dead.erase()
    for handle in (dead, again):
        check_stale(handle)
    assert dead != again
    for change in (dead.erase, dead.split_before):
        with pytest.raises(StaleViewError):
            change()
    kept = instruction(module, "kept")
    with pytest.raises(StaleViewError):
        kept.move_before(dead)
    with pytest.raises(StaleViewError):
        kept.replace_all_uses_with(dead)
    with pytest.raises(StaleViewError):
        ir.IRBuilder(dead)


def test_an_erased_block_and_what_was_in_it() -> None:
    module = read()
    island = function(module, "f").blocks[-1]
    inside = island.terminator
    island.erase()
    check_stale(island)
    check_stale(inside)
    with pytest.raises(StaleViewError):
        function(module, "f").blocks[0].set_branch(island)


def test_an_erased_function_and_what_was_in_it() -> None:
    module = read()
    unused = function(module, "unused")
    handles = [unused, *unused.arguments, *unused.blocks, *unused.instructions]
    unused.erase()
    for handle in handles:
        check_stale(handle)


def test_erased_globals() -> None:
    module = read()
    alias, variable = module.aliases[0], module.globals[0]
    alias.erase()
    check_stale(alias)
    variable.erase()
    check_stale(variable)


def test_what_llvm_erases() -> None:
    module = read()
    f = function(module, "f")
    handles = {each.name: each for each in f.instructions if each.name}
    loops = f.loops
    optimize(module, "default<O2>")
    assert f.is_valid
    assert f.name == "f"
    check_stale(handles["dead"])
    check_stale(handles["i"])
    with pytest.raises(StaleViewError):
        _ = loops[0].depth
    assert module.function("unused") is None


def test_a_builder_whose_position_is_gone() -> None:
    module = read()
    builder = ir.IRBuilder(instruction(module, "dead"))
    kept = instruction(module, "kept")
    instruction(module, "dead").erase()
    with pytest.raises(StaleViewError):
        builder.binary("add", kept, kept)


def test_a_loop_that_is_no_more() -> None:
    module = read()
    f = function(module, "f")
    (loop,) = f.loops
    assert loop == f.loops[0]
    assert {loop} == {f.loops[0]}
    f.blocks[1].set_branch(f.blocks[2])
    with pytest.raises(StaleViewError, match="heads no loop any more"):
        _ = loop.trip_count
    assert f.loops == []


def test_a_new_value_at_an_old_address_is_another() -> None:
    module = read()
    kept = instruction(module, "kept")
    old = instruction(module, "dead")
    old.erase()
    for _ in range(100):
        new = ir.IRBuilder(kept).binary("add", kept.operands[0], kept.operands[1])
        assert new != old
        assert old != new
        new.erase()


def test_a_handle_keeps_its_module() -> None:
    f = function(read(), "f")
    block = f.blocks[0]
    del f
    gc.collect()
    assert block.function.name == "f"
    assert block.module.name == "text"  # type: ignore[attr-defined]
    kept = [each for function in Module.read(TEXT.encode()).functions for each in function.instructions]
    gc.collect()
    assert sum(each.opcode == "add" for each in kept) == 2


def test_handles_die_in_any_order() -> None:
    module = read()
    handles = [each for _ in range(300) for each in function(module, "f").instructions]
    del handles[::2]
    optimize(module, "default<O2>")
    del handles[::3]
    handles += function(module, "f").instructions
    del module
    gc.collect()
    assert sum(each.is_valid for each in handles) > 0


def test_another_thread_while_llvm_is_at_work(tmp_path: Path) -> None:
    """It can read nothing; handles that it drops meanwhile, and those of other modules, do no harm."""
    module = Module.read(stock.clang(stock.MANY_CALLS, tmp_path / "in.bc"))
    handles = [[each for f in module.functions for each in f.instructions] for _ in range(40)]
    told: list[str] = []

    def other() -> None:
        handle = handles.pop()[0]
        for use in (lambda: handle.opcode, lambda: module.functions, lambda: handle.function.name):
            try:
                use()
            except InputError as error:
                told.append(str(error))

    def decide(obs: Observation) -> object:
        if handles:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        return obs.default()

    optimize(module, "default<O2>", [InlineAdvisor(decide)])
    assert told
    assert all("being compiled" in each for each in told)
    assert sum(each.opcode == "ret" for f in module.functions for each in f.instructions) > 3


def test_a_policy_reads_and_changes_nothing(tmp_path: Path) -> None:
    """The compiling thread may read between passes; changes and analyses are refused."""
    from passpilot.plugin.errors import IRError

    module = Module.read(stock.clang(stock.MANY_CALLS, tmp_path / "in.bc"))
    seen = []

    def decide(obs: Observation) -> object:
        first = next(each for each in module.functions if not each.is_declaration)
        with pytest.raises(IRError, match="expected a pass that changes the module, or no compilation"):
            first.add_attribute("cold")
        with pytest.raises(InputError, match="expected to be asked by a pass, or between compilations"):
            _ = first.loops
        seen.append(first.instruction_count)
        return obs.default()

    optimize(module, "default<O2>", [InlineAdvisor(decide)])
    assert seen
