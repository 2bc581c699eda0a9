# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`write_policy`: the files of a policy, and what `policy.toml` says of them."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.features.point import find_point
from passpilot.plugin.errors import InputError
from passpilot.runners.policy.bundle import features_digest
from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice, write_policy
from tools.policies.formulas import split_priority

OPTIONS: Final = ("disable-lsr", "tail-merge-size=3")


def models(folder: Path) -> list[str]:
    """Three models, of which the last is the first."""
    paths = [folder / f"{number}.onnx" for number in range(3)]
    for path, power in zip(paths, (0.0, 1.0, 0.0), strict=True):
        path.write_bytes(split_priority(power, 0))
    return [str(path) for path in paths]


def told(folder: Path) -> Any:
    """What the file says."""
    return tomllib.loads((folder / "policy.toml").read_text())


def test_models_are_copied_once_under_the_names_of_their_points(tmp_path: Path) -> None:
    first, second, again = models(tmp_path)
    text = PolicyText(
        name="mine", description='says "x" \\ ä', targets=("x86_64", "aarch64"), data={"d": "12"}
    )
    recipes = [
        RecipeChoice(),
        RecipeChoice("mergefunc", OPTIONS, {"priority": PointChoice(second, options="as=value")}),
        RecipeChoice(points={"priority": PointChoice(again), "inline": PointChoice(runner="const:0")}),
    ]
    made = write_policy(str(tmp_path / "out"), text, {"priority": PointChoice(first)}, recipes)
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert set(files) == {"policy.toml", "card.md", "priority.onnx", "priority.2.onnx"}
    assert files["priority.onnx"] == Path(first).read_bytes()
    raw = told(tmp_path / "out")
    assert (raw["name"], raw["description"], raw["llvm"]) == ("mine", 'says "x" \\ ä', 22)
    assert (raw["level"], raw["targets"], raw["card"]) == ("Oz", ["x86_64", "aarch64"], "card.md")
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    features = features_digest(find_point("priority"))
    assert raw["points"] == {
        "priority": {"model": "priority.onnx", "features": features, "sha256": digests["priority.onnx"]}
    }
    assert raw["recipes"][0] == {}
    assert (raw["recipes"][1]["pipeline"], raw["recipes"][1]["options"]) == ("mergefunc", [*OPTIONS])
    other = raw["recipes"][1]["points"]["priority"]
    assert (other["model"], other["options"]) == ("priority.2.onnx", "as=value")
    assert other["sha256"] == digests["priority.2.onnx"]
    assert raw["recipes"][2]["points"]["priority"]["model"] == "priority.onnx"
    assert raw["recipes"][2]["points"]["inline"] == {"runner": "const:0"}
    assert files["card.md"].decode() == (
        "## Models and data\n\n| file | SHA-256 |\n|---|---|\n"
        f"| priority.onnx | `{digests['priority.onnx']}` |\n"
        f"| priority.2.onnx | `{digests['priority.2.onnx']}` |\n| d | `12` |\n"
    )
    assert (made.name, len(made.recipes)) == ("mine", 3)


def test_a_policy_of_one_recipe_for_any_target(tmp_path: Path) -> None:
    text = PolicyText(name="p", description="d", level="O2", card="# Card\n\n")
    write_policy(str(tmp_path), text, {"inline": PointChoice(runner="default")})
    raw = told(tmp_path)
    assert (raw["level"], raw["targets"], raw["recipes"]) == ("O2", "any", [{}])
    assert raw["points"] == {"inline": {"runner": "default"}}
    assert raw["license"] == "Apache-2.0 WITH LLVM-exception"
    assert (tmp_path / "card.md").read_text().startswith("# Card\n\n## Models and data\n")


def test_a_policy_that_would_be_refused_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_policy(
            str(tmp_path), PolicyText(name="p", description="d"), {"inline": PointChoice(runner="python:x")}
        )
