# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link-time optimization in stock ld.lld with our plugin: full and thin, on one thread and on four."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

import passpilot
from passpilot.features.log.reader import read_log
from passpilot.plugin.toolchain import llvm_plugin
from tests import stock
from tests.command import passpilot as run_passpilot
from tests.corpus.build import bindir, build
from tests.corpus.programs import programs
from tests.passes.inline.test_runners import perceptron
from tests.plugin.native.stock.tools import Done, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BUDGET: Final = re.compile(r"passpilot: warning: inline advisor: .* had grown over its size budget.*\n")
PROGRAM: Final = programs()["libyaml"]
INLINE: Final = {"PASSPILOT_INLINE": "random:9", "PASSPILOT_SIZE_BUDGET": "1.5"}
RANDOM: Final = {**INLINE, "PASSPILOT_EVICT": "random:4"}


@pytest.fixture(scope="module", params=["full", "thin"])
def mode(request: pytest.FixtureRequest) -> str:
    """Kind of link-time optimization."""
    return str(request.param)


@pytest.fixture(scope="module")
def objects(mode: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A program's translation units, prepared for the linker by clang."""
    assert not build([PROGRAM.name])
    folder = tmp_path_factory.mktemp(mode)
    made = []
    for unit in sorted(set(PROGRAM.bitcode("O2").glob("*.bc")) - {PROGRAM.whole("O2")}):
        target = folder / f"{unit.stem}.o"
        stock.run("clang", "-O2", "-x", "ir", f"-flto={mode}", "-c", unit, "-o", target)
        made.append(target)
    return made


def link(
    objects: list[Path],
    output: Path,
    *flags: str,
    jobs: int = 4,
    plugin: bool = True,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Link the program."""
    load = [f"--load-pass-plugin={llvm_plugin()}"] if plugin else []
    linker: list[str] = [f"-Wl,{flag}" for flag in (f"--thinlto-jobs={jobs}", *load, *flags)]
    plain: tuple[str | Path, ...] = ("-fuse-ld=lld", "-O2", "-flto", *PROGRAM.libs, "-o", output)
    return run(bindir() / "clang", *objects, *plain, *linker, cwd=output.parent, env=env)


def linked(objects: list[Path], output: Path, **keywords: object) -> bytes:
    """The program, linked without a word but on what a random policy comes to."""
    done = link(objects, output, **keywords)  # type: ignore[arg-type]
    assert done.code == 0, done.err
    assert not BUDGET.sub("", done.err)
    return output.read_bytes()


def test_the_default_is_the_linkers_own(objects: list[Path], tmp_path: Path) -> None:
    expected = linked(objects, tmp_path / "out", plugin=False)
    echo = {"PASSPILOT_INLINE": "default", "PASSPILOT_EVICT": "default", "PASSPILOT_PRIORITY": "default"}
    (tmp_path / "logs").mkdir()
    logged = {**echo, "PASSPILOT_LOG": str(tmp_path / "logs")}
    for variables, jobs in (({}, 4), (echo, 1), (logged, 4)):
        same = linked(objects, tmp_path / "out", jobs=jobs, env=variables) == expected
        assert same, (variables, jobs)


def test_threads_do_not_matter(objects: list[Path], mode: str, tmp_path: Path) -> None:
    """Nor do they for what is logged: each module has logs of its own."""
    made = {}
    for jobs in (1, 4):
        logs = tmp_path / f"logs{jobs}"
        logs.mkdir()
        env = {**RANDOM, "PASSPILOT_LOG": str(logs), "PASSPILOT_UNIT": "program"}
        program = linked(objects, tmp_path / "out", jobs=jobs, env=env)
        made[jobs] = (program, {log.name: log.read_bytes() for log in logs.iterdir()})
    assert made[1][1] == made[4][1]
    assert made[1][0] == made[4][0]
    assert len(made[1][1]) == 2 * (1 if mode == "full" else len(objects))


@pytest.mark.parametrize("scheme", ["onnx", "aot"])
def test_models_on_several_threads(objects: list[Path], scheme: str, tmp_path: Path) -> None:
    """Every module has its own model, or its own state of a compiled one."""
    model = perceptron(tmp_path / "model.onnx")
    if scheme == "aot":
        assert run_passpilot("aot", model, "-o", "model.so", cwd=tmp_path).code == 0
        model = tmp_path / "model.so"
    env = {**RANDOM, "PASSPILOT_INLINE": f"{scheme}:{model}", "PASSPILOT_PRIORITY": "random:5"}
    made = [linked(objects, tmp_path / "out", jobs=jobs, env=env) for jobs in (1, 4)]
    assert made[0] == made[1]
    assert made[0] != linked(objects, tmp_path / "out", env={**env, "PASSPILOT_INLINE": "const:0"})


def test_policies_in_python_on_several_threads(objects: list[Path], mode: str, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def few(obs):\n    return obs['callee_basic_block_count'] < 4\n")
    made = []
    for jobs in (1, 4) if mode == "thin" else (4,):
        env = {"PASSPILOT_INLINE": "python:policy.py:few", "PASSPILOT_EVICT": "random:4"}
        made.append(linked(objects, tmp_path / "out", jobs=jobs, env=env))
    assert made[0] == made[-1]
    assert made[0] != linked(objects, tmp_path / "out", plugin=False)


@pytest.mark.filterwarnings("ignore:.*over 1.5 times its size")
def test_decisions_are_those_of_ours(objects: list[Path], mode: str, tmp_path: Path) -> None:
    """The module before the linker's pipeline, optimized by us, is the module after it."""
    logs = tmp_path / "logs"
    logs.mkdir()
    env = {**INLINE, "PASSPILOT_LOG": str(logs)}
    output = tmp_path / "out"
    assert link(objects, output, "--save-temps", env=env).code == 0
    first, last = (output, ".0.2.internalize.bc") if mode == "full" else (objects[0], ".3.import.bc")
    before = first.with_name(first.name + last)
    after = first.with_name(first.name + (".0.4.opt.bc" if mode == "full" else ".4.opt.bc"))
    hosted = tmp_path / "hosted.log"
    module = passpilot.Module.read(before, verify=False)
    with passpilot.InlineAdvisor("random:9", log=str(hosted), size_budget=1.5) as advisor:
        passpilot.optimize(module, "lto<O2>" if mode == "full" else "thinlto<O2>", [advisor])
    unordered = re.compile(r"\A; ModuleID.*\n|; preds = .*")  # the linker's has no order of uses
    same = unordered.sub("", str(module.copy())) == unordered.sub("", str(passpilot.Module.read(after)))
    assert same
    name = "ld-temp.o" if mode == "full" else objects[0].name
    (log,) = (each for each in logs.iterdir() if each.name.startswith(f"{name}-"))
    assert log.read_bytes() == hosted.read_bytes()
    assert list(read_log(str(log)))


def test_one_log_for_all_modules(objects: list[Path], mode: str, tmp_path: Path) -> None:
    env = {"PASSPILOT_INLINE": "const:0", "PASSPILOT_LOG": "x.log"}
    done = link(objects, tmp_path / "out", jobs=1, env=env)
    if mode == "full":  # one module
        assert (done.code, done.err) == (0, "")
        assert list(read_log(str(tmp_path / "x.log")))
    else:
        assert done.code == 1
        assert re.search(
            r"ld\.lld: error: .*x\.log: expected one compilation per log, got a second", done.err
        )
        assert not (tmp_path / "out").exists()


def test_an_error_leaves_no_output(objects: list[Path], tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def no(obs):\n    raise ValueError('no luck')\n")
    done = link(objects, tmp_path / "out", env={"PASSPILOT_INLINE": "python:policy.py:no"})
    assert done.code == 1
    assert re.search(
        r"ld\.lld: error: inline advisor at decision 0 .*: ValueError: no luck \(.*policy\.py:2\)", done.err
    )
    assert "Traceback" not in done.err
    assert not (tmp_path / "out").exists()


def test_flags_once_the_plugin_is_loaded(objects: list[Path], tmp_path: Path) -> None:
    flags = (f"-load={llvm_plugin()}", "-passpilot-inline=const:0", "-passpilot-stats")
    done = link(objects, tmp_path / "out", *(f"-mllvm,{flag}" for flag in flags))
    assert done.code == 0, done.err
    assert "inline advisor const:0 on " in done.err


@pytest.fixture
def thin(tmp_path: Path) -> list[Path]:
    """Two small units for ThinLTO."""
    for name in ("main", "second"):
        callee = "static int twice(int x) { return x * 2; }"
        (tmp_path / f"{name}.c").write_text(
            f"{callee}\nint {name}(int x) {{ return twice(x) + twice(x + 1); }}"
        )
        stock.run("clang", "-O2", "-flto=thin", "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o")
    return [tmp_path / "main.o", tmp_path / "second.o"]


MEETS: Final = """
import threading

both = threading.Barrier(2)
here = threading.local()

def meets(obs):
    if not hasattr(here, "met"):
        here.met = both.wait(60)
    return False
"""


def test_modules_are_optimized_at_the_same_time(thin: list[Path], tmp_path: Path) -> None:
    """The first question of each of two threads waits for that of the other."""
    (tmp_path / "policy.py").write_text(MEETS)
    words: tuple[str | Path, ...] = (bindir() / "ld.lld", "-shared", "--thinlto-jobs=2", *thin, "-o", "out")
    env = {"PASSPILOT_INLINE": "python:policy.py:meets", "PASSPILOT_EVICT": "random:4"}
    done = run(*words, f"--load-pass-plugin={llvm_plugin()}", cwd=tmp_path, env=env)
    assert (done.code, done.err) == (0, "")


def test_wrong_options_on_several_threads(thin: list[Path], tmp_path: Path) -> None:
    """Each of the linker's threads finds them; it ends in order, with an error of its own."""
    for variable in ({"PASSPILOT_AT": "nowhere=dce"}, {"PASSPILOT_LOAD": "nobody.py"}):
        done = link(thin, tmp_path / "out", env=variable)
        assert done.code == 1
        assert re.search(r"ld\.lld: error: .*(nowhere|nobody\.py)", done.err), done.err
        assert "bug report" not in done.err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("spelling", ["--thinlto-cache-dir=cache", "@flags"])
def test_a_cache_with_advice_is_refused(thin: list[Path], tmp_path: Path, spelling: str) -> None:
    """Its keys do not depend on the advice: it would return objects of other advice."""
    (tmp_path / "flags").write_text("--thinlto-cache-dir=cache\n")
    words: tuple[str | Path, ...] = (bindir() / "ld.lld", "-shared", spelling, *thin, "-o", "out")
    load = f"--load-pass-plugin={llvm_plugin()}"
    expected = "passpilot: expected an advised link without --thinlto-cache-dir, got one; remove it"
    done = run(*words, load, cwd=tmp_path, env={"PASSPILOT_INLINE": "const:0"})
    assert (done.code, expected in done.err) == (1, True), done.err
    assert not (tmp_path / "out").exists()
    assert run(*words, load, cwd=tmp_path).code == 0  # a plugin that nobody asks does no harm
    early = ("-mllvm", f"-load={llvm_plugin()}")  # now all modules are in the cache
    done = run(*words, *early, "-mllvm", "-passpilot-inline=const:0", cwd=tmp_path)
    assert (done.code, expected in done.err) == (1, True), done.err
    done = run(*words, *early, cwd=tmp_path, env={"PASSPILOT_INLINE": "const:0"})
    assert (done.code, expected in done.err) == (1, True), done.err
