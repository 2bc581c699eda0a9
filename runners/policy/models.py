# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes runner specs of a policy's models: native code, or else `onnx:`.

The native code is in the folder `compiled` of an installed policy, as in wheels, or in the user's cache. If
it is in neither, the model is compiled, in a process of its own: the options and hooks of the compiler around
us must not change the code, and a crash is no crash of the compiler.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from typing import Final
from urllib.parse import parse_qs

from passpilot.plugin.errors import Error, InputError, ModelError
from passpilot.plugin.extras import EXTRAS, install
from passpilot.plugin.failures import utf8
from passpilot.plugin.files import read_regular, write_file, write_files
from passpilot.plugin.origin import warn_user
from passpilot.plugin.version import MAJOR
from passpilot.runners.policy import cache
from passpilot.runners.policy.bundle import PointPolicy, PolicyBundle

DEADLINE: Final = 300.0
"""Seconds for the compilation of a model."""

COMPILED: Final = "compiled"
"""The folder of a policy with its compiled models."""


def runner_of(bundle: PolicyBundle, point: str, row: PointPolicy) -> str:
    """The spec of the runner for one decision point.

    Raises:
        InputError: the model is not the one that the policy was made with.
        ModelError: the model can neither be compiled nor run.
    """
    if row.runner:
        return row.runner
    data = _read(bundle, row)
    library, why = _library(bundle, point, row, data)
    query = f"?{row.options}" if row.options else ""
    if library:
        return f"aot:{library}{query}"
    from passpilot.runners.native import onnx_library

    model = os.path.basename(row.model)
    try:
        onnx_library()
    except Error as error:
        msg = f"{bundle.who}: expected to compile {model} or to run it in onnxruntime, got: {why}"
        raise ModelError(f"{msg}, and no onnxruntime; run: {install('aot')}") from error
    warn_user(f"{bundle.who}: {model} runs in onnxruntime, which takes longer to load, because of: {why}")
    return f"onnx:{row.model}{query}"


def compile_models(bundle: PolicyBundle) -> list[str]:
    """Compile a policy's models into its own folder, for a package of it; returns the paths.

    Raises:
        ModelError: a model cannot be compiled.
        InputError: the folder cannot be written.
    """
    folder = os.path.join(bundle.folder, COMPILED)
    libraries: dict[str, bytes] = {}
    for point, row in (pair for recipe in bundle.recipes for pair in recipe.points.items()):
        path = os.path.join(folder, _file(point, row, _read(bundle, row))) if row.model else ""
        if not path or path in libraries:
            continue
        libraries[path], why = _compiled(point, row)
        if why:
            model = os.path.basename(row.model)
            raise ModelError(f"{bundle.who}: expected a model that can be compiled, got {model}: {why}")
    if libraries:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: expected a folder to write, got: {error.strerror}") from error
    write_files(libraries)
    return sorted(libraries)


def _read(bundle: PolicyBundle, row: PointPolicy) -> bytes:
    who, name = bundle.who, os.path.basename(row.model)
    try:
        data = read_regular(row.model)
    except OSError as error:
        raise ModelError(f"{who}: expected the model {name}, got: {error.strerror}") from error
    digest = hashlib.sha256(data).hexdigest()
    if row.sha256 and digest != row.sha256.lower():
        raise ModelError(f"{who}: expected {name} with SHA-256 {row.sha256}, got {digest}; install it again")
    return data


def _library(bundle: PolicyBundle, point: str, row: PointPolicy, data: bytes) -> tuple[str, str]:
    """The path of the compiled model; or nothing, and why there is none."""
    name = _file(point, row, data)
    installed = bundle.spec.startswith("@")  # a folder that the user names is data, and libraries are code
    if installed and os.path.isfile(path := os.path.join(bundle.folder, COMPILED, name)):
        return path, ""
    if path := cache.find(name):
        return path, ""
    if missing := [module for module in EXTRAS["aot"] if not _is_installed(module)]:
        return "", f"no {missing[0]}; run: {install('aot')}"
    with cache.locked(name):
        if path := cache.find(name):
            return path, ""
        code, why = _compiled(point, row)
        if code and not (path := cache.keep(name, code, bundle.who)):
            why = "no folder that can be written for its compiled form; set XDG_CACHE_HOME"
    return path, why


def _file(point: str, row: PointPolicy, data: bytes) -> str:
    """A name with a hash of the model, of what else decides on its code, and of passpilot's version."""
    import passpilot
    from passpilot.plugin import _core

    architecture = _core.processor("generic")[0].partition("-")[0]
    parts = (passpilot.__version__, str(MAJOR), architecture, point, row.options)
    digest = hashlib.sha256(utf8("\0".join(parts)))
    digest.update(data)
    return f"{point}-{digest.hexdigest()[:32]}.so"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _compiled(point: str, row: PointPolicy) -> tuple[bytes, str]:
    """The library that a child process makes of a model; or nothing, and why there is none."""
    options = parse_qs(row.options)
    scores = "score" in options.get("as", ())
    try:
        with tempfile.TemporaryDirectory(prefix="passpilot-") as folder:
            library = os.path.join(folder, "model.so")
            program = [sys.executable, "-P", "-m", "passpilot.runners.policy.models"]
            command = [*program, row.model, library, point, "1" if scores else "0"]
            done = subprocess.run(
                [*command, *options.get("output", ())],
                env={name: text for name, text in os.environ.items() if not name.startswith("PASSPILOT_")},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=DEADLINE,
                check=False,
            )
            if done.returncode:
                lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
                return b"", lines[-1][:500]
            return read_regular(library), ""
    except subprocess.TimeoutExpired:
        return b"", f"its compilation took more than {DEADLINE:g} seconds"
    except OSError as error:
        return b"", f"{error.strerror}: {error.filename}; set TMPDIR"


def compile_model(model: str, library: str, point: str, scores: bool, outputs: list[str]) -> None:
    """Compile a model to a shared library for any processor of this architecture.

    Raises:
        Error: the model cannot be compiled or linked.
    """
    from passpilot.features.point import find_point, is_known
    from passpilot.runners.aot import build
    from passpilot.runners.aot.graph import Choices, read_graph

    offered = find_point(point) if is_known(point) else None
    if offered is not None and scores:
        offered = offered.column()
    processor = build.Processor.find("generic")
    module = build.compile_graph(read_graph(model, Choices(outputs, {}, offered)), processor)
    write_file(library, build.link(build.object_of(module, processor)))


if __name__ == "__main__":
    try:
        compile_model(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "1", sys.argv[5:])
    except Error as error:
        sys.exit(" ".join(str(error).split()))
