# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`write_policy`: writes a policy's folder: `policy.toml`, the models, and the model card.

`passpilot.runners.policy.bundle` describes the file. The hashes of the models, and of the features that their
decision points have now, come into it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from passpilot.features.point import find_point
from passpilot.plugin.failures import utf8
from passpilot.plugin.files import read_regular, write_files
from passpilot.plugin.version import MAJOR
from passpilot.runners.policy.bundle import FILE, PolicyBundle, features_digest, read_bundle
from passpilot.training.learning.card import table


@dataclass(frozen=True, slots=True)
class PointChoice:
    """Who decides at a decision point: a model, or a runner that needs no file."""

    model: str = ""
    """The path of an ONNX file, which is copied; empty if there is none."""
    runner: str = ""
    """``default`` or ``const:N``; empty if there is a model."""
    options: str = ""
    """The keys of onnx:, such as ``as=probability&threshold=0.4``."""


@dataclass(frozen=True, slots=True)
class RecipeChoice:
    """One way to compile."""

    pipeline: str = ""
    """It runs behind the level's own."""
    options: Sequence[str] = ()
    """Options of LLVM, such as ``enable-machine-outliner=always``."""
    points: Mapping[str, PointChoice] = field(default_factory=dict)
    """In place of the policy's own for these points."""
    targets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """More options, by the triple or the start of one; they win."""
    aim: str = ""
    """What it is for, as ``?aim=`` names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyText:
    """What a policy says of itself."""

    name: str
    description: str
    level: str = "Oz"
    targets: Sequence[str] = ()
    """Empty for any."""
    license: str = "Apache-2.0 WITH LLVM-exception"
    card: str = ""
    """The text of the model card: how the policy was made, on which data, and what it was measured to do."""
    data: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the data that the models were made of, by name; the card ends with them."""


def write_policy(
    folder: str,
    text: PolicyText,
    points: Mapping[str, PointChoice],
    recipes: Sequence[RecipeChoice] = (RecipeChoice(),),
) -> PolicyBundle:
    """Write a policy's folder; returns the policy as it is read back.

    Raises:
        InputError: a file cannot be read or written, or the policy would be refused.
        UsageError: a decision point is unknown.
    """
    files: dict[str, bytes] = {}
    lines = list(_head(text))
    for point, row in points.items():
        lines += ["", f"[points.{point}]", *_rows(point, row, files)]
    for recipe in recipes:
        lines += ["", "[[recipes]]"]
        lines += [f"aim = {_quoted(recipe.aim)}"] * bool(recipe.aim)
        lines += [f"pipeline = {_quoted(recipe.pipeline)}"] * bool(recipe.pipeline)
        lines += [f"options = {_list(recipe.options)}"] * bool(recipe.options)
        lines += [f"targets.{_quoted(name)} = {_list(options)}" for name, options in recipe.targets.items()]
        for point, row in recipe.points.items():
            lines += [f"[recipes.points.{point}]", *_rows(point, row, files)]
    files["card.md"] = utf8(_card(text, files))
    files[FILE] = utf8("".join(f"{line}\n" for line in lines))
    os.makedirs(folder, exist_ok=True)
    write_files({os.path.join(folder, name): data for name, data in files.items()})
    return read_bundle(os.path.realpath(folder), folder)


def _head(text: PolicyText) -> Iterator[str]:
    yield f"name = {_quoted(text.name)}"
    yield f"description = {_quoted(text.description)}"
    yield f"llvm = {MAJOR}"
    yield f"level = {_quoted(text.level)}"
    yield f"targets = [{', '.join(map(_quoted, text.targets))}]" if text.targets else 'targets = "any"'
    yield f"license = {_quoted(text.license)}"
    yield 'card = "card.md"'


def _rows(point: str, row: PointChoice, files: dict[str, bytes]) -> Iterator[str]:
    """The lines of a point; its model comes into the files, under a name that says what it decides."""
    if row.runner:
        yield f"runner = {_quoted(row.runner)}"
        return
    data = read_regular(row.model)
    same = [name for name, known in files.items() if known == data and name.startswith(f"{point}.")]
    taken = sum(name.startswith(f"{point}.") for name in files)
    name = same[0] if same else f"{point}.{taken + 1}.onnx" if taken else f"{point}.onnx"
    files[name] = data
    yield f"model = {_quoted(name)}"
    if row.options:
        yield f"options = {_quoted(row.options)}"
    yield f"features = {_quoted(features_digest(find_point(point)))}"
    yield f"sha256 = {_quoted(hashlib.sha256(data).hexdigest())}"


def _card(text: PolicyText, files: Mapping[str, bytes]) -> str:
    hashes = {**{name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, **text.data}
    rows = table(("file", "SHA-256"), [(name, f"`{digest}`") for name, digest in hashes.items()])
    return "\n".join((text.card.rstrip(), "", "## Models and data", "", *rows, "")).lstrip()


def _list(words: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, words))}]"


def _quoted(text: str) -> str:
    """A TOML string; for printable text JSON's strings are TOML's, too."""
    return json.dumps(text, ensure_ascii=False)
