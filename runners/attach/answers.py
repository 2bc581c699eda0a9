# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Answers`: a runner's answers to the questions of LLVM's interactive mode, as the bytes that LLVM reads.

LLVM sends its tensors packed; a runner needs its inputs placed by `passpilot.features.spec.layout`. `bind`
returns the buffers to read a message's pieces into, so that nothing is copied. LLVM sends its own features,
and at `inline` its own decision; a newer LLVM may send more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from passpilot.features.catalogue import HOOKED
from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.point import Point, find_point
from passpilot.features.spec import TensorSpec, layout, packed_runs
from passpilot.plugin.errors import Error, PolicyError, SpecMismatchError, restated
from passpilot.plugin.failures import describe_failure, shown
from passpilot.plugin.version import MAJOR
from passpilot.runners.base import Runner, Tensor, own_features, tensor_views
from passpilot.runners.foreign.mlgo import Header
from passpilot.runners.plurals import count_line
from passpilot.runners.remote.peer import make_runner_or_absent

LARGEST_PRIORITY: Final = 4294967040.0
"""The largest float32 that fits an unsigned 32-bit integer, to which LLVM converts it."""


class Answers:
    """One decision point of a compiler in another process, and the runner that `spec` names for it.

    A runner that wants tensors unknown to our LLVM is made only once the compiler has sent its header.

    Raises:
        RunnerError: the runner cannot be made, or wants what the protocol does not send.
    """

    def __init__(
        self,
        name: str,
        spec: str,
        *,
        default_on_error: bool = False,
        timeout: float = 10.0,
        timed: bool = False,
    ) -> None:
        point = find_point(name)
        own = own_features(point)
        how = HOOKED[name].interactive
        sent = (*own, point.default) if how and how.default else own
        self.point: Point = replace(point, features=sent)
        self.sessions = self.decisions = self.fallbacks = 0
        self._spec = spec
        self._seconds = 0.0
        self._idle = 0
        self._context = ""
        self._first_failure = ""
        self._default_on_error = default_on_error
        self._timeout = timeout
        self._timed = timed
        self._runner: Runner | None
        try:
            self._runner = self._make(self.point)
        except SpecMismatchError as error:
            self._refuse_hosted(point, error)
            self._runner = None

    def _make(self, point: Point) -> Runner:
        return make_runner_or_absent(
            self._spec, point, timeout=self._timeout, default_on_error=self._default_on_error
        )

    def _refuse_hosted(self, point: Point, error: SpecMismatchError) -> None:
        """Refuse a runner whose tensors only a compiler in this process can offer."""
        try:
            self._make(point).close()
        except SpecMismatchError:
            return
        silent = " and ".join(
            name for name, row in HOOKED.items() if row.interactive and not row.interactive.default
        )
        raise SpecMismatchError(
            f"--{point.name}={self._spec}: {error}; LLVM's interactive protocol has no custom features and "
            f"no default of {silent}: use `passpilot {HOOKED[point.name].command}`"
        ) from error

    @property
    def wants_default(self) -> bool:
        """Whether the compiler must send its own decision."""
        default = self.point.default
        wanted = self._runner is None or default in self._runner.inputs or self._default_on_error
        return wanted and default in self.point.features

    @property
    def where(self) -> str:
        """The current decision, for messages."""
        context = f" ({self._context})" if self._context else ""
        return f"{self.point.name} advisor at decision {self.decisions - 1}{context}"

    def bind(self, header: Header) -> list[memoryview]:
        """Bind the runner; return the buffers to read a message's tensors into, in order.

        Raises:
            SpecMismatchError: the compiler does not send a wanted tensor, or wants another advice.
        """
        offered, domain = replace(self.point, features=header.features), self.point.domain
        self._check_advice(header.advice)
        runner = self._runner = self._runner or self._make(offered)
        try:
            mask = self.point.select([domain.mask]) if isinstance(domain, Choice) else ()
            offered.check((*runner.inputs, *mask, *[self.point.default] * self._default_on_error))
        except SpecMismatchError as error:
            raise SpecMismatchError(f"runner {shown(str(self._spec))} at this compiler's {error}") from None
        names = {spec.name for spec in runner.inputs}
        specs = (*runner.inputs, *(spec for spec in header.features if spec.name not in names))
        offsets, size = layout(specs)
        frame = np.zeros(size, np.uint8)
        self._tensors: Mapping[str, Tensor] = tensor_views(specs, frame)
        own = {spec.name: self._tensors[spec.name] for spec in runner.inputs}
        runner.bind(own, frame[: layout(runner.inputs)[1]])
        self._evaluate = self._clocked(runner.evaluate) if self._timed else runner.evaluate
        self._accept = self._counted(self.point.domain) if self._timed else self.point.domain.accept
        self._encode = self._encoder(header)
        places = {spec.name: offset for spec, offset in zip(specs, offsets, strict=True)}
        runs = packed_runs(header.features, (places[spec.name] for spec in header.features))
        return [frame.data[start : start + nbytes] for _, start, nbytes in runs]

    def _check_advice(self, advice: TensorSpec) -> None:
        ours = self.point.advice
        expected = replace(ours, dtype="float32") if ours.dtype == "float64" else ours
        if advice != expected:
            wanted = f"{expected.name} as {expected}"
            msg = f"{self.point.name} channel: expected a compiler that wants {wanted}, got one that wants "
            raise SpecMismatchError(f"{msg}{advice.name} as {advice}; use LLVM {MAJOR}")

    def _encoder(self, header: Header) -> Callable[[int | float], bytes]:
        """A function that encodes accepted advice."""
        pack, domain = header.advice_struct.pack, self.point.domain
        if not isinstance(domain, Number):
            count = domain.count if isinstance(domain, Choice) else 2
            return [pack(choice) for choice in range(count)].__getitem__  # type: ignore[return-value]
        return lambda number: pack(min(number, LARGEST_PRIORITY))

    def _counted(self, domain: Domain) -> Callable[..., int | float]:
        """The domain's check of advice, which also counts the advice to do nothing."""
        idle = domain.count - 1 if isinstance(domain, Choice) else 0

        def accept(advice: object, tensors: Mapping[str, Tensor]) -> int | float:
            accepted = domain.accept(advice, tensors)
            self._idle += accepted == idle
            return accepted

        return accept

    def _clocked(self, evaluate: Callable[[], object]) -> Callable[[], object]:
        def asking() -> object:
            start = time.perf_counter()
            try:
                return evaluate()
            finally:
                self._seconds += time.perf_counter() - start

        return asking

    def answer(self) -> bytes:
        """The answer to the question in the tensors.

        Raises:
            RunnerError: the runner has no legal answer, and the default may not replace it.
        """
        self.decisions += 1
        try:
            return self._encode(self._accept(self._evaluate(), self._tensors))
        except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever it raises)
            self._record(error)
        self.fallbacks += 1
        return self._tensors[self.point.default.name].tobytes()

    def switch_context(self, name: str) -> None:
        """Start the context `name`: for register allocation, a function."""
        self._context = name
        assert self._runner is not None, "a context comes after the header, which was bound"
        try:
            self._runner.switch_context(name)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever it raises)
            self._record(error)

    def _record(self, error: BaseException) -> None:
        """Raise the runner's error, unless the default may replace its answer."""
        text = f"{self.where}: {describe_failure(error)}"
        if not self._default_on_error:
            raise restated(error, text) if isinstance(error, Error) else PolicyError(text) from error
        self._first_failure = self._first_failure or text

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    def complaints(self) -> Iterator[str]:
        """Warnings to the user about a successful compilation."""
        who = f"{self.point.name} advisor: "
        if not self.decisions:
            yield (
                f"{who}runner {shown(str(self._spec))} was never asked: the compiler came to no such decision"
            )
        if self.fallbacks:
            counts = f"{self.fallbacks} of {self.decisions} decisions fell back to the default"
            yield f"{who}{counts}; the first: {self._first_failure}"

    def report(self) -> str:
        """The statistics as text, like `passpilot opt --stats`."""
        mean = 1e6 * self._seconds / self.decisions if self.decisions else 0.0
        rows = [(self.decisions, "decisions"), *self._outcomes(), (self.sessions, "sessions")]
        rows.append((self.fallbacks, "fallbacks to the default"))
        lines = [count_line(count, label) for count, label in rows]
        head = f"{self.point.name} advisor {shown(str(self._spec))}:"
        return "\n".join([head, *lines, f"{mean:10.2f} microseconds per decision"])

    def _outcomes(self) -> list[tuple[int, str]]:
        """What the runner decided, in the words of the advisors in a process."""
        answered = self.decisions - self.fallbacks
        words = {Flag: ("accepted", "refused"), Choice: ("evictions", "kept")}.get(type(self.point.domain))
        return [(answered - self._idle, words[0]), (self._idle, words[1])] if words else []
