# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Advice`: what a command's flags, such as `--inline=R` and `--policy=@oz`, say about advisors.

The flags are resolved once, into the runner, the log and the keywords of each advisor.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from passpilot.features.catalogue import COMMANDS, COMMON, EMIT_PASSES, HOOKED, PASS_POINTS, hooked
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.failures import did_you_mean

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor
    from passpilot.passes.policy import ChosenPolicy

POINTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    **{command: hooked(function) for function, command in COMMANDS.items()},
    "mlir-opt": (),
    "compare": tuple(HOOKED),
}
"""LLVM's decision points that each command reaches."""


class AdviceFlags(NamedTuple):
    """The values of a command's advice flags."""

    command: str
    runners: Mapping[str, str]
    """The runners that flags such as --inline give, by LLVM's decision point."""
    advise: tuple[str, ...]
    load: tuple[str, ...]
    log: tuple[str, ...]
    keywords: Mapping[str, object]
    """The given keywords of advisors: on_error, timeout and limits."""
    stats: bool
    policy: str = ""
    """The policy that decides where no flag names a runner; empty if there is none."""
    source: str = "-"
    """The input, which names logs in a folder."""
    decided: tuple[str, ...] = ()
    """The points that a decision file decides, not the policy."""

    @classmethod
    def of(cls, command: str, values: Mapping[str, Any]) -> AdviceFlags:
        """Take the advice flags of a command from the values that its parser has read."""
        points = POINTS_OF[command]
        return cls(
            command,
            {point: runner for point in points if (runner := values[point.replace("-", "_")]) is not None},
            values["advise"],
            values["load"],
            values["log"],
            _keywords(command, values),
            values["stats"],
            values.get("policy") or "",
            values.get("input", "-"),
            ("inline",) if values.get("decisions") else (),
        )

    def load_files(self) -> None:
        """Run the files of --load, which register passes, features, runners and decision points."""
        for file in self.load:
            from passpilot.plugin.load import load_file

            load_file(file)

    def resolve(self) -> Advice:
        """Find the policy, and each advisor's runner, log and keywords. Call `load_files` first."""
        runners: dict[str, str | ChosenPolicy] = dict(_runners(self.command, self.runners, self.advise))
        policy: ChosenPolicy | None = None
        if self.policy:
            from passpilot.passes.policy import ChosenPolicy

            policy = ChosenPolicy.find(self.policy, "emit" if self.command == "llc" else "optimize")
            rest = {point: policy for point in policy.runners if point not in self.decided}
            runners = {**rest, **runners}
        points = [p for p in dict.fromkeys((*POINTS_OF[self.command], *runners)) if p in runners]
        _check_keywords(self.command, self.keywords, points)
        logs = _logs(self.command, self.log, points, self.source)
        return Advice(self.command, {point: runners[point] for point in points}, logs, self.keywords, policy)


class Advice(NamedTuple):
    """The advisors that a command's flags ask for."""

    command: str
    runners: Mapping[str, str | ChosenPolicy]
    """The runner of each advised point, or the policy that has it, in the order of the catalogue."""
    logs: Mapping[str, str]
    keywords: Mapping[str, object]
    policy: ChosenPolicy | None = None

    def make_advisors(self) -> list[Advisor]:
        """Make the advisors."""
        from passpilot.passes.advisor import advisor

        advisors: list[Advisor] = []
        try:
            for point, runner in self.runners.items():
                options: dict[str, Any] = {"log": self.logs.get(point)}
                options |= {name: self.keywords[name] for name in _names(point) if name in self.keywords}
                if isinstance(runner, str):
                    advisors.append(advisor(point, runner, **options))
                else:
                    advisors.append(runner.advisor(point, **options))
        except BaseException:
            close_advisors(advisors)
            raise
        return advisors

    @contextmanager
    def advisors(self) -> Iterator[list[Advisor]]:
        """Make the advisors, and close them when the block ends, in the folder in which it began."""
        from passpilot.plugin.load import folder_kept

        with folder_kept():
            advisors = self.make_advisors() if self.runners else []
            try:
                yield advisors
            finally:
                close_advisors(advisors)


def close_advisors(advisors: Sequence[Advisor]) -> None:
    """Close all advisors, the last one first; then raise the first error, if there was one."""
    failed: BaseException | None = None
    for advisor in reversed(advisors):
        try:
            advisor.close()
        except BaseException as error:  # noqa: BLE001  (raised below)
            failed = failed or error
    if failed is not None:
        raise failed


def contending(command: str, values: Mapping[str, Any]) -> list[Advice]:
    """One `Advice` for each runner of a command whose flags may name several for a point."""
    pairs = [(point, runner) for point in POINTS_OF[command] for runner in values[point.replace("-", "_")]]
    for text in values["advise"]:
        pairs += _runners(command, {}, (text,)).items()
    keywords = _keywords(command, values)
    _check_keywords(command, keywords, [point for point, _ in pairs])
    return [
        Advice(command, {point: runner}, {}, {n: keywords[n] for n in _names(point) if n in keywords})
        for point, runner in pairs
    ]


def _keywords(command: str, values: Mapping[str, Any]) -> dict[str, object]:
    names = dict.fromkeys(name for point in ("", *POINTS_OF[command]) for name in _names(point))
    return {name: values[name] for name in names if values[name] is not None}


def _names(point: str) -> tuple[str, ...]:
    """The keywords of a point's advisor that have a flag."""
    return HOOKED[point].keywords if point in HOOKED else COMMON


def _runners(command: str, flags: Mapping[str, str], advise: Iterable[str]) -> dict[str, str]:
    """The runner specs by decision point, of flags such as --inline and of --advise."""
    pairs = list(flags.items())
    for text in advise:
        name, equals, runner = text.partition("=")
        point = _reached_point(command, name, searched=True) if equals else None
        if point is None:
            owner = _owner(name)
            hint = f"; `passpilot {owner}` has the point {name}" if equals and owner else ""
            known = _reached(command)
            hint = hint or f"; --load=FILE.py adds others{did_you_mean(name, known)}"
            if not equals and name in known:
                hint = f"; write {name}=RUNNER"
            msg = f"expected POINT=RUNNER with POINT among {', '.join(known)}, got {text!r}"
            raise UsageError(f"{command}: --advise: {msg}{hint}")
        pairs.append((point, runner))
    points = [point for point, _ in pairs]
    for point in points:
        if (count := points.count(point)) > 1:
            raise UsageError(f"{command}: expected one runner for the point {point}, got {count}")
    return dict(pairs)


def _logs(command: str, texts: Iterable[str], points: Sequence[str], source: str) -> dict[str, str]:
    """The log paths by advised point: from --log POINT=F, or --log F if there is one advisor, or a folder."""
    logs: dict[str, str] = {}
    for text in texts:
        if not text:
            raise UsageError(f"{command}: --log: expected FILE or FOLDER/, got nothing")
        name, equals, path = text.partition("=")
        point = _reached_point(command, name) if equals else None
        if point is None:
            point, path = points[0] if len(points) == 1 else "", text
            if points and not point and is_log_folder(command, text):
                logs |= {point: _log_in(text, source, point) for point in points}
                continue
        if not points or (point and point not in points):
            _refuse_lonely(command, "log", point)
        if not point:
            raise UsageError(
                f"{command}: --log: expected POINT=F with POINT among {', '.join(points)}, got {text!r}"
            )
        if point in logs:
            raise UsageError(f"{command}: expected one log for the point {point}, got two")
        logs[point] = _log_in(path, source, point) if is_log_folder(command, path) else path
    return logs


def is_log_folder(command: str, path: str) -> bool:
    """Whether logs go into a folder, which a slash at its end makes."""
    if path.endswith("/"):
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise InputError(f"{command}: --log: expected a folder, got {path}: {error.strerror}") from error
    return os.path.isdir(path)


def _log_in(folder: str, source: str, point: str) -> str:
    """The log's path in a folder; the same source gives the same path."""
    stem = "stdin" if source == "-" else os.path.basename(source)
    place = zlib.crc32(os.fsencode(os.path.abspath(source)))
    return os.path.join(folder, f"{stem}-{place:08x}-{point}.log")


def _check_keywords(command: str, keywords: Iterable[str], points: Sequence[str]) -> None:
    """Make sure that every given keyword applies to an advisor."""
    for name in keywords:
        if not any(name in _names(point) for point in points):
            owners = [point for point in POINTS_OF[command] if name in _names(point)]
            _refuse_lonely(command, name, "" if name in COMMON else owners[0])


def _refuse_lonely(command: str, name: str, point: str) -> NoReturn:
    flag = f"--{name.replace('_', '-')}"
    add = f"--{point or next(iter(POINTS_OF[command]), 'inline')}=RUNNER"
    if point and point not in HOOKED:
        add = f"--advise={point}=RUNNER"
    if not point:
        add += ", or --advise=POINT=RUNNER for the point of a pass"
    raise UsageError(f"{command}: {flag} has no effect without an advisor; add {add}")


def _reached_point(command: str, name: str, *, searched: bool = False) -> str | None:
    """The present name of a decision point, or None if the command does not reach the point.

    With `searched`, passes of other distributions are imported to find the point.
    """
    if name in HOOKED or command == "llc":
        return name if name in _reached_by(command) else None
    from passpilot.features.point import current_name, is_known
    from passpilot.passes.point_search import search

    found = current_name(name)
    if found in PASS_POINTS and found not in _reached(command):
        return None
    return found if is_known(found) or (searched and search(found)) else None


def _reached_by(command: str) -> tuple[str, ...]:
    """LLVM's decision points that a command reaches, and for llc those of passes that run there."""
    return POINTS_OF[command] + (tuple(EMIT_PASSES) if command == "llc" else ())


def _reached(command: str) -> tuple[str, ...]:
    """All known points that the command reaches."""
    if command == "llc":
        return _reached_by(command)
    from passpilot.features.point import point_names

    elsewhere = {"opt": "mlir.", "mlir-opt": "llvm."}.get(command)
    others = [name for name, table in PASS_POINTS.items() if elsewhere and table.startswith(elsewhere)]
    return *POINTS_OF[command], *(name for name in point_names() if name not in (*HOOKED, *others))


def refuse_point(command: str, option: str) -> None:
    """Refuse an option that advises a decision point of another command."""
    if owner := _owner(option.lstrip("-")):
        if command == "eval":
            own = "--contender=RUNNER or --contender=POINT=RUNNER"
            raise UsageError(f"eval: {option}: expected {own}, got a point")
        own = " or ".join(f"--{name}" for name in POINTS_OF.get(command, ()))
        expected = own or f"an option of passpilot {command}"
        got = f"got a point of `passpilot {owner}`; give it to that command"
        raise UsageError(f"{command}: {option}: expected {expected}, {got}")


def _owner(point: str) -> str | None:
    """The command that reaches a decision point."""
    return next((command for command, points in POINTS_OF.items() if point in points), None)
