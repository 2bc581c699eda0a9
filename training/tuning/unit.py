# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One module under search: a choice of decisions makes an object of it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from passpilot.passes.emit import generate
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import PipelineOptions, file_type, llvm_options
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.plugin.json_and_toml import parse_json
from passpilot.plugin.module import Module
from passpilot.training.tuning.decision_file import CallKey, word_kind
from passpilot.training.tuning.parts import PARTS
from passpilot.training.tuning.recipes import Below

if TYPE_CHECKING:
    from passpilot.runners.python import Observation

LAST: Final = "optimizer-last"
"""The extension point of the searched pipelines: every door has it."""

LINK_LAST: Final = "full-link-time-optimization-last"
"""The same in link-time optimization."""

OPT_LEVEL: Final = 2
"""The level of code generation, llc's default."""

SECTIONS: Final = ("-function-sections", "-data-sections", "-addrsig")
"""As clang has them, so that a linker can drop what is not used, and fold what is the same."""

PROFILE: Final = "profile="
"""What an option for the program's profile begins with."""

KEPT: Final = 64
"""The most modules that a worker of a cluster keeps."""


class Asked(NamedTuple):
    """A question and its answer in one compilation."""

    inlined: bool
    default: bool
    """LLVM's own decision in the same situation."""
    cost: int = 0


@dataclass(frozen=True, slots=True)
class UnitChoice:
    """What is tried on a module: decisions for some calls, a pipeline, options. The rest is `policy`'s."""

    inline: Mapping[CallKey, bool] = field(default_factory=dict)
    tail: str = ""
    """The pipeline at `LAST`."""
    options: tuple[str, ...] = ()
    """LLVM's, for code generation, as NAME or NAME=VALUE."""
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is decided about functions, as `UnitDecisions` has it."""
    policy: Callable[[Observation], bool] | None = None
    """Decides the calls that `inline` does not name; None for LLVM."""


LLVMS_OWN: Final = UnitChoice()


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a choice makes of a module."""

    code: bytes
    asked: Mapping[CallKey, Asked]
    """All questions, in their order."""
    choice: UnitChoice
    """The choice without a policy; it names exactly the decisions that are not LLVM's."""
    seconds: float
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What `PARTS` measures of the functions, by the unit's `rewards`."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A module under search.

    Attributes:
        module: the module before the pipeline; it stays unchanged.
        pipeline: the pipeline that is searched around, such as ``default<Oz>``.
        relocation_model: the code generator's, such as ``pic``; empty for the target's default.
        sections: whether a function has a section of its own, so that a linker can drop it.
        rewards: names of `PARTS` to measure.
        as_clang: whether the pipeline is clang's of the level, not opt's.
        options: LLVM's for code generation, as NAME or NAME=VALUE, which the build has in any case; the
            profile of the program is one as ``profile=FILE``.
    """

    module: Module
    pipeline: str
    relocation_model: str = "pic"
    sections: bool = False
    rewards: tuple[str, ...] = ()
    as_clang: bool = False
    options: tuple[str, ...] = ()

    @property
    def profile(self) -> str:
        """The path of the program's profile; empty for none."""
        return next((option[len(PROFILE) :] for option in self.options if option.startswith(PROFILE)), "")

    @property
    def name(self) -> str:
        """The source file, by which a decision file finds the module."""
        return self.module.source_file

    @property
    def is_program(self) -> bool:
        """Whether this is the whole program in link-time optimization."""
        return self.pipeline.startswith("lto<")

    @property
    def has_tables(self) -> bool:
        """Whether the target has unwind tables that can be smaller; others warn."""
        machine, _, system = self.module.triple.partition("-")
        is_elf = not any(name in system for name in ("windows", "darwin", "macos", "ios", "uefi", "win32"))
        return is_elf and machine.startswith(("x86_64", "i386", "i486", "i586", "i686", "aarch64", "riscv"))

    @property
    def visible(self) -> frozenset[str]:
        """The functions that other modules can see."""
        functions = self.module.functions
        return frozenset(
            function.name for function in functions if function.linkage not in ("internal", "private")
        )

    def __reduce__(self) -> tuple[object, ...]:
        settings = (getattr(self, setting.name) for setting in fields(self)[1:])
        return received_unit, (self.module.bitcode(), *settings)

    def worded(self, choice: UnitChoice, word: str) -> dict[str, tuple[str, ...]]:
        """The function decisions of a choice, with a word for all functions that have none of its kind."""
        found = dict(choice.functions)
        for function in self.module.functions:
            words = found.get(function.name, ())
            if not function.is_declaration and word_kind(word) not in map(word_kind, words):
                found[function.name] = (*words, word)
        return found

    def digest(self) -> bytes:
        """A hash of all that compilations have in common."""
        settings = tuple(getattr(self, setting.name) for setting in fields(self)[1:])
        try:
            profile = read_regular(self.profile) if self.profile else b""
        except OSError as error:
            got = f"got: {error.strerror}"
            raise InputError(f"profile {self.profile}: expected a readable file, {got}") from error
        return hashlib.sha256(self.module.bitcode() + repr(settings).encode() + profile).digest()

    def key(self, choice: UnitChoice) -> str:
        """The text of a choice in the keys of a cache; empty if no text says enough about its policy."""
        if not isinstance(choice.policy, Below | None):
            return ""
        inline, functions = sorted(choice.inline.items()), sorted(choice.functions.items())
        return repr((inline, choice.tail, choice.options, functions, choice.policy))

    def packed(self, compiled: Compiled) -> bytes:
        """A result as a cache has it: the questions as JSON, and behind them the object."""
        text = json.dumps(
            {
                "asked": [[*call, *asked] for call, asked in compiled.asked.items()],
                "inline": [[*call, inlined] for call, inlined in compiled.choice.inline.items()],
                "seconds": compiled.seconds,
                "parts": compiled.parts,
            }
        ).encode()
        return len(text).to_bytes(8, "little") + text + compiled.code

    @staticmethod
    def unpacked(data: bytes, path: str, choice: UnitChoice) -> Compiled:
        """The result of `packed`."""
        size = int.from_bytes(data[:8], "little")
        table: Any = parse_json(data[8 : 8 + size], path)
        asked = {CallKey(*row[:3]): Asked(*row[3:]) for row in table["asked"]}
        inline = {CallKey(*row[:3]): row[3] for row in table["inline"]}
        decided = UnitChoice(inline, choice.tail, choice.options, choice.functions)
        return Compiled(data[8 + size :], asked, decided, float(table["seconds"]), table["parts"])

    def warm_up(self) -> None:
        """Let child processes find imports and tables of LLVM made."""
        warm_up(self.rewards)

    def compile(self, choice: UnitChoice) -> Compiled:
        """Compile in this process, which should end afterwards: LLVM's options stay set."""
        began = time.monotonic()
        module = self.module.copy()
        asked: dict[CallKey, Asked] = {}
        counts: dict[tuple[str, str], int] = {}
        policy = choice.policy

        def decide(obs: Observation) -> bool:
            site = obs.site
            pair = site.caller.name, site.callee.name  # type: ignore[attr-defined]
            counts[pair] = number = counts.get(pair, 0) + 1
            call = CallKey(*pair, number)
            default = bool(obs.default())
            inlined = choice.inline.get(call)
            if inlined is None:
                inlined = default if policy is None else bool(policy(obs))
            asked[call] = Asked(inlined, default, int(obs["cost_estimate"].item()))
            return inlined

        last = LINK_LAST if self.is_program else LAST
        at = {last: choice.tail} if choice.tail else {}
        advisor = InlineAdvisor(decide)
        advisor.may_idle = True  # a unit without calls has nothing to ask
        if given := [f"-{option}" for option in self.options if not option.startswith(PROFILE)]:
            llvm_options(given)
        if self.as_clang and self.relocation_model:  # clang's passes know it, opt's do not
            llvm_options([f"-relocation-model={self.relocation_model}"])
        wanted = PipelineOptions(as_clang=self.as_clang, functions=choice.functions)
        optimize(module, self.pipeline, [advisor], at=at, options=wanted, profile=self.profile)
        flags = [*SECTIONS] * self.sections + [f"-{option}" for option in choice.options]
        if flags:
            llvm_options(flags)
        parts = {name: PARTS[name](module.copy(), self._options()) for name in self.rewards}
        code = generate(module, self._options(), []).code
        differing = {
            call: answer.inlined for call, answer in asked.items() if answer.inlined != answer.default
        }
        decided = replace(choice, inline=differing, policy=None)
        return Compiled(code, asked, decided, time.monotonic() - began, parts)

    def _options(self) -> _core.EmitOptions:
        options = _core.EmitOptions()
        options.filetype, options.opt_level = file_type("obj"), OPT_LEVEL
        options.relocation_model = self.relocation_model
        return options


@lru_cache(KEPT)
def _module(code: bytes) -> Module:
    return Module(code)


def received_unit(code: bytes, *settings: Any) -> Unit:
    """In a worker of a cluster: the unit that was sent as bitcode and the other fields."""
    warm_up(())
    return Unit(_module(code), *settings)


@cache
def warm_up(rewards: tuple[str, ...]) -> None:
    """Compile a function, once in this process, so that its children find imports and tables of LLVM made."""
    module = Module(b"define i32 @f(i32 %x) {\n  ret i32 %x\n}\n")
    Unit(module, "default<Oz>", "", rewards=rewards).compile(LLVMS_OWN)
