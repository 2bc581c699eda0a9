# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Advice`: a command's advice flags, such as `--inline=R`, `--advise POINT=R`, `--log`; makes advisors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from passpilot.features.catalogue import COMMANDS, COMMON, EMIT_PASSES, HOOKED, hooked
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from passpilot.passes.policy import ChosenPolicy
    from passpilot.plugin.asking import AdvisorLike

POINTS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    **{command: hooked(function) for function, command in COMMANDS.items()},
    "mlir-opt": (),
    "compare": tuple(HOOKED),
}
"""LLVM's decision points that each command reaches."""


class Advice(NamedTuple):
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
    decided: tuple[str, ...] = ()
    """The points that a decision file decides, not the policy."""

    @classmethod
    def of(cls, command: str, values: Mapping[str, Any]) -> Advice:
        """Take the advice flags of a command from the values that its parser has read."""
        points = POINTS_OF[command]
        names = (*COMMON, *filter(None, map(_limit_of, points)))
        return cls(
            command,
            {point: given for point in points if (given := values[point.replace("-", "_")]) is not None},
            values["advise"],
            values["load"],
            values["log"],
            {name: values[name] for name in names if values[name] is not None},
            values["stats"],
            values.get("policy") or "",
            ("inline",) if values.get("decisions") else (),
        )


def contending(command: str, values: Mapping[str, Any]) -> list[Advice]:
    """One `Advice` for each runner of a command whose flags may name several for a point.

    Raises:
        UsageError: a decision point is unknown, or a keyword is for none of the runners.
    """
    asked = [(point, runner) for point in POINTS_OF[command] for runner in values[point.replace("-", "_")]]
    for text in values["advise"]:
        asked += runner_specs(Advice(command, {}, (text,), (), (), {}, stats=False)).items()
    names = (*COMMON, *filter(None, map(_limit_of, POINTS_OF[command])))
    given = {name: values[name] for name in names if values[name] is not None}
    _check_keywords(Advice(command, {}, (), (), (), given, stats=False), [point for point, _ in asked])
    made = []
    for point, runner in asked:
        keywords = {name: given[name] for name in (*COMMON, _limit_of(point)) if name in given}
        made.append(Advice(command, {point: runner}, (), (), (), keywords, stats=False))
    return made


def load_files(advice: Advice) -> None:
    """Run the files of --load, which register passes, features and runners.

    Raises:
        Error: a file cannot be loaded.
    """
    for file in advice.load:
        from passpilot.plugin.load import load_file

        load_file(file)


def make_advisors(advice: Advice) -> list[AdvisorLike]:
    """Make the advisors that the flags ask for, at most one per point.

    Raises:
        UsageError: the flags contradict each other.
        Error: a file cannot be loaded, or a runner cannot be made.
    """
    load_files(advice)
    asked = runner_specs(advice)
    written = log_paths(advice, asked)
    _check_keywords(advice, asked)
    made: list[AdvisorLike] = []
    try:
        for point, runner in asked.items():
            made.append(_make(point, runner, written.get(point), advice.keywords))
    except BaseException:
        close_advisors(made)
        raise
    return made


def _make(point: str, runner: str, log: str | None, given: Mapping[str, Any]) -> AdvisorLike:
    from passpilot.passes.advisor import make_advisor

    keywords = {name: given[name] for name in COMMON if name in given}
    if limit := _limit_of(point):
        keywords["limit"] = given.get(limit)
    return make_advisor(point, runner, log=log, **keywords)


def _limit_of(point: str) -> str | None:
    """The keyword of the point's limit, if it has one."""
    row = HOOKED.get(point)
    return row.limit.keyword if row and row.limit else None


def close_advisors(advisors: Sequence[AdvisorLike]) -> None:
    """Close all advisors, the last one first; then raise the first error, if there was one."""
    failed: BaseException | None = None
    for advisor in reversed(advisors):
        try:
            advisor.close()
        except BaseException as error:  # noqa: BLE001  (raised below)
            failed = failed or error
    if failed is not None:
        raise failed


def runner_specs(advice: Advice) -> dict[str, str]:
    """The runner specs by advised point, in the order of the catalogue."""
    command, points = advice.command, POINTS_OF[advice.command]
    wanted = list(advice.runners.items())
    for text in advice.advise:
        point, equals, runner = text.partition("=")
        found = _reached_point(command, point, searched=True) if equals else None
        if found is None:
            owner = _owner(point)
            hint = f"; `passpilot {owner}` has the point {point}" if equals and owner else ""
            known = ", ".join(_reached(command))
            raise UsageError(
                f"{command}: --advise: expected POINT=RUNNER with POINT among {known}, got {text!r}{hint}"
            )
        wanted.append((found, runner))
    asked = dict(wanted)
    for point in asked:
        if (count := [each for each, _ in wanted].count(point)) > 1:
            raise UsageError(f"{command}: expected one runner for the point {point}, got {count}")
    if chosen := chosen_policy(advice):
        rest = chosen.runners.items()
        asked = {**{point: runner for point, runner in rest if point not in advice.decided}, **asked}
    return {point: asked[point] for point in (*points, *asked) if point in asked}


def chosen_policy(advice: Advice) -> ChosenPolicy | None:
    """The policy that the flags name, if they name one.

    Raises:
        Error: there is no such policy or recipe, or it is for another LLVM.
    """
    if not advice.policy:
        return None
    from passpilot.passes.policy import ChosenPolicy

    return ChosenPolicy.find(advice.policy, "emit" if advice.command == "llc" else "optimize")


def _reached_point(command: str, name: str, *, searched: bool = False) -> str | None:
    """The present name of a decision point, or None if the command does not reach the point.

    With `searched`, passes of other distributions are imported to find the point.
    """
    if name in HOOKED or command == "llc":
        return name if name in _reached_by(command) else None
    from passpilot.features.point import current_name, is_known
    from passpilot.passes.points import search

    found = current_name(name)
    return found if is_known(found) or (searched and search(found)) else None


def _reached_by(command: str) -> tuple[str, ...]:
    """LLVM's decision points that a command reaches, and for llc those of passes that run there."""
    return POINTS_OF[command] + (tuple(EMIT_PASSES) if command == "llc" else ())


def _reached(command: str) -> tuple[str, ...]:
    """All known points that the command reaches."""
    if command == "llc":
        return _reached_by(command)
    from passpilot.features.point import point_names

    return *POINTS_OF[command], *(name for name in point_names() if name not in HOOKED)


def log_paths(advice: Advice, advised: Iterable[str]) -> dict[str, str]:
    """The log paths by advised point: from --log POINT=F, or from --log F if there is one advisor."""
    command, only = advice.command, list(advised)
    written: dict[str, str] = {}
    for text in advice.log:
        name, equals, path = text.partition("=")
        point = _reached_point(command, name) if equals else None
        if point is None:
            point, path = only[0] if len(only) == 1 else "", text
        if not only or (point and point not in only):
            _refuse_lonely(command, "log", point)
        if not point:
            raise UsageError(
                f"{command}: --log: expected POINT=F with POINT among {', '.join(only)}, got {text!r}"
            )
        if point in written:
            raise UsageError(f"{command}: expected one log for the point {point}, got two")
        written[point] = path
    return written


def _check_keywords(advice: Advice, advised: Iterable[str]) -> None:
    """Make sure that every given keyword applies to an advisor."""
    points = set(advised)
    owners = {limit: point for point in POINTS_OF[advice.command] if (limit := _limit_of(point))}
    for name in advice.keywords:
        if not points or (name in owners and owners[name] not in points):
            _refuse_lonely(advice.command, name, owners.get(name, ""))


def _refuse_lonely(command: str, name: str, point: str) -> NoReturn:
    flag = f"--{name.replace('_', '-')}"
    point = point or next(iter(POINTS_OF[command]), "inline")
    raise UsageError(
        f"{command}: {flag}: expected an advisor that it is for, got none; add --{point}=default"
    )


def refuse_point(command: str, option: str) -> None:
    """Refuse an option that advises a decision point of another command.

    Raises:
        UsageError: the option does.
    """
    point = option.lstrip("-")
    if owner := _owner(point):
        expected = " or ".join(f"--{each}" for each in POINTS_OF[command])
        raise UsageError(f"{command}: {option}: expected {expected}, got a point of `passpilot {owner}`")


def _owner(point: str) -> str | None:
    """The command that reaches a decision point."""
    return next((command for command, points in POINTS_OF.items() if point in points), None)
