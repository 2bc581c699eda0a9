# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prepares a policy for this machine: checks it, compiles its models, and leaves a record for compilers.

plugin/native/runtime/policy_record.h describes the record. While the files that it names do not change, a
compiler reads the record alone and needs no Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, RunnerSpecError, SpecMismatchError
from passpilot.plugin.toolchain import installed
from passpilot.plugin.version import MAJOR
from passpilot.runners.policy import cache
from passpilot.runners.policy.bundle import FILE, PointPolicy, PolicyBundle, features_digest, find_bundle
from passpilot.runners.policy.models import runner_of

HEAD: Final = "passpilot policy 1"


def policy_record(spec: str) -> _core.PolicyRecord:
    """The record of the policy that a spec names, whatever its query is; prepares the policy if necessary.

    Raises:
        Error: there is no such policy, it is for another LLVM, or its models cannot be used.
    """
    if found := _core.PolicyRecord.find(spec, plugin_folder()):
        return found
    record = _core.PolicyRecord.parse(prepare_policy(spec))
    assert record is not None, "it is one of ours"
    return record


def prepare_policy(spec: str) -> str:
    """Prepare a policy; returns its record, which is also left in the user's cache.

    Raises:
        Error: as `policy_record`.
    """
    bundle = find_bundle(spec)
    if bundle.llvm != MAJOR:
        hint = "install the policy's version for this LLVM, or train it again"
        raise RunnerSpecError(f"{bundle.who}: expected LLVM {MAJOR}, got LLVM {bundle.llvm}; {hint}")
    specs: dict[tuple[str, PointPolicy], str] = {}
    for recipe in bundle.recipes:
        for point, row in recipe.points.items():
            if (point, row) not in specs:
                _check_features(bundle, point, row)
                specs[point, row] = runner_of(bundle, point, row)
    files = [os.path.join(bundle.folder, FILE), *bundle.models, *_places(bundle)]
    files += [
        text.partition("?")[0].removeprefix("aot:") for text in specs.values() if text.startswith("aot:")
    ]
    text = "".join(f"{line}\n" for line in (HEAD, *_sources(bundle, files), *_lines(bundle, specs)))
    for place in _core.PolicyRecord.places(spec, plugin_folder())[:1]:
        cache.keep(os.path.basename(place), text.encode("utf-8", "surrogateescape"), bundle.who)
    return text


def plugin_folder() -> str:
    """The folder of the plugin for stock tools, as the plugin itself sees it."""
    return os.path.dirname(os.path.realpath(installed("libpasspilot.so")))


def _check_features(bundle: PolicyBundle, point: str, row: PointPolicy) -> None:
    """Check that a known decision point has the features that the model was made for."""
    from passpilot.features.point import find_point, is_known

    if not row.features or not is_known(point):
        return
    ours = features_digest(find_point(point))
    if row.features != ours:
        expected = f"expected a model for the features {ours} of the decision point {point}"
        raise SpecMismatchError(f"{bundle.who}: {expected}, got one for {row.features}; train it again")


def _places(bundle: PolicyBundle) -> Iterator[str]:
    """The plugin; for a policy by name also the folders whose change may give the name to another policy."""
    plugin = plugin_folder()
    yield os.path.join(plugin, "libpasspilot.so")
    yield os.path.dirname(os.path.dirname(plugin))  # what is installed beside passpilot
    if bundle.spec.startswith("@"):
        yield os.path.dirname(bundle.folder)
        yield from filter(os.path.isdir, os.environ.get("PYTHONPATH", "").split(os.pathsep))


def _sources(bundle: PolicyBundle, paths: Iterable[str]) -> Iterator[str]:
    for path in dict.fromkeys(paths):
        if "\n" in path:
            raise InputError(f"{bundle.who}: expected paths without line breaks, got {path!r}; move it")
        status = os.stat(path)
        yield f"source {status.st_size} {status.st_mtime_ns} {path}"


def _lines(bundle: PolicyBundle, specs: dict[tuple[str, PointPolicy], str]) -> Iterator[str]:
    yield f"policy {bundle.spec.partition('?')[0] if bundle.spec.startswith('@') else bundle.name}"
    yield f"folder {bundle.folder}"
    yield f"level {bundle.level}"
    yield from (f"target {target}" for target in bundle.targets)
    for recipe in bundle.recipes:
        yield "recipe"
        yield from (f"runner {point} {specs[point, row]}" for point, row in recipe.points.items())
        yield from (f"pipeline {recipe.pipeline}" for _ in range(bool(recipe.pipeline)))
        yield from (f"option {option}" for option in recipe.options)
        yield from (f"option-for {target} {each}" for target, all_ in recipe.targets.items() for each in all_)
        yield from (f"aim {recipe.aim}" for _ in range(bool(recipe.aim)))
