# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ModuleEpisodes`: compilations of some modules, one after the other, for the environments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from passpilot.plugin.errors import CompilationError, Error, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from passpilot.training.environments.local_compiler import Where
    from passpilot.training.episode import CompilerClient, Observed


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
        self._modules = [each if isinstance(each, bytes) else os.fspath(each) for each in modules]
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
        for place in self._order(random, options):
            self.module = _name(self._modules[place])
            try:
                observation = self.compiler.reset(self._modules[place], **self._episode)  # type: ignore[arg-type]
            except CompilationError as error:
                problem = error
                continue
            if observation is not None:
                return observation
        raise InputError(
            f"environment: expected a module with decisions, got none{self._why(problem)}"
        ) from problem

    def _why(self, problem: Error | None) -> str:
        if problem:
            return f": {problem}"
        notes = self.compiler.info.get("notes")
        return f": {notes[0]}" if isinstance(notes, tuple) and notes else ""

    def _order(self, random: np.random.Generator, options: Mapping[str, object]) -> Sequence[int]:
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
            return cast("list[int]", random.permutation(count).tolist())
        first, self._next = self._next, (self._next + 1) % count
        return [(first + place) % count for place in range(count)]


def connect(
    compiler: str, load: Sequence[str], timeout: float, token: str, llvm_options: Sequence[str] = ()
) -> CompilerClient:
    """The compiler of an environment: ``process``, ``thread``, or HOST:PORT of a service.

    Raises:
        Error: an argument is wrong.
    """
    if compiler in ("process", "thread"):
        from passpilot.training.environments.local_compiler import LocalCompiler

        where: Where = "process" if compiler == "process" else "thread"
        return LocalCompiler(where, load=load, timeout=timeout, llvm_options=llvm_options)
    from passpilot.training.episode import CompilerClient

    if llvm_options:
        msg = f"compiler {compiler}: expected no LLVM options for a service, got {' '.join(llvm_options)}"
        raise InputError(f"{msg}; start it with --load FILE.py, where the file calls passpilot.llvm_options")
    return CompilerClient(compiler, timeout=timeout, token=token)


def _name(module: str | bytes) -> str:
    return "module" if isinstance(module, bytes) else module
