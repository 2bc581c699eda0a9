# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every error that passpilot raises on purpose.

    Error
    ├── UsageError             the command line is wrong (exit code 2)
    ├── InputError             a module, file or pipeline text cannot be used
    │   └── PipelineError      a pipeline text is wrong at a known place
    ├── IRError                LLVM does not allow this change of the IR, or not now
    ├── CompilationError       LLVM, or a pass in it, reported an error
    ├── RegistrationError      a pass cannot be registered
    ├── PassError              a pass in Python raised, or left invalid IR
    ├── FeatureError           a custom feature is ill-defined, or its value does not fit
    ├── LogError               a decision log cannot be written or read
    ├── StaleViewError         a view was used after its decision, or its value has been erased
    └── RunnerError            the runner cannot be made or cannot answer
        ├── RunnerSpecError    the spec string, its scheme or one of its keys is wrong
        ├── SpecMismatchError  the model's tensors do not fit the compiler's
        ├── ModelError         the model cannot be loaded or failed while it ran
        ├── PolicyError        a Python policy raised
        ├── AdviceError        the answer is outside the advice domain
        ├── PeerError          another process is absent, dead, silent or incoherent
        └── ConformanceError   `check_runner` found broken rules

    PasspilotWarning           not an error: the compilation went on

All texts have the form ``<who> at <where>: expected <X>, got <Y>; <what to do>``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it as true; `passpilot cc` does not wait for typing
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final


def publish(module: str, objects: Iterable[object]) -> None:
    """Make help(), repr() and tracebacks show the classes and functions among `objects` in `module`."""
    from types import FunctionType

    for item in objects:
        if isinstance(item, (type, FunctionType)):
            item.__module__ = module


class Error(Exception):
    """Base of all errors of passpilot; `exit_code` is the exit code of a command that fails with it."""

    exit_code = 1
    """The exit code of a command that fails with the error."""


class PasspilotWarning(UserWarning):
    """Something that the user should know, though the compilation went on."""


class UsageError(Error):
    """The command line is wrong."""

    exit_code = 2


class InputError(Error):
    """A module, a file or a pipeline text cannot be used."""


class PipelineError(InputError):
    """A pipeline text is wrong at a known place; `excerpt` is the text and a line with a caret."""

    def __init__(self, text: str, excerpt: str = "") -> None:
        super().__init__(text)
        self.excerpt = excerpt
        """The text and a line with a caret below the wrong place; empty if unknown."""


class IRError(Error):
    """LLVM does not allow this change of the IR, or not at this moment; the IR is unchanged."""


class CompilationError(Error):
    """LLVM, or a pass inside it, reported an error."""


class RegistrationError(Error):
    """A pass cannot be registered: its class or its name is wrong."""


class PassError(Error):
    """A pass in Python raised, returned something wrong, or left invalid IR."""


class FeatureError(Error):
    """A custom feature is ill-defined, or its value does not fit its spec."""


class LogError(Error):
    """A decision log cannot be written or read."""


class StaleViewError(Error):
    """A view of the IR was used after its decision, or after its value was erased."""


class RunnerError(Error):
    """The runner cannot answer; if `fatal`, it will never answer again."""

    fatal = False
    """Whether the runner will never answer again."""


class RunnerSpecError(RunnerError):
    """The runner's spec string, its scheme, or one of its keys is wrong."""


class SpecMismatchError(RunnerError):
    """The runner's tensors do not fit those of the decision point."""


class ModelError(RunnerError):
    """The model cannot be loaded, or failed while it ran."""


class PolicyError(RunnerError):
    """A Python policy raised; the original exception is the cause."""


class AdviceError(RunnerError):
    """The runner's answer is outside the advice domain."""


class PeerError(RunnerError):
    """The process at the other end is absent, dead or silent, or sends nonsense."""

    fatal = True


class ConformanceError(RunnerError):
    """`check_runner` found broken rules of the runner contract."""


PUBLIC: Final = [
    kind for kind in tuple(globals().values()) if isinstance(kind, type) and issubclass(kind, BaseException)
]

publish("passpilot.errors", PUBLIC)


def restated(error: Error, text: str) -> Error:
    """A new error with another text, caused by `error` and of the class above from which `error` derives."""
    kind = next(kind for kind in type(error).__mro__ if kind in PUBLIC)
    assert issubclass(kind, Error), "the first class of ours that an error derives from"
    new = kind(text)
    if isinstance(error, RunnerError) and isinstance(new, RunnerError):
        try:
            new.fatal = error.fatal
        except Exception:  # noqa: BLE001  (the user's class has a property that raises)
            new.fatal = False
    new.__cause__ = error
    return new
