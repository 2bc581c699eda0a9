# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`LocalCompiler`: workers that are used again, files that fail, and baselines that are forgotten."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.training.environments import local_compiler
from passpilot.training.environments.local_compiler import LocalCompiler
from tests.training.calls import CODE

if TYPE_CHECKING:
    from passpilot.training.episode import Info

EPISODE: dict[str, Any] = {"point": "inline", "pipeline": "default<Oz>", "reward": "native-size"}
OTHER = CODE.replace(b"mul", b"sdiv")


def worker(compiler: LocalCompiler) -> object:
    return cast("Any", compiler)._stream._worker


def played(compiler: LocalCompiler, code: bytes = CODE) -> Info:
    compiler.reset(code, **EPISODE)
    while True:
        _, _, over, info = compiler.step(0)
        if over:
            return info


@pytest.mark.parametrize("where", ["process", "thread"])
def test_a_worker_serves_one_episode_after_the_other(where: Any) -> None:
    """Also one that begins while another is under way; a compiler that was closed starts again."""
    before = set(threading.enumerate())
    with LocalCompiler(where) as compiler:
        assert worker(compiler) is None
        compiler.reset(CODE, **EPISODE)
        first = worker(compiler)
        compiler.step(0)
        compiler.reset(OTHER, **EPISODE)
        told = played(compiler)
        assert worker(compiler) is first
        compiler.close()
        assert worker(compiler) is None
        assert played(compiler) == told
        assert worker(compiler) is not first
    assert not set(threading.enumerate()) - before


@pytest.mark.parametrize("where", ["process", "thread"])
def test_an_episode_that_is_refused_leaves_its_worker(where: Any) -> None:
    with LocalCompiler(where) as compiler:
        compiler.reset(CODE, **EPISODE)
        first = worker(compiler)
        with pytest.raises(InputError, match="no-such-pass"):
            compiler.reset(CODE, point="inline", pipeline="no-such-pass")
        assert played(compiler)["decisions"]
        assert worker(compiler) is first


@pytest.mark.parametrize("where", ["process", "thread"])
def test_a_file_that_fails_is_named(where: Any, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("raise ValueError('no such luck')\n")
    with LocalCompiler(where, load=[str(tmp_path / "wrong.py")]) as compiler:
        for _ in range(2):
            with pytest.raises(CompilationError, match="no such luck"):
                compiler.reset(CODE, **EPISODE)
            assert worker(compiler) is None


def test_only_so_many_baselines_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest one goes."""
    monkeypatch.setattr(local_compiler, "REMEMBERED", 2)
    with LocalCompiler("thread") as compiler:
        stream = cast("Any", compiler)._stream
        codes = [CODE, OTHER, CODE.replace(b"mul", b"srem")]
        seen = []
        for code in (*codes, codes[2], codes[1]):
            before = set(stream._baselines)
            played(compiler, code)
            seen.append((len(stream._baselines), set(stream._baselines) != before))
        assert seen == [(1, True), (2, True), (2, True), (2, False), (2, False)]


def test_an_episode_without_decisions_is_of_its_first_point() -> None:
    with LocalCompiler("thread") as compiler:
        assert compiler.reset(b"define void @f() { ret void }", **EPISODE, also={"evict": ()}) is None
        assert compiler.point == "inline"
