# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Function`: a decision function to compile. `Lowering`: writes the IR of its statements and calls.

Calls and loops are written out where they stand; recursion is refused, and so is what is too long.
"""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from llvmlite import ir

from passpilot.features.columns import custom_files
from passpilot.features.domain import Number
from passpilot.features.point import Point
from passpilot.plugin.errors import PolicyError
from passpilot.runners.aot.emitter import I32
from passpilot.runners.aot.function.expressions import OBSERVATION, Expressions, title
from passpilot.runners.aot.function.flow import End, Operand
from passpilot.runners.aot.function.source import PolicySource, local_names
from passpilot.runners.aot.graph import Tensor

_NESTED: Final = 6000
"""Frames of Python while a function is compiled: a long chain of elif nests."""


@dataclass(slots=True)
class Function:
    """A function of a file, for one decision point; `write` finds what it reads."""

    source: PolicySource
    name: str
    point: Point
    inputs: tuple[Tensor, ...] = ()
    failures: tuple[str, ...] = ()
    """What may go wrong at run time; status `FIRST_STATUS` is the first."""

    def __post_init__(self) -> None:
        self.source.function(self.name)

    @property
    def digest(self) -> str:
        """SHA-256 of the file, in hexadecimal."""
        return self.source.digest

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The decision."""
        dtype = "float64" if isinstance(self.point.domain, Number) else "int64"
        return (Tensor(self.point.advice.name, np.dtype(dtype), (1,)),)

    @property
    def custom_features(self) -> str:
        """Features of users and their files, as ``name=file.py,...``."""
        files = custom_files(tensor.name for tensor in self.inputs)
        return ",".join(f"{name}={os.path.basename(path)}" for name, path in files.items() if "," not in path)

    def write(self, builder: ir.IRBuilder, tensors: ir.Value, output: ir.Value) -> None:
        """Write the body of a function of the tensors' addresses and the output block.

        Raises:
            PolicyError: something cannot be compiled.
        """
        lowering = Lowering(builder, self.source, self.point, tensors)
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(max(usual, _NESTED))
        try:
            lowering.write(self.source.function(self.name), output)
        except RecursionError as error:
            msg = f"{self.source.path}:{lowering.line}: expected expressions that nest less, got a deep one"
            raise PolicyError(f"{msg}; use variables") from error
        finally:
            sys.setrecursionlimit(usual)
        rows = lowering.inputs.values()
        self.inputs = tuple(Tensor(spec.name, np.dtype(spec.dtype), spec.shape) for spec in rows)
        self.failures = tuple(lowering.failures)


@dataclass(slots=True)
class _Loop:
    breaks: list[End] = field(default_factory=list)
    continues: list[End] = field(default_factory=list)


class Lowering(Expressions):
    """Statements, and functions of the file where they are called."""

    def __init__(self, builder: ir.IRBuilder, source: PolicySource, point: Point, tensors: ir.Value) -> None:
        super().__init__(builder, source, point, tensors)
        self._calls: list[ast.FunctionDef] = []
        self._returns: list[End] = []
        self._loops: list[_Loop] = []

    def write(self, function: ast.FunctionDef, output: ir.Value) -> None:
        """Write the decision function, whose one argument is the observation."""
        self.node = function
        names = _parameters(function)
        if names is None or len(names) - len(function.args.defaults) > 1 or not names:
            raise self.refused(f"{function.name}(obs), a function of one argument", "another", "give it one")
        answer = self._run(function, {names[0]: OBSERVATION, **self._defaults(function, names[1:])})
        self.node = function
        self.builder.store(self.accepted(answer), output, align=8)
        self.builder.ret(I32(0))

    def call_function(self, function: ast.FunctionDef, node: ast.Call) -> Operand:
        names = _parameters(function)
        wrong = partial(self.refused, f"arguments that {function.name} takes", hint="correct the call")
        if names is None or any(isinstance(item, ast.Starred) for item in node.args):
            raise self.refused("plain parameters and arguments", "others, such as *args", "name each of them")
        if len(node.args) > len(names):
            raise wrong(got=f"{len(node.args)} of {len(names)}")
        values = {name: self.expression(item) for name, item in zip(names, node.args, strict=False)}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in names or keyword.arg in values:
                raise wrong(got=f"{keyword.arg or '**'}=")
            values[keyword.arg] = self.expression(keyword.value)
        given = {**self._defaults(function, [name for name in names if name not in values]), **values}
        if missing := [name for name in names if name not in given]:
            raise wrong(got=f"none for {', '.join(missing)}")
        if function in self._calls:
            raise self.refused(
                "functions that do not call themselves", f"{function.name} within {function.name}"
            )
        here = self.node
        result = self._run(function, given)
        self.node = here
        return result

    def _defaults(self, function: ast.FunctionDef, names: list[str]) -> dict[str, Operand]:
        """The default values, which are constants, of some parameters."""
        rows = zip(reversed(function.args.args), reversed(function.args.defaults), strict=False)
        env, self.env, own, self.locals = self.env, {}, self.locals, set()
        found = {row.arg: self.expression(value) for row, value in rows if row.arg in names}
        self.env, self.locals = env, own
        return found

    def _run(self, function: ast.FunctionDef, arguments: dict[str, Operand]) -> Operand:
        """Write a function's body here; what it returns."""
        self.node = function
        if function.decorator_list:
            raise self.refused("a plain function", "one with a decorator", "remove the decorator")
        saved = self.env, self.locals, self._returns, self._loops
        self.env, self.locals, self._returns, self._loops = arguments, local_names(function), [], []
        self._calls.append(function)
        self._block(function.body)
        self.node = function
        if not self.dead:
            hint = "end it with a return"
            raise self.refused(f"a return on every path of {function.name}", "the end of the function", hint)
        self._calls.pop()
        ends = self._returns
        self.env, self.locals, self._returns, self._loops = saved
        return self.join([(block, self.env, result) for block, _, result in ends])

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.dead:
                return
            self.node = statement
            self.step()
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value):
                self.expression(value)
            case ast.Assign(targets, value):
                result = self.expression(value)
                for target in targets:
                    self._assign(target, result)
            case ast.AnnAssign(target, _, value):
                if value is not None:
                    self._assign(target, self.expression(value))
            case ast.AugAssign(target, sign, value):
                self._add(target, sign, value)
            case _:
                self._control(node)

    def _control(self, node: ast.stmt) -> None:
        match node:
            case ast.If(test, body, orelse):
                condition = self.condition(self.expression(test))
                self.branch(condition, partial(self._block, body), partial(self._block, orelse))
            case ast.For(target, items, body, orelse):
                self._loop(target, self.expression(items), body, orelse)
            case ast.Return(value):
                result = None if value is None else self.expression(value)
                if result is None:
                    raise self.refused("a number to return", "None", "return a number")
                self._leave(self._returns, result)
            case ast.Break():
                self._leave(self._loops[-1].breaks)
            case ast.Continue():
                self._leave(self._loops[-1].continues)
            case ast.Pass():
                pass
            case _:
                raise self.refused("assignments, if, for and return", title(node))

    def _leave(self, ends: list[End], result: Operand = None) -> None:
        ends.append(self.end(result))
        self.dead = True

    def _assign(self, target: ast.expr, result: Operand) -> None:
        if isinstance(target, ast.Name):
            self.env = {**self.env, target.id: result}
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(result, tuple):
            if len(target.elts) != len(result) or any(isinstance(item, ast.Starred) for item in target.elts):
                raise self.refused(
                    "as many names as values", f"{len(target.elts)} for {len(result)}", "correct it"
                )
            for item, value in zip(target.elts, result, strict=True):
                self._assign(item, value)
        else:
            raise self.refused("a variable to assign to", title(target))

    def _add(self, target: ast.expr, sign: ast.operator, value: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            raise self.refused("a variable to assign to", title(target))
        before = self.expression(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        kinds = self.value(before).cases
        if any(kind.form in ("tensor", "array") for kind in kinds):
            hint = f"write {target.id} = {target.id} + ..., or make it a number by .item()"
            raise self.refused(
                "a number of Python's to change", "a tensor, which would change in place", hint
            )
        self._assign(target, self.operate(sign, before, self.expression(value)))

    def _loop(self, target: ast.expr, items: Operand, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """Write the body for every item."""
        if not isinstance(items, tuple):
            raise self.refused("a loop over range(...) of constants, or over a tuple", self.describe(items))
        loop = _Loop()
        self._loops.append(loop)
        for item in items:
            if self.dead:
                break
            self._assign(target, item)
            self._block(body)
            self.join(loop.continues + self._falls_through())
            loop.continues = []
        self._loops.pop()
        if not self.dead:
            self._block(orelse)
        self.join(loop.breaks + self._falls_through())

    def _falls_through(self) -> list[End]:
        """The end of this path, if it has not left."""
        return [] if self.dead else [self.end()]


def _parameters(function: ast.FunctionDef) -> list[str] | None:
    """The names of the parameters; None if there are others than plain ones."""
    rows = function.args
    if rows.vararg or rows.kwarg or rows.kwonlyargs or rows.posonlyargs:
        return None
    return [row.arg for row in rows.args]
