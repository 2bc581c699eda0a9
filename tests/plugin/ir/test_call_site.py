# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The call-site view against what the text of the module and opt's printers say at that moment."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.errors import StaleViewError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import ir_text, stock
from tests.corpus.build import build
from tests.corpus.programs import programs

Description = dict[str, object]


@dataclass
class Snapshot:
    """What the view said, and the module as it was."""

    view: Description
    text: str
    line: str
    arguments: list[tuple[str, list[str]]]


def describe(site: _core.CallSite) -> Description:
    """Everything that the view offers, in plain values."""
    return {
        "caller": describe_function(site.caller),
        "callee": describe_function(site.callee),
        "arguments": [(each.is_constant, each.integer) for each in site.arguments],
        "attributes": set(site.attributes),
        "debug_location": describe_location(site.debug_location),
        "inlined_at": [describe_location(each) for each in site.inlined_at],
        "block_frequency": site.block_frequency,
        "loop_depth": site.loop_depth,
    }


def describe_function(function: _core.CallSiteFunction) -> Description:
    return {
        "name": function.name,
        "is_declaration": function.is_declaration,
        "linkage": function.linkage,
        "attributes": set(function.attributes),
        "argument_count": function.argument_count,
        "block_count": function.block_count,
        "instruction_count": function.instruction_count,
        "opcode_counts": function.opcode_counts,
    }


def describe_location(place: _core.SourceLocation | None) -> tuple[str, str, int, int] | None:
    return (place.file, place.function, place.line, place.column) if place else None


def snapshots(source: Path, pipeline: str, wanted: Callable[[_core.CallSite], bool]) -> list[Snapshot]:
    """The call sites of a compilation that are `wanted`."""
    taken = []

    def decide(obs: Observation) -> object:
        site = obs.site
        assert isinstance(site, _core.CallSite)
        if wanted(site):
            arguments = [(str(each), each.attributes) for each in site.arguments]
            taken.append(Snapshot(describe(site), site.module_text(), site.text, arguments))
        return obs.default()

    optimize(Module.read(source), pipeline, [InlineAdvisor(decide)])
    return taken


class Oracle:
    """Says the same as the view, from the text of a module and from opt's printers."""

    def __init__(self, text: str, file: Path) -> None:
        file.write_text(text)
        self.module = ir_text.parse(text)
        told = stock.printed(file, "function(print<block-freq>,print<loops>)")
        self.frequencies: dict[str, list[int]] = {}
        self.loops: dict[str, list[tuple[int, set[str]]]] = {}
        for line in told.splitlines():
            if found := re.match(r"block-frequency-info: (.*)", line):
                function = found[1]
                self.frequencies[function], self.loops[function] = [], []
            elif found := re.match(r" - .*, int = (\d+)", line):
                self.frequencies[function].append(int(found[1]))
            elif found := re.match(r" *Loop at depth (\d+) containing: (.*)", line):
                names = re.sub(r"<\w+>", "", found[2]).replace("%", "").replace('"', "").split(",")
                self.loops[function].append((int(found[1]), set(names)))

    def candidates(self, snapshot: Snapshot) -> list[Description]:
        """The calls in the caller that read like this one; nearly always one."""
        caller = snapshot.view["caller"]
        assert isinstance(caller, dict)
        line = without_numbers(snapshot.line)
        return [
            self.describe(str(caller["name"]), index, call)
            for index, block in enumerate(self.module.functions[str(caller["name"])].blocks)
            for call in block.instructions
            if without_numbers(call.text) == line
        ]

    def describe(self, caller: str, block: int, call: ir_text.Instruction) -> Description:
        frequencies = self.frequencies[caller]
        name = self.module.functions[caller].blocks[block].name
        chain = self.chain(call.debug_location)
        assert call.callee
        return {
            "caller": self.function(caller),
            "callee": self.function(call.callee),
            "arguments": [constant(each) for each in call.arguments],
            "attributes": self.module.attributes(call.after_arguments),
            "debug_location": chain[0] if chain else None,
            "inlined_at": chain[1:],
            "block_frequency": float(frequencies[block]) / float(frequencies[0]),
            "loop_depth": max((depth for depth, names in self.loops[caller] if name in names), default=0),
        }

    def function(self, name: str) -> Description:
        function = self.module.functions[name]
        return {
            "name": name,
            "is_declaration": not function.blocks,
            "linkage": function.linkage,
            "attributes": self.module.attributes(function.after_parameters),
            "argument_count": function.argument_count,
            "block_count": len(function.blocks),
            "instruction_count": len(function.instructions),
            "opcode_counts": function.opcode_counts,
        }

    def chain(self, number: int | None) -> list[tuple[str, str, int, int]]:
        places = []
        while number is not None:
            node = self.node(number)
            scope = self.node(node["scope"])
            file = self.node(scope["file"])["filename"]
            while "DISubprogram" not in scope["kind"]:
                scope = self.node(scope["scope"])
            places.append((file, scope["name"], int(node.get("line", 0)), int(node.get("column", 0))))
            number = int(node["inlinedAt"][1:]) if "inlinedAt" in node else None
        return places

    def node(self, number: int | str) -> dict[str, str]:
        text = self.module.metadata[int(str(number).lstrip("!"))]
        fields = re.findall(r'(\w+): ("[^"]*"|[^,)]*)', text)
        return {"kind": text.split("(")[0], **{name: value.strip('"') for name, value in fields}}


def without_numbers(text: str) -> str:
    """Without the numbers of metadata nodes and attribute groups, which depend on what else is printed."""
    return re.sub(r"[!#]\d+", "", " ".join(text.split()))


def constant(argument: str) -> tuple[bool, int | None]:
    """Whether an argument as printed is a constant, and the integer that it is."""
    value = argument.split()[-1]
    words = {"true": 1, "false": 0}
    integer = int(value) if re.fullmatch(r"-?\d+", value) else words.get(value)
    return not value.startswith("%"), integer


def check(taken: list[Snapshot], folder: Path) -> None:
    """Each view agrees with a call in the text, argument texts included."""
    unique = 0
    for i, snapshot in enumerate(taken):
        found = Oracle(snapshot.text, folder / f"{i}.ll").candidates(snapshot)
        unique += len(found) == 1
        if len(found) == 1:
            assert snapshot.view == found[0]
        assert snapshot.view in found
        call = ir_text.Instruction(" ".join(snapshot.line.split()))
        for (text, attributes), printed in zip(snapshot.arguments, call.arguments, strict=True):
            for attribute in attributes:
                assert f" {attribute} " in printed
                printed = printed.replace(f" {attribute} ", " ", 1)
            assert printed == text
    assert unique > len(taken) * 2 // 3


def of_corpus(name: str, source: str, target: Path) -> Path:
    assert not build([name])
    program = programs()[name]
    compiler = "clang++" if program.lang == "c++" else "clang"
    folder = program.source
    options = [*stock.CLANG, *program.cflags]
    options = [f"-I{folder}/{each[2:]}" if each.startswith("-I") else each for each in options]
    options += ["-O2", "-g", "-fno-discard-value-names"]
    stock.run(compiler, *options, folder / source, "-o", target)
    return target


def every(step: int, also: Callable[[_core.CallSite], bool]) -> Callable[[_core.CallSite], bool]:
    """One call site in `step`, and those that `also` picks."""
    return lambda site: site.ordinal % step == 0 or also(site)


def test_a_c_unit_with_debug_information(tmp_path: Path) -> None:
    unit = of_corpus("lz4", "lz4libs/lz4hc.c", tmp_path / "unit.bc")
    taken = snapshots(
        unit, "default<Os>", every(120, lambda site: len(site.inlined_at) > 4 and site.ordinal % 40 == 0)
    )
    check(taken, tmp_path)
    views = [snapshot.view for snapshot in taken]
    assert max(len(snapshot.view["inlined_at"]) for snapshot in taken) > 4  # type: ignore[arg-type]
    assert any(view["loop_depth"] for view in views)
    assert len({view["callee"]["linkage"] for view in views}) > 1  # type: ignore[index]


def test_a_cpp_unit_with_debug_information(tmp_path: Path) -> None:
    unit = of_corpus("re2", "vendor/re2/bitstate.cc", tmp_path / "unit.bc")
    picked = every(131, lambda site: len(site.inlined_at) > 4 or "invoke" in site.text[:40])
    inlined = itertools.count()  # in some C++ libraries, few
    taken = snapshots(
        unit,
        "default<O2>",
        lambda site: (picked(site) and site.ordinal % 9 == 0) or bool(site.inlined_at and next(inlined) < 2),
    )
    check(taken, tmp_path)
    assert any("invoke " in snapshot.line for snapshot in taken)
    assert any(snapshot.view["inlined_at"] for snapshot in taken)


@pytest.mark.parametrize("debug", ["-g", "-g0"])
def test_unnamed_values(tmp_path: Path, debug: str) -> None:
    unit = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", debug, "-fdiscard-value-names")
    taken = snapshots(unit, "default<O2>", lambda _: True)
    check(taken, tmp_path)
    assert any(s.view["debug_location"] for s in taken) is (debug == "-g")


CONSTANTS = """
@text = global [4 x i8] zeroinitializer
define internal i32 @callee(i1 %f, i32 %n, i64 %b, ptr %p, ptr %q, double %d, i128 %w, i32 %v, ptr %s) {
  ret i32 %n
}
define i32 @caller(i32 %x) {
  %s = alloca i64
  %r = call i32 @callee(i1 true, i32 -7, i64 9223372036854775807, ptr null,
    ptr getelementptr (i8, ptr @text, i64 2), double 0.5,
    i128 -170141183460469231731687303715884105728, i32 noundef range(i32 0, 9) %x,
    ptr byval(i64) align 8 %s) "local"="yes" nounwind
  ret i32 %r
}
"""


def test_arguments_of_every_kind() -> None:
    seen: list[object] = []

    def decide(obs: Observation) -> bool:
        site = obs.site
        assert isinstance(site, _core.CallSite)
        seen.extend((str(each), each.index, each.is_constant, each.integer) for each in site.arguments)
        seen.extend(each.attributes for each in site.arguments[-2:])
        seen.append(site.attributes)
        return False

    optimize(Module.read(CONSTANTS.encode()), "inliner-wrapper", [InlineAdvisor(decide)])
    assert seen == [
        ("i1 true", 0, True, 1),
        ("i32 -7", 1, True, -7),
        ("i64 9223372036854775807", 2, True, 2**63 - 1),
        ("ptr null", 3, True, None),
        ("ptr getelementptr (i8, ptr @text, i64 2)", 4, True, None),
        ("double 5.000000e-01", 5, True, None),
        (f"i128 {-(2**127)}", 6, True, -(2**127)),
        ("i32 %x", 7, False, None),
        ("ptr %s", 8, False, None),
        ["noundef", "range(i32 0, 9)"],
        ["byval(i64)", "align 8"],
        ["nounwind", '"local"="yes"'],
    ]


def read_everything(obs: Observation) -> None:
    site = obs.site
    assert isinstance(site, _core.CallSite)
    describe(site)
    for function in (site.caller, site.callee):
        assert function.name in str(function)
        assert repr(function) == f"<function {function.name}>"
    assert all(f"{each} {each.attributes}" for each in site.arguments)
    assert site.text.partition(", !dbg")[0] in str(site.caller)
    assert str(site).startswith(f"{site.caller.name} -> {site.callee.name}")
    assert site.debug_location is None or str(site).endswith(f" at {site.debug_location!r}")
    assert site.module_text().startswith("; ModuleID")
    assert all(obs[name].shape == (1,) for name in obs)


def test_looking_changes_nothing(tmp_path: Path) -> None:
    unit = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-g")

    def made(look: Callable[[Observation], object], answer: Callable[[Observation], object]) -> bytes:
        def decide(obs: Observation) -> object:
            look(obs)
            return answer(obs)

        module = Module.read(unit)
        optimize(module, "default<O2>", [InlineAdvisor(decide)])
        return module.bitcode()

    def odd(obs: Observation) -> bool:
        return bool(obs["callee_users"] % 2)

    def default(obs: Observation) -> object:
        return obs.default()

    for answer in (odd, default):
        assert made(read_everything, answer) == made(lambda _: None, answer)
        assert made(lambda obs: obs.default(), answer) == made(lambda _: None, answer)
    assert made(read_everything, default) == stock.opt(unit, "default<O2>")[0]


def test_a_view_is_stale_after_its_decision(tmp_path: Path) -> None:
    unit = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-g")
    kept: list[object] = []
    checked = 0

    def decide(obs: Observation) -> object:
        nonlocal checked
        if not kept:
            site = obs.site
            assert isinstance(site, _core.CallSite)
            kept.extend((site, site.caller, site.callee, site.arguments[0]))
            kept.append(obs)
        else:
            checked += all_stale(kept[:-1])
        return obs.default()

    advisor = InlineAdvisor(decide)
    for _ in range(2):
        optimize(Module.read(unit), "default<O2>", [advisor])
    assert checked == advisor.stats.decisions - 1
    all_stale(kept[:-1])
    obs = kept[-1]
    assert isinstance(obs, Observation)
    with pytest.raises(StaleViewError, match=r"obs\.site: expected to be read within a decision"):
        _ = obs.site
    with pytest.raises(StaleViewError, match=r"obs\.default\(\): expected to be called within a decision"):
        obs.default()


def all_stale(views: list[object]) -> bool:
    for view in views:
        for name in dir(type(view)):
            if name.startswith("_") or name in ("ordinal", "index"):
                continue
            with pytest.raises(StaleViewError, match=r"view of decision 0: .* copy what you need"):
                getattr(view, name)()  # the name may be a method's
        with pytest.raises(StaleViewError):
            str(view)
    return True
