# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `policy.toml` says and what a `PolicyBundle` makes of it, key by key."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError
from passpilot.runners.policy.bundle import FILE, LARGEST, PolicyBundle, features_digest, read_bundle
from passpilot.runners.policy.prepare import prepare_policy

HEAD: Final = 'name = "x"\ndescription = "Does it"\nllvm = 22\nlevel = "Oz"\nlicense = "MIT"\n'
WHOLE: Final = f"""{HEAD}targets = ["x86_64", "aarch64-linux"]
card = "card.md"

[points.inline]
model = "m.onnx"
options = "as=logits"
features = "12"
sha256 = "34"

[points.evict]
runner = "const:0.5"

[[recipes]]
pipeline = "function(gvn)"
options = ["disable-lsr", "tail-merge-size=3"]

[[recipes]]
[recipes.points.inline]
model = "n.onnx"

[[recipes]]
[recipes.points.priority]
runner = "default"
"""


def read(folder: Path, text: str, spec: str = "") -> PolicyBundle:
    (folder / FILE).write_text(text)
    return read_bundle(str(folder), spec or str(folder))


def refusal(folder: Path, text: str, spec: str = "") -> str:
    with pytest.raises(InputError) as caught:
        read(folder, text, spec)
    assert str(caught.value).endswith("; docs/own-policy.md describes the file")
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that `WHOLE` names."""
    for name in ("m.onnx", "n.onnx", "card.md"):
        (tmp_path / name).touch()
    (tmp_path / "a").mkdir()
    return tmp_path


def test_every_key(folder: Path) -> None:
    made = read(folder, WHOLE)
    assert (made.spec, made.folder, made.name, made.description) == (str(folder), str(folder), "x", "Does it")
    assert (made.llvm, made.level, made.license) == (22, "Oz", "MIT")
    assert made.targets == ("x86_64", "aarch64-linux")
    assert made.card == str(folder / "card.md")
    first, second, third = made.recipes
    assert (first.pipeline, first.options) == ("function(gvn)", ("disable-lsr", "tail-merge-size=3"))
    inline = first.points["inline"]
    assert (inline.model, inline.runner) == (str(folder / "m.onnx"), "")
    assert (inline.options, inline.features, inline.sha256) == ("as=logits", "12", "34")
    assert first.points["evict"].runner == "const:0.5"
    assert (second.pipeline, second.options) == ("", ())
    assert second.points["inline"].model == str(folder / "n.onnx")
    assert second.points["inline"].options == ""
    assert second.points["evict"] == third.points["evict"] == first.points["evict"]
    assert third.points["inline"] == inline


def test_models_and_points_are_listed_once_in_their_order(folder: Path) -> None:
    made = read(folder, WHOLE)
    assert made.models == [str(folder / "m.onnx"), str(folder / "n.onnx")]
    assert made.points == ["inline", "evict", "priority"]


def test_what_may_be_left_out(tmp_path: Path) -> None:
    made = read(tmp_path, HEAD)
    assert (made.targets, made.card, made.points, made.models) == ((), "", [], [])
    (recipe,) = made.recipes
    assert (recipe.points, recipe.pipeline, recipe.options) == ({}, "", ())
    assert read(tmp_path, f'{HEAD}targets = "any"').targets == ()


def test_a_policy_is_called_as_the_user_calls_it(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD).who == f"policy x at {tmp_path}"
    assert read(tmp_path, HEAD, "@x").who == f"policy @x at {tmp_path}"
    text = refusal(tmp_path, HEAD.replace('"x"', '"y"'), "@x")
    assert text.startswith(f"policy @x at {tmp_path}: policy.toml:1: expected the name x in policy.toml, got")
    assert read(tmp_path, HEAD.replace('"x"', '"y"')).name == "y"
    assert refusal(tmp_path, "").startswith(f"policy {tmp_path}: expected the keys ")


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "Os", "Oz"])
def test_levels(level: str, tmp_path: Path) -> None:
    assert read(tmp_path, HEAD.replace("Oz", level)).level == level


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD.replace("22", "true"), "such as llvm = 22, got True"),
        (f"{HEAD}colour = 1\nsize = 2", "card, points, recipes in policy.toml, got 'colour'"),
        (HEAD.replace('"x"', '"X"'), "a name of a-z, 0-9 and '-' in policy.toml, got 'X'"),
        (HEAD.replace('"MIT"', "3"), "a text of one line as license, got 3"),
        (HEAD.replace("Does it", "Does\\nit"), "a text of one line as description, got 'Does\\nit'"),
        (HEAD.replace('level = "Oz"\n', "").replace('name = "x"\n', ""), "got none of name, level"),
        (f"{HEAD}[points.inline]\ncolour = 1\nsize = 2", "in [points.inline], got 'colour'"),
        (
            f"{HEAD}[[recipes]]\ncolour = 1",
            "keys among aim, pipeline, options, targets, points in [[recipes]], got 'colour'",
        ),
        (f"{HEAD}points = 1", "tables such as [points.inline], got 1"),
        (f"{HEAD}recipes = 1", "tables [[recipes]], got 1"),
        (f"{HEAD}recipes = [1]", "a table as [[recipes]], got 1"),
        (f'{HEAD}targets = ["a b"]', "a list such as"),
        (f"{HEAD}targets = [1]", "a list such as"),
        (f'{HEAD}targets = ["x86_64", "a b"]', "a list such as"),
        (f'{HEAD}targets = "x86_64"', "a list such as"),
        (f'{HEAD}card = ""', "the name of a file in the folder, got ''"),
        (
            f'{HEAD}[points.inline]\nmodel = "m.onnx"\nrunner = "default"',
            "a model or a runner in [points.inline]",
        ),
        (f'{HEAD}[points."In line"]\nrunner = "default"', "a model or a runner in [points.In line]"),
        (
            f'{HEAD}[points.inline]\nrunner = "const:x"',
            "runner = default or const:N in [points.inline], got 'c",
        ),
        (f'{HEAD}[points.inline]\nrunner = "defaults"', "runner = default or const:N in [points.inline]"),
        (f'{HEAD}[points.inline]\nmodel = "/etc/passwd"', "in the folder, got '/etc/passwd'"),
        (f'{HEAD}[points.inline]\nmodel = "a/../m.onnx"', "in the folder, got 'a/../m.onnx'"),
        (f'{HEAD}[points.inline]\nmodel = "."', "the file . in the folder, which "),
        (f'{HEAD}[[recipes]]\noptions = "a"', "options such as "),
        (f'{HEAD}[[recipes]]\noptions = ["a", 1]', "options such as "),
        (f'{HEAD}[[recipes]]\noptions = ["-a"]', "options such as "),
        (f'{HEAD}[[recipes]]\noptions = ["a="]', "options such as "),
        (f"{HEAD}[[recipes]]\npipeline = 1", "a text of one line as pipeline, got 1"),
        (f"{HEAD}[[recipes]]\n[recipes.points.inline]", "a model or a runner in [points.inline], got {}"),
    ],
)
def test_values_that_are_refused(text: str, said: str, folder: Path) -> None:
    assert said in refusal(folder, text)


@pytest.mark.parametrize(
    "level", ["default", "lto", "lto-pre-link", "thinlto", "thinlto-pre-link", "fatlto-pre-link"]
)
def test_a_recipe_does_not_repeat_the_level(level: str, tmp_path: Path) -> None:
    for pipeline in (f"{level}<Oz>", f"function(gvn),{level}<O2>"):
        text = refusal(tmp_path, f'{HEAD}[[recipes]]\npipeline = "{pipeline}"')
        assert f"passes to run behind the level's own as pipeline, got '{pipeline}'" in text
    for pipeline in (f"my-{level}<Oz>", f"my{level}<Oz>"):
        made = read(tmp_path, f'{HEAD}[[recipes]]\npipeline = "{pipeline}"')
        assert made.recipes[0].pipeline == pipeline


def test_the_largest_model(folder: Path) -> None:
    os.truncate(folder / "m.onnx", LARGEST)
    assert read(folder, WHOLE).models
    os.truncate(folder / "m.onnx", LARGEST + 1)
    assert f"expected models of at most 64 MiB, got {folder}/m.onnx" in refusal(folder, WHOLE)


def test_the_digest_is_of_the_points_own_features_default_and_advice() -> None:
    point = find_point("inline")
    digest = features_digest(point)
    assert re.fullmatch("[0-9a-f]{16}", digest)
    custom = replace(point, features=(*point.features, TensorSpec("mine", "int64", (1,))))
    assert features_digest(custom) == digest
    others = (
        replace(point, features=point.features[1:]),
        replace(point, advice=replace(point.advice, dtype="int32")),
        replace(point, features=(replace(point.features[0], name="other"), *point.features[1:])),
    )
    assert len({digest, *map(features_digest, others)}) == 4


def test_the_record_has_each_recipe_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / FILE).write_text(
        f'{HEAD}targets = ["x86_64", "arm"]\n[points.inline]\nrunner = "const:1"\n'
        '[[recipes]]\npipeline = "function(gvn)"\noptions = ["tail-merge-size=1", "disable-lsr"]\n'
        '[[recipes]]\n[recipes.points.inline]\nrunner = "default"\n'
    )
    lines = prepare_policy(str(tmp_path)).splitlines()
    policy = lines.index("policy x")
    assert lines[policy:] == [
        "policy x",
        f"folder {tmp_path}",
        "level Oz",
        "target x86_64",
        "target arm",
        "recipe",
        "runner inline const:1",
        "pipeline function(gvn)",
        "option tail-merge-size=1",
        "option disable-lsr",
        "recipe",
        "runner inline default",
    ]
    status = (tmp_path / FILE).stat()
    assert lines[1] == f"source {status.st_size} {status.st_mtime_ns} {tmp_path}/{FILE}"
    assert len(set(lines[1:policy])) == policy - 1
    (record,) = (tmp_path / "cache/passpilot/policies").iterdir()
    assert record.read_text().splitlines() == lines


def test_a_folder_whose_name_has_a_line_break(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "a\nb"
    folder.mkdir()
    (folder / FILE).write_text(HEAD)
    with pytest.raises(InputError, match=r"expected paths without line breaks, got '.*; move it"):
        prepare_policy(str(folder))
