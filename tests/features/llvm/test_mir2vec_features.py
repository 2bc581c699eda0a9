# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MIR2Vec at `evict`: what llvm-ir2vec prints of the same machine code, and no crash where it crashes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

import passpilot
from passpilot.features.log.reader import read_log
from passpilot.plugin.errors import FeatureError, InputError
from tests import stock
from tests.features.llvm.vocabularies import DIMENSION, mir2vec_sections, written
from tests.passes.allocation.allocated import pressure
from tests.passes.allocation.pressure import PROGRAM, allocated
from tests.plugin.native.stock.tools import made, tool

if TYPE_CHECKING:
    from pathlib import Path

    from tests.features.llvm.vocabularies import Sections

pytestmark = pytest.mark.usefixtures("restored_registries")

NAMES: Final = ("mir2vec_function", "mir2vec_candidate", "mir2vec_columns")
COUNT: Final = 33


def machine_code(source: Path) -> Path:
    """The machine code in front of the register allocator."""
    path = source.with_suffix(".mir")
    stock.run("llc", "-O2", "-relocation-model=pic", "-stop-before=greedy", source, "-o", path)
    return path


def embedded(mir: Path, vocabulary: Path, level: str, *flags: str) -> str:
    """What LLVM's own tool prints."""
    words = [f"--level={level}", "--mode=mir", f"--mir2vec-vocab-path={vocabulary}", *flags]
    return stock.run("llvm-ir2vec", "embeddings", *words, mir).decode()


def numbers(text: str) -> Any:
    return np.array(text.split(), float)


@pytest.fixture
def integers(tmp_path: Path) -> Path:
    """A function without floating point, whose registers LLVM's tool does not crash at."""
    source = tmp_path / "in.c"
    source.write_text(PROGRAM.partition("double blend")[0])
    target = source.with_suffix(".bc")
    stock.run(
        "clang", "-O2", "-fno-vectorize", "-fno-slp-vectorize", "-c", "-emit-llvm", source, "-o", target
    )
    return target


class Recorder:
    """Follows the default, and keeps the vectors of every question."""

    features = ("mask", "evict_default", *NAMES)

    def __init__(self) -> None:
        self.questions: list[dict[str, Any]] = []

    def decide(self, obs: Any) -> int:
        site = obs.site
        kept = {name: obs[name].astype(float) for name in NAMES}
        evicted = [[each.register for each in column.interferences] for column in site.columns]
        kept |= {"candidate": site.candidate.register, "evicted": evicted, "mask": obs["mask"][0].tolist()}
        kept["function"] = site.function.name
        self.questions.append(kept)
        return int(obs.default())


@pytest.mark.parametrize("flags", [(), ("-mir2vec-reg-operand-weight=0.5", "-mir2vec-opc-weight=2")])
def test_the_first_question_has_what_llvms_tool_prints(
    integers: Path, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """Up to the first question the allocator has assigned registers, but changed no instruction."""
    mir = machine_code(integers)
    vocabulary = written(tmp_path / "v.json", mir2vec_sections(mir))
    passpilot.mir2vec_features(vocabulary)
    recorder = Recorder()
    if flags:
        passpilot.llvm_options(list(flags))
    try:
        allocated(integers, passpilot.EvictAdvisor(recorder))
    finally:
        passpilot.llvm_options([f"{flag.partition('=')[0]}=1" for flag in flags])
    first = recorder.questions[0]
    dashed = [f"-{flag}" for flag in flags]
    (whole,) = re.findall(r"Function vector:  \[ (.*) \]", embedded(mir, vocabulary, "func", *dashed))
    np.testing.assert_allclose(first["mir2vec_function"], numbers(whole), rtol=1e-5, atol=0.0051)
    rows = re.findall(r"^(.*)\n -> .*\[ (.*) \]$", embedded(mir, vocabulary, "inst", *dashed), re.MULTILINE)
    assert len(rows) > 50

    def expected(register: str) -> Any:
        touching = [numbers(row) for text, row in rows if re.search(rf"{register}\b", text)]
        return np.sum(touching, axis=0)

    def close(found: Any, registers: list[str]) -> None:
        np.testing.assert_allclose(found, sum(map(expected, registers), np.zeros(DIMENSION)), atol=0.3)

    close(first["mir2vec_candidate"], [first["candidate"]])
    assert first["mir2vec_columns"].shape == (COUNT, DIMENSION)
    close(first["mir2vec_columns"][32], [first["candidate"]])
    allowed = 0
    for column, (mask, evicted) in enumerate(zip(first["mask"], first["evicted"], strict=False)):
        close(first["mir2vec_columns"][column], evicted if mask else [])
        allowed += bool(mask and evicted)
    assert allowed > 2


def test_the_functions_vector_stays_and_the_candidates_change(integers: Path, tmp_path: Path) -> None:
    passpilot.mir2vec_features(written(tmp_path / "v.json", mir2vec_sections(machine_code(integers))))
    recorder = Recorder()
    allocated(integers, passpilot.EvictAdvisor(recorder))
    assert len(recorder.questions) > 5
    assert len({each["mir2vec_function"].tobytes() for each in recorder.questions}) == 1
    assert len({each["mir2vec_candidate"].tobytes() for each in recorder.questions}) > 5


@pytest.mark.parametrize("target", ["x86-64", "aarch64", "riscv64"])
def test_registers_without_a_class_count_as_zero(target: str, tmp_path: Path) -> None:
    """Floating-point code of x86-64 reads $mxcsr, where LLVM 22's embedder crashes."""
    source = pressure(target, tmp_path, 40)
    mir = machine_code(source)
    passpilot.mir2vec_features(written(tmp_path / "v.json", mir2vec_sections(mir)))
    recorder = Recorder()
    allocated(source, passpilot.EvictAdvisor(recorder))
    assert recorder.questions
    assert all(
        np.isfinite(each[name]).all() and each[name].any() for each in recorder.questions for name in NAMES
    )
    if target == "x86-64":
        assert "$mxcsr" in mir.read_text()


def test_they_are_alike_here_and_in_stock_llc(pressed: Path, tmp_path: Path) -> None:
    vocabulary = written(tmp_path / "v.json", mir2vec_sections(machine_code(integers_of(tmp_path))))
    passpilot.mir2vec_features(vocabulary)
    with passpilot.EvictAdvisor("random:3", log=str(tmp_path / "here.log")) as advisor:
        code = allocated(pressed, advisor)
    assert {each.name for each in read_log(tmp_path / "here.log").features} >= set(NAMES)
    (tmp_path / "load.py").write_text(f"import passpilot\npasspilot.mir2vec_features({str(vocabulary)!r})\n")
    common = ("-O2", "-filetype=obj", "-relocation-model=pic", f"-passpilot-load={tmp_path / 'load.py'}")
    flags = ("-passpilot-evict=random:3", f"-passpilot-log={tmp_path / 'there.log'}")
    assert made("llc", tmp_path / "there.o", *common, *flags, pressed) == code
    assert (tmp_path / "there.log").read_bytes() == (tmp_path / "here.log").read_bytes()


def integers_of(folder: Path) -> Path:
    (folder / "small.ll").write_text("define i64 @f(i64 %x) {\n  ret i64 %x\n}\n")
    return folder / "small.ll"


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> Sections:
    return mir2vec_sections(machine_code(integers_of(tmp_path_factory.mktemp("small"))))


def test_a_vocabulary_of_another_target_is_an_error_at_the_decision(
    tmp_path: Path, sections: Sections
) -> None:
    passpilot.mir2vec_features(written(tmp_path / "v.json", sections))
    told = "mir2vec_function': expected a vocabulary of the target aarch64, got one with the register classes"
    with pytest.raises(FeatureError, match=told):
        allocated(pressure("aarch64", tmp_path), passpilot.EvictAdvisor(Recorder()))
    with pytest.raises(FeatureError, match=told):
        allocated(pressure("aarch64", tmp_path), passpilot.EvictAdvisor(lambda obs: int(obs[NAMES[0]].sum())))
    with (
        passpilot.EvictAdvisor(Recorder(), on_error="default") as advisor,
        pytest.warns(UserWarning, match=told),
    ):
        allocated(pressure("aarch64", tmp_path), advisor)
    assert advisor.stats.fallbacks == advisor.stats.decisions > 0


SECTIONS: Final = ("Opcodes", "CommonOperands", "PhysicalRegisters", "VirtualRegisters")

BAD: Final = {
    "no file": (None, "v.json: expected a JSON file, got: No such file"),
    "no JSON": ("{", "expected"),
    "IR2Vec's": (
        {name: {"Add": [1.0]} for name in ("Opcodes", "Types", "Arguments")},
        "expected an object with the sections Opcodes, CommonOperands, PhysicalRegisters, VirtualRegisters",
    ),
    "no vectors": (
        {**{name: {"x": [1]} for name in SECTIONS}, "VirtualRegisters": {}},
        "expected an entity in each section, got none in VirtualRegisters",
    ),
    "lengths": (
        {name: {"x": [1.0] * (1 + (name == "VirtualRegisters"))} for name in SECTIONS},
        "expected vectors of one length, 1, got 2 for 'x' in VirtualRegisters",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_vocabulary_is_refused_in_words(name: str, tmp_path: Path) -> None:
    content, told = BAD[name]
    path = tmp_path / "v.json"
    if content is not None:
        written(path, content) if not isinstance(content, str) else path.write_text(content)
    with pytest.raises(InputError, match=told):
        passpilot.mir2vec_features(path)
    (tmp_path / "load.py").write_text('import passpilot\npasspilot.mir2vec_features("v.json")\n')
    source = integers_of(tmp_path)
    flags = ("-passpilot-load=load.py", "-passpilot-evict=default", "-O2", source, "-o", "out.s")
    done = tool("llc", *flags, cwd=tmp_path)
    assert done.code == 1
    assert re.search(told, done.err)
    assert not (tmp_path / "out.s").exists()
