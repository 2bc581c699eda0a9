# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PolicyBundle`: a policy's folder, as its `policy.toml` describes it; `find_bundle` finds one.

    name = "oz"
    description = "Makes programs smaller than -Oz"
    llvm = 22                               # the major version
    level = "Oz"                            # what it is made for
    targets = ["x86_64"]                    # triples, or starts of triples; or "any"
    license = "Apache-2.0 WITH LLVM-exception"
    card = "card.md"                        # how it was made and measured

    [points.inline]                         # one for each decision point
    model = "inline.onnx"
    options = "as=probability&threshold=0.4"    # the keys of onnx: and aot:
    features = "2f9a60c1b7d8e345"           # `features_digest` of the point that it was made for
    sha256 = "9c56..."                      # of the model

    [[recipes]]                             # ways to compile, the most promising first
    pipeline = "function(gvn),mergefunc"    # behind the level's own
    options = ["enable-machine-outliner=always"]    # LLVM's

    [[recipes]]
    [recipes.points.inline]                 # in place of the policy's own for this point
    runner = "default"

All keys but `name`, `description`, `llvm`, `level` and `license` may be left out; without recipes there is
one that has neither a pipeline nor options. `runner` is `default` or `const:N`. The file is data:
plugin/native/runtime/permitted.cpp lists the options and passes that it may name, beside passes that the user
loads.

`@NAME` is a policy of passpilot or of another distribution, which names the folder in the entry-point group
`passpilot.policies`:

    [project.entry-points."passpilot.policies"]
    tiny = "example_policies:tiny"      # the folder `tiny` of the package `example_policies`

No code of the distribution runs, except the `__init__.py` of packages above the one that is named.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from passpilot.features.catalogue import HOOKED, PASS_POINTS
from passpilot.plugin import _core
from passpilot.plugin.errors import Error, InputError, RunnerSpecError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.files import read_regular
from passpilot.plugin.json_and_toml import parse_toml
from passpilot.plugin.toolchain import LEVELS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from passpilot.features.point import Point

    Table: TypeAlias = Mapping[str, object]

GROUP: Final = "passpilot.policies"
"""The entry-point group for policies of other distributions."""

FILE: Final = "policy.toml"
LARGEST: Final = 64 << 20
"""The most bytes of a model."""

_KEYS: Final = ("name", "description", "llvm", "level", "targets", "license", "card", "points", "recipes")
_NEEDED: Final = ("name", "description", "llvm", "level", "license")
_POINT_KEYS: Final = ("model", "runner", "options", "features", "sha256")
_RECIPE_KEYS: Final = ("aim", "pipeline", "options", "targets", "points")
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_RUNNER: Final = re.compile(r"default|const:[0-9.]+", re.ASCII)
_OPTION: Final = re.compile(r"[A-Za-z][\w-]*(=\S+)?", re.ASCII)
_LEVEL: Final = re.compile(r"(?<![\w-])(default|lto|lto-pre-link|thinlto|thinlto-pre-link|fatlto-pre-link)<")


@dataclass(frozen=True, slots=True)
class PointPolicy:
    """Who decides at one decision point: a model, or a runner that needs no file."""

    model: str = ""
    """The path of the ONNX file; empty if there is none."""
    runner: str = ""
    """``default`` or ``const:N``; empty if there is a model."""
    options: str = ""
    """The keys of onnx: and aot:, as text behind the ``?`` of a runner spec."""
    features: str = ""
    """`features_digest` of the point; empty if the policy does not say."""
    sha256: str = ""
    """Of the model's file; empty if the policy does not say."""


@dataclass(frozen=True, slots=True)
class BundleRecipe:
    """One way to compile."""

    points: Mapping[str, PointPolicy] = field(default_factory=dict)
    pipeline: str = ""
    """It runs behind the level's own."""
    options: tuple[str, ...] = ()
    """Options of LLVM, without dashes."""
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """More options, by the triple or the start of one; they win."""
    aim: str = ""
    """What it is for, as ``?aim=`` names it; empty if it has no name."""


@dataclass(frozen=True, slots=True)
class PolicyBundle:
    """A policy's folder."""

    spec: str
    """How the user names it: ``@oz``, or the folder."""
    folder: str
    name: str
    description: str
    llvm: int
    level: str
    license: str
    targets: tuple[str, ...]
    """Empty for any."""
    card: str
    """The path of the model card; empty if there is none."""
    recipes: tuple[BundleRecipe, ...]

    @property
    def who(self) -> str:
        """The policy and its folder, for messages."""
        return f"policy {self.spec if self.spec.startswith('@') else self.name} at {self.folder}"

    @property
    def points(self) -> list[str]:
        """The decision points that any of its recipes advises."""
        return list(dict.fromkeys(point for recipe in self.recipes for point in recipe.points))

    @property
    def models(self) -> list[str]:
        """The paths of its models."""
        rows = (row for recipe in self.recipes for row in recipe.points.values())
        return list(dict.fromkeys(row.model for row in rows if row.model))


def find_bundle(spec: str) -> PolicyBundle:
    """The policy that a spec such as ``@oz``, ``@oz?tries=2`` or a folder names.

    Raises:
        RunnerSpecError: no policy has this name, or several have it.
        InputError: its folder is not that of a policy.
    """
    head = spec.partition("?")[0]
    if not head.startswith("@"):
        if not os.path.exists(head) and head in installed_names():
            got = "the name of an installed policy"
            raise InputError(f"policy {head}: expected a folder, got {got}; did you mean '@{head}'?")
        return read_bundle(os.path.realpath(head), head)
    places = list(_places(head[1:]))
    if not places:
        known = installed_names()
        msg = f"policy {head}: expected one of {', '.join(f'@{name}' for name in known) or 'those installed'}"
        names = [f"@{name}" for name in known]
        hint = did_you_mean(head, names) or "; `passpilot policies` lists them"
        raise RunnerSpecError(f"{msg}, or a folder with {FILE}, got another name{hint}")
    if len(places) > 1:
        msg = f"policy {head}: expected one distribution that has it, got {' and '.join(places)}"
        raise RunnerSpecError(f"{msg}; give the folder instead: --policy={places[0]}")
    return read_bundle(places[0], head)


def installed_names() -> list[str]:
    """The names of all installed policies, without the ``@``."""
    return sorted({*_own(), *(entry.name for entry in _entries())})


def installed_bundles() -> Iterator[PolicyBundle | Error]:
    """All installed policies; for one that cannot be read, its error."""
    for name in installed_names():
        try:
            yield find_bundle(f"@{name}")
        except Error as error:
            yield error


def _places(name: str) -> Iterator[str]:
    if name in (own := _own()):
        yield own[name]
    yield from dict.fromkeys(_folder_of(entry) for entry in _entries() if entry.name == name)


def _own() -> dict[str, str]:
    from passpilot import policies

    found = {}
    for folder in policies.__path__:
        for entry in os.scandir(folder):
            if os.path.isfile(os.path.join(entry.path, FILE)):
                found[entry.name] = os.path.realpath(entry.path)
    return found


def _entries() -> Iterator[EntryPoint]:
    from importlib.metadata import entry_points

    yield from entry_points(group=GROUP)


def _folder_of(entry: EntryPoint) -> str:
    """The folder that an entry point names."""
    from importlib.util import find_spec

    try:
        found = find_spec(entry.module)
        places = list(found.submodule_search_locations or ()) if found else []
    except Exception as error:  # the packages above may raise anything
        msg = f"policy @{entry.name} of entry point {entry.value}: expected a package that can be found"
        raise InputError(f"{msg}, got {type(error).__name__}: {error}; install it again") from error
    if not places:
        msg = f"policy @{entry.name} of entry point {entry.value}: expected a package, got none"
        raise InputError(f"{msg}; install it again")
    return os.path.realpath(os.path.join(places[0], *filter(None, entry.attr.split("."))))


def read_bundle(folder: str, spec: str) -> PolicyBundle:
    """Read and check a policy's folder; `spec` is how the user names it.

    Raises:
        InputError: it has no `policy.toml`, or one with a wrong key or value.
    """
    who = f"policy {spec} at {folder}" if spec.startswith("@") else f"policy {folder}"
    reader = _BundleReader(folder, who)
    table = reader.table()
    name = reader.text(table, "name")
    if not _NAME.fullmatch(name) or (name != spec.removeprefix("@") and spec.startswith("@")):
        expected = f"the name {spec[1:]}" if spec.startswith("@") else "a name of a-z, 0-9 and '-'"
        raise reader.wrong(f"{expected} in {FILE}", repr(name), name)
    llvm = table["llvm"]
    if type(llvm) is not int:
        raise reader.wrong("LLVM's major version, such as llvm = 22", repr(llvm), "llvm")
    level = reader.text(table, "level")
    if level not in LEVELS[1:]:
        raise reader.wrong(f"a level among {', '.join(LEVELS[1:])} in {FILE}", repr(level), level)
    shared = reader.points(table.get("points", {}))
    return PolicyBundle(
        spec,
        folder,
        name,
        reader.text(table, "description"),
        llvm,
        level,
        reader.text(table, "license"),
        reader.targets(table.get("targets", "any")),
        reader.file(reader.text(table, "card")) if "card" in table else "",
        reader.recipes(table.get("recipes", [{}]), shared),
    )


def features_digest(point: Point) -> str:
    """A hash of the features and the advice of a decision point, without custom features."""
    from passpilot.runners.base import own_features

    rows = [f"{spec.name} {spec}" for spec in (*own_features(point), point.default, point.advice)]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


class _BundleReader:
    """Reads the values of a `policy.toml`; errors name the policy."""

    def __init__(self, folder: str, who: str) -> None:
        self._folder = folder
        self._who = who
        self._text = ""

    def wrong(self, expected: str, got: str, text: str = "", after: str = "") -> InputError:
        """The error about a value, with the line of its `text` in the file, below the text `after`."""
        hint = "" if got.endswith("?") else "; docs/own-policy.md describes the file"
        line = self._line_of(text, after) if text else 0
        who = f"{self._who}: {FILE}:{line}" if line else self._who
        return InputError(f"{who}: expected {expected}, got {got:.200}{hint}")

    def _refused(self, expected: str, got: str) -> InputError:
        """The error about a name in a recipe."""
        return self.wrong(expected, repr(got), got, "recipes")

    def _line_of(self, text: str, after: str) -> int:
        """The line of a text; 0 if TOML spells it in another way."""
        name = re.compile(rf"(?<![\w-]){re.escape(text)}(?![\w-])")
        found = name.search(self._text, max(0, self._text.find(after)))
        return self._text.count("\n", 0, found.start()) + 1 if found else 0

    def table(self) -> Table:
        path = os.path.join(self._folder, FILE)
        try:
            data = read_regular(path)
        except OSError as error:
            raise self.wrong(f"a folder with {FILE}", self._other(error)) from error
        table = parse_toml(data, f"{self._who}: {FILE}")
        self._text = data.decode("utf-8", "surrogateescape")
        self._check_keys(table, _KEYS, FILE)
        if missing := [key for key in _NEEDED if key not in table]:
            raise self.wrong(f"the keys {', '.join(_NEEDED)} in {FILE}", f"none of {', '.join(missing)}")
        return table

    def _other(self, error: OSError) -> str:
        """What the folder is, if it has no policy's file that can be read."""
        if not isinstance(error, FileNotFoundError) or not os.path.isdir(self._folder):
            return error.strerror or "an error"
        model = os.path.join(self._folder, "model.onnx")
        if os.path.isfile(model):
            return f"a trained model, which a point takes: --inline=onnx:{model}"
        return "a folder without it"

    def _check_keys(self, table: object, known: tuple[str, ...], where: str) -> Table:
        if not isinstance(table, dict):
            raise self.wrong(f"a table as {where}", repr(table))
        if unknown := [key for key in table if key not in known]:
            raise self.wrong(
                f"keys among {', '.join(known)} in {where}",
                f"{unknown[0]!r}{did_you_mean(str(unknown[0]), known)}",
                str(unknown[0]),
            )
        return table

    def text(self, table: Table, key: str) -> str:
        """The text of a key; empty without the key."""
        value = table.get(key, "")
        if not isinstance(value, str) or not value.isprintable():
            raise self.wrong(f"a text of one line as {key}", repr(value), key)
        return value

    def file(self, name: str) -> str:
        path = os.path.join(self._folder, name)
        if not name or os.path.isabs(name) or ".." in name.split("/"):
            raise self.wrong("the name of a file in the folder", repr(name), name)
        if not os.path.isfile(path):
            raise self.wrong(f"the file {name} in the folder, which {FILE} names", "none", name)
        return path

    def targets(self, value: object) -> tuple[str, ...]:
        if value == "any":
            return ()
        if not isinstance(value, list) or not value or not all(_is_word(word) for word in value):
            raise self.wrong('targets = "any", or a list such as ["x86_64"]', repr(value), "targets")
        return tuple(value)

    def points(self, value: object) -> dict[str, PointPolicy]:
        if not isinstance(value, dict):
            raise self.wrong("tables such as [points.inline]", repr(value))
        return {point: self._point(point, row) for point, row in value.items()}

    def _point(self, point: str, value: object) -> PointPolicy:
        row = self._check_keys(value, _POINT_KEYS, f"[points.{point}]")
        texts = {key: self.text(row, key) for key in _POINT_KEYS}
        if bool(texts["model"]) == bool(texts["runner"]) or not _NAME.fullmatch(point):
            raise self.wrong(f"a model or a runner in [points.{point}]", repr(dict(row)))
        known = [*HOOKED, *PASS_POINTS]
        if point not in known and (hint := did_you_mean(point, known, 0.8)):
            raise self.wrong(f"a decision point in [points.{point}]", f"{point!r}{hint}", point)
        if texts["runner"] and not _RUNNER.fullmatch(texts["runner"]):
            raise self.wrong(
                f"runner = default or const:N in [points.{point}]", repr(texts["runner"]), texts["runner"]
            )
        if texts["model"]:
            texts["model"] = self.file(texts["model"])
            if os.path.getsize(texts["model"]) > LARGEST:
                raise self.wrong(f"models of at most {LARGEST >> 20} MiB", texts["model"])
        return PointPolicy(**texts)

    def recipes(self, value: object, shared: Mapping[str, PointPolicy]) -> tuple[BundleRecipe, ...]:
        if not isinstance(value, list) or not value:
            raise self.wrong("tables [[recipes]]", repr(value))
        return tuple(self._recipe(row, shared) for row in value)

    def _recipe(self, value: object, shared: Mapping[str, PointPolicy]) -> BundleRecipe:
        row = self._check_keys(value, _RECIPE_KEYS, "[[recipes]]")
        pipeline, aim, targets = self.text(row, "pipeline"), self.text(row, "aim"), row.get("targets", {})
        if _LEVEL.search(pipeline):
            raise self.wrong("passes to run behind the level's own as pipeline", repr(pipeline), pipeline)
        if aim and not _NAME.fullmatch(aim):
            raise self.wrong('an aim such as "file"', repr(aim), aim)
        if not isinstance(targets, dict) or not all(map(_is_word, targets)):
            raise self.wrong("tables such as targets = { x86_64 = [...] }", repr(targets))
        # Other names than LLVM's are of passes in Python, which may be loaded later; compilers check them.
        if others := [name for name in _core.other_passes(pipeline) if not _may_be_python(name)]:
            raise self._refused(_core.EXPECTED_PASS, others[0])
        return BundleRecipe(
            {**shared, **self.points(row.get("points", {}))},
            pipeline,
            self._options(row.get("options", [])),
            {target: self._options(options) for target, options in targets.items()},
            aim,
        )

    def _options(self, options: object) -> tuple[str, ...]:
        if not isinstance(options, list) or not all(_is_word(word, _OPTION) for word in options):
            raise self.wrong('options such as ["enable-machine-outliner=always"]', repr(options))
        if others := [word for word in options if not _core.is_permitted_option(word)]:
            raise self._refused(_core.EXPECTED_OPTION, others[0])
        for option in options:
            if expected := _core.expected_value(option):
                raise self._refused(expected, option)
        return tuple(options)


def _may_be_python(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _llvm_names()


@cache
def _llvm_names() -> frozenset[str]:
    """The names of LLVM's passes and analyses, and words of its pipeline grammar that policies cannot use."""
    rows = (line.strip() for line in _core.pass_names().splitlines() if line.startswith(" "))
    return frozenset((*(row.partition("<")[0] for row in rows), "repeat", "devirt", "require", "coro-cond"))


def _is_word(value: object, pattern: re.Pattern[str] = re.compile(r"[\w.-]+")) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
