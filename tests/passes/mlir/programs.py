# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generated MLIR modules that compute something, and how they are run."""

from __future__ import annotations

import ctypes
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final

from passpilot.passes.mlir.lower import to_llvm_dialect
from passpilot.plugin.mlir.bindings import bindings, operations_in

FUEL: Final = 6
"""How deep recursive functions call themselves."""

TYPE: Final = "(i64, i64, i64) -> i64"
"""Of the functions but `main`."""


class Program:
    """A module of functions of two numbers and the fuel that recursion uses up.

    Structured and unstructured control flow, loops, memory, recursion of one and of several functions, what
    is private, nested or public, dead or ``no_inline``, indirect calls, calls of what is only declared.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = self._random.randint(2, 7)
        self._names = 0
        self._calls = 0
        self._lines: list[str] = []

    def text(self) -> str:
        """The module; `main` is what is run."""
        bodies = [self._function(number) for number in range(self._count)]
        return "\n".join(["module {", *bodies, self._main(), "}", ""])

    def _main(self) -> str:
        self._lines = []
        values = ["%a", "%b"]
        for number in range(self._count):
            if self._random.random() < 0.7:
                values.append(self._call(number, values, "%fuel"))
        total = values[0]
        for value in values[1:]:
            total = self._emit(f"arith.addi {total}, {value} : i64")
        head = "func.func @main(%a: i64, %b: i64) -> i64 attributes {llvm.emit_c_interface} {"
        fuel = f"  %fuel = arith.constant {FUEL} : i64"
        return "\n".join([head, fuel, *self._lines, f"  func.return {total} : i64", "}"])

    def _function(self, number: int) -> str:
        self._lines, self._calls = [], 1 if number == 1 else 2  # or inlining doubles the two again and again
        pick = self._random
        visibility = pick.choice(["", "private ", "private ", "private ", "nested "])
        mark = " attributes {no_inline}" if pick.random() < 0.05 else ""
        head = f"func.func {visibility}@f{number}(%a: i64, %b: i64, %fuel: i64) -> i64{mark} {{"
        body = self._unstructured if pick.random() < 0.3 else self._straight
        return "\n".join([head, *body(number), "}"])

    def _straight(self, number: int) -> list[str]:
        values = ["%a", "%b"]
        for _ in range(self._random.randint(1, 6)):
            values.append(self._step(number, values, 0))
        self._emit_last(f"func.return {values[-1]} : i64")
        return self._lines

    def _unstructured(self, number: int) -> list[str]:
        """Two ways that meet again, or return each."""
        first = self._step(number, ["%a", "%b"], 0)
        test = self._emit(f"arith.cmpi slt, {first}, %b : i64")
        self._emit_last(f"cf.cond_br {test}, ^one, ^two({first} : i64)")
        self._emit_last("^one:")
        one = self._step(number, ["%a", first], 0)
        back = self._random.random() < 0.5
        self._emit_last(f"func.return {one} : i64" if back else f"cf.br ^two({one} : i64)")
        self._emit_last("^two(%x: i64):")
        two = self._step(number, ["%b", "%x"], 0)
        self._emit_last(f"func.return {two} : i64")
        return self._lines

    def _step(self, number: int, values: list[str], depth: int) -> str:
        """One more value."""
        ways = [self._arithmetic, self._arithmetic]
        if self._calls:
            ways += [self._some_call, self._some_call]
        if depth < 2:
            ways += [self._if, self._loop, self._memory]
        return self._random.choice(ways)(number, values, depth)

    def _arithmetic(self, number: int, values: list[str], depth: int) -> str:  # noqa: ARG002
        pick = self._random
        if pick.random() < 0.2:
            return self._emit(f"arith.constant {pick.randint(-9, 9)} : i64")
        operation = pick.choice(["addi", "subi", "muli", "xori", "andi"])
        return self._emit(f"arith.{operation} {pick.choice(values)}, {pick.choice(values)} : i64")

    def _some_call(self, number: int, values: list[str], depth: int) -> str:  # noqa: ARG002
        """Of a function before; or once, with less fuel, of itself, or of the second one in the first."""
        self._calls -= 1
        if number and self._random.random() < 0.8:
            return self._call(self._random.randrange(number), values, "%fuel")
        self._calls = 0
        one = self._emit("arith.constant 1 : i64")
        less = self._emit(f"arith.subi %fuel, {one} : i64")
        test = self._emit(f"arith.cmpi sgt, {less}, {one} : i64")
        name = self._emit(f"scf.if {test} -> (i64) {{")
        result = self._call(self._random.choice([number, max(number, 1)]), values, less)
        self._emit_last(f"scf.yield {result} : i64\n}} else {{\nscf.yield {values[0]} : i64\n}}")
        return name

    def _call(self, number: int, values: list[str], fuel: str) -> str:
        pick = self._random
        first, second = pick.choice(values), pick.choice(values)
        if pick.random() < 0.05:
            taken = self._emit(f"func.constant @f{number} : {TYPE}")
            return self._emit(f"func.call_indirect {taken}({first}, {second}, {fuel}) : {TYPE}")
        mark = " {no_inline}" if pick.random() < 0.05 else ""
        return self._emit(f"func.call @f{number}({first}, {second}, {fuel}){mark} : {TYPE}")

    def _if(self, number: int, values: list[str], depth: int) -> str:
        test = self._emit(f"arith.cmpi ult, {values[-1]}, {self._random.choice(values)} : i64")
        name = self._emit(f"scf.if {test} -> (i64) {{")
        one = self._step(number, values, depth + 1)
        self._emit_last(f"scf.yield {one} : i64\n}} else {{")
        other = self._step(number, values, depth + 1)
        self._emit_last(f"scf.yield {other} : i64\n}}")
        return name

    def _loop(self, number: int, values: list[str], depth: int) -> str:
        low, high, step = (self._emit(f"arith.constant {each} : index") for each in (0, 3, 1))
        name = self._name()
        value, index = self._name(), self._name()
        start = self._random.choice(values)
        self._emit_last(
            f"{name} = scf.for {index} = {low} to {high} step {step} iter_args({value} = {start}) -> (i64) {{"
        )
        inner = self._step(number, [*values, value], depth + 1)
        last = self._emit(f"arith.addi {inner}, {value} : i64")
        self._emit_last(f"scf.yield {last} : i64\n}}")
        return name

    def _memory(self, number: int, values: list[str], depth: int) -> str:
        place = self._emit("memref.alloc() : memref<1xi64>")
        zero = self._emit("arith.constant 0 : index")
        stored = self._step(number, values, depth + 1)
        self._emit_last(f"memref.store {stored}, {place}[{zero}] : memref<1xi64>")
        loaded = self._emit(f"memref.load {place}[{zero}] : memref<1xi64>")
        self._emit_last(f"memref.dealloc {place} : memref<1xi64>")
        return loaded

    def _emit(self, text: str) -> str:
        name = self._name()
        self._lines.append(f"{name} = {text}")
        return name

    def _emit_last(self, text: str) -> None:
        self._lines.append(text)

    def _name(self) -> str:
        self._names += 1
        return f"%v{self._names}"


def calls(module: Any) -> Mapping[str, Counter[str]]:
    """How often each function of a module calls each other; ``?`` is whom an indirect call means."""
    found: dict[str, Counter[str]] = {}
    for each in module.body.operations:
        if each.operation.name.endswith(".func"):
            called = (
                operation.attributes for operation in operations_in(each.operation) if _calls(operation)
            )
            names = (str(attributes["callee"]) if "callee" in attributes else "?" for attributes in called)
            found[each.operation.attributes["sym_name"].value] = Counter(names)
    return found


def _calls(operation: Any) -> bool:
    return str(operation.name).partition(".")[2].startswith("call")


def executed(module: Any, inputs: Iterable[tuple[int, int]] = ((3, 5), (-7, 1 << 40))) -> list[int]:
    """What `main` of a module gives, compiled by MLIR; the module is lowered for it."""
    to_llvm_dialect(module.operation)
    engine = import_module(f"{bindings().root}.execution_engine").ExecutionEngine(module, opt_level=0)
    results: list[int] = []
    for first, second in inputs:
        values = [ctypes.c_int64(value) for value in (first, second, 0)]
        engine.invoke("main", *map(ctypes.pointer, values))
        results.append(values[2].value)
    return results
