# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every error that passpilot raises on purpose.

    Error
    ├── UsageError             the command line is wrong (exit code 2)
    ├── InputError             a module, file or pipeline text cannot be used
    │   └── PipelineError      ... a pipeline text, at a place that can be shown
    ├── IRError                a change of the IR that LLVM does not allow, or not now
    ├── CompilationError       LLVM, or a pass in it, reported an error
    ├── RegistrationError      a pass cannot be registered as it is
    ├── PassError              a pass in Python raised, or left IR that is not valid
    ├── FeatureError           a custom feature is ill-defined or gave a value that does not fit
    ├── LogError               a decision log cannot be written or read
    ├── StaleViewError         a view was used after its decision, or what it shows has been erased
    └── RunnerError            whatever concerns the one who answers
        ├── RunnerSpecError    the spec string, its scheme or a key of it is wrong
        ├── SpecMismatchError  the model's tensors and the compiler's do not fit
        ├── ModelError         the model cannot be loaded or failed while it ran
        ├── PolicyError        a Python policy raised
        ├── AdviceError        the answer is outside the advice domain
        ├── PeerError          another process is absent, dead, silent or incoherent
        └── ConformanceError   `check_runner` found rules broken

    PasspilotWarning           not an error: the compilation went on

Texts follow one form: ``<who> at <where>: expected <X>, got <Y>; <what to do>``.
"""

from __future__ import annotations

from typing import Final

from passpilot.plugin.public import publish


class Error(Exception):
    """Base of all errors of passpilot; `exit_code` is what a command returns for it."""

    exit_code = 1


class PasspilotWarning(UserWarning):
    """Something that the user should know, though the compilation went on."""


class UsageError(Error):
    """The command line is wrong."""

    exit_code = 2


class InputError(Error):
    """A module, a file or a pipeline text cannot be used."""


class PipelineError(InputError):
    """A place in a pipeline text is wrong; `excerpt` shows the text and, in a second line, the place."""

    def __init__(self, text: str, excerpt: str = "") -> None:
        super().__init__(text)
        self.excerpt = excerpt


class IRError(Error):
    """The IR cannot be changed in this way, or not at this moment; it is as it was."""


class CompilationError(Error):
    """LLVM, or a pass inside it, reported an error."""


class RegistrationError(Error):
    """A pass, or its name, is not such that it can be registered."""


class PassError(Error):
    """A pass in Python raised, answered wrongly, or left IR that is not valid."""


class FeatureError(Error):
    """A custom feature is ill-defined, or its value does not fit its spec."""


class LogError(Error):
    """A decision log cannot be written or read."""


class StaleViewError(Error):
    """A view of the IR was used after the decision it belongs to, or after what it shows was erased."""


class RunnerError(Error):
    """The runner cannot answer; `fatal` says that it never will again."""

    fatal = False


class RunnerSpecError(RunnerError):
    """The runner's spec string, its scheme, or one of its keys is wrong."""


class SpecMismatchError(RunnerError):
    """The runner's tensors and those of the decision point do not fit."""


class ModelError(RunnerError):
    """The model cannot be loaded, or failed while it ran."""


class PolicyError(RunnerError):
    """A Python policy raised; the original exception is the cause."""


class AdviceError(RunnerError):
    """The runner's answer is outside the advice domain."""


class PeerError(RunnerError):
    """The process at the other end is absent, dead, silent or incoherent."""

    fatal = True


class ConformanceError(RunnerError):
    """`check_runner` found rules of the runner contract broken."""


PUBLIC: Final = [each for each in tuple(globals().values()) if isinstance(each, type)]
"""All classes above."""

publish("passpilot.errors", PUBLIC)


def restated(error: Error, text: str) -> Error:
    """An error with `text` for what `error` says, which is its cause; always of a class above."""
    kind = next(each for each in type(error).__mro__ if each in PUBLIC)
    assert issubclass(kind, Error), "the first class of ours that an error derives from"
    made = kind(text)
    if isinstance(error, RunnerError) and isinstance(made, RunnerError):
        made.fatal = error.fatal
    made.__cause__ = error
    return made
