# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EnvironmentSettings`: arguments of the environments; `ModuleEpisodes`: their compilations, one by one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from passpilot.plugin.errors import CompilationError, Error, InputError
from passpilot.plugin.load import load_file

if TYPE_CHECKING:
    import numpy as np

    from passpilot.training.environments.local_compiler import Where
    from passpilot.training.episode import CompilerClient, Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSettings:
    """The keyword arguments of `CompilerEnv` and `CompilerAEC`."""

    pipeline: str = ""
    """The passes to run; empty for code generation alone."""
    at: Mapping[str, str] | None = None
    """More pipelines, by LLVM's extension points."""
    reward: str = "native-size"
    """``native-size``, ``native-estimate``, ``allocation-cost`` or ``none``."""
    function: str = ""
    """Take only the decisions in this function; empty for all."""
    opt_level: int = 2
    """The level of code generation."""
    compiler: str = "process"
    """Where modules are compiled: in a ``process``, in a ``thread`` (fastest, but a crash of LLVM ends the
    program), or at HOST:PORT by `passpilot serve-compiler`."""
    token: str = ""
    """That of the service; ``@FILE`` is the text in a file."""
    load: Sequence[str] = ()
    """Python files that register features and passes."""
    llvm_options: Sequence[str] = ()
    """LLVM's own options for the process that compiles, such as ``-regalloc=advised``."""
    timeout: float = 300.0
    """Seconds that one step of the compiler may take."""
    shuffle: bool = True
    """Whether an episode's module is drawn at random; else they come one after the other."""
    failure_reward: float = 0.0
    """The reward of a compilation that fails."""
    strict: bool = False
    """Whether an illegal action is an `AdviceError`; else the compiler's own decision is taken."""
    partial: bool = False
    """Whether every decision has its share of the reward at once; see `CompilerClient.reset`."""
    with_object: bool = False
    """Whether the infos have the object file at the end, as ``object``."""
    render_mode: str | None = None
    """None or ``ansi``."""

    def load_files(self) -> None:
        """Run the files of `load`; before points and features are looked up.

        Raises:
            Error: a file is missing, or raised.
        """
        for file in self.load:
            load_file(file)

    def episode(self) -> dict[str, object]:
        """The arguments of `CompilerClient.reset` for any module and point."""
        names = ("pipeline", "reward", "function", "opt_level", "partial", "with_object")
        return {"at": dict(self.at or {}), **{name: getattr(self, name) for name in names}}

    def connect(self) -> CompilerClient:
        """The compiler, which starts with the first episode.

        Raises:
            Error: an argument is wrong.
        """
        if self.compiler in ("process", "thread"):
            from passpilot.training.environments.local_compiler import LocalCompiler

            where = cast("Where", self.compiler)
            return LocalCompiler(where, load=self.load, timeout=self.timeout, llvm_options=self.llvm_options)
        from passpilot.training.episode import CompilerClient

        if self.llvm_options:
            got = " ".join(self.llvm_options)
            msg = f"compiler {self.compiler}: expected no LLVM options for a service, got {got}"
            raise InputError(
                f"{msg}; start it with --load FILE.py, where the file calls passpilot.llvm_options"
            )
        return CompilerClient(self.compiler, timeout=self.timeout, token=self.token)


class ModuleEpisodes:
    """Starts the compilations of some modules; skips modules in which nothing is decided.

    Args:
        modules: paths of modules, or their bytes.
        episode: the other arguments of `CompilerClient.reset`.
        compiler: what compiles them.
        shuffle: whether a module is drawn at random; else they come one after the other.

    Raises:
        InputError: there are no modules.
    """

    def __init__(
        self,
        modules: Sequence[str | os.PathLike[str] | bytes],
        episode: Mapping[str, object],
        compiler: CompilerClient,
        *,
        shuffle: bool,
    ) -> None:
        if isinstance(modules, (str, bytes, os.PathLike)) or not modules:
            raise InputError(f"environment: expected a list of modules, got {modules!r:.80}")
        self._modules = [module if isinstance(module, bytes) else os.fspath(module) for module in modules]
        self._episode = episode
        self.compiler = compiler
        """What compiles them."""
        self._shuffle = shuffle
        self._next = 0
        self.module = ""
        """The name of the present module."""

    def rewind(self) -> None:
        """Begin with the first module again."""
        self._next = 0

    def start(self, random: np.random.Generator, options: Mapping[str, object]) -> Observed:
        """Start the compilation of the next module with decisions; return the first observation.

        Args:
            random: draws the module.
            options: ``{"module": PATH}`` chooses the module.

        Raises:
            InputError: no module has a decision.
            Error: the arguments of the environment are wrong.
        """
        problem: Error | None = None
        for module in self._order(random, options):
            self.module = "module" if isinstance(module, bytes) else module
            try:
                observation = self.compiler.reset(module, **self._episode)  # type: ignore[arg-type]
            except CompilationError as error:
                problem = error
                continue
            if observation is not None:
                return observation
        notes = (problem,) if problem else cast("Sequence[object]", self.compiler.info.get("notes", ()))
        why = f": {notes[0]}" if notes else ""
        raise InputError(f"environment: expected a module with decisions, got none{why}") from problem

    def _order(self, random: np.random.Generator, options: Mapping[str, object]) -> Sequence[str | bytes]:
        """The modules to try."""
        if "module" in options:
            wanted = options["module"]
            key = wanted if isinstance(wanted, bytes) else str(wanted)
            if key not in self._modules:
                raise InputError(f"environment: expected one of its modules, got {key!r:.80}")
            return [key]
        count = len(self._modules)
        if self._shuffle:
            return [self._modules[place] for place in random.permutation(count)]
        first, self._next = self._next, (self._next + 1) % count
        return self._modules[first:] + self._modules[:first]
