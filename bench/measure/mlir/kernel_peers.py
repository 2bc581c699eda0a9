# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel by IREE, TVM or numpy, once for every line on standard input; a server of `tune`.

usage: kernel_peers.py iree|tvm|numpy KERNEL.mlir FUNCTION SHAPES CPU    (SHAPES such as 4x8,8x2)

The interpreter is that of a virtual environment with the packages, so the script imports nothing of ours. It
prints a line when it is ready, then the nanoseconds of processor time of every run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", TVM_NUM_THREADS="1")

import numpy as np


def arrays(shapes: str) -> list[Any]:
    random = np.random.default_rng(0)
    sizes = [tuple(map(int, shape.split("x"))) for shape in shapes.split(",")]
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in sizes]


def by_iree(kernel: str, function: str, values: list[Any]) -> Callable[[], object]:
    """IREE's compiler with its defaults for this processor, and its runtime in one thread."""
    compiler, runtime = import_module("iree.compiler"), import_module("iree.runtime")

    with open(kernel, encoding="utf-8") as file:
        code = compiler.compile_str(
            file.read(), target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"]
        )
    config = runtime.Config("local-sync")
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    run = context.modules.module[function]
    held = [runtime.asdevicearray(config.device, value) for value in values]
    return lambda: run(*held)


def by_tvm(kernel: str, function: str, values: list[Any]) -> Callable[[], object]:
    """TVM's compiler without a schedule; it reads no MLIR, so the matmul is written in its own language."""
    tvm: Any = import_module("tvm")
    te = import_module("tvm.te")

    if function != "matmul":
        raise SystemExit(f"{kernel}: no program for TVM")
    (rows, depth), (_, columns) = (value.shape for value in values)
    a, b = te.placeholder((rows, depth), name="a"), te.placeholder((depth, columns), name="b")
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    target = tvm.target.Target({"kind": "llvm", "mcpu": sys.argv[5]})
    code = tvm.compile(te.create_prim_func([a, b, c]), target=target)
    held = [tvm.runtime.tensor(value) for value in (*values, np.empty((rows, columns), np.float32))]
    return lambda: code(*held)


def by_numpy(_kernel: str, function: str, values: list[Any]) -> Callable[[], object]:
    """What a user of numpy writes; products run in OpenBLAS."""

    def convolution() -> object:
        image, weights = values
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
        columns = windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, 9 * image.shape[3])
        return columns @ weights.reshape(-1, weights.shape[3])

    def attention() -> object:
        q, k, v = values
        scores = q @ k
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        return (scores / scores.sum(axis=1, keepdims=True)) @ v

    def layer_norm() -> object:
        x, gain, bias = values
        mean = x.mean(axis=1, keepdims=True)
        centered = x - mean
        variance = (centered * centered).mean(axis=1, keepdims=True)
        return centered / np.sqrt(variance + np.float32(1e-5)) * gain + bias

    programs = {
        "matmul": lambda: values[0] @ values[1],
        "convolution": convolution,
        "attention": attention,
        "layer_norm": layer_norm,
    }
    return programs[function]


def main() -> None:
    kind, kernel, function, shapes = sys.argv[1:5]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    makers = {"iree": by_iree, "tvm": by_tvm, "numpy": by_numpy}
    run = makers[kind](kernel, function, arrays(shapes))
    run()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.process_time_ns()
        run()
        print(time.process_time_ns() - began, flush=True)


if __name__ == "__main__":
    main()
