# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model cards: what a model is, what it was made of, how good it is, and where it ends."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.catalogue import HOOKED
from passpilot.plugin.errors import Error
from passpilot.plugin.json_and_toml import read_json
from passpilot.plugin.version import MAJOR
from passpilot.training.learning.toml_settings import toml_text

if TYPE_CHECKING:
    from passpilot.training.by_reward.settings import RewardSettings
    from passpilot.training.learning.settings import ImitateSettings
    from passpilot.training.learning.training import TrainedModel

CARD: Final = "card.md"
DATA: Final = "data.json"
"""What `passpilot train data` writes beside the parts."""

COLUMNS: Final = ("part", "programs", "decisions", "agreement", "as LLVM", "changed", "found", "right")

_PACKAGES: Final = ("passpilot", "numpy", "lightgbm", "onnx", "onnxruntime")
_FEATURES: Final = 12


def card(title: str, about: str, sections: Mapping[str, Iterable[str]]) -> str:
    """A card as Markdown: a title, a paragraph, the lines of sections, and the versions of the packages."""
    lines = [f"# {title}", "", about, ""]
    for heading, body in sections.items():
        lines += [f"## {heading}", "", *body, ""]
    versions = [f"LLVM {MAJOR}", f"Python {platform.python_version()}", *_versions(), platform.machine()]
    return "\n".join((*lines, "## Versions", "", f"{', '.join(versions)}.")) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def imitation_card(model: TrainedModel, settings: ImitateSettings, command: str) -> str:
    """The card of a model that has learned decisions."""
    rows = [
        (
            part,
            len(model.programs[part]),
            f"{agreement.decisions:,}",
            f"{agreement.agreement:.2%}",
            f"{agreement.default:.2%}",
            f"{agreement.changed:,}",
            f"{agreement.found:.1%}" if agreement.changed else "",
            f"{agreement.right:.1%}" if agreement.changed else "",
        )
        for part, agreement in model.parts.items()
    ]
    teacher = "LLVM itself" if settings.label == "default" else "its teachers"
    figures = (
        *table(COLUMNS, rows),
        "",
        "`agreement` is the share of decisions as labelled, `as LLVM` that of LLVM's own. `changed` counts",
        "the labels that are not LLVM's own; `found` is the share of them that the model takes, too, and",
        "`right` the share of the model's deviations from LLVM that are as labelled. The figures of",
        "`validation` are those by which the round was chosen. None of them is a size or a time: `passpilot",
        "eval` measures programs.",
    )
    importance = (
        "The agreement that is lost when the values of a feature are shuffled among decisions:",
        "",
        *table(("feature", "lost"), [(name, f"{lost:.2%}") for name, lost in model.importance[:_FEATURES]]),
    )
    data = {"Data": _data(model, settings)}
    how = f"{model.rounds} rounds in {model.seconds:.0f} s; seed {settings.seed}"
    more = {"What it looks at": importance}
    taken = f"It was trained to take the decisions of {teacher}."
    return _trained(model, settings, command, taken, figures, how, data, more)


def reward_card(model: TrainedModel, method: str, settings: RewardSettings, command: str) -> str:
    """The card of a model that has learned from a reward."""
    learned = (
        "learned by PPO"
        if method == "ppo"
        else "learned by DQN"
        if method == "dqn"
        else f"evolved by {method}"
    )
    names = list(model.others)
    what = "decisions" if method in ("ppo", "dqn") else "iterations"
    rows = [
        (
            part,
            *(f"{model.others[name][part]:+.3%}" if part in model.others[name] else "" for name in names),
            f"{reward:+.3%}",
        )
        for part, reward in model.rewards.items()
    ]
    figures = (
        f"The mean gain over LLVM's own decisions in {model.measure}, by modules; more is better:",
        "",
        *table(("part", *names, "model"), rows),
        "",
        f"The model was taken after {model.rounds:,} {what}.",
        "The sizes are those of objects: measure linked programs with `passpilot eval`.",
    )
    taken = f"It was {learned} on the reward {model.measure}."
    return _trained(model, settings, command, taken, figures, f"{model.seconds:.0f} s")


def _trained(
    model: TrainedModel,
    settings: object,
    command: str,
    taken: str,
    figures: Sequence[str],
    how: str,
    data: Mapping[str, Iterable[str]] = {},
    more: Mapping[str, Iterable[str]] = {},
) -> str:
    flag = f"--{model.point}=" if model.point in HOOKED else f"--advise {model.point}="
    load = "".join(f" --load={name}" for name in model.files)
    check = model.check
    exported = (
        f"The exported model decides as the trained one on {check.observations:,} observations:",
        f"{check.differing} decisions differ, and scores by {check.distance:.1e} at most.",
    )
    sections: dict[str, Iterable[str]] = {
        "Use": (
            f"    {flag}onnx:model.onnx{load}",
            f"    passpilot aot model.onnx{load} -o model.so",
            f"    {flag}aot:model.so{load}",
        ),
        "Figures": (*figures, "", *exported),
        **data,
        "Training": (
            f"    {command}",
            "",
            f"{how}; the curve is in `curve.csv` and `curve.svg`. All settings:",
            "",
            "```toml",
            toml_text(settings).rstrip(),
            "```",
        ),
        **more,
        "Limits": (
            "- It has seen some programs, for one target, at one level, with one version of LLVM. On others",
            "  it can make code larger: measure with `passpilot eval` on what you ship.",
            "- It can make code larger or slower, never wrong: the compiler decides what is legal.",
        ),
    }
    title = f"A model for the decision point `{model.point}`"
    return card(title, f"The model: {model.description}. {taken}", sections)


def _data(model: TrainedModel, settings: ImitateSettings) -> Iterator[str]:
    for part, names in model.programs.items():
        yield f"- {part}: {', '.join(names)}"
    data = settings.data
    for root in dict.fromkeys(
        os.path.dirname(os.path.abspath(path)) for path in (*data.train, *data.validation, *data.test)
    ):
        try:
            facts: Any = read_json(os.path.join(root, DATA))
            line = f"`{facts['command']}`; teachers: {', '.join(facts['teachers'])}"
        except (Error, KeyError, TypeError):
            continue  # shards from elsewhere have no description
        yield from ("", line)


def _versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
