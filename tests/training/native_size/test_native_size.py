# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code from the IR: its size is learned, the exported model is the learned one, and it is used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import PipelineOptions
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.data.gather import TaughtModule
from passpilot.training.machines.local import Machines
from passpilot.training.native_size.fit import Accuracy, FitSettings, FittedSize
from passpilot.training.native_size.functions import SHAPE, FunctionRows, measured_rows
from passpilot.training.native_size.model import HEAD, VOCABULARY, NativeSize, shipped
from tests.command import passpilot as command
from tests.command import program, refused
from tests.corpus.programs import programs

SMALL = FitSettings(dimension=8, trees=30)


@pytest.fixture(scope="module")
def measured(corpus: Callable[[str, str], Path]) -> dict[str, FunctionRows]:
    """The functions of some units, by their programs."""
    made = {}
    for name, count in (("lua", 16), ("lz4", 5)):
        corpus(name, "Oz")
        program = programs()[name]
        paths = [program.unit(source, "Oz") for source in program.sources()[:count]]
        taught = [TaughtModule(name, str(path), str(path), "default<Oz>") for path in paths]
        rows = measured_rows(taught, Machines(2), 100)
        assert not [each for each in rows if isinstance(each, Exception)]
        made[name] = FunctionRows.joined([each for each in rows if isinstance(each, FunctionRows)])
    return made


def test_rows_are_what_llvm_counts(measured: dict[str, FunctionRows]) -> None:
    lua = measured["lua"]
    assert len(set(lua.names)) > 200
    assert lua.counts.shape == (len(lua.names), len(_core.ir2vec_entities()))
    opcodes = [number for number, (section, _) in enumerate(_core.ir2vec_entities()) if section == "Opcodes"]
    np.testing.assert_allclose(lua.counts[:, opcodes].sum(axis=1), lua.shape[:, SHAPE.index("instructions")])
    assert lua.sizes.min() > 0


def test_it_learns_and_the_exported_model_is_the_learned_one(
    measured: dict[str, FunctionRows], tmp_path: Path, corpus: Callable[[str, str], Path]
) -> None:
    """lz4 had no part in learning; the mean of all functions explains nothing, which is R2 of 0."""
    model = FittedSize(measured["lua"], SMALL)
    other = measured["lz4"]
    accuracy = Accuracy.of(model.sizes(other), other.sizes)
    assert accuracy.log_r2 > 0.85
    assert accuracy.median_error < 0.4
    model.write(str(tmp_path))
    read = NativeSize.read(tmp_path)
    corpus("lz4", "Oz")
    program = programs()["lz4"]
    module = Module.read(program.unit(program.sources()[0], "Oz"))
    optimize(module, "default<Oz>", [], options=PipelineOptions(as_clang=True))
    estimated = read.sizes(module)
    wanted = dict(zip(other.names, model.sizes(other), strict=True))
    assert len(estimated.keys() & wanted) > 10
    for name in estimated.keys() & wanted:
        assert estimated[name] == pytest.approx(wanted[name], rel=0.02, abs=1)
    vocabulary = json.loads((tmp_path / VOCABULARY).read_text())
    assert len(vocabulary["Opcodes"]["Add"]) == 8


def test_the_same_seed_gives_the_same_files(
    measured: dict[str, FunctionRows], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        FittedSize(measured["lz4"], FitSettings(4, 10)).write(str(tmp_path / name))
    for file in (VOCABULARY, HEAD):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert capfd.readouterr() == ("", "")


def test_the_model_that_is_shipped() -> None:
    """It has learned from all programs of the corpus that the tests have, so these functions are new."""
    source = "\n".join(
        f"define i32 @f{n}(i32 %a) minsize optsize {{\n"
        + "".join(f"  %v{i} = mul i32 {'%a' if not i else f'%v{i - 1}'}, {i + n + 3}\n" for i in range(n))
        + "".join(f"  %w{i} = call i32 @g(i32 %a)\n" for i in range(n))
        + "  ret i32 %a\n}"
        for n in (1, 20)
    )
    sizes = shipped().sizes(Module((source + "\ndeclare i32 @g(i32)\n").encode()))
    assert set(sizes) == {"f1", "f20"}
    assert 5 < sizes["f1"] < 60
    assert 3 * sizes["f1"] < sizes["f20"] < 600


def test_the_command(tmp_path: Path, corpus: Callable[[str, str], Path]) -> None:
    corpus("lua", "Oz")
    program = programs()["lua"]
    (tmp_path / "lua").mkdir()
    (tmp_path / "other").mkdir()
    for number, source in enumerate(program.sources()[:6]):
        folder = "other" if number > 3 else "lua"
        (tmp_path / folder / f"{number}.bc").write_bytes(program.unit(source, "Oz").read_bytes())
    (tmp_path / "other/bad.bc").write_text("no bitcode")
    (tmp_path / "split.toml").write_text('[parts]\ntrain = ["lua"]\ntest = ["other"]\n')
    modules = sorted(tmp_path.glob("*/*.bc"))
    flags = ("--split=split.toml", "--dimension=4", "--trees=10", "-o", "model")
    done = command("train", "native-size", *modules, *flags, cwd=tmp_path)
    assert done.code == 0, done.err
    assert re.search(r"^train +\d+ functions, R2 0\.9", done.out.decode(), re.MULTILINE)
    assert re.search(r"^test +\d+ functions, R2 ", done.out.decode(), re.MULTILINE)
    assert "left out: " in done.err
    assert "bad.bc" in done.err
    card = (tmp_path / "model/card.md").read_text()
    assert "test: other." in card
    searched = command(
        "tune", modules[0], "--compiles=6", "--reward=native-estimate", "-o", "d", cwd=tmp_path
    )
    assert searched.code == 0, searched.err
    told = re.search(r"native-estimate (\S+) -> (\S+)", searched.err)
    assert told
    assert 0 < float(told[2]) < float(told[1])


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/a.ll").write_text("define i32 @f() { ret i32 1 }")
    told = refused("train", "native-size", "a/a.ll", "-o", "model", cwd=tmp_path)
    assert "expected at least 320 functions to learn 32 dimensions, got 1" in told
    assert not (tmp_path / "model").exists()
    told = refused("train", "native-size", "-o", "model", cwd=tmp_path, code=2)
    assert "give modules or --corpus=DIR, one of them" in told
    with pytest.raises(InputError, match="expected a JSON file, got: No such file"):
        NativeSize.read(tmp_path)
    (tmp_path / VOCABULARY).write_text(
        '{"Opcodes": {"Add": [1]}, "Types": {"IntegerTy": [1]}, "Arguments": {"Pointer": [1]}}'
    )
    (tmp_path / HEAD).write_bytes(b"none")
    with pytest.raises(InputError, match="expected an ONNX model of one input"):
        NativeSize.read(tmp_path)


def test_functions_that_are_too_much_alike_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(program(100))
    told = refused("train", "native-size", "a.ll", "--dimension=8", "-o", "m", cwd=tmp_path)
    assert "train native-size: expected functions that differ in at least 8 entities of IR2Vec, got " in told
