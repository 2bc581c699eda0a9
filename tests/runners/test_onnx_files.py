# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`onnx:` reads the files that a model names beside the model, and writes and sends nothing of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from passpilot.features.point import find_point
from passpilot.plugin.errors import ModelError
from passpilot.runners.aot.graph import Choices, read_graph
from passpilot.runners.spec import make_runner
from tests import stock
from tests.command import GENEROUS, PASSPILOT, run


def write_model(folder: Path, threshold: float) -> Path:
    """A model with external data that inlines calls whose callee has fewer users than the threshold."""
    folder.mkdir()
    users = helper.make_tensor_value_info("callee_users", TensorProto.INT64, [1])
    answer = helper.make_tensor_value_info("answer", TensorProto.BOOL, [1])
    # 64 numbers, as onnxruntime wants external data of some size only
    limit = numpy_helper.from_array(np.full(64, threshold, np.float32), "limit")
    nodes = [
        helper.make_node("Cast", ["callee_users"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["limit"], ["most"], keepdims=0),
        helper.make_node("Less", ["number", "most"], ["answer"]),
    ]
    graph = helper.make_graph(nodes, "threshold", [users], [answer], [limit])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "m.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    assert (folder / "m.onnx.data").stat().st_size >= 256
    return path


def optimized(module: Path, model: str, folder: Path, *, hosted: bool) -> str:
    """The module after -O2 with the model's advice, compiled in the folder."""
    if hosted:
        command = [str(PASSPILOT), "opt", str(module), "-O2", f"--inline=onnx:{model}", "-S", "-o", "-"]
    else:
        plugin = subprocess.check_output([PASSPILOT, "plugin-path"], text=True).strip()
        command = ["opt-22", f"-load-pass-plugin={plugin}", f"-passpilot-inline=onnx:{model}", "-O2"]
        command += [str(module), "-S", "-o", "-"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=GENEROUS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("hosted", [True, False])
def test_external_data_is_that_beside_the_model(tmp_path: Path, *, hosted: bool) -> None:
    module = tmp_path / "in.bc"
    stock.clang(stock.MANY_CALLS, module)
    yes, no = write_model(tmp_path / "yes", 1000), write_model(tmp_path / "no", -1)
    everything = optimized(module, str(yes), tmp_path, hosted=hosted)
    nothing = optimized(module, str(no), tmp_path, hosted=hosted)
    assert everything != nothing
    # The current folder has another file of the name that the model gives.
    assert optimized(module, str(yes), tmp_path / "no", hosted=hosted) == everything
    assert optimized(module, "../no/m.onnx", tmp_path / "yes", hosted=hosted) == nothing
    assert optimized(module, "m.onnx", tmp_path / "yes", hosted=hosted) == everything


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "link", "inner/../../secret"])
def test_external_data_elsewhere_is_refused(location: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(256))
    path = write_model(tmp_path / "m", 1)
    (tmp_path / "m/link").symlink_to("../secret")
    (tmp_path / "m/inner").mkdir()
    model = onnx.load(path, load_external_data=False)
    (entry,) = [row for row in model.graph.initializer[0].external_data if row.key == "location"]
    entry.value = location
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=r"outside the directory|absolute path|symbolic link"):
        read_graph(str(path), Choices())
    with pytest.raises(ModelError, match="External data path validation failed"):
        make_runner(f"onnx:{path}", find_point("inline"))


SESSION = "from passpilot.runners.onnx_session import onnx_session; onnx_session(open('m.onnx', 'rb').read())"


@pytest.mark.parametrize("door", ["opt", "cc", "aot", "python"])
def test_nothing_is_written_under_the_home_folder_but_passpilots(tmp_path: Path, door: str) -> None:
    """onnxruntime's telemetry keeps the id of the device and its events in the user's cache folder."""
    home, module = tmp_path / "home", tmp_path / "in.bc"
    home.mkdir()
    model = onnx.load(write_model(tmp_path / "model", 3))
    onnx.save_model(model, tmp_path / "m.onnx")
    (tmp_path / "a.c").write_text(stock.MANY_CALLS)
    stock.clang(stock.MANY_CALLS, module)
    command: dict[str, list[str | Path]] = {
        "opt": [PASSPILOT, "opt", module, "-O2", "--inline=onnx:m.onnx", "-o", "out.bc"],
        "cc": [PASSPILOT, "cc", "-O2", "-c", "a.c", f"--inline=onnx:{tmp_path}/m.onnx", "-o", "a.o"],
        "aot": [PASSPILOT, "aot", "m.onnx", "-o", "policy.so"],
        "python": [sys.executable, "-c", SESSION],
    }
    environment = {name: text for name, text in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    subprocess.run(command[door], cwd=tmp_path, env=environment, timeout=GENEROUS, check=True)
    found = {path.relative_to(home).parts[:2] for path in home.rglob("*") if path.is_file()}
    assert {parts for parts in found if parts != ("cache", "passpilot")} == set()


FORKS: Final = """
import os, sys
import passpilot

module = passpilot.Module.read(sys.argv[1])
passpilot.optimize(module, "default<O2>", advisors=[passpilot.InlineAdvisor(f"onnx:{sys.argv[2]}")])
assert len(os.listdir("/proc/self/task")) == 1
if not (child := os.fork()):
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_forked_after_a_model_ran_ends(tmp_path: Path) -> None:
    module = tmp_path / "in.bc"
    stock.clang(stock.MANY_CALLS, module)
    model = write_model(tmp_path / "model", 3)
    done = run(sys.executable, "-c", FORKS, module, model, cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, b"3\n", "")
