# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Expressions`: writes the IR of Python's expressions; what the text alone determines is computed here."""

from __future__ import annotations

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from llvmlite import ir

from passpilot.features.domain import Choice, Flag
from passpilot.features.point import Point, features_of
from passpilot.features.spec import TensorSpec
from passpilot.plugin.failures import did_you_mean, headline
from passpilot.runners.aot.emitter import I64, POINTER
from passpilot.runners.aot.function.arithmetic import Arithmetic
from passpilot.runners.aot.function.flow import BOOL, OF_CONSTANT, REAL, Kind, Operand, Quantity, Unusable
from passpilot.runners.aot.function.source import PolicySource

OPERATORS: Final[dict[type[ast.AST], tuple[str, Callable[..., object]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
BUILTINS: Final[dict[str, Callable[..., object]]] = {
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "max": max,
    "min": min,
    "range": range,
    "len": len,
}
_NAMES: Final = {
    ast.IfExp: "_either",
    ast.BoolOp: "_and_or",
    ast.BinOp: "_binary",
    ast.UnaryOp: "_unary_of",
    ast.Compare: "_comparison",
    ast.Name: "_name",
    ast.Constant: "_constant",
    ast.Subscript: "_subscript",
    ast.Call: "_call",
    ast.Tuple: "_tuple",
    ast.List: "_tuple",
    ast.NamedExpr: "_walrus",
}
_MOST_BITS: Final = 1024
OBSERVATION: Final = type("Observation", (), {"__repr__": lambda _: "the observation"})()


@dataclass(frozen=True, slots=True)
class FeaturePart:
    """A tensor of the observation, or a part of it."""

    spec: TensorSpec
    place: tuple[int, ...] = ()


class Expressions(Arithmetic, ABC):
    """The expressions of functions of one file; `inputs` are the features that they read."""

    def __init__(self, builder: ir.IRBuilder, source: PolicySource, point: Point, tensors: ir.Value) -> None:
        super().__init__(builder, source.path)
        self.source, self.point = source, point
        self.inputs: dict[str, TensorSpec] = {}
        self.locals: set[str] = set()
        self._tensors = tensors
        self._constants: dict[str, Operand] = {}

    def expression(self, node: ast.expr) -> Operand:
        """What an expression gives."""
        outer, self.node = self.node, node
        self.step()
        method = _NAMES.get(type(node))
        if method is None:
            raise self.refused("numbers, comparisons, arithmetic and conditions", title(node))
        result = getattr(self, method)(node)
        self.node = outer
        return cast("Operand", result)

    def condition(self, operand: Operand) -> bool | ir.Value:
        """Whether an operand counts as true."""
        if type(operand) in OF_CONSTANT:
            return bool(operand)
        return self.truth(self.value(operand))

    def value(self, operand: Operand) -> Quantity:
        return self._loaded(operand) if isinstance(operand, FeaturePart) else super().value(operand)

    def describe(self, operand: Operand) -> str:
        if operand is OBSERVATION:
            return "the observation"
        if isinstance(operand, FeaturePart):
            return f"the feature {operand.spec.name} of {operand.spec}"
        return super().describe(operand)

    @abstractmethod
    def call_function(self, function: ast.FunctionDef, node: ast.Call) -> Operand:
        """What a call of a function of the file gives."""

    def _loaded(self, feature: FeaturePart) -> Quantity:
        spec, place = feature.spec, feature.place
        if spec.size > 1 and len(place) < len(spec.shape):
            hint = f"write obs[{spec.name!r}]{'[0]' * len(spec.shape)} with the constant index that you mean"
            raise self.refused("one element of a feature", f"all of {spec.name}, {spec}", hint)
        if spec.dtype == "uint64":
            raise self.refused("a feature of numbers of int64", f"{spec.name}, {spec}", "declare it as int64")
        at = 0
        for size, index in zip(spec.shape, place, strict=False):
            at = at * size + index
        kind = Kind("scalar" if place and len(place) == len(spec.shape) else "tensor", spec.dtype)
        build, number = self.builder, list(self.inputs).index(spec.name)
        pointer = build.load(build.gep(self._tensors, [I64(number)], source_etype=POINTER), typ=POINTER)
        bits = int(spec.dtype.lstrip("uintfloa"))
        memory = REAL.get(spec.dtype, ir.IntType(bits))
        register = build.load(build.gep(pointer, [I64(at)], source_etype=memory), typ=memory)
        register.align = bits // 8
        if memory not in REAL.values() and bits < I64.width:
            register = (build.zext if spec.dtype.startswith("u") else build.sext)(register, I64)
        return Quantity({kind: register})

    def feature(self, name: str) -> FeaturePart:
        """A feature by its name."""
        spec = self.point.find(name)
        if spec is None:
            hint = f"add --load={self.source.path}, which defines it"
            if self.source.definition(name) is None:
                close = did_you_mean(name, [row.name for row in self.point.features], 0.8)
                hint = features_of(self.point.name) + close
            raise self.refused(f"a feature of {self.point.name}", repr(name), hint)
        self.inputs.setdefault(name, spec)
        return FeaturePart(spec)

    def _constant(self, node: ast.Constant) -> Operand:
        if type(node.value) not in (bool, int, float, str, type(None)):
            raise self.refused("a number", f"{node.value!r}"[:40])
        return node.value

    def _name(self, node: ast.Name) -> Operand:
        name = node.id
        if name in self.locals:
            if name not in self.env:
                hint = "give it a value before the condition"
                raise self.refused(f"a value of {name!r} on every path to here", "none on one", hint)
            if isinstance(self.env[name], Unusable):
                hint = "use two variables"
                raise self.refused(f"a number in {name!r}", self.describe(self.env[name]), hint)
            return self.env[name]
        if name not in self._constants:
            self._constants[name] = self._global(node)
        return self._constants[name]

    def _global(self, node: ast.Name) -> Operand:
        """A constant of the file."""
        definition, places = self.source.definition(node.id), self.source.bindings.get(node.id, [])
        if not isinstance(definition, ast.expr):
            lines = ", ".join(str(getattr(place, "lineno", 1)) for place in places)
            got = f"{node.id!r}" + (f", which line {lines} defines" if places else "")
            hint = "the file is not run: name a constant that one statement at its top sets"
            raise self.refused("a variable or a constant of the file", got, hint)
        if any(definition is later for later in self._open):
            raise self.refused("a constant", f"{node.id!r}, which needs itself", "write its number")
        self._open.append(definition)
        saved = self.env, self.locals
        self.env, self.locals = {}, set()
        result = self.expression(definition)
        self.env, self.locals = saved
        self._open.pop()
        if isinstance(result, (Quantity, FeaturePart)) or result is OBSERVATION:
            raise self.refused("a constant", self.describe(result))
        return result

    _open: list[ast.expr] = []  # noqa: RUF012  (the constants that are being computed; empty in between)

    def _tuple(self, node: ast.Tuple | ast.List) -> Operand:
        return tuple(self.expression(item) for item in node.elts)

    def _walrus(self, node: ast.NamedExpr) -> Operand:
        self.env = {**self.env, node.target.id: (result := self.expression(node.value))}
        return result

    def _either(self, node: ast.IfExp) -> Operand:
        condition = self.condition(self.expression(node.test))
        return self.branch(
            condition, lambda: self.expression(node.body), lambda: self.expression(node.orelse)
        )

    def _and_or(self, node: ast.BoolOp) -> Operand:
        return self._first(isinstance(node.op, ast.Or), node.values)

    def _first(self, wanted: bool, values: Sequence[ast.expr]) -> Operand:
        """The first operand whose truth is the wanted one, else the last."""
        result = self.expression(values[0])
        if len(values) == 1:
            return result
        kept, rest = (lambda: result), (lambda: self._first(wanted, values[1:]))
        return self.branch(self.condition(result), *((kept, rest) if wanted else (rest, kept)))

    def _binary(self, node: ast.BinOp) -> Operand:
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(node.op, ast.Pow):
            if all(type(item) in OF_CONSTANT for item in (left, right)):
                return self._power(left, right)
            raise self.refused("+, -, *, /, //, %, &, | or ^", "** of variables", "write x * x")
        return self.operate(node.op, left, right)

    def operate(self, sign: ast.operator, left: Operand, right: Operand) -> Operand:
        """What a binary operator gives."""
        text, fold = OPERATORS.get(type(sign), ("", operator.add))
        if not text:
            raise self.refused("+, -, *, /, //, %, &, | or ^", title(sign))
        if all(type(item) in OF_CONSTANT for item in (left, right)):
            return self._folded(fold, left, right)
        return self.arithmetic(text, self.value(left), self.value(right))

    def _power(self, base: Operand, exponent: Operand) -> Operand:
        large = (
            isinstance(base, int)
            and isinstance(exponent, int)
            and abs(base).bit_length() * exponent > _MOST_BITS
        )
        if large:
            raise self.refused("constants of at most 1024 bits", "a larger one", "write a float")
        return self._folded(operator.pow, base, exponent)

    def _folded(self, function: Callable[..., object], *operands: Operand) -> Operand:
        """What Python gives for constants."""
        try:
            result = function(*operands)
        except Exception as error:  # every operator and type has its own
            raise self.refused(
                "an expression of constants that has a value", headline(error), "correct it"
            ) from error
        if isinstance(result, int) and result.bit_length() > _MOST_BITS:
            raise self.refused("constants of at most 1024 bits", "a larger one", "write a float")
        return result

    def _unary_of(self, node: ast.UnaryOp) -> Operand:
        operand = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.condition(operand)
            return not truth if isinstance(truth, bool) else self._flag(self.builder.not_(truth))
        text, fold = OPERATORS[type(node.op)]
        if type(operand) in OF_CONSTANT:
            return self._folded(fold, operand)
        return self.unary(text, self.value(operand))

    def _flag(self, register: ir.Value) -> Quantity:
        return Quantity({BOOL: self.builder.zext(register, I64)})

    def _comparison(self, node: ast.Compare) -> Operand:
        return self._compare_rest(
            self.expression(node.left), list(zip(node.ops, node.comparators, strict=True))
        )

    def _compare_rest(self, left: Operand, pairs: list[tuple[ast.cmpop, ast.expr]]) -> Operand:
        """A comparison, which ends at the first that is false."""
        (sign, node), *rest = pairs
        right = self.expression(node)
        result = self._compare_pair(sign, left, right)
        if not rest:
            return result
        return self.branch(self.condition(result), lambda: self._compare_rest(right, rest), lambda: result)

    def _compare_pair(self, sign: ast.cmpop, left: Operand, right: Operand) -> Operand:
        if isinstance(sign, (ast.In, ast.NotIn)):
            if not isinstance(right, tuple):
                raise self.refused("a tuple of numbers behind in", self.describe(right))
            found = self._among(left, right)
            if isinstance(sign, ast.In):
                return found
            truth = self.condition(found)
            return not truth if isinstance(truth, bool) else self._flag(self.builder.not_(truth))
        if type(sign) not in OPERATORS:
            raise self.refused("<, <=, >, >=, ==, !=, in or not in", title(sign), "write == for is")
        text, fold = OPERATORS[type(sign)]
        if all(type(item) in OF_CONSTANT for item in (left, right)):
            return self._folded(fold, left, right)
        return self.compare(text, self.value(left), self.value(right))

    def _among(self, left: Operand, items: tuple[Operand, ...]) -> Operand:
        """Whether a tuple has a number; like Python, the same object is in it even if it is NaN."""
        if not items:
            return False
        tensor = isinstance(left, FeaturePart) and not left.place
        if left is items[0] or (tensor and left == items[0]):
            return True
        equal = self.condition(self._compare_pair(ast.Eq(), items[0], left))
        return self.branch(equal, lambda: True, lambda: self._among(left, items[1:]))

    def _subscript(self, node: ast.Subscript) -> Operand:
        base, index = self.expression(node.value), self.expression(node.slice)
        if base is OBSERVATION:
            if not isinstance(index, str):
                raise self.refused("the name of a feature as a text", self.describe(index))
            return self.feature(index)
        places = index if isinstance(index, tuple) and isinstance(base, FeaturePart) else (index,)
        if any(type(place) is not int for place in places):
            raise self.refused(
                "a constant index", self.describe(index), "write a number, or loop over range(...)"
            )
        indices = cast("tuple[int, ...]", places)
        if isinstance(base, tuple):
            return self._folded(operator.getitem, base, *indices)
        if not isinstance(base, FeaturePart):
            raise self.refused("a feature or a tuple before [ ]", self.describe(base))
        return self._element(base, indices)

    def _element(self, feature: FeaturePart, indices: tuple[int, ...]) -> FeaturePart:
        sizes = feature.spec.shape[len(feature.place) :]
        inside = len(indices) <= len(sizes) and all(
            -size <= index < size for size, index in zip(sizes, indices, strict=False)
        )
        if not inside:
            raise self.refused(
                f"an index into {feature.spec.name}, {feature.spec}", f"{list(indices)}", "correct it"
            )
        places = tuple(index % size for index, size in zip(indices, sizes, strict=False))
        return FeaturePart(feature.spec, feature.place + places)

    def _call(self, node: ast.Call) -> Operand:
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, node)
        if not isinstance(node.func, ast.Name):
            raise self.refused("the call of a function by its name", title(node.func))
        name = node.func.id
        definition = None if name in self.locals else self.source.definition(name)
        if isinstance(definition, ast.FunctionDef):
            return self.call_function(definition, node)
        if name in self.locals or name in self.source.bindings or name not in BUILTINS:
            known = ", ".join(BUILTINS)
            hint = f"def it at the top of the file; of Python's own there are {known}"
            raise self.refused("a function of the file", name, hint)
        if node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
            raise self.refused(f"plain arguments of {name}", "others", "give them in their order")
        return self._builtin(name, [self.expression(item) for item in node.args])

    def _method(self, attribute: ast.Attribute, node: ast.Call) -> Operand:
        base, name = self.expression(attribute.value), attribute.attr
        plain = not node.args and not node.keywords
        if base is OBSERVATION and name == "default" and plain:
            default = self.feature(self.point.default.name)
            kind = "bool" if isinstance(self.point.domain, Flag) else "item"
            return self.converted(kind, self.value(default))
        number = isinstance(base, FeaturePart) or (
            isinstance(base, Quantity) and all(kind.form != "python" for kind in base.cases)
        )
        if name == "item" and plain and number:
            return self.converted("item", self.value(base))
        hint = "a fact that only the IR has can be a feature: --load=FILE.py"
        raise self.refused("obs[...], obs.default() or .item()", f".{name}(...)", hint)

    def _builtin(self, name: str, operands: list[Operand]) -> Operand:
        one = operands[0] if len(operands) == 1 else None
        known = all(type(item) in OF_CONSTANT for item in operands)
        if known or name in ("range", "len") or (name == "float" and isinstance(one, str)):
            return self._folded_call(name, operands)
        if name in ("min", "max"):
            items = list(one) if isinstance(one, tuple) else operands
            if len(items) < 2:
                raise self.refused(f"at least two arguments of {name}", str(len(items)), "give two")
            return self._extreme(ast.Lt() if name == "min" else ast.Gt(), items)
        if len(operands) != 1:
            raise self.refused(f"one argument of {name}", str(len(operands)), "give one")
        value = self.value(one)
        return self.unary("abs", value) if name == "abs" else self.converted(name, value)

    def _folded_call(self, name: str, operands: list[Operand]) -> Operand:
        if name == "range" and any(type(item) is not int for item in operands):
            raise self.refused("constants in range(...)", "another", "write the numbers")
        if name == "len" and not all(isinstance(item, tuple) for item in operands):
            raise self.refused("len of a constant tuple", "another", "write the number")
        result = self._folded(BUILTINS[name], *operands)
        if isinstance(result, range):
            for _ in result:
                self.step()
            return tuple(result)
        return result

    def _extreme(self, sign: ast.cmpop, items: list[Operand]) -> Operand:
        """The best so far, unless the next is better: as Python, the first of equal ones."""
        best = items[0]
        for item in items[1:]:
            better = self.condition(self._compare_pair(sign, item, best))
            now = best
            best = self.branch(better, lambda: item, lambda: now)  # noqa: B023  (called before the loop goes on)
        return best

    def accepted(self, answer: Operand) -> ir.Value:
        """The answer as int64, or as a float where the point wants a number.

        Raises:
            PolicyError: it is never of a type that the point takes.
        """
        domain, value, hint = self.point.domain, self.value(answer), "return the decision itself"
        real = not isinstance(domain, (Flag, Choice))
        expected = "a bool or an integer 0 or 1" if isinstance(domain, Flag) else domain.expected

        def is_wrong(kind: Kind) -> bool:
            return (kind.is_real and not real) or (kind.dtype == "bool" and not isinstance(domain, Flag))

        def one(a: tuple[Kind, ir.Value]) -> Operand:
            register = self.plain(a)[1]
            if is_wrong(a[0]):
                self.fail(ir.Constant(ir.IntType(1), 1), f"expected {expected}, got {a[0]}; {hint}")
                register = I64(0)
            if real and register.type == I64:
                register = self.builder.sitofp(register, REAL["float64"])
            return Quantity({Kind("answer", "float64" if real else "int64"): register})

        if all(map(is_wrong, value.cases)):
            raise self.refused(expected, self.describe(value), hint)
        result = self.each(one, value)
        assert isinstance(result, Quantity)
        (register,) = result.cases.values()
        return register


def title(node: ast.AST) -> str:
    """What a part of the text is called."""
    return _TITLES.get(type(node)) or f"a part of Python's called {type(node).__name__}"


_TITLES: Final[dict[type[ast.AST], str]] = {
    ast.ListComp: "a list comprehension",
    ast.GeneratorExp: "a generator",
    ast.Lambda: "a lambda",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.JoinedStr: "an f-string",
    ast.Attribute: "an attribute",
    ast.While: "a while loop",
    ast.Try: "a try statement",
    ast.With: "a with statement",
    ast.Raise: "a raise statement",
    ast.Assert: "an assert statement",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Await: "an await",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
    ast.Global: "a global statement",
    ast.FunctionDef: "a function in a function",
    ast.Delete: "a del statement",
    ast.Match: "a match statement",
}
