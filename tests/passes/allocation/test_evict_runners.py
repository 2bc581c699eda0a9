# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each kind of runner decides on evictions in a compilation as it would elsewhere."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save

from passpilot.features.llvm.evict import DECISION, DO_NOT_EVICT
from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from passpilot.passes.llvm_advisors import EvictAdvisor
from passpilot.plugin.errors import ModelError
from passpilot.runners.native import function_runner
from passpilot.runners.spec import RunnerLike, make_runner
from tests import stock
from tests.passes.allocation.pressure import allocated
from tests.runners.serving.serving import served
from tests.runners.test_native import drawn

Arrays = dict[str, NDArray[np.generic]]


def decided(source: Path, runner: RunnerLike, log: Path) -> tuple[bytes, Arrays]:
    """The object file, and all that the log holds."""
    with EvictAdvisor(runner, log=str(log)) as advisor:
        code = allocated(source, advisor)
    return code, read_log(log).to_arrays()


def advice(arrays: Arrays) -> list[int]:
    columns: list[int] = arrays["index_to_evict"][:, 0].tolist()
    return columns


def legal(arrays: Arrays) -> NDArray[np.bool_]:
    """The masks as one row per decision."""
    masks: NDArray[np.bool_] = arrays["mask"][:, 0] != 0
    return masks


def test_default_that_is_asked(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    code, arrays = decided(pressed, "default", tmp_path / "log")
    assert code == pressed_by_llc
    assert (arrays["index_to_evict"] == arrays["evict_default"]).all()
    runner = make_runner("default", find_point("evict"))
    assert allocated(pressed, EvictAdvisor(runner)) == pressed_by_llc


@pytest.mark.parametrize("seed", [0, 7, (1 << 64) - 1])
def test_random_is_the_documented_hash_natively_and_over_a_pipe(
    pressed: Path, tmp_path: Path, seed: int
) -> None:
    code, arrays = decided(pressed, f"random:{seed}", tmp_path / "native.log")
    contexts = [each.context for each in read_log(tmp_path / "native.log")]
    expected = []
    for number, columns in enumerate(map(np.flatnonzero, legal(arrays))):
        ordinal = contexts[:number].count(contexts[number])
        choice = (drawn(seed, contexts[number], ordinal) >> 32) * len(columns) >> 32
        expected.append(int(columns[choice]))
    assert advice(arrays) == expected
    assert len(set(expected)) > 10
    base = str(tmp_path / "server")
    with served(f"random:{seed}", base, "--point=evict"):
        assert decided(pressed, f"pipe:{base}", tmp_path / "pipe.log")[0] == code
    assert (tmp_path / "pipe.log").read_bytes() == (tmp_path / "native.log").read_bytes()


def test_constant(pressed: Path, tmp_path: Path) -> None:
    """Column 0 is legal at the first question, and not at all others."""
    with (
        EvictAdvisor("const:0", log=str(tmp_path / "log"), on_error="default") as advisor,
        pytest.warns(UserWarning, match=r"got column 0 \(\w+\)"),
    ):
        allocated(pressed, advisor)
    arrays = read_log(tmp_path / "log").to_arrays()
    expected = np.where(legal(arrays)[:, 0], 0, arrays["evict_default"][:, 0])
    assert advice(arrays) == expected.tolist()
    assert 0 < advisor.stats.evictions == legal(arrays)[:, 0].sum() < len(expected)


POLICY = """
import passpilot

@passpilot.feature("uint16[33]", point="evict")
def interference_counts(site):
    counts = [len(column.interferences) for column in site.columns]
    return counts + [0] * (33 - len(counts))

def echo(obs):
    return obs.default()

echo.features = ("evict_default",)

class Fewest:
    "Evicts the fewest live ranges, from the last of such registers."

    features = ("mask", "interference_counts")

    def decide(self, obs):
        assert obs.point == "evict" and obs.context in ("sums", "blend")
        legal = [column for column in range(32) if obs["mask"][0, column]]
        return min(reversed(legal), key=obs["interference_counts"].__getitem__) if legal else 32
"""


def test_a_policy_here_and_at_the_other_end_of_a_pipe(
    pressed: Path, pressed_by_llc: bytes, tmp_path: Path
) -> None:
    from passpilot.features.custom import unregister
    from passpilot.plugin.load import load_file

    path = tmp_path / "policy.py"
    path.write_text(POLICY)
    base = str(tmp_path / "server")
    load_file(path)
    try:
        with served(f"python:{path}:echo", base, "--point=evict"):
            assert decided(pressed, f"pipe:{base}", tmp_path / "echo.log")[0] == pressed_by_llc
        here, arrays = decided(pressed, f"python:{path}:Fewest", tmp_path / "here.log")
        with served(f"python:{path}:Fewest", base, "--point=evict"):
            there, _ = decided(pressed, f"pipe:{base}", tmp_path / "there.log")
    finally:
        unregister("interference_counts", point="evict")
    assert here == there != pressed_by_llc
    assert (tmp_path / "here.log").read_bytes() == (tmp_path / "there.log").read_bytes()
    counts = np.where(legal(arrays)[:, :32], arrays["interference_counts"][:, :32].astype(int), 1000)
    fewest = 31 - counts[:, ::-1].argmin(axis=1)
    expected = np.where(legal(arrays)[:, :32].any(axis=1), fewest, DO_NOT_EVICT)
    assert advice(arrays) == expected.tolist()


def scorer(path: Path) -> Path:
    """One perceptron of 3-8-1 with seeded weights for each of the 33 columns; float32 logits."""
    random = np.random.default_rng(3)
    names = ["liverange_size", "weighed_reads_by_max", "nr_broken_hints"]
    weights = [
        numpy_helper.from_array(random.normal(0, 1, shape).astype(np.float32), name)
        for name, shape in {"w1": (3, 8), "b1": (8,), "w2": (8, 1)}.items()
    ]
    nodes = [
        helper.make_node("Concat", names, ["rows"], axis=0),
        helper.make_node("Transpose", ["rows"], ["columns"]),
        helper.make_node("Gemm", ["columns", "w1", "b1"], ["hidden"]),
        helper.make_node("Tanh", ["hidden"], ["active"]),
        helper.make_node("MatMul", ["active", "w2"], ["scores"]),
        helper.make_node("Transpose", ["scores"], ["logits"]),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 33]) for name in names]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 33])]
    graph = helper.make_graph(nodes, "scorer", inputs, outputs, weights)
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


def test_a_model_decides_as_onnxruntime_computes(pressed: Path, tmp_path: Path) -> None:
    model = scorer(tmp_path / "model.onnx")
    code, arrays = decided(pressed, f"onnx:{model}", tmp_path / "log")
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*(arrays[n] for n in names), strict=True))
    logits = np.vstack([session.run(None, row)[0] for row in rows])
    assert advice(arrays) == np.where(legal(arrays), logits, -np.inf).argmax(axis=1).tolist()
    assert len(set(advice(arrays))) > 3
    base = str(tmp_path / "server")
    with served(f"onnx:{model}", base, "--point=evict"):
        assert decided(pressed, f"pipe:{base}", tmp_path / "pipe.log")[0] == code


FUNCTION = """
#include <stdint.h>
struct counts { int64_t asked, limit; };
int decide(void *context, const void *const *inputs, void *output) {
  struct counts *c = context;
  const int64_t *mask = inputs[0];
  const float *size = inputs[1];
  int64_t best = -1;
  if (++c->asked > c->limit) return 3;
  for (int64_t i = 0; i < 33; ++i)
    if (mask[i] && (best < 0 || size[i] < size[best])) best = i;
  *(int64_t *)output = best;
  return 0;
}
"""


class Counts(ctypes.Structure):
    _fields_ = (("asked", ctypes.c_int64), ("limit", ctypes.c_int64))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> int:
    """A C function that evicts the shortest live range."""
    folder = tmp_path_factory.mktemp("function")
    (folder / "decide.c").write_text(FUNCTION)
    stock.run("clang", "-O2", "-shared", "-fPIC", folder / "decide.c", "-o", folder / "decide.so")
    library = ctypes.CDLL(str(folder / "decide.so"))
    value = ctypes.cast(library.decide, ctypes.c_void_p).value
    assert value is not None
    return value


def test_a_compiled_function(pressed: Path, tmp_path: Path, address: int) -> None:
    inputs = find_point("evict").select(["mask", "liverange_size"])
    counts = Counts(0, 10_000)
    runner = function_runner(address, inputs, DECISION, context=ctypes.addressof(counts))
    _, arrays = decided(pressed, runner, tmp_path / "log")
    sizes = np.where(legal(arrays), arrays["liverange_size"][:, 0], np.inf)
    assert advice(arrays) == sizes.argmin(axis=1).tolist()
    assert counts.asked == len(sizes)
    counts = Counts(0, 4)
    runner = function_runner(address, inputs, DECISION, context=ctypes.addressof(counts))
    with pytest.raises(ModelError, match=r"decision 4 \(function sums, %\d+\): native function: expected st"):
        decided(pressed, runner, tmp_path / "failed.log")
    assert not (tmp_path / "failed.log").exists()
