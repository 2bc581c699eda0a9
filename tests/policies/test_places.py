# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where policies and their compiled models are looked for, and what is said of those that are broken."""

from __future__ import annotations

import fcntl
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.features.point import find_point
from passpilot.plugin.errors import InputError, ModelError, RunnerSpecError, SpecMismatchError
from passpilot.plugin.version import MAJOR
from passpilot.runners.policy import cache
from passpilot.runners.policy.bundle import (
    FILE,
    PointPolicy,
    features_digest,
    find_bundle,
    installed_bundles,
    installed_names,
    read_bundle,
)
from passpilot.runners.policy.models import _file as compiled_name
from passpilot.runners.policy.models import compile_models, runner_of
from passpilot.runners.policy.prepare import prepare_policy
from tests.policies.bundles import install

HEAD = 'name = "nice"\ndescription = "Does it"\nllvm = 22\nlevel = "Oz"\nlicense = "MIT"\n'


@pytest.fixture
def nice(tmp_path: Path) -> Path:
    """The folder of a policy."""
    folder = tmp_path / "nice"
    folder.mkdir()
    (folder / FILE).write_text(HEAD)
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for distributions."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def register(site: Path, owner: str, name: str, value: str) -> None:
    """Install a distribution that only names the folder of a policy."""
    info = site / f"{owner}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {owner}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[passpilot.policies]\n{name} = {value}\n")


def test_a_policy_by_its_name_or_its_folder(nice: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site, nice, "nice")
    for spec in ("@nice", "@nice?tries=2"):
        found = find_bundle(spec)
        assert (found.spec, found.folder) == ("@nice", str(nice))
    monkeypatch.chdir(nice.parent)
    found = find_bundle("nice?recipe=1")
    assert (found.spec, found.folder) == ("nice", str(nice))


def test_two_distributions_may_share_a_folder(nice: Path, site: Path) -> None:
    install(site, nice, "nice", "me")
    install(site, nice, "nice", "you")
    assert find_bundle("@nice").folder == str(nice)
    assert installed_names().count("nice") == 1


def test_a_folder_within_a_package(nice: Path, site: Path) -> None:
    (site / "outer/inner").mkdir(parents=True)
    (site / "outer/__init__.py").touch()
    nice.rename(site / "outer/inner/nice")
    register(site, "whole", "nice", "outer:inner.nice")
    assert find_bundle("@nice").folder == str(site / "outer/inner/nice")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nowhere_at_all:nice", "expected a package, got none; install it again"),
        ("nowhere_at_all.below:nice", "expected a package that can be found, got ModuleNotFoundError: "),
        ("single:nice", "expected a package, got none; install it again"),
        ("raising.below:nice", "expected a package that can be found, got ValueError: not today; install it"),
    ],
)
def test_distributions_that_are_broken(value: str, said: str, site: Path) -> None:
    (site / "single.py").touch()
    (site / "raising.py").write_text("raise ValueError('not today')\n")
    register(site, "whole", "nice", value)
    with pytest.raises(InputError) as caught:
        find_bundle("@nice")
    assert f"policy @nice of entry point {value}: {said}" in str(caught.value)
    errors = [each for each in installed_bundles() if isinstance(each, Exception)]
    assert [str(each) for each in errors] == [str(caught.value)]


def test_names_that_nobody_has(nice: Path, site: Path) -> None:
    install(site, nice, "nice")
    known = installed_names()
    assert known == sorted(known)
    expected = f"policy @nicer: expected one of {', '.join(f'@{name}' for name in known)}, or a folder with "
    with pytest.raises(RunnerSpecError) as caught:
        find_bundle("@nicer")
    assert str(caught.value).startswith(f"{expected}policy.toml, got another name; did you mean '@nice'?")
    with pytest.raises(RunnerSpecError, match="did you mean '@nice'"):
        find_bundle("@nibe")
    with pytest.raises(RunnerSpecError, match="got another name; `passpilot policies` lists them"):
        find_bundle("@quite-another")


def test_several_places_are_told(nice: Path, site: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    install(site, nice, "nice", "me")
    install(site, other, "nice", "you")
    with pytest.raises(RunnerSpecError) as caught:
        find_bundle("@nice")
    told = str(caught.value)
    assert str(nice) in told
    assert str(other) in told
    assert " and " in told
    assert "; give the folder instead: --policy=/" in told


def test_the_order_of_the_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = f"passpilot-{os.geteuid()}"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert list(cache.folders(create=False)) == [str(tmp_path / "cache/passpilot/policies")]
    assert not (tmp_path / own).exists()
    temporary = str(tmp_path / own / "policies")
    assert list(cache.folders(create=True)) == [str(tmp_path / "cache/passpilot/policies"), temporary]
    assert (tmp_path / own).stat().st_mode & 0o777 == 0o700
    for text in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", text)
        assert list(cache.folders(create=False)) == [
            str(tmp_path / "home/.cache/passpilot/policies"),
            temporary,
        ]
    monkeypatch.setenv("TMPDIR", "relative")
    assert temporary not in cache.folders(create=False)


def test_a_link_is_no_folder_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / f"passpilot-{os.geteuid()}").symlink_to("real")
    assert len(list(cache.folders(create=True))) == 1


def test_a_file_is_found_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    first, second = map(Path, cache.folders(create=True))
    for folder in (first, second):
        folder.mkdir(parents=True)
    assert cache.find("a") == ""
    (second / "a").touch()
    assert cache.find("a") == str(second / "a")
    (first / "a").mkdir()
    assert cache.find("a") == str(second / "a"), "a folder is no file"
    assert cache.keep("b", b"12", "who") == str(first / "b")
    assert (first / "b").read_bytes() == b"12"
    assert cache.find("b") == str(first / "b")
    assert not (second / "b").exists()


def test_one_process_at_a_time_has_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "passpilot/policies/a.lock"
    with cache.locked("a"), path.open("ab") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        monkeypatch.setattr(cache, "PATIENCE", 0.05)
        with cache.locked("a"):
            pass  # it has waited, and goes on without
        with cache.locked("b"), pytest.raises(BlockingIOError), path.with_name("b.lock").open("ab") as free:
            fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)


def with_model(folder: Path, content: bytes, more: str = "") -> Path:
    (folder / "m.onnx").write_bytes(content)
    (folder / FILE).write_text(f'{HEAD}[points.inline]\nmodel = "m.onnx"\n{more}')
    return folder


def test_a_model_that_is_not_the_one(nice: Path) -> None:
    bundle = read_bundle(str(with_model(nice, b"x", 'sha256 = "12AB"\n')), str(nice))
    (recipe,) = bundle.recipes
    with pytest.raises(ModelError, match=r"expected m\.onnx with SHA-256 12AB, got [0-9a-f]{64}; install it"):
        runner_of(bundle, "inline", recipe.points["inline"])
    (nice / "m.onnx").unlink()
    with pytest.raises(ModelError, match=r"nice at .*: expected the model m\.onnx, got: No such file"):
        runner_of(bundle, "inline", recipe.points["inline"])


def test_a_model_that_cannot_be_compiled_leaves_no_folder(nice: Path) -> None:
    bundle = read_bundle(str(with_model(nice, b"no model")), str(nice))
    told = r"policy nice at .*: expected a model that can be compiled, got m\.onnx: model .*m\.onnx: expected"
    with pytest.raises(ModelError, match=told):
        compile_models(bundle)
    assert sorted(path.name for path in nice.iterdir()) == ["m.onnx", FILE]


def test_a_policy_without_models_has_nothing_to_compile(nice: Path) -> None:
    (nice / FILE).write_text(f'{HEAD}[points.inline]\nrunner = "default"\n')
    bundle = read_bundle(str(nice), str(nice))
    assert compile_models(bundle) == []
    assert [path.name for path in nice.iterdir()] == [FILE]
    assert runner_of(bundle, "inline", bundle.recipes[0].points["inline"]) == "default"


def test_a_compiled_model_is_named_after_all_that_decides_on_it() -> None:
    row = PointPolicy(model="m.onnx", options="as=logits")
    name = compiled_name("inline", row, b"model")
    assert re.fullmatch(r"inline-[0-9a-f]{32}\.so", name)
    assert compiled_name("inline", replace(row, model="n.onnx", features="1", sha256="2"), b"model") == name
    others = {
        compiled_name("evict", row, b"model"),
        compiled_name("inline", replace(row, options="as=score"), b"model"),
        compiled_name("inline", row, b"model "),
    }
    assert len({name.partition("-")[2], *(other.partition("-")[2] for other in others)}) == 4


def test_a_record_ages_with_the_folders_that_decide_on_the_name(
    nice: Path, site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", f"{site}:{tmp_path}/missing")
    install(site, nice, "nice")
    by_name, by_folder = (
        [line.split(" ", 3)[3] for line in prepare_policy(spec).splitlines() if line.startswith("source ")]
        for spec in ("@nice", str(nice))
    )
    assert by_name[0] == by_folder[0] == f"{nice}/{FILE}"
    assert by_name[: len(by_folder)] == by_folder
    assert by_name[len(by_folder) :] == [str(tmp_path), str(site)]
    assert Path(by_folder[1]).name == "libpasspilot.so"
    assert Path(by_folder[2]) in Path(by_folder[1]).parents


def test_features_of_a_point_that_nobody_knows_are_not_checked(
    nice: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told = 'runner = "default"\nfeatures = "0123"\n'
    (nice / FILE).write_text(f"{HEAD}[points.nobodys]\n{told}")
    assert "runner nobodys default" in prepare_policy(str(nice)).splitlines()
    (nice / FILE).write_text(f"{HEAD}[points.evict]\n{told}")
    with pytest.raises(
        SpecMismatchError, match="of the decision point evict, got one for 0123; train it again"
    ):
        prepare_policy(str(nice))
    (nice / FILE).write_text(
        f"{HEAD}[points.evict]\n{told.replace('0123', features_digest(find_point('evict')))}"
    )
    assert "runner evict default" in prepare_policy(str(nice)).splitlines()


@pytest.mark.parametrize("llvm", [MAJOR - 1, MAJOR + 1])
def test_a_policy_for_another_llvm(llvm: int, nice: Path) -> None:
    (nice / FILE).write_text(HEAD.replace("llvm = 22", f"llvm = {llvm}"))
    told = f"policy nice at {nice}: expected LLVM {MAJOR}, got LLVM {llvm}; install the"
    with pytest.raises(RunnerSpecError, match=told):
        prepare_policy(str(nice))
