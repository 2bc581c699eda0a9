# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runner specs: the text that names a runner, and the registry of the schemes that make runners.

    scheme:target?key=value&key=value        python:policy.py:decide?features=callee_users,cost_estimate
    scheme:target                            random:7
    scheme                                   default
    @policy?key=value                        @oz

The target is taken literally and ends at the first '?'. Only values are percent-decoded, so that a value can
hold '&'. Each scheme declares its keys; any other key is an error.

A built-in scheme's module is imported when the scheme is used. Other schemes come from `@runner_scheme` or
from the entry-point group `passpilot.runners`, which is searched only for schemes that are not built in.

`@NAME` stands for the runner that the policy NAME has for the decision point (`passpilot.runners.policy`).
Its key `recipe=N` chooses the N-th of the policy's recipes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, cast
from urllib.parse import quote, unquote

from passpilot.plugin.errors import Error, ModelError, RunnerSpecError, SpecMismatchError
from passpilot.plugin.extras import needs
from passpilot.plugin.failures import describe_exception, did_you_mean, shown
from passpilot.plugin.origin import definition_origin
from passpilot.plugin.registry import Registry
from passpilot.runners.base import Runner

if TYPE_CHECKING:
    from passpilot.features.point import Point
    from passpilot.runners.python import Observation

LONGEST_TIMEOUT: Final = 1e6
"""In seconds; every system call accepts it as a limit."""

GROUP: Final = "passpilot.runners"
"""The entry-point group for schemes of other packages."""

BUILT_IN: Final = {
    "aot": "passpilot.runners.native:aot_runner",
    "const": "passpilot.runners.native:const_runner",
    "decisions": "passpilot.runners.native:decisions_runner",
    "default": "passpilot.runners.native:default_runner",
    "grpc": "passpilot.runners.grpc:grpc_runner",
    "onnx": "passpilot.runners.native:onnx_runner",
    "pipe": "passpilot.runners.pipe:pipe_runner",
    "python": "passpilot.runners.python:python_runner",
    "random": "passpilot.runners.native:random_runner",
    "replay": "passpilot.runners.replay:replay_runner",
}

_OF_SUFFIX: Final = {".py": "python:{}", ".onnx": "onnx:{}", ".so": "aot:{}", ".log": "replay:{}"}
"""What a path without a scheme probably means, by its suffix."""

_NAME: Final = re.compile(r"[a-z][a-z0-9+_-]*", re.ASCII)
_POLICY: Final = re.compile(r"@[a-z][a-z0-9_-]*", re.ASCII)


class Decider(Protocol):
    """A decision function that is an object; see `passpilot.runners.python`."""

    def decide(self, obs: Observation, /) -> object:
        """The advice on one decision."""


RunnerLike: TypeAlias = "str | Callable[..., object] | Decider | Runner"
"""What `make_runner` accepts."""

RunnerFactory: TypeAlias = "Callable[[str, dict[str, str], Point, float], Runner]"
"""Makes the runner of one scheme: of a target and options for a point; the seconds bound every wait."""

Factory = TypeVar("Factory", bound=RunnerFactory)


@dataclass(frozen=True, slots=True)
class Scheme:
    """The factory of a scheme's runners, and where it was defined."""

    factory: RunnerFactory
    origin: str


SCHEMES: Final = Registry[Scheme]("runner scheme", error=RunnerSpecError, own=BUILT_IN, group=GROUP)
"""The schemes that `--load` files registered; `find_scheme` finds the others, too."""


@dataclass(frozen=True, slots=True)
class RunnerSpec:
    """A parsed runner spec; its `str` parses to the same spec."""

    scheme: str
    """The scheme; for a policy ``@NAME``."""
    target: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = f"{self.scheme}:{self.target}" if self.target else self.scheme
        options = "&".join(f"{key}={quote(value, safe='/:,*@')}" for key, value in self.options.items())
        return f"{text}?{options}" if options else text


def parse_runner_spec(text: str) -> RunnerSpec:
    """Parse a runner spec.

    Raises:
        RunnerSpecError: the text does not follow the grammar.
    """
    head, _, query = text.partition("?")
    scheme, _, target = head.partition(":")
    if _POLICY.fullmatch(head):
        return RunnerSpec(head, "", _parse_options(text, query))
    if not _NAME.fullmatch(scheme):
        raise _refused(text, "scheme:target or scheme", f"{scheme!r} as the scheme{_meant(text, scheme)}")
    return RunnerSpec(scheme, target, _parse_options(text, query))


def _meant(text: str, scheme: str) -> str:
    """A hint for a file without a scheme."""
    suffix = scheme[scheme.rfind(".") :]
    meant = _OF_SUFFIX.get(suffix, "").format(text)
    return f"; did you mean '{meant}'?" if meant else ""


def _parse_options(text: str, query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in query.split("&") if query else ():
        key, equals, value = part.partition("=")
        if not equals or not _NAME.fullmatch(key):
            raise _refused(text, "key=value after '?' and '&'", repr(shown(f"?{part}")[1:]))
        if key in options:
            raise _refused(text, f"one value for {key!r}", "two")
        try:
            options[key] = unquote(value, errors="strict")
        except UnicodeDecodeError as error:
            raise _refused(
                text, f"a value of {key!r} that decodes to UTF-8", repr(shown(f"?{part}").partition("=")[2])
            ) from error
    return options


def check_runner_spec(text: str) -> None:
    """Make sure that somebody knows the scheme of a spec, before much work is done; no runner is made.

    Raises:
        RunnerSpecError: the spec is malformed, or nobody has registered its scheme.
    """
    spec = parse_runner_spec(text)
    if not spec.scheme.startswith("@"):
        find_scheme(spec.scheme)


def make_runner(spec: RunnerLike, point: Point, *, timeout: float = 10.0) -> Runner:
    """Make the runner that `spec` names, and check that it fits `point`.

    `spec` is a spec text, a decision function in Python (see `passpilot.runners.python`), or a runner, which
    is returned unchanged. `timeout` in seconds bounds every wait for another process.

    Raises:
        RunnerSpecError: the spec, its scheme or one of its keys is wrong.
        SpecMismatchError: the runner wants a tensor that the point does not offer, or answers another advice.
        Error: the runner's construction failed.
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
    if spec.scheme.startswith("@"):
        return _of_policy(text, point, timeout)
    scheme = find_scheme(spec.scheme)
    known = tuple(getattr(scheme.factory, "runner_keys", ()))
    if unknown := [key for key in spec.options if key not in known]:
        keys = f"keys among {', '.join(known)}" if known else f"no keys for scheme {spec.scheme!r}"
        raise _refused(text, keys, f"{', '.join(unknown)}{did_you_mean(unknown[0], known)}")
    runner = _made(spec, scheme, point, timeout)
    try:
        _check_fit(runner, text, point)
    except BaseException:
        runner.close()
        raise
    return runner


def _of_policy(text: str, point: Point, timeout: float) -> Runner:
    from passpilot.runners.policy.prepare import policy_record

    record = policy_record(text)
    runner = _from_text(record.runner(text, point.name), point, timeout)
    runner.named_by = record
    return runner


def _made(spec: RunnerSpec, scheme: Scheme, point: Point, timeout: float) -> Runner:
    try:
        runner: object = scheme.factory(spec.target, dict(spec.options), point, timeout)
    except Error:
        raise
    except Exception as error:
        who = f"runner {shown(str(spec))}"
        msg = f"{who}: expected the scheme of {scheme.origin} to make it, got {describe_exception(error)}"
        raise ModelError(msg) from error
    if not isinstance(runner, Runner):
        msg = f"scheme {spec.scheme!r} of {scheme.origin}: expected a Runner from the factory, got {runner!r}"
        raise RunnerSpecError(msg)
    return runner


def _check_fit(runner: Runner, text: str, point: Point) -> None:
    try:
        point.check(runner.inputs)
    except SpecMismatchError as error:
        raise SpecMismatchError(f"runner {shown(text)} at {error}") from None
    if str(runner.output) != str(point.advice):
        who = f"runner {shown(text)} at decision point {point.name}"
        advice = f"{point.advice.name} as {point.advice}"
        raise SpecMismatchError(f"{who}: expected the advice {advice}, got {runner.output}")


def runner_keys(*keys: str) -> Callable[[Factory], Factory]:
    """Declare the keys that the decorated factory accepts after '?'; the default is none."""

    def declare(factory: Factory) -> Factory:
        factory.runner_keys = keys  # type: ignore[attr-defined]
        return factory

    return declare


def chosen_protocol(who: str, options: dict[str, str], keys: Mapping[str, Sequence[str]]) -> str:
    """Take `protocol` out of a scheme's options, and check the others against its `keys`.

    Raises:
        RunnerSpecError: the scheme does not have the protocol, or the protocol lacks a key.
    """
    protocol = options.pop("protocol", "passpilot")
    if protocol not in keys:
        raise RunnerSpecError(f"{who}: expected a protocol among {', '.join(keys)}, got {protocol!r}")
    if unknown := [key for key in options if key not in keys[protocol]]:
        expected = f"keys of the protocol {protocol} ({', '.join(keys[protocol])})"
        raise RunnerSpecError(f"{who}: expected {expected}, got {', '.join(unknown)}")
    return protocol


def runner_scheme(name: str, *, keys: tuple[str, ...] = ()) -> Callable[[Factory], Factory]:
    """Register the decorated factory as the scheme `name`, which accepts `keys`; for `--load` files.

    Raises:
        RunnerSpecError: the name is invalid or taken, or the factory does not take the four arguments.
    """

    def register(factory: Factory) -> Factory:
        origin = definition_origin()
        _check_registration(name, factory, origin)
        SCHEMES.add(name, Scheme(runner_keys(*keys)(factory) if keys else factory, origin))
        return factory

    return register


def _check_registration(name: str, factory: RunnerFactory, origin: str) -> None:
    import inspect

    who = f"runner scheme {name!r} at {origin}"
    if not _NAME.fullmatch(name):
        raise RunnerSpecError(f"{who}: expected a name of a-z, 0-9, '+', '-' and '_', got {name!r}")
    try:
        inspect.signature(factory).bind("", {}, None, 0.0)
    except TypeError as error:
        msg = f"{who}: expected a factory of (target, options, point, timeout), got {factory!r}: {error}"
        raise RunnerSpecError(msg) from error


def find_scheme(name: str) -> Scheme:
    """Find a scheme that is built in, registered, or from an installed package.

    Raises:
        RunnerSpecError: the scheme is unknown, or its entry point cannot be loaded.
        InputError: the scheme needs packages that are not installed.
    """
    if name in BUILT_IN:
        with needs("grpc", f"runner {name}"):  # no other scheme needs an extra
            factory = cast("RunnerFactory", SCHEMES.import_own(name))
        return Scheme(factory, "passpilot itself")
    if name in SCHEMES:
        return SCHEMES[name]
    entry = SCHEMES.entry(name)
    if entry is None:
        from passpilot.runners.policy.bundle import installed_names

        known = SCHEMES.names()
        msg = (
            f"runner scheme {name!r}: expected one of {', '.join(known)}, or @NAME, a policy; others come "
            "from --load files (@passpilot.runner_scheme) and from packages with entry points in the group "
            f"{GROUP!r}"
        )
        policies = (f"@{policy}" for policy in installed_names())
        raise RunnerSpecError(f"{msg}{did_you_mean(name, [*known, *policies])}")
    return Scheme(cast("RunnerFactory", SCHEMES.imported(entry)), entry.value)


def _refused(text: str, expected: str, got: str) -> RunnerSpecError:
    return RunnerSpecError(f"runner {shown(text) or repr(text)}: expected {expected}, got {got}")
