# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiler for Kaleidoscope, the language of LLVM's tutorial, whose inliner asks a Python policy.

All values are doubles; `def` defines a function, other expressions are evaluated. llvmlite builds the IR,
passpilot optimizes it, llvmlite runs it.

usage: kaleidoscope.py [FILE]
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from llvmlite import binding, ir

import passpilot

PROGRAM: Final = """
def square(x) x * x
def hypot2(a b) square(a) + square(b)
def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)
def sumsq(n) if n < 1 then 0 else square(n) + sumsq(n - 1)
hypot2(3, 4)
fib(20)
sumsq(10) - 2 * square(5)
"""
TOKEN: Final = re.compile(r"\s*(?:(?P<number>\d+\.?\d*)|(?P<name>[A-Za-z]\w*)|(?P<symbol>\S))")
PRECEDENCE: Final = {"<": 10, "+": 20, "-": 20, "*": 40, "/": 40}
DOUBLE: Final = ir.DoubleType()


class Parser:
    """Parses tokens and builds IR: one function per definition or expression."""

    def __init__(self, text: str, module: ir.Module) -> None:
        code = re.sub(r"#.*", "", text)
        self.tokens = [(str(match.lastgroup), match[0].strip()) for match in TOKEN.finditer(code)]
        self.module = module
        self.builder = ir.IRBuilder()
        self.arguments: dict[str, ir.Value] = {}

    @property
    def next(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[0][1] if self.tokens else ""

    def take(self, expected: str = "") -> tuple[str, str]:
        """Take the next token, which must be `expected` unless that is empty; its kind and text."""
        if not self.tokens or expected not in ("", self.next):
            sys.exit(
                f"kaleidoscope: expected {expected or 'an expression'!r}, got {self.next or 'the end'!r}"
            )
        return self.tokens.pop(0)

    def program(self) -> Iterator[str]:
        """Compile everything; yield the names of the functions made for expressions."""
        while self.tokens:
            if self.next == "def":
                self.take()
                self.definition()
            else:
                name = f"expression.{len(self.module.functions)}"
                self.function(name, [])
                yield name

    def definition(self) -> None:
        """Compile `NAME(PARAMETERS) EXPRESSION`."""
        _, name = self.take()
        self.take("(")
        parameters = []
        while self.next != ")":
            parameters.append(self.take()[1])
        self.take(")")
        self.function(name, parameters)

    def function(self, name: str, parameters: list[str]) -> None:
        """Compile an expression to the body of a function."""
        if name in self.module.globals:
            sys.exit(f"kaleidoscope: expected one definition of {name}, got two")
        made = ir.Function(self.module, ir.FunctionType(DOUBLE, [DOUBLE] * len(parameters)), name)
        self.builder = ir.IRBuilder(made.append_basic_block("entry"))
        self.arguments = dict(zip(parameters, made.args, strict=True))
        self.builder.ret(self.expression())

    def expression(self, least: int = 0) -> ir.Value:
        """Compile operands and the operators of precedence `least` or higher between them."""
        left = self.primary()
        while (binds := PRECEDENCE.get(self.next, -1)) >= least:
            _, operator = self.take()
            left = self.operation(operator, left, self.expression(binds + 1))
        return left

    def operation(self, operator: str, left: ir.Value, right: ir.Value) -> ir.Value:
        """Compile one operator."""
        build = self.builder
        if operator == "<":
            return build.uitofp(build.fcmp_ordered("<", left, right), DOUBLE)
        return {"+": build.fadd, "-": build.fsub, "*": build.fmul, "/": build.fdiv}[operator](left, right)

    def primary(self) -> ir.Value:
        """Compile a number, a parameter, a call, a conditional, or an expression in parentheses."""
        kind, text = self.take()
        if kind == "number":
            return ir.Constant(DOUBLE, float(text))
        if text == "(":
            value = self.expression()
            self.take(")")
            return value
        if text == "if":
            return self.conditional()
        if kind == "name" and self.next == "(":
            return self.call(text)
        if text not in self.arguments:
            sys.exit(f"kaleidoscope: expected a number or a parameter, got {text!r}")
        return self.arguments[text]

    def call(self, name: str) -> ir.Value:
        """Compile the arguments and the call."""
        self.take("(")
        values = []
        while self.next != ")":
            values.append(self.expression())
            if self.next != ")":
                self.take(",")
        self.take(")")
        callee = self.module.globals.get(name)
        if callee is None or len(callee.args) != len(values):
            sys.exit(f"kaleidoscope: expected a function {name} of {len(values)} arguments, got none")
        return self.builder.call(callee, values)

    def conditional(self) -> ir.Value:
        """Compile `if A then B else C`."""
        build = self.builder
        condition = build.fcmp_ordered("!=", self.expression(), ir.Constant(DOUBLE, 0.0))
        names = ("then", "else")
        arms = [build.append_basic_block(name) for name in names]
        done = build.append_basic_block("done")
        build.cbranch(condition, *arms)
        values = []
        for name, arm in zip(names, arms, strict=True):
            self.take(name)
            build.position_at_end(arm)
            values.append((self.expression(), build.block))
            build.branch(done)
        build.position_at_end(done)
        phi = build.phi(DOUBLE)
        for value, block in values:
            phi.add_incoming(value, block)
        return phi


def decide(obs: Any) -> bool:
    """Inline callees without branches; LLVM has simplified them by now."""
    answer = bool(obs["callee_basic_block_count"] == 1)
    site = obs.site
    print(f"{site.caller.name} calls {site.callee.name}: {'inline' if answer else 'keep'}")
    return answer


def run(module: binding.ModuleRef, names: list[str]) -> Iterator[float]:
    """Call functions without arguments; yield their values."""
    machine = binding.Target.from_triple(module.triple).create_target_machine()
    with binding.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        for name in names:
            function: Callable[[], float] = ctypes.CFUNCTYPE(ctypes.c_double)(
                engine.get_function_address(name)
            )
            yield function()


def main(arguments: list[str]) -> None:
    """Compile, optimize and run a file or the program above."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = ir.Module("kaleidoscope")
    module.triple = binding.get_process_triple()
    text = Path(arguments[0]).read_text() if arguments else PROGRAM
    names = list(Parser(text, module).program())
    with passpilot.InlineAdvisor(decide) as advisor:
        optimized = passpilot.llvmlite.optimize(module, "default<O2>", [advisor])
    for value in run(optimized, names):
        print(f"{value:g}")


if __name__ == "__main__":
    main(sys.argv[1:])
