# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python:FILE_or_module:NAME[?features=a,b]`: a decision function written in Python.

NAME is one of

* a function of one observation;
* a class, which is instantiated without arguments and asked through its `decide` or `__call__`;
* a function marked by `@passpilot.policy_factory`, which is called without arguments and returns one of
  these.

    def decide(obs):
        return obs["cost_estimate"] < 50 or obs.default()

    decide.features = ("cost_estimate",)

`features`, on the function or class or in the spec, names the tensors to bind; the default is the decision
point's own features. Tensors that are not bound are not computed, unless the function reads one after all.
The runner calls `switch_context(name)` and `close()` of an object that has them.

A file is run once per process, so that two decision functions in it share their module. One object may serve
several advisors: every advisor has its own runner and observation, and `obs.point` names the decision point.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import TypeVar, cast, overload

from passpilot.features.domain import Flag
from passpilot.features.point import Point, find_point
from passpilot.plugin.errors import Error, PolicyError, RunnerSpecError
from passpilot.plugin.failures import describe_exception, did_you_mean, headline
from passpilot.plugin.process_end import is_interrupt
from passpilot.runners.base import Frame, Host, Runner, Tensor, own_features
from passpilot.runners.scalar import ScalarTensor
from passpilot.runners.spec import runner_keys

DecisionFunction = Callable[["Observation"], object]

AnyFunction = TypeVar("AnyFunction", bound="Callable[[], object]")
Other = TypeVar("Other")


class Observation(dict[str, "Tensor"]):
    """One decision: the bound tensors by name, as numpy views that stay the same objects.

    `context` names what the compiler works on, for register allocation the function. An offered tensor that
    is not bound is computed on access, for the current decision; a function in another process has only the
    tensors that it declared. `name in obs` and `obs.get(name)` agree with `obs[name]`; iterating and `len`
    cover the bound tensors.
    """

    __slots__ = ("_host", "_point", "context")

    def __init__(
        self,
        tensors: Mapping[str, Tensor] | None = None,
        host: Host | None = None,
        point: Point | None = None,
    ) -> None:
        super().__init__(tensors or {})
        self._host = host
        self._point = point or find_point("inline")
        self.context = ""
        """The name of what the compiler works on."""

    @property
    def point(self) -> str:
        """The name of the decision point: ``inline``, ``evict`` or ``priority``."""
        return self._point.name

    @property
    def site(self) -> object:
        """A view of the IR at the decision: a call site, an eviction candidate, or a live range.

        Raises:
            PolicyError: the decision function is not in the compiler's process.
        """
        if self._host is None:
            raise PolicyError(
                "obs.site: expected a decision function inside the compiler, got one in another process, "
                "where there is no IR; declare custom features, or use python: instead of pipe: or grpc:"
            )
        return self._host.site

    def default(self) -> bool | int | float:
        """The compiler's own decision, computed on demand: whether to inline, a column, or a priority.

        Raises:
            PolicyError: the function is in another process and did not declare the tensor that holds it.
        """
        if self._host is not None:
            return self._host.default()
        name = self._point.default.name
        if name in self:
            value: int | float = self[name].item()
            return bool(value) if isinstance(self._point.domain, Flag) else value
        raise PolicyError(
            f"obs.default(): expected the tensor {name!r} from the compiler, which is another process, "
            f"got none; declare it: decide.features = (..., {name!r})"
        )

    def __contains__(self, name: object) -> bool:
        """Whether `obs[name]` has a value; also true for offered tensors that are computed on access."""
        if dict.__contains__(self, name):
            return True
        return self._host is not None and isinstance(name, str) and self._point.find(name) is not None

    @overload
    def get(self, name: str, default: None = None, /) -> Tensor | None: ...
    @overload
    def get(self, name: str, default: Tensor, /) -> Tensor: ...
    @overload
    def get(self, name: str, default: Other, /) -> Tensor | Other: ...

    def get(self, name: str, default: object = None, /) -> object:
        """`obs[name]`, or the default if it has no value."""
        return self[name] if name in self else default  # noqa: SIM401  (dict.get sees bound tensors only)

    def __missing__(self, name: str) -> Tensor:
        if self._host is not None:
            return self._host.feature(name)
        raise PolicyError(
            f"obs[{name!r}]: expected one of the tensors that were declared ({', '.join(self)}), "
            f"got another; declare it: decide.features = (..., {name!r})"
        )


def policy_factory(function: AnyFunction) -> AnyFunction:
    """Mark a function without arguments that makes a decision function; every runner gets a new one."""
    function.passpilot_policy_factory = True  # type: ignore[attr-defined]
    return function


class PythonRunner(Runner):
    """Asks a decision function written in Python.

    `bind` replaces `evaluate` by the function itself, so that a question costs one Python call. Its
    exceptions pass through unchanged.
    """

    def __init__(
        self, decider: object, point: Point, *, features: tuple[str, ...] | None = None, name: str = ""
    ) -> None:
        self.name = name or getattr(decider, "__qualname__", type(decider).__name__)
        self.decider = _instance(decider, self.name)
        """The function or object that is asked."""
        self._decide = _decide_of(self.decider, self.name)
        wanted = _declared_features((self._decide, self.decider), self.name) if features is None else features
        self.inputs = own_features(point) if wanted is None else point.select(wanted)
        self.output = point.advice
        self._point = point
        self._observation = Observation(point=point)
        self._closed = False

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        context = self._observation.context
        seen = {
            name: tensor.view(ScalarTensor) if tensor.size == 1 else tensor
            for name, tensor in tensors.items()
        }
        self._observation = Observation(seen, host, self._point)
        self._observation.context = context
        self.__dict__["evaluate"] = partial(self._decide, self._observation)

    def evaluate(self) -> object:
        return self._decide(self._observation)

    def switch_context(self, name: str) -> None:
        self._observation.context = name
        if callable(switch := getattr(self.decider, "switch_context", None)):
            switch(name)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if callable(close := getattr(self.decider, "close", None)):
            _called(close, self.name, "close() to end")


@runner_keys("features")
def python_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> PythonRunner:  # noqa: ARG001
    """Make the runner of `python:FILE_or_module:NAME`.

    Raises:
        RunnerSpecError: the target has another form, the module lacks the name, or it is no such function.
        InputError: the file cannot be run.
        SpecMismatchError: the function wants a tensor that is not offered.
    """
    place, colon, name = target.rpartition(":")
    if not (colon and place and name):
        msg = f"runner python:{target}: expected python:FILE:NAME or python:module:NAME, got {target!r}"
        is_file = target.endswith(".py") and os.path.exists(target)
        raise RunnerSpecError(msg + f"; name its function, as in python:{target}:decide" * is_file)
    module = _load(place)
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        got = f"{name!r}{did_you_mean(name, names)}"
        raise RunnerSpecError(
            f"runner python:{target}: expected a name that {place} defines ({', '.join(names)}), got {got}"
        )
    features = split_names(options["features"]) if "features" in options else None
    return PythonRunner(getattr(module, name), point, features=features, name=f"python:{target}")


def split_names(text: str) -> tuple[str, ...]:
    """Split the comma-separated names of a key such as `features`."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _load(place: str) -> ModuleType:
    if place.endswith(".py") or "/" in place:
        from passpilot.plugin.load import load_file

        return load_file(place)
    import importlib

    try:
        return importlib.import_module(place)
    except BaseException as error:
        if isinstance(error, Error) or is_interrupt(error):
            raise
        got = headline(error) if isinstance(error, ModuleNotFoundError) else describe_exception(error)
        msg = f"runner python: module {place}: expected one that can be imported, got {got}"
        raise RunnerSpecError(msg) from error


def _called(function: Callable[[], object], name: str, expected: str) -> object:
    """Call a user's function; any error but ours becomes a PolicyError."""
    try:
        return function()
    except BaseException as error:
        if isinstance(error, Error) or is_interrupt(error):
            raise
        got = describe_exception(error)
        raise PolicyError(f"decision function {name}: expected {expected}, got {got}") from error


def _instance(decider: object, name: str) -> object:
    """The object to ask: what a factory returns, an instance of a class, or `decider` itself."""
    is_class = isinstance(decider, type)
    if not (is_class or getattr(decider, "passpilot_policy_factory", False)):
        return decider
    result = _called(cast("Callable[[], object]", decider), name, "it to be made without arguments")
    return result if is_class else _instance(result, name)


def _decide_of(decider: object, name: str) -> DecisionFunction:
    import inspect

    who = f"decision function {name}: expected"
    decide: object = getattr(decider, "decide", decider)
    if not callable(decide):
        raise RunnerSpecError(f"{who} a function of one observation, or decide(obs), got {decider!r}")
    if inspect.iscoroutinefunction(decide) or inspect.isgeneratorfunction(decide):
        raise RunnerSpecError(f"{who} a plain function, got a coroutine or a generator")
    try:
        inspect.signature(decide).bind(None)
    except ValueError:  # some built-in callables have no signature
        pass
    except TypeError as error:
        got = f"{name}{inspect.signature(decide)}"
        raise RunnerSpecError(f"{who} a function of one argument, got {got}") from error
    return cast("DecisionFunction", decide)


def _declared_features(owners: tuple[object, ...], name: str) -> tuple[str, ...] | None:
    """The features that the first of `owners` declares; None if none of them does."""
    declared = next(
        (found for owner in owners if (found := getattr(owner, "features", None)) is not None), None
    )
    if declared is None:
        return None
    if not isinstance(declared, (tuple, list)) or not all(isinstance(item, str) for item in declared):
        expected = "expected a tuple of names as its features"
        raise RunnerSpecError(f"decision function {name}: {expected}, got {declared!r}")
    return tuple(declared)
