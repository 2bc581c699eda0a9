# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of functions before their code, how good estimates are, and progress within a compilation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Final, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from passpilot.features.llvm.ir2vec import Vocabulary
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.compiler_pb2 import Start
from passpilot.training.data.gather import TaughtModule
from passpilot.training.machines.local import Machines
from passpilot.training.native_size import training
from passpilot.training.native_size.fit import NEAR, Accuracy
from passpilot.training.native_size.functions import SHAPE, FunctionRows, measured_rows, rows_of, shape_of
from passpilot.training.native_size.model import HEAD, SHIPPED, NativeSize, shipped
from passpilot.training.native_size.progress import SizeProgress, progress_of
from passpilot.training.native_size.training import NativeSizeTraining, accuracy_text

CODE: Final = """\
target triple = "x86_64-pc-linux-gnu"
declare i32 @far(i32)
define available_externally i32 @elsewhere(i32 %x) {
  ret i32 %x
}
define i32 @plain(i32 %x, i32 %y, ptr %p) {
  %z = add i32 %x, %y
  ret i32 %z
}
define i32 @loop(i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %head ], [ %k, %other ]
  %s = phi i32 [ 1, %entry ], [ %i, %head ], [ 7, %other ]
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %head, label %other
other:
  %k = phi i32 [ %j, %head ]
  %d = icmp eq i32 %k, 3
  br i1 %d, label %head, label %end
end:
  ret i32 %s
}
"""


def test_the_shape_of_a_function() -> None:
    shapes = {
        each.name: dict(zip(SHAPE, shape_of(each), strict=True)) for each in Module(CODE.encode()).functions
    }
    assert shapes["plain"] == {"blocks": 1, "instructions": 2, "arguments": 3, "phis": 0, "incoming": 0}
    assert shapes["loop"] == {"blocks": 4, "instructions": 10, "arguments": 1, "phis": 3, "incoming": 7}


def test_rows_are_of_functions_with_code() -> None:
    rows = rows_of(Module(CODE.encode()))
    assert list(rows.names) == ["plain", "loop"]
    assert rows.shape[:, 1].tolist() == [2, 10]
    assert rows.sizes.tolist() == [0, 0]
    empty = rows_of(Module(b"declare void @f()\n"))
    assert (empty.counts.shape, empty.shape.shape) == ((0, rows.counts.shape[1]), (0, 5))
    both = FunctionRows.joined([rows, empty, rows])
    assert list(both.names) == ["plain", "loop"] * 2
    assert both.counts.shape[0] == both.shape.shape[0] == both.sizes.shape[0] == 4
    assert len(FunctionRows.joined([]).names) == 0
    assert set(shipped().sizes(Module(CODE.encode()))) == {"plain", "loop"}
    assert shipped().sizes(Module(b"declare void @f()\n")) == {}


def test_a_single_function_is_as_in_its_module() -> None:
    module = Module(CODE.encode())
    whole = shipped().sizes(module)
    for name, size in whole.items():
        function = module.function(name)
        assert function is not None
        assert shipped().size(function) == pytest.approx(size, rel=1e-5)


def test_sizes_are_those_of_the_object(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(CODE)
    (tmp_path / "bad.ll").write_text("none")
    modules = [TaughtModule("p", name, str(tmp_path / name), "default<O0>") for name in ("bad.ll", "a.ll")]
    told: list[int] = []
    failed, rows = measured_rows(modules, Machines(1), 60, lambda number, _: told.append(number))
    assert isinstance(failed, InputError)
    assert isinstance(rows, FunctionRows)
    assert sorted(told) == [0, 1]
    assert list(rows.names) == ["plain", "loop"]
    assert 0 < rows.sizes[0] < rows.sizes[1]


def test_how_good_estimates_are() -> None:
    sizes = np.array([10.0, 20.0, 0.0, 50.0])
    exact = Accuracy.of(sizes, sizes)
    assert (exact.functions, exact.r2, exact.log_r2, exact.median_error, exact.total) == (4, 1, 1, 0, 1)
    made = Accuracy.of(np.array([12.0, 15.0, 3.0, 50.0]), sizes)
    assert made.r2 == pytest.approx(1 - (4 + 25 + 9) / 1400)
    logs, own = np.log(np.array([12, 15, 3, 50]) + NEAR), np.log(sizes + NEAR)
    assert made.log_r2 == pytest.approx(1 - ((logs - own) ** 2).sum() / ((own - own.mean()) ** 2).sum())
    assert made.median_error == pytest.approx((0.2 + 0.25) / 2), "of no bytes three are 300 %"
    assert made.total == 1
    assert accuracy_text(Accuracy(12345, 0.98765, 0.5, 0.12345, 1.0004)) == (
        "12,345 functions, R2 0.988 (0.500 of logarithms), median error 12.3%, sum 1.000"
    )


def test_training_needs_a_part_to_learn_from(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(CODE)
    (tmp_path / "bad.ll").write_text("none")
    modules = [TaughtModule("p", name, str(tmp_path / name), "default<O0>") for name in ("a.ll", "bad.ll")]
    modules.append(TaughtModule("unknown", "other", str(tmp_path / "a.ll"), "default<O0>"))
    training, steps = NativeSizeTraining(modules, {"p": "test"}), list[int]()
    with pytest.raises(InputError, match="expected programs in the part train, got none"):
        training.run(str(tmp_path / "model"), "", lambda: steps.append(1))
    assert len(steps) == 2, "programs of no part are not compiled"
    (problem,) = training.problems
    assert problem.startswith("bad.ll: ")
    assert not (tmp_path / "model").exists()


def head(columns: int, kind: int) -> bytes:
    """A head that answers its input."""
    value = helper.make_tensor_value_info("functions", kind, ["N", columns])
    out = helper.make_tensor_value_info("bytes", kind, ["N", columns])
    graph = helper.make_graph([helper.make_node("Identity", ["functions"], ["bytes"])], "g", [value], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("columns", "kind", "got"), [(36, TensorProto.FLOAT, "float"), (37, TensorProto.DOUBLE, "double")]
)
def test_a_head_for_other_embeddings_is_refused(columns: int, kind: int, got: str) -> None:
    vocabulary = Vocabulary.read(f"{SHIPPED}/vocabulary.json")
    assert vocabulary.dimension == 32
    told = rf"native size me: expected a head for float32\[N, 37\], got tensor\({got}\) \['N', {columns}\]"
    with pytest.raises(InputError, match=told):
        NativeSize(vocabulary, head(columns, kind), "me")


def test_a_model_without_its_head_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocabulary.json").write_bytes(Path(SHIPPED, "vocabulary.json").read_bytes())
    with pytest.raises(InputError, match=rf"native size .*{HEAD}: expected a model, got: No such file"):
        NativeSize.read(tmp_path)


def site(caller: str, callee: str) -> object:
    """A question about a call."""
    return SimpleNamespace(caller=SimpleNamespace(name=caller), callee=SimpleNamespace(name=callee))


def test_progress_is_the_share_of_bytes_that_functions_lose() -> None:
    """The compiler changes the module between the questions; here nobody does but the test."""
    size = {"f": 30.0, "g": 10.0}

    class Known:
        def sizes(self, _: Module) -> dict[str, float]:
            return {**size, "h": 60.0}

        def size(self, function: SimpleNamespace) -> float:
            return size[function.name]

    module = Module(
        b"define void @f() {\n  ret void\n}\ndefine void @g() {\n  ret void\n}\ndeclare void @d()\n"
        b"define available_externally void @e() {\n  ret void\n}\n"
    )
    progress = SizeProgress(cast("NativeSize", Known()))
    progress.begin(module)
    assert progress.seen(site("f", "g")) == 0
    size["f"], size["g"] = 25.0, 0.0
    assert progress.seen(site("f", "d")) == pytest.approx((5 + 10) / 100)
    size["f"] = 35.0
    assert progress.seen(site("e", "gone")) == pytest.approx(-10 / 100)
    assert progress.seen(site("f", "g")) == 0, "functions without code have no bytes"


def test_progress_is_for_calls_alone() -> None:
    assert progress_of(Start(point="evict")) is None
    assert isinstance(progress_of(Start(point="inline", partial=True)), SizeProgress)
    for start in (
        Start(point="evict", partial=True),
        Start(point="none", partial=True),
        Start(point="inline", partial=True, also=[{"point": "evict"}]),
    ):
        with pytest.raises(InputError, match=f"partial: expected the point inline alone, got {start.point}"):
            progress_of(start)


def test_so_many_functions_are_kept_in_whatever_batches_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = []
    for number in range(6):
        path = tmp_path / f"{number}.ll"
        path.write_text(CODE.replace("@plain", f"@plain{number}").replace("@loop", f"@loop{number}"))
        modules.append(TaughtModule("p", path.name, str(path), "default<O0>"))
    monkeypatch.setattr(training, "MOST_FUNCTIONS", 5)
    found = {}
    for together in (1, 4, 6):
        monkeypatch.setattr(training, "TOGETHER", together)
        rows = NativeSizeTraining(modules, {"p": "train"})._gathered(lambda: None)["train"]
        assert len(rows.counts) == len(rows.shape) == len(rows.sizes) == 5
        found[together] = list(rows.names)
    assert found[1] == found[4] == found[6]
    every = FunctionRows.joined([rows_of(Module.read(module.path)) for module in modules])
    assert list(every.sampled(5).names) == found[1]
    assert every.sampled(12) is every
