# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR modules that have nothing but functions, and calls of them."""

from __future__ import annotations

from collections.abc import Iterator


def module(
    calls: int,
    per_caller: int,
    callees: int,
    size: int,
    *,
    operations: tuple[str, ...] = ("addi", "muli", "xori", "subi"),
    step: int = 1,
    attributes: str = "",
) -> str:
    """The text of a module with `calls` calls of private functions.

    Args:
        calls: in all functions.
        per_caller: calls in a function.
        callees: private functions.
        size: operations of a callee besides its return.
        operations: those of a callee in turns, of the dialect `arith`.
        step: the distance of the callees of two calls.
        attributes: of every call.
    """
    lines = [line for number in range(callees) for line in _callee(number, size, operations)]
    for caller in range(calls // per_caller):
        lines.append(f"func.func @caller{caller}(%x0: i64, %y: i64) -> i64 {{")
        for call in range(per_caller):
            callee = f"@leaf{(7 * caller + step * call) % callees}(%x{call}, %y)"
            lines.append(f"  %x{call + 1} = func.call {callee} {attributes} : (i64, i64) -> i64")
        lines += [f"  func.return %x{per_caller} : i64", "}"]
    return "\n".join(["module {", *lines, "}", ""])


def _callee(number: int, size: int, operations: tuple[str, ...]) -> Iterator[str]:
    yield f"func.func private @leaf{number}(%x0: i64, %y: i64) -> i64 {{"
    for place in range(size):
        operation = operations[place % len(operations)]
        yield f"  %x{place + 1} = arith.{operation} %x{place}, %y : i64"
    yield f"  func.return %x{size} : i64 }}"
