# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random sequences of questions and changes over the IR of a module, with handles kept long after.

Whatever is asked, the answer is a value or one of our errors; whatever is changed, the module verifies.
usage: python -m tests.plugin.ir.fuzz FIRST_SEED SEQUENCES MODULE...
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from passpilot.passes.optimize import optimize
from passpilot.passes.python.api import PreservedAnalyses, unregister
from passpilot.plugin import ir
from passpilot.plugin.errors import CompilationError, InputError, IRError, PassError, StaleViewError
from passpilot.plugin.module import Module
from tests.passes.python.passes import define

OURS: Final = (IRError, InputError, StaleViewError)
KEPT: Final = 120
ATTRIBUTES: Final = (
    "noinline",
    "cold",
    "optnone",
    "nonnull",
    "noundef",
    "align 8",
    '"a"="b"',
    "alwaysinline",
    "zeroext",
    "memory(none)",
    "nosuch",
)
TYPES: Final = (
    "i1",
    "i8",
    "i32",
    "i64",
    "ptr",
    "double",
    "float",
    "<4 x i32>",
    "{i32, ptr}",
    "[3 x i8]",
    "label",
)
CONSTANTS: Final = (
    "i32 7",
    "i64 -1",
    "i1 true",
    "ptr null",
    "double 2.5",
    "i8 poison",
    "<4 x i32> zeroinitializer",
)
KINDS: Final = ("mine", "prof", "range", "tbaa", "nonnull", "llvm.loop", "invariant.load")
PASSES: Final = ("instcombine<no-verify-fixpoint>", "simplifycfg", "dce", "sroa", "gvn", "early-cse")
MODULE_PASSES: Final = ("globaldce", "cgscc(inline)", "mergefunc", "deadargelim", "no-such-pass")
ANSWERS: Final = (True, False, PreservedAnalyses.all(), PreservedAnalyses.cfg(), PreservedAnalyses.none())
OPCODES: Final = ("add", "sub", "mul", "xor", "shl", "fadd", "fmul", "udiv")
CASTS: Final = ("zext", "trunc", "bitcast", "ptrtoint", "inttoptr", "sitofp")


class Fuzzer:
    """One sequence over one module."""

    def __init__(self, module: Module, seed: int) -> None:
        self.module = module
        self.random = random.Random(seed)
        self.kept: list[object] = []
        self.done: list[str] = []
        self.names = 0

    def run(self, steps: int) -> None:
        """Do so many random things, then see that the module is sound."""
        self.keep(*self.module.functions, *self.module.globals, *self.module.aliases)
        actions = [self.look, self.look, self.change, self.change, self.change, self.build, self.forget]
        for _ in range(steps):
            self.random.choice(actions)()
        if self.random.random() < 0.2:
            self.compile()
        self.module.verify()

    def keep(self, *handles: object) -> None:
        """Keep some of the handles for later, in place of others."""
        for handle in handles:
            if len(self.kept) < KEPT:
                self.kept.append(handle)
            elif self.random.random() < 0.3:
                self.kept[self.random.randrange(KEPT)] = handle

    def forget(self) -> None:
        """Drop a handle."""
        if len(self.kept) > 20:
            self.kept.pop(self.random.randrange(len(self.kept)))

    def compile(self) -> None:
        """Let LLVM change the module under the handles, perhaps around a pass in Python."""
        level = self.random.choice(("", "module", "function"))
        text = f"function({','.join(self.random.sample(PASSES, 2))})"
        if level:
            define(level, self.inside, "fuzzed")
            around = "fuzzed" if level == "module" else "function(fuzzed)"
            text = f"function(require<domtree>,require<scalar-evolution>),{around},{text}"
        self.done.append(f"optimize {text}")
        try:
            optimize(self.module, text)
        except (CompilationError, PassError) as error:
            raise AssertionError(f"{error}; after {self.done}") from error
        finally:
            if level:
                unregister("fuzzed")

    def inside(self, unit: object) -> object:
        """Do random things in a pass, and say anything of them."""
        actions = [self.look, self.change, self.build, self.pipeline]
        for _ in range(self.random.randrange(12)):
            self.random.choice(actions)()
        self.keep(unit)
        return self.random.choice(ANSWERS)

    def pipeline(self) -> None:
        """Run LLVM's passes inside the pass, or be refused."""
        text = ",".join(self.random.sample(PASSES, 2))
        function = self.any(ir.Function)
        if self.random.random() < 0.3:
            text = f"function({text}),{self.random.choice(MODULE_PASSES)}"
            self.attempt(f"run {text}", lambda: self.module.run(text))
        elif isinstance(function, ir.Function):
            self.attempt(f"run {text}", lambda: function.run(text))

    def any(self, kind: type) -> object:
        """A handle of the kind if there is one, else any."""
        fitting = [each for each in self.kept if isinstance(each, kind)]
        return self.random.choice(fitting or self.kept)

    def look(self) -> None:
        """Ask a handle for everything it has, and keep some of what it gives."""
        handle = self.random.choice(self.kept)
        if isinstance(handle, ir.Value) and self.random.random() < 0.5:
            handle = self.any(ir.BasicBlock)
        for name in self.random.sample(attributes_of(handle), k=min(4, len(attributes_of(handle)))):
            try:
                answer = getattr(handle, name)
            except OURS:
                continue
            if isinstance(answer, (list, tuple)):
                self.keep(*[each for each in answer[:20] if isinstance(each, (ir.Value, ir.Loop))])
            elif isinstance(answer, (ir.Value, ir.Loop)):
                self.keep(answer)

    def change(self) -> None:
        """Change something, or be refused."""
        name = self.random.choice(CHANGES)
        handle = self.any(
            self.random.choice((ir.Instruction, ir.Instruction, ir.BasicBlock, ir.Function, ir.CallBase))
        )
        if not hasattr(type(handle), name):
            return
        if name in ("linkage", "visibility", "calling_convention"):
            words = ("internal", "external", "weak", "hidden", "default", "fastcc", "ccc", "common")
            self.attempt(name, lambda: setattr(handle, name, self.random.choice(words)))
        else:
            self.attempt(name, lambda: self.keep(getattr(handle, name)(*self.arguments(name))))

    def arguments(self, name: str) -> Iterator[object]:
        """Arguments that the method can take, more or less."""
        if "attribute" in name:
            if "argument" in name:
                yield self.random.randrange(3)
            yield self.random.choice(ATTRIBUTES).split(" " if "remove" in name else "\0")[0]
        elif name == "set_metadata":
            yield self.random.choice(KINDS)
            yield self.random.choice(
                (None, (), (1, 2), ("branch_weights", 3, 4), (..., ("llvm.loop.unroll.disable",)))
            )
        elif name == "clone":
            self.names += 1
            yield f"copy{self.names}"
        elif name == "set_conditional_branch":
            yield from (self.any(ir.Value), self.any(ir.BasicBlock), self.any(ir.BasicBlock))
        elif name == "set_branch":
            yield self.any(ir.BasicBlock)
        elif name == "set_return":
            yield self.any(ir.Value)
        elif name in ("move_before", "replace_all_uses_with"):
            yield self.any(ir.Instruction)

    def build(self) -> None:
        """Insert something, or be refused."""
        value, other = self.operand(), self.operand()
        choose = self.random.choice
        builder: list[ir.IRBuilder] = []
        self.attempt("IRBuilder", lambda: builder.append(ir.IRBuilder(self.any(ir.Instruction))))  # type: ignore[arg-type]
        if not builder:
            return
        build = builder[0]
        call = self.any(ir.Function)
        type = self.module.type(choose(TYPES))  # noqa: A001
        made: tuple[Callable[[], object], ...] = (
            lambda: build.binary(choose(OPCODES), value, other),
            lambda: build.compare(choose(("eq", "slt", "olt", "uno")), value, other),
            lambda: build.cast(choose(CASTS), value, type),
            lambda: build.select(value, other, other),
            lambda: build.load(type, value),
            lambda: build.store(value, other),
            lambda: build.getelementptr(type, value, [other]),
            lambda: build.call(call, [self.operand() for _ in call.arguments]),  # type: ignore[attr-defined, arg-type]
            lambda: build.call(call, call.arguments),  # type: ignore[attr-defined, arg-type]
        )
        self.attempt("build", lambda: self.keep(choose(made)()))

    def operand(self) -> ir.Value:
        found = self.any(ir.Instruction) if self.random.random() < 0.7 else None
        return found if isinstance(found, ir.Value) else self.module.constant(self.random.choice(CONSTANTS))

    def attempt(self, name: str, change: Callable[[], object]) -> None:
        try:
            change()
        except (*OURS, TypeError, AttributeError):
            return
        self.done.append(name)


CHANGES: Final = (
    "erase",
    "erase",
    "move_before",
    "replace_all_uses_with",
    "split_before",
    "set_metadata",
    "inline",
    "clone",
    "add_attribute",
    "remove_attribute",
    "add_argument_attribute",
    "add_block",
    "set_branch",
    "set_branch",
    "set_conditional_branch",
    "set_return",
    "set_unreachable",
    "linkage",
    "visibility",
    "calling_convention",
)


def attributes_of(handle: object) -> list[str]:
    """The names of its properties."""
    kind = type(handle)
    return [each for each in dir(kind) if isinstance(getattr(kind, each), property)]


def fuzz(sources: list[bytes], first: int, count: int, steps: int = 40) -> int:
    """So many sequences over the modules in turn; how many changes were made.

    Raises:
        AssertionError: a module is broken; names the seed and what was done.
    """
    changes = 0
    for seed in range(first, first + count):
        fuzzer = Fuzzer(Module.read(sources[seed % len(sources)], verify=False), seed)
        try:
            fuzzer.run(steps)
        except InputError as error:
            raise AssertionError(f"seed {seed}: {error}; after {fuzzer.done}") from error
        changes += len(fuzzer.done)
    return changes


if __name__ == "__main__":
    files = [Path(each).read_bytes() for each in sys.argv[3:]]
    print(fuzz(files, int(sys.argv[1]), int(sys.argv[2])), "changes")
