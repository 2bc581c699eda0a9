# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass that makes the kind of change that its option says."""

from dataclasses import dataclass
from typing import Literal

from passpilot import llvm
from passpilot.ir import IRBuilder


def named(function, name):
    return next(each for each in [*function.blocks, *function.instructions] if each.name == name)


@llvm.module_pass("change")
@dataclass(frozen=True)
class Change:
    what: Literal["attributes", "linkage", "values", "blocks", "calls", "build", "globals"]

    def run(self, module):
        getattr(self, self.what)(module, module.function("sum"))
        return True

    def attributes(self, module, function):
        function.add_attribute("nounwind")
        function.add_return_attribute("noundef")
        function.arguments[0].add_attribute("noalias")
        (call,) = function.call_sites
        call.add_attribute("cold")
        call.add_argument_attribute(0, "noundef")
        named(function, "v").set_metadata("mine", ("text", 7))
        function.loops[0].set_metadata((..., ("llvm.loop.unroll.disable",)))
        module.function("kept").remove_attribute("optnone")

    def linkage(self, module, function):
        module.function("leaf").linkage = "internal"
        module.function("leaf").calling_convention = "fastcc"
        function.visibility = "hidden"

    def values(self, module, function):
        sum_, next_ = named(function, "t"), named(function, "next")
        next_.move_before(named(function, "q"))
        (call,) = function.call_sites
        call.replace_all_uses_with(named(function, "v"))
        call.erase()
        sum_.split_before("tail")

    def blocks(self, module, function):
        out, never = function.add_block("out"), function.add_block("never")
        out.set_return(module.constant("i32 0"))
        never.set_unreachable()
        named(function, "loop").set_conditional_branch(module.constant("i1 true"), out, never)
        named(function, "exit").erase()

    def calls(self, module, function):
        module.function("leaf").clone("copy")
        function.call_sites[0].inline()

    def build(self, module, function):
        pointer, count = function.arguments
        build = IRBuilder(named(function, "exit").terminator)
        more = build.binary("add", count, module.constant("i32 2"), "more")
        build.compare("slt", more, count, "less")
        wide = build.cast("zext", more, module.type("i64"), "wide")
        place = build.getelementptr(module.type("i32"), pointer, [wide], "place")
        build.store(build.load(module.type("i32"), place, "loaded"), pointer)
        build.call(module.function("leaf"), [more], "called")

    def globals(self, module, function):
        module.declare("outside", "void (ptr, ...)")
        module.add_global("table", "[2 x i8]", module.constant('[2 x i8] c"ab"'), is_constant=True)
        kept = module.function("kept")
        kept.linkage = "internal"
        kept.erase()
