# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`LEVERS`: what can be switched on in a build to make its program smaller, and what is lost by it.

Most levers act behind clang's front end, so that they are measured on the bitcode of a corpus. Those with
`in_front_end` change what the front end makes: they need the sources that the corpus was made of.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import did_you_mean

ALL: Final = "all"
"""For `--allow`: all groups but `HARDENING`."""

HARDENING: Final = "hardening"
"""The group of levers that make a program easier to attack; it is only allowed by its name."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One thing to switch on."""

    name: str
    rung: str
    """Levers of one rung are alternatives."""
    loses: str = ""
    """What is lost, in one clause; empty if nothing is."""
    group: str = ""
    """The name that allows it; empty for levers that cost nothing."""
    compiling: tuple[str, ...] = ()
    """Flags for clang where it compiles."""
    linking: tuple[str, ...] = ()
    """Flags for clang where it links."""
    machine: tuple[str, ...] = ()
    """Options of LLVM's code generation, for clang and for lld."""
    passpilot: tuple[str, ...] = ()
    """Options of `passpilot cc`, as NAME=VALUE."""
    lto: Literal["", "thin", "full"] = ""
    in_front_end: bool = False
    """Whether it changes the module, so that the front end must run again."""
    only: Literal["", "executable", "pie"] = ""
    """The kind of program that it is for."""

    @property
    def flags(self) -> tuple[str, ...]:
        """All its flags for `passpilot cc`, where the same flags compile and link."""
        machine = [word for option in self.machine for word in ("-mllvm", f"-{option}")]
        ours = [f"--{option}" for option in self.passpilot]
        lto = [f"-flto={self.lto}"] if self.lto else []
        return (*ours, *lto, *self.compiling, *machine, *self.linking)


@dataclass(frozen=True, slots=True)
class LeverSet:
    """Levers that are on together, in their order."""

    levers: tuple[Lever, ...] = ()

    def with_lever(self, lever: Lever) -> LeverSet:
        """The set with one more, which replaces the one of its rung."""
        kept = tuple(each for each in self.levers if each.rung != lever.rung)
        return LeverSet((*kept, lever))

    def without(self, rung: str) -> LeverSet:
        """The set without the lever of a rung."""
        return LeverSet(tuple(lever for lever in self.levers if lever.rung != rung))

    @property
    def lto(self) -> str:
        """``thin``, ``full``, or nothing."""
        return next((lever.lto for lever in self.levers if lever.lto), "")

    @property
    def passpilot(self) -> dict[str, str]:
        """The options of `passpilot cc` by name; unwind tables are a matter of their own levers."""
        found = dict(option.split("=", 1) for lever in self.levers for option in lever.passpilot)
        if "policy" in found or "decisions" in found:
            found.setdefault("unwind", "full")
        return found

    @property
    def decisions(self) -> str:
        """The path of the decision file; empty without one."""
        return self.passpilot.get("decisions", "")

    @property
    def front_end(self) -> tuple[str, ...]:
        """The flags for which the front end must run again."""
        return tuple(flag for lever in self.levers if lever.in_front_end for flag in lever.compiling)

    @property
    def compiling(self) -> list[str]:
        """The flags behind the front end; link-time optimization has the options of code generation."""
        flags = [flag for lever in self.levers if not lever.in_front_end for flag in lever.compiling]
        machine = [] if self.lto else self.machine
        return [*flags, *(word for option in machine for word in ("-mllvm", f"-{option}"))]

    @property
    def machine(self) -> list[str]:
        """Options of code generation."""
        return [option for lever in self.levers for option in lever.machine]

    @property
    def options(self) -> list[str]:
        """LLVM's options of code generation, the plugin's own one included."""
        unwind = self.passpilot.get("unwind")
        return [*self.machine, *([f"unwind={unwind}"] if unwind else [])]

    @property
    def linking(self) -> list[str]:
        """The flags for clang where it links, -flto included."""
        flags = [flag for lever in self.levers for flag in lever.linking]
        if self.lto:
            flags += [f"-flto={self.lto}", *(f"-Wl,-mllvm,-{option}" for option in self.machine)]
        return flags

    @property
    def line(self) -> str:
        """The flags for `passpilot cc`, or for clang, that compile and link with these levers.

        Clang does not warn of those that a compilation does not use.
        """
        ours = [f"--{name}={value}" for name, value in self.passpilot.items()]
        linking = [flag for flag in self.linking if not flag.startswith("-flto")]
        lto = [f"-flto={self.lto}"] if self.lto else []
        begin, end = "--start-no-unused-arguments", "--end-no-unused-arguments"
        quiet = [begin, *self.front_end, *lto, *self.compiling, "-fuse-ld=lld", *linking, end]
        return shlex.join([*ours, *quiet])


def _machine(name: str, rung: str, loses: str, group: str, *options: str) -> Lever:
    return Lever(name, rung, loses, group, machine=options)


_OLD_LOADER: Final = "loaders before glibc 2.36 refuse the program"
_OUTLINER: Final = ("enable-machine-outliner=always", "enable-linkonceodr-outlining")
_OUTLINED: Final = "calls of outlined code take time, and compress badly"
_PROFILERS: Final = (
    "a debugger or profiler that stops in the first instructions of a function does not see its callers"
)
_SHARED: Final = "a stripped program has one entry for several functions"
_BACKTRACES: Final = "backtraces end at functions that no exception passes"

LEVERS: Final = (
    Lever(
        "sections",
        "sections",
        compiling=("-ffunction-sections", "-fdata-sections"),
        linking=("-Wl,--gc-sections",),
    ),
    Lever("icf-safe", "icf", linking=("-Wl,--icf=safe",)),
    Lever("icf-all", "icf", "different functions may have one address", "icf", linking=("-Wl,--icf=all",)),
    Lever(
        "merged-constants",
        "constants",
        "different constants may have one address",
        "constants",
        compiling=("-fmerge-all-constants",),
        in_front_end=True,
    ),
    Lever(
        "hidden",
        "visibility",
        "plug-ins and dlsym do not find the program's names",
        "visibility",
        compiling=("-fvisibility=hidden",),
        in_front_end=True,
        only="executable",
    ),
    Lever(
        "local-names",
        "visibility",
        "shared libraries, plug-ins and dlsym do not find the program's names",
        "visibility",
        linking=(f"-Wl,--version-script={Path(__file__).with_name('local.version')}",),
        only="executable",
    ),
    Lever(
        "relr",
        "relocations",
        _OLD_LOADER,
        "relocations",
        linking=("-Wl,-z,pack-relative-relocs",),
        only="pie",
    ),
    Lever(
        "no-pie",
        "position",
        "hardening: the program has a fixed address",
        HARDENING,
        compiling=("-fno-pie",),
        linking=("-no-pie",),
        in_front_end=True,
        only="pie",
    ),
    Lever("lto-thin", "lto", "links take longer, and need lld", "lto", lto="thin"),
    Lever("lto-full", "lto", "every link compiles the whole program on one processor", "lto", lto="full"),
    Lever("unwind-faults", "unwind", _PROFILERS, "unwind", passpilot=("unwind=faults",)),
    Lever(
        "unwind-shared",
        "unwind",
        f"{_PROFILERS}; {_SHARED}",
        "unwind",
        passpilot=("unwind=shared",),
    ),
    Lever(
        "unwind-exceptions",
        "unwind",
        _BACKTRACES,
        "unwind",
        passpilot=("unwind=exceptions",),
    ),
    Lever(
        "unwind-least",
        "unwind",
        f"{_BACKTRACES}; {_SHARED}",
        "unwind",
        compiling=("-fno-asynchronous-unwind-tables",),
        passpilot=("unwind=shared",),
        in_front_end=True,
    ),
    _machine(
        "merged-functions",
        "merging",
        "backtraces may name another function with the same code",
        "lto",
        "enable-merge-functions",
    ),
    _machine("block-placement", "placement", "", "", "apply-ext-tsp-for-size"),
    _machine("no-machine-licm", "licm", "loops compute constants again", "speed", "disable-machine-licm"),
    _machine("no-lsr", "lsr", "loops compute addresses again", "speed", "disable-lsr"),
    _machine("merged-tails", "tails", "", "", "tail-merge-size=2"),
    _machine(
        "jump-tables-more", "jump-tables", "jumps wait for a load", "speed", "optsize-jump-table-density=10"
    ),
    _machine(
        "jump-tables-fewer", "jump-tables", "switches compare more", "speed", "optsize-jump-table-density=80"
    ),
    _machine("outlining", "outlining", _OUTLINED, "speed", *_OUTLINER),
    _machine("outlining-long", "outlining", _OUTLINED, "speed", *_OUTLINER, "outliner-benefit-threshold=8"),
    Lever(
        "oz",
        "policy",
        "compiling takes longer",
        "oz",
        passpilot=("policy=@oz",),
    ),
)
"""The rungs from the bottom: what costs nothing, the linker, the code."""

DECISIONS: Final = Lever("decisions", "policy", "the decision file belongs to the sources")
"""What `passpilot tune` has found for a program, in place of a policy."""

GROUPS: Final = tuple(dict.fromkeys(lever.group for lever in LEVERS if lever.group))
"""What `--allow` takes, beside the names of levers."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a user allows."""

    names: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def parse(cls, words: Iterable[str]) -> Allowed:
        """Groups and names of levers, and ``all``.

        Raises:
            UsageError: one is unknown.
        """
        names = [name for word in words for name in word.split(",") if name]
        levers = [lever.name for lever in LEVERS if lever.group]
        for name in names:
            if name not in (ALL, *GROUPS, *levers):
                hint = did_you_mean(name, (ALL, *GROUPS, *levers))
                raise UsageError(
                    f"tune: --allow: expected some of {ALL}, {', '.join(GROUPS)}, got {name!r}{hint}"
                )
        return cls(frozenset(names))

    def __call__(self, lever: Lever) -> bool:
        """Whether a lever may be taken."""
        named = lever.name in self.names or lever.group in self.names
        return not lever.group or named or (ALL in self.names and lever.group != HARDENING)

    def by_name(self, lever: Lever) -> bool:
        """Whether the user has named this lever, and not only its group."""
        return lever.name in self.names

    def __str__(self) -> str:
        return ",".join(sorted(self.names))
