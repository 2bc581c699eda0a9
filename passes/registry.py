# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which passes in Python there are: those that a decorator of `passpilot.llvm` has registered, and those of
other distributions, found by their entry points in the group ``passpilot.passes`` when they are named.

What does not fit is refused at registration: a name that LLVM or another pass has, a class that is no frozen
dataclass, a field that cannot be an option, a `run` that cannot be called with one unit of IR.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import TYPE_CHECKING, Final, Literal

from passpilot.passes.llvm_names import NAME, is_llvm_name
from passpilot.passes.options import Option, options_of
from passpilot.plugin.errors import Error, RegistrationError

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP: Final = "passpilot.passes"
"""The entry-point group for passes of other distributions; an entry is ``NAME = "module:Class"``."""

OWN: Final = {
    "advised-function-pipeline": "passpilot.passes.advised_pipeline:AdvisedFunctionPipeline",
    "advised-pipeline": "passpilot.passes.advised_pipeline:AdvisedPipeline",
    "advised-size": "passpilot.passes.size:AdvisedSize",
    "advised-unroll": "passpilot.passes.unroll:AdvisedUnroll",
}
"""The passes that come with passpilot, as such entries."""

DEFINITION: Final = "__passpilot_pass__"
"""The attribute of a pass class that holds its definition."""

Level = Literal["module", "cgscc", "function", "loop"]

_PASSES: Final[dict[str, PassDefinition]] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class PassDefinition:
    """A pass in Python: its class, and what LLVM has to know of it."""

    name: str
    level: Level
    kind: type
    required: bool
    options: tuple[Option, ...]
    doc: str
    origin: str

    def __str__(self) -> str:
        options = " ".join(map(str, self.options))
        return f"{self.name}{{{options}}}" if options else self.name


def check_name(name: object, origin: str) -> None:
    """Make sure that a pass can have this name.

    Raises:
        RegistrationError: it is none; a decorator without parentheses gets the class for one.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        who = f"pass {name!r} at {origin}"
        raise RegistrationError(f"{who}: expected a name in kebab-case, such as 'my-pass', got {name!r}")


def define(kind: object, name: str, level: Level, origin: str, *, required: bool) -> PassDefinition:
    """The definition of a pass class, checked but not registered yet.

    Raises:
        RegistrationError: the class does not fit.
    """
    who = f"pass {name!r} at {origin}"
    for problem in _problems(kind):
        raise RegistrationError(f"{who}: expected {problem}")
    assert isinstance(kind, type), "checked above"
    try:
        options = options_of(kind)
    except TypeError as error:
        raise RegistrationError(f"{who}: expected {error}") from error
    doc = (kind.__dict__.get("__doc__") or "").partition("\n")[0]
    if doc.startswith(f"{kind.__name__}("):  # what dataclass writes of itself
        doc = ""
    return PassDefinition(name, level, kind, required, options, doc, origin)


def add(definition: PassDefinition) -> None:
    """Register a definition; nothing happens if it is registered.

    Raises:
        RegistrationError: LLVM, another pass or another distribution owns the name.
    """
    if _PASSES.get(definition.name) is definition:
        return
    if owner := _owner(definition):
        who = f"pass {definition.name!r} at {definition.origin}"
        raise RegistrationError(f"{who}: expected a new name, got one that {owner} owns")
    _PASSES[definition.name] = definition


def definition_of(kind: object) -> PassDefinition | None:
    """What a decorator of `passpilot.llvm` made of a class; None if none did."""
    return kind.__dict__.get(DEFINITION) if isinstance(kind, type) else None


def _owner(definition: PassDefinition) -> str | None:
    """Who has the name already."""
    if is_llvm_name(definition.name):
        return "LLVM itself"
    if taken := _PASSES.get(definition.name):
        return f"the pass at {taken.origin}"
    package = definition.kind.__module__.partition(".")[0]
    foreign = (entry for entry in _offered().select(name=definition.name) if _package(entry) != package)
    return next((f"the entry point {entry.value}" for entry in foreign), None)


def unregister(name: str) -> None:
    """Take a pass back, so that its name is free again; for notebooks and tests.

    Raises:
        RegistrationError: there is no pass of this name.
    """
    if _PASSES.pop(name, None) is None:
        raise RegistrationError(f"pass {name!r}: expected a registered pass, got none of this name")


def find(name: str) -> PassDefinition | None:
    """The pass of this name; None if it is LLVM's, or nobody's.

    Raises:
        Error: the entry point of this name cannot be used.
    """
    if name not in _PASSES and NAME.fullmatch(name) and not is_llvm_name(name):
        _load(name)
    return _PASSES.get(name)


def known() -> list[PassDefinition]:
    """All passes by name, those of entry points included.

    Raises:
        Error: an entry point cannot be used.
    """
    for name in sorted(_offered().names):
        find(name)
    return [_PASSES[name] for name in sorted(_PASSES)]


@cache
def _offered() -> EntryPoints:
    own = (EntryPoint(name, value, GROUP) for name, value in OWN.items())
    return EntryPoints((*own, *entry_points(group=GROUP)))


def _package(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0]


def _load(name: str) -> None:
    """Import the entry point of this name, if there is one, and register the pass that it names.

    Its module does that, too, but only where it is imported for the first time.
    """
    found = {entry.value: entry for entry in _offered().select(name=name)}
    if not found:
        return
    who = f"pass {name!r} of entry point {' and '.join(found)}"
    if len(found) > 1:
        raise RegistrationError(f"{who}: expected one distribution that has the name, got {len(found)}")
    (entry,) = found.values()
    kind = _loaded(who, entry)
    definition = definition_of(kind)
    if definition is None or definition.name != name:
        raise RegistrationError(
            f"{who}: expected a class that a decorator of passpilot.llvm names {name!r}, got {kind!r}"
        )
    add(definition)


def _loaded(who: str, entry: EntryPoint) -> object:
    try:
        return entry.load()
    except Error:
        raise
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise RegistrationError(f"{who}: expected it to be imported, got {got}") from error


def _problems(kind: object) -> Iterator[str]:
    """What is wrong with a class, the worst first."""
    if not isinstance(kind, type):
        yield f"a class, got {kind!r}"
        return
    parameters = kind.__dict__.get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        got = "a dataclass that is not frozen" if parameters else "a plain class"
        yield f"a frozen dataclass, got {got}, {kind.__name__}; write @dataclass(frozen=True) below"
    run = getattr(kind, "run", None)
    if not inspect.isfunction(run) or inspect.iscoroutinefunction(run) or inspect.isgeneratorfunction(run):
        yield f"a method run(self, unit), got {'none' if run is None else repr(run)}"
        return
    signature = inspect.signature(run)
    try:
        signature.bind(None, None)
    except TypeError:
        yield f"a method run(self, unit), got run{signature}"
