# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runner specs: the text that names a runner, and the table of those who build it.

    scheme:target?key=value&key=value        python:policy.py:decide?features=callee_users,cost_estimate
    scheme:target                            random:7
    scheme                                   default

The target is taken as it stands and ends at the first '?'. Values, and only they, are percent-decoded, so
that a value can hold '&'. Each scheme knows its keys; any other key is an error.

Built-in schemes are a table of lazy places: a module is imported when its scheme is used, and entry points
are looked for only when a scheme is not among them. Others come from `@runner_scheme` or from the entry-point
group `passpilot.runners`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, cast
from urllib.parse import quote, unquote

from passpilot.plugin.errors import Error, ModelError, RunnerSpecError, SpecMismatchError
from passpilot.runners.base import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from passpilot.features.point import Point
    from passpilot.runners.python import Observation

LONGEST_TIMEOUT: Final = 1e6
"""Seconds that every system call can still take as a limit."""

GROUP: Final = "passpilot.runners"
"""The entry-point group for schemes of other distributions."""

BUILT_IN: Final = {
    "aot": "passpilot.runners.native:aot_runner",
    "const": "passpilot.runners.native:const_runner",
    "default": "passpilot.runners.native:default_runner",
    "grpc": "passpilot.runners.grpc:grpc_runner",
    "onnx": "passpilot.runners.native:onnx_runner",
    "pipe": "passpilot.runners.pipe:pipe_runner",
    "python": "passpilot.runners.python:python_runner",
    "random": "passpilot.runners.native:random_runner",
    "replay": "passpilot.runners.replay:replay_runner",
}

_SECRET: Final = re.compile(r"(?<=[?&]token=)(?!@)[^&]+")
_NAME: Final = re.compile(r"[a-z][a-z0-9+_-]*", re.ASCII)
_FACTORIES: Final[dict[str, tuple[RunnerFactory, str]]] = {}


class Decider(Protocol):
    """A policy that is an object; see `passpilot.runners.python`."""

    def decide(self, obs: Observation, /) -> object:
        """The advice on one decision."""


RunnerLike: TypeAlias = "str | Callable[..., object] | Decider | Runner"
"""What `make_runner` makes a runner of."""


class RunnerFactory(Protocol):
    """Builds the runner of one scheme for one point; `timeout` in seconds bounds each of its waits."""

    def __call__(self, target: str, options: dict[str, str], point: Point, timeout: float, /) -> Runner: ...


Factory = TypeVar("Factory", bound=RunnerFactory)


@dataclass(frozen=True, slots=True)
class RunnerSpec:
    """A runner spec taken apart; its `str` is a text that parses to the same."""

    scheme: str
    target: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = f"{self.scheme}:{self.target}" if self.target else self.scheme
        options = "&".join(f"{key}={quote(value, safe='/:,*@')}" for key, value in self.options.items())
        return f"{text}?{options}" if options else text


def parse_runner_spec(text: str) -> RunnerSpec:
    """The parts of a runner spec.

    Raises:
        RunnerSpecError: the text does not follow the grammar.
    """
    head, _, query = text.partition("?")
    scheme, _, target = head.partition(":")
    if not _NAME.fullmatch(scheme):
        hint = f"; did you mean 'python:{text}'?" if scheme.endswith(".py") else ""
        raise _refused(text, "scheme:target or scheme", f"{scheme!r} as the scheme{hint}")
    return RunnerSpec(scheme, target, _parse_options(text, query))


def shown(text: str) -> str:
    """The text of a spec as others may see it: without the token that it may have."""
    return _SECRET.sub("...", text)


def _parse_options(text: str, query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in query.split("&") if query else ():
        key, equals, value = part.partition("=")
        if not equals or not _NAME.fullmatch(key):
            raise _refused(text, "key=value after '?' and '&'", repr(part))
        if key in options:
            raise _refused(text, f"one value for {key!r}", "two")
        try:
            options[key] = unquote(value, errors="strict")
        except UnicodeDecodeError as error:
            raise _refused(text, f"a value of {key!r} that decodes to UTF-8", repr(value)) from error
    return options


def make_runner(spec: RunnerLike, point: Point, *, timeout: float = 10.0) -> Runner:
    """The runner that `spec` names, built for `point` and checked against what it offers.

    `spec` is a spec text, a Python policy (see `passpilot.runners.python`), or a runner, which is returned as
    it is. `timeout` in seconds bounds every wait for another process.

    Raises:
        RunnerSpecError: the spec, its scheme or one of its keys is wrong.
        SpecMismatchError: the runner wants a tensor that the point does not offer, or answers another advice.
        Error: whatever else the runner's own construction raises.
    """
    if not 0 < timeout <= LONGEST_TIMEOUT:
        who = f"runner {shown(str(spec))}"
        msg = f"{who}: expected a timeout of more than 0 seconds, at most a million, got {timeout}"
        raise RunnerSpecError(msg)
    if isinstance(spec, Runner):
        _check_fit(spec, str(type(spec).__name__), point)
        return spec
    if isinstance(spec, str):
        return _from_text(spec, point, timeout)
    from passpilot.runners.python import PythonRunner

    return PythonRunner(spec, point)


def _from_text(text: str, point: Point, timeout: float) -> Runner:
    spec = parse_runner_spec(text)
    factory, origin = find_factory(spec.scheme)
    known = tuple(getattr(factory, "runner_keys", ()))
    if unknown := [key for key in spec.options if key not in known]:
        keys = f"keys among {', '.join(known)}" if known else f"no keys for scheme {spec.scheme!r}"
        raise _refused(text, keys, ", ".join(unknown))
    runner = _made(spec, factory, origin, point, timeout)
    try:
        _check_fit(runner, text, point)
    except BaseException:
        runner.close()
        raise
    return runner


def _made(spec: RunnerSpec, factory: RunnerFactory, origin: str, point: Point, timeout: float) -> Runner:
    try:
        runner: object = factory(spec.target, dict(spec.options), point, timeout)
    except Error:
        raise
    except Exception as error:
        from passpilot.runners.python import describe_exception

        who = f"runner {shown(str(spec))}"
        msg = f"{who}: expected the scheme of {origin} to make it, got {describe_exception(error)}"
        raise ModelError(msg) from error
    if not isinstance(runner, Runner):
        msg = f"scheme {spec.scheme!r} of {origin}: expected a Runner from the factory, got {runner!r}"
        raise RunnerSpecError(msg)
    return runner


def _check_fit(runner: Runner, text: str, point: Point) -> None:
    try:
        point.check(runner.inputs)
    except SpecMismatchError as error:
        msg = f"runner {shown(text)} at {error}"
        raise SpecMismatchError(msg) from None
    if str(runner.output) != str(point.advice):
        who = f"runner {shown(text)} at decision point {point.name}"
        advice = f"{point.advice.name} as {point.advice}"
        raise SpecMismatchError(f"{who}: expected the advice {advice}, got {runner.output}")


def runner_keys(*keys: str) -> Callable[[Factory], Factory]:
    """Declare the keys that the decorated factory understands after '?'; without it, none are."""

    def declare(factory: Factory) -> Factory:
        factory.runner_keys = keys  # type: ignore[attr-defined]
        return factory

    return declare


def runner_scheme(name: str, *, keys: tuple[str, ...] = ()) -> Callable[[Factory], Factory]:
    """Register the decorated factory as the scheme `name`, which understands `keys`; for `--load` files.

    Raises:
        RunnerSpecError: the name is not valid or taken, or the factory does not take its four arguments.
    """

    def register(factory: Factory) -> Factory:
        caller = sys._getframe(1)
        origin = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        _check_registration(name, factory, origin)
        _FACTORIES[name] = (runner_keys(*keys)(factory) if keys else factory, origin)
        return factory

    return register


def unregister_scheme(name: str) -> None:
    """Take a registered scheme back, so that its name is free again; for notebooks and tests."""
    _FACTORIES.pop(name, None)


def _check_registration(name: str, factory: RunnerFactory, origin: str) -> None:
    import inspect

    who = f"runner scheme {name!r} at {origin}"
    if not _NAME.fullmatch(name):
        msg = f"{who}: expected a name of a-z, 0-9, '+', '-' and '_', got {name!r}"
        raise RunnerSpecError(msg)
    if name in BUILT_IN or name in _FACTORIES:
        owner = "passpilot itself" if name in BUILT_IN else _FACTORIES[name][1]
        msg = f"{who}: expected a new name, got one that {owner} owns"
        raise RunnerSpecError(msg)
    try:
        inspect.signature(factory).bind("", {}, None, 0.0)
    except TypeError as error:
        msg = f"{who}: expected a factory of (target, options, point, timeout), got {factory!r}: {error}"
        raise RunnerSpecError(msg) from error


def find_factory(scheme: str) -> tuple[RunnerFactory, str]:
    """The factory of a scheme, and where it comes from.

    Raises:
        RunnerSpecError: no such scheme is known, or the entry point that has it cannot be loaded.
    """
    if scheme in BUILT_IN:
        module, _, name = BUILT_IN[scheme].partition(":")
        return cast("RunnerFactory", getattr(import_module(module), name)), "passpilot itself"
    if scheme in _FACTORIES:
        return _FACTORIES[scheme]
    return _from_entry_point(scheme)


def _from_entry_point(scheme: str) -> tuple[RunnerFactory, str]:
    from importlib.metadata import entry_points

    offered = entry_points(group=GROUP)
    found = {entry.value: entry for entry in offered.select(name=scheme)}
    if not found:
        names = sorted({*BUILT_IN, *_FACTORIES, *offered.names})
        msg = (
            f"runner scheme {scheme!r}: expected one of {', '.join(names)}; others come from --load files "
            f"(@passpilot.runner_scheme) and from packages with entry points in the group {GROUP!r}"
        )
        raise RunnerSpecError(msg)
    if len(found) > 1:
        msg = f"runner scheme {scheme!r}: expected one entry point in {GROUP!r}, got {' and '.join(found)}"
        raise RunnerSpecError(msg)
    ((origin, entry),) = found.items()
    try:
        return cast("RunnerFactory", entry.load()), origin
    except Error:
        raise
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        msg = f"runner scheme {scheme!r}: expected an entry point {origin} that can be loaded, got {got}"
        raise RunnerSpecError(msg) from error


def _refused(text: str, expected: str, got: str) -> RunnerSpecError:
    return RunnerSpecError(f"runner {shown(text)}: expected {expected}, got {got}")
