# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerEnv`: an environment of Gymnasium; an episode is a compilation, a step is a decision.

An agent learns nothing of the reward before the end of the episode, where it is the improvement over the
compiler's default. A compilation that fails, also by a crash of LLVM, ends its episode: `truncated` is true,
and `info["error"]` says why.

`info["action_mask"]` and `action_masks` have the legal actions. For an illegal one the compiler's own
decision is taken, as `info["illegal"]` says, so that agents without masks learn, too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from passpilot.features.domain import Choice, Flag, Number
from passpilot.passes.points import search_point
from passpilot.plugin.errors import AdviceError, CompilationError, Error, InputError, PeerError
from passpilot.plugin.extras import needs
from passpilot.plugin.load import load_file
from passpilot.runners.base import own_features

with needs("train", "environments"):
    import gymnasium
    from gymnasium import spaces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from passpilot.features.domain import Domain
    from passpilot.features.spec import TensorSpec
    from passpilot.training.episode import CompilerClient

    Decision = dict[str, NDArray[np.generic]]

MASK: Final = "action_mask"
"""The key of `info` with the legal actions, int8[n]."""


class CompilerEnv(gymnasium.Env["Decision", object]):
    """The decisions of one decision point, in compilations of some modules.

    Args:
        point: the decision point: ``inline``, ``evict``, or that of a pass in the pipeline.
        modules: paths of modules before optimization, or their bytes.
        pipeline: the passes to run; empty for code generation alone.
        at: more pipelines, by LLVM's extension points.
        reward: ``native-size``, ``allocation-cost`` or ``none``.
        features: the tensors to observe; empty for the point's own.
        function: take only the decisions in this function; empty for all.
        opt_level: the level of code generation.
        compiler: where modules are compiled: in a ``process``, in a ``thread`` (fastest, but a crash of LLVM
            ends the program), or at HOST:PORT by `passpilot serve-compiler`.
        token: that of the service; ``@FILE`` is the text in a file.
        load: Python files that register features and passes.
        timeout: seconds that one step of the compiler may take.
        shuffle: whether an episode's module is drawn at random; else they come one after the other.
        failure_reward: the reward of a compilation that fails.
        strict: whether an illegal action is an `AdviceError`.
        render_mode: None or ``ansi``.

    Raises:
        Error: an argument is wrong.
    """

    metadata: dict[str, object] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  (gymnasium's own)
    """What `render` can do."""

    def __init__(
        self,
        point: str = "inline",
        modules: Sequence[str | os.PathLike[str] | bytes] = (),
        *,
        pipeline: str = "",
        at: Mapping[str, str] | None = None,
        reward: str = "native-size",
        features: Sequence[str] = (),
        function: str = "",
        opt_level: int = 2,
        compiler: str = "process",
        token: str = "",
        load: Sequence[str] = (),
        timeout: float = 300.0,
        shuffle: bool = True,
        failure_reward: float = 0.0,
        strict: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if isinstance(modules, (str, bytes, os.PathLike)) or not modules:
            raise InputError(f"environment: expected a list of modules, got {modules!r:.80}")
        for file in load:
            load_file(file)
        self._point = search_point(point)
        self._modules = [each if isinstance(each, bytes) else os.fspath(each) for each in modules]
        self._episode: dict[str, object] = {
            "point": self._point.name,
            "pipeline": pipeline,
            "at": dict(at or {}),
            "reward": reward,
            "features": self._asked(features),
            "function": function,
            "opt_level": opt_level,
        }
        self._tensors = self._observed(features)
        self.observation_space = cast(
            "spaces.Space[Decision]", spaces.Dict({spec.name: _box(spec) for spec in self._tensors})
        )
        """The tensors of a decision, by name."""
        self.action_space = _actions(self._point.domain)
        """The answers."""
        self.render_mode = render_mode
        """What `render` does: None or ``ansi``."""
        self._shuffle, self._failure_reward, self._strict = shuffle, failure_reward, strict
        self._next = 0
        self._default: object = None
        self._compiler = _connect(compiler, load, timeout, token)
        self._last: Decision = self._nothing()
        self._module = ""

    def _observed(self, features: Sequence[str]) -> tuple[TensorSpec, ...]:
        domain = self._point.domain
        mask = [domain.mask] if isinstance(domain, Choice) else []
        return (
            self._point.select(dict.fromkeys([*features, *mask])) if features else own_features(self._point)
        )

    def _asked(self, features: Sequence[str]) -> tuple[str, ...]:
        """The tensors to ask for: at a choice, the compiler's own decision, too."""
        if not isinstance(self._point.domain, Choice):
            return tuple(features)
        names = (spec.name for spec in self._observed(features))
        return tuple(dict.fromkeys([*names, self._point.default.name]))

    def _nothing(self) -> Decision:
        """The observation where there is no decision."""
        return {spec.name: np.zeros(spec.shape, spec.numpy_dtype) for spec in self._tensors}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Decision, dict[str, object]]:
        """Start the compilation of a module; modules in which nothing is decided are skipped.

        Args:
            seed: of the order of modules.
            options: ``{"module": PATH}`` chooses the module.

        Raises:
            InputError: no module has a decision.
            Error: the arguments of the environment are wrong.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._next = 0
        problem: Error | None = None
        for place in self._order(options or {}):
            self._module = _name(self._modules[place])
            try:
                observation = self._compiler.reset(self._modules[place], **self._episode)  # type: ignore[arg-type]
            except CompilationError as error:
                problem = error
                continue
            if observation is not None:
                return self._seen(observation), self._info()
        why = f": {problem}" if problem else " that the point asks about"
        raise InputError(f"environment: expected a module with decisions, got none{why}") from problem

    def _order(self, options: Mapping[str, object]) -> Sequence[int]:
        """The modules to try, as numbers."""
        count = len(self._modules)
        if "module" in options:
            wanted = options["module"]
            names = [each if isinstance(each, bytes) else str(each) for each in self._modules]
            key = wanted if isinstance(wanted, bytes) else str(wanted)
            if key not in names:
                raise InputError(f"environment: expected one of its modules, got {key!r:.80}")
            return [names.index(key)]
        if self._shuffle:
            return cast("list[int]", self.np_random.permutation(count).tolist())
        first, self._next = self._next, (self._next + 1) % count
        return [(first + place) % count for place in range(count)]

    def step(self, action: object) -> tuple[Decision, float, bool, bool, dict[str, object]]:
        """Take the decision.

        Raises:
            AdviceError: the action is none, or with ``strict`` illegal; the question stands.
            PeerError: the compiler service is gone.
        """
        illegal = self._is_illegal(action)
        try:
            taken = self._default if illegal else action
            observation, reward, done, told = self._compiler.step(taken)
        except (AdviceError, PeerError):
            raise
        except Error as error:
            self._last = self._nothing()
            info: dict[str, object] = {**self._info(), "error": str(error)}
            return self._last, self._failure_reward, False, True, info
        more: dict[str, object] = {"illegal": True} if illegal else {}
        if observation is None:
            self._last = self._nothing()
            return self._last, reward, done, False, {**self._info(), **more, **told}
        return self._seen(observation), 0.0, False, False, {**self._info(), **more}

    def _is_illegal(self, action: object) -> bool:
        """Whether an action of the space is masked, and that is no error."""
        if self._strict or not isinstance(self._point.domain, Choice):
            return False
        mask = self.action_masks()
        if not isinstance(action, (int, np.integer)) or not 0 <= action < len(mask):
            return False
        return not bool(mask[action])

    def _seen(self, observation: Mapping[str, NDArray[np.generic]]) -> Decision:
        """The observation as a member of the space: copies, in which no number is infinite."""
        if isinstance(self._point.domain, Choice):
            self._default = int(observation[self._point.default.name].item())
        self._last = {
            spec.name: np.nan_to_num(observation[spec.name])
            if spec.dtype.startswith("float")
            else np.array(observation[spec.name])
            for spec in self._tensors
        }
        return self._last

    def _info(self) -> dict[str, object]:
        info: dict[str, object] = {"module": self._module}
        if isinstance(self.action_space, spaces.Discrete):
            info[MASK] = self.action_masks().astype(np.int8)
        return info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, as sb3-contrib asks for them; all where there is no decision."""
        domain = self._point.domain
        if isinstance(domain, Choice):
            mask = self._last[domain.mask].reshape(-1) != 0
            return mask if mask.any() else np.ones(domain.count, bool)
        return np.ones(2 if isinstance(domain, Flag) else 1, bool)

    def render(self) -> str | None:
        """The last observation as text, with ``render_mode="ansi"``."""
        if self.render_mode != "ansi":
            return None
        rows = (f"{name} = {value.tolist()}" for name, value in self._last.items())
        return "\n".join((self._module, *rows))

    def close(self) -> None:
        """End the compiler. Idempotent."""
        self._compiler.close()
        super().close()


def _connect(compiler: str, load: Sequence[str], timeout: float, token: str) -> CompilerClient:
    if compiler in ("process", "thread"):
        from passpilot.training.environments.local_compiler import LocalCompiler

        return LocalCompiler("process" if compiler == "process" else "thread", load=load, timeout=timeout)
    from passpilot.training.episode import CompilerClient

    return CompilerClient(compiler, timeout=timeout, token=token)


def _name(module: str | bytes) -> str:
    return "module" if isinstance(module, bytes) else module


def _box(spec: TensorSpec) -> spaces.Box:
    dtype = np.dtype(spec.dtype)
    info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return spaces.Box(info.min, info.max, spec.shape, dtype.type)


def _actions(domain: Domain) -> spaces.Space[object]:
    if isinstance(domain, Number):
        return spaces.Box(domain.low, domain.high, (1,), np.float64)
    return spaces.Discrete(domain.count if isinstance(domain, Choice) else 2)
