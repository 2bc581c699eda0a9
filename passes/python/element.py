# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds a Python pass from one element of pipeline text, and points at errors in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from passpilot.plugin.errors import Error, PassError, PipelineError, restated
from passpilot.plugin.failures import describe_failure, headline
from passpilot.plugin.process_end import is_interrupt

if TYPE_CHECKING:
    from passpilot.passes.python.registry import PassDefinition

SHOWN: Final = 60
"""How many characters of the pipeline an error shows before and after the wrong place."""


class Pass(Protocol):
    """An instance of a registered pass class."""

    run: Callable[..., object]


def make_pass(
    definition: PassDefinition,
    options: str,
    start: int,
    place: tuple[int, int],
    refused: Callable[[str, int, int], PipelineError],
) -> Pass:
    """Create the pass with the options that begin at `start`; `place` is the range of the whole element.

    `refused` creates the error from a message and the start and end of the wrong place.

    Raises:
        PipelineError: the options are wrong.
    """
    from passpilot.passes.python.options import OptionError, parse_options

    try:
        instance: Pass = definition.kind(**parse_options(definition.options, options))
        return instance
    except OptionError as error:
        raise refused(str(error), start + error.start, start + error.end) from None
    except Exception as error:
        message = f"expected options that {definition.kind.__name__} takes, got {headline(error)}"
        raise refused(message, *place) from error


def refusal(message: str, text: str, start: int, end: int) -> PipelineError:
    """The error that underlines the text from `start` to `end`."""
    end = max(end, start + 1)
    first = max(start - SHOWN, 0)
    shown = re.sub(r"\s", " ", text[first : min(end, start + SHOWN) + SHOWN])
    return PipelineError(message, f"{shown}\n{' ' * (start - first)}{'^' * min(end - start, SHOWN)}")


def raise_again(who: str, raised: BaseException) -> NoReturn:
    """Raise a pass's exception again, as an error that names the pass.

    Raises:
        PassError: the pass raised an exception that is not passpilot's.
        Error: the pass raised an error of passpilot.
    """
    if is_interrupt(raised):
        raise raised
    message = f"{who}: {describe_failure(raised)}"
    if isinstance(raised, Error):
        raise restated(raised, message)
    raise PassError(message) from raised
