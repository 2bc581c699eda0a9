# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The card of a trained policy: what it is, what it was made of, how good it is, and where it ends."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, cast

from passpilot.features.catalogue import HOOKED
from passpilot.plugin.version import MAJOR
from passpilot.training.learning.toml_settings import toml_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from passpilot.training.by_reward.evolve import Evolved, EvolveSettings
    from passpilot.training.by_reward.reinforce import Reinforced
    from passpilot.training.by_reward.reinforce_settings import ReinforceSettings
    from passpilot.training.learning.imitate import Imitated
    from passpilot.training.learning.settings import ImitateSettings

CARD: Final = "card.md"
DATA: Final = "data.json"
"""What `passpilot train data` writes beside the parts."""

HEAD: Final = "| part | programs | decisions | agreement | as LLVM | changed | found | right |"
RULE: Final = "|---|---|---|---|---|---|---|---|"

_PACKAGES: Final = ("passpilot", "numpy", "lightgbm", "onnx", "onnxruntime")
_FEATURES: Final = 12


def card(made: Imitated, settings: ImitateSettings, command: str) -> str:
    """The card as Markdown."""
    lines = [
        f"# A policy for the decision point `{made.point}`",
        "",
        f"The model: {made.description}. It was trained to take the decisions of "
        + ("LLVM itself." if settings.label == "default" else "its teachers."),
        "",
        *_use(made.point),
        "## Figures",
        "",
        HEAD,
        RULE,
    ]
    for part, each in made.parts.items():
        cells = (
            part,
            len(made.programs[part]),
            f"{each.decisions:,}",
            f"{each.agreement:.2%}",
            f"{each.default:.2%}",
            f"{each.changed:,}",
            f"{each.found:.1%}" if each.changed else "",
            f"{each.right:.1%}" if each.changed else "",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    check = made.check
    lines += [
        "",
        "`agreement` is the share of decisions as labelled, `as LLVM` that of LLVM's own. `changed` counts",
        "the labels that are not LLVM's own; `found` is the share of them that the policy takes, too, and",
        "`right` the share of the policy's deviations from LLVM that are as labelled. The figures of",
        "`validation` are those by which the round was chosen. None of them is a size or a time: `passpilot",
        "eval` measures programs.",
        "",
        f"The exported model decides as the trained one on {check.observations:,} observations:",
        f"{check.differing} decisions differ, and scores by {check.distance:.1e} at most.",
        "",
        *_data(made, settings),
        "## Training",
        "",
        f"    {command}",
        "",
        f"{made.rounds} rounds in {made.seconds:.0f} s; seed {settings.seed}; the curve is in `curve.csv`",
        "and `curve.svg`. All settings:",
        "",
        "```toml",
        toml_text(settings).rstrip(),
        "```",
        "",
        *_importance(made.importance),
        *_limits(),
        "## Versions",
        "",
        f"LLVM {MAJOR}, Python {platform.python_version()}, {', '.join(_versions())}, {platform.machine()}.",
    ]
    return "\n".join(lines) + "\n"


def evolved_card(made: Evolved, settings: EvolveSettings, command: str) -> str:
    """The card of an evolved policy as Markdown."""
    check, measure = made.check, settings.reward
    rows = [f"| {part} | {made.start[part]:+.3%} | {value:+.3%} |" for part, value in made.rewards.items()]
    lines = [
        f"# A policy for the decision point `{settings.point}`",
        "",
        f"The model: {made.description}. It was evolved by {settings.method} on the reward {measure}.",
        "",
        *_use(settings.point),
        "## Figures",
        "",
        f"The mean gain over LLVM's own decisions in {measure}, by modules; more is better:",
        "",
        "| part | at the start | policy |",
        "|---|---|---|",
        *rows,
        "",
        f"It is from iteration {made.iteration} of {settings.iterations}. The exported model decides as",
        f"the evolved one on {check.observations:,} observations: {check.differing} decisions differ, and",
        f"scores by {check.distance:.1e} at most. The sizes are those of objects: measure linked programs",
        "with `passpilot eval`.",
        "",
        "## Training",
        "",
        f"    {command}",
        "",
        f"{made.seconds:.0f} s; the curve is in `curve.csv` and `curve.svg`. All settings:",
        "",
        "```toml",
        toml_text(settings).rstrip(),
        "```",
        "",
        *_limits(),
        "## Versions",
        "",
        f"LLVM {MAJOR}, Python {platform.python_version()}, {', '.join(_versions())}, {platform.machine()}.",
    ]
    return "\n".join(lines) + "\n"


def reinforced_card(made: Reinforced, method: str, settings: ReinforceSettings, command: str) -> str:
    """The card of a policy that an agent has learned, as Markdown."""
    check, measure = made.check, settings.reward
    lines = [
        f"# A policy for the decision point `{settings.point}`",
        "",
        f"The model: {made.description}. It was learned by {method.upper()} on the reward {measure}.",
        "",
        *_use(settings.point),
        "## Figures",
        "",
        f"The mean gain over LLVM's own decisions in {measure}, by modules; more is better:",
        "",
        "| part | policy |",
        "|---|---|",
        *(f"| {part} | {value:+.3%} |" for part, value in made.rewards.items()),
        f"| train, decisions at random | {made.random:+.3%} |",
        "",
        f"It was taken after {made.steps:,} decisions. The exported model decides as the agent on",
        f"{check.observations:,} observations: {check.differing} decisions differ, and scores by",
        f"{check.distance:.1e} at most. The sizes are those of objects: measure linked programs with",
        "`passpilot eval`.",
        "",
        "## Training",
        "",
        f"    {command}",
        "",
        f"{made.seconds:.0f} s; the curve is in `curve.csv` and `curve.svg`. All settings:",
        "",
        "```toml",
        toml_text(settings).rstrip(),
        "```",
        "",
        *_limits(),
        "## Versions",
        "",
        f"LLVM {MAJOR}, Python {platform.python_version()}, {', '.join(_versions())}, {platform.machine()}.",
    ]
    return "\n".join(lines) + "\n"


def _use(point: str) -> Iterator[str]:
    flag = f"--{point}=" if point in HOOKED else f"--advise {point}="
    yield from (
        "## Use",
        "",
        f"    {flag}onnx:model.onnx",
        "    passpilot aot model.onnx -o policy.so",
        f"    {flag}aot:policy.so",
        "",
    )


def _data(made: Imitated, settings: ImitateSettings) -> Iterator[str]:
    yield from ("## Data", "")
    for part, names in made.programs.items():
        yield f"- {part}: {', '.join(names)}"
    yield ""
    roots = dict.fromkeys(
        os.path.dirname(os.path.abspath(path))
        for paths in (settings.data.train, settings.data.validation, settings.data.test)
        for path in paths
    )
    for root in roots:
        try:
            with open(os.path.join(root, DATA), encoding="utf-8") as file:
                told = cast("Mapping[str, object]", json.load(file))
            teachers = ", ".join(cast("Sequence[str]", told["teachers"]))
            yield from (f"`{told['command']}`; teachers: {teachers}", "")
        except (OSError, ValueError, KeyError, TypeError):
            continue  # shards from elsewhere have no description


def _importance(importance: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield from (
        "## What it looks at",
        "",
        "The agreement that is lost when the values of a feature are shuffled among decisions:",
        "",
        "| feature | lost |",
        "|---|---|",
    )
    for name, lost in importance[:_FEATURES]:
        yield f"| {name} | {lost:.2%} |"
    yield ""


def _limits() -> Iterator[str]:
    yield from (
        "## Limits",
        "",
        "- It has seen some programs, for one target, at one level, with one version of LLVM. On others",
        "  it can make code larger: measure with `passpilot eval` on what you ship.",
        "- It can make code larger or slower, never wrong: the compiler decides what is legal.",
        "",
    )


def _versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
