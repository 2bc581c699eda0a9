# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways to answer as LLVM's own heuristic does; all must compile to what stock opt makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from passpilot.runners.spec import make_runner


def echo(obs: Observation) -> object:
    """The shortest policy."""
    return obs.default()


def _default(folder: Path) -> InlineAdvisor:  # noqa: ARG001
    return InlineAdvisor("default")


def _log(folder: Path) -> InlineAdvisor:
    return InlineAdvisor("default", log=str(folder / "decisions.log"))


def _python(folder: Path) -> InlineAdvisor:  # noqa: ARG001
    return InlineAdvisor(echo)


def _native(folder: Path) -> InlineAdvisor:  # noqa: ARG001
    return InlineAdvisor(make_runner("default", find_point("inline")))


ECHOES: Final[dict[str, Callable[[Path], InlineAdvisor]]] = {
    "default": _default,
    "log": _log,
    "python": _python,
    "native": _native,
}
"""`default` asks nobody; `log` writes a log, too; `python` and `native` are asked at each call site."""


def compiled(source: Path, pipeline: str, advisor: InlineAdvisor | None) -> tuple[bytes, bytes]:
    """Bitcode and assembly of `source` after `pipeline`."""
    module = Module.read(source)
    optimize(module, pipeline, [advisor] if advisor else [])
    return module.bitcode(), module.assembly()
