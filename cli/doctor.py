# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot doctor`: prints which compilers and libraries passpilot uses, and tests what they can do.

Every line is the result of a test. A part that passpilot needs is ``ok`` or ``FAIL``; with a ``FAIL`` the
exit code is 1. An optional part that is missing is ``-``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from subprocess import SubprocessError
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.cli.outputs import quiet_pipe
from passpilot.cli.parser import Parser
from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.extras import EXTRAS, install, needs
from passpilot.plugin.mlir import bindings as mlir
from passpilot.plugin.toolchain import c_library, llvm_plugin
from passpilot.plugin.version import MAJOR
from passpilot.runners.onnx_session import quiet_onnxruntime

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

EPILOG: Final = f"""\
example:
  passpilot doctor
  {mlir.VARIABLE}=torch_mlir passpilot doctor

{mlir.VARIABLE} names the package whose MLIR is used: {", ".join(mlir.ROOTS)}.
By default, it is the first of these that is installed."""

TOOLS: Final = {
    f"clang-{MAJOR}": (f"clang-{MAJOR}", "passpilot cc, tune and eval"),
    f"opt-{MAJOR}": (f"llvm-{MAJOR}", "the plugin for stock tools"),
    f"llc-{MAJOR}": (f"llvm-{MAJOR}", "the plugin for stock tools"),
    f"ld.lld-{MAJOR}": (f"lld-{MAJOR}", "tune, eval, and cc with -flto"),
    f"mlir-opt-{MAJOR}": (f"mlir-{MAJOR}-tools", "the plugin for mlir-opt"),
    "valgrind": ("valgrind", "eval --runs=instructions, and --run of ladders"),
}
"""The tools that are looked for, with their Debian packages and what needs them."""
EXTRAS_SHOWN: Final = {"grpc": ("grpc",), "aot": ("onnx", "llvmlite")}
EXTRAS_SOUGHT: Final = ("train", "unwind")
"""Extras whose packages take long to import; they are only looked for."""
PROBE: Final = "doctor-probe"
DEADLINE: Final = 60.0
"""Seconds for one test of a tool."""
FUNCTION: Final = "llvm.func @_mlir_ciface_f() { llvm.return }"
TEXT: Final = "func.func @a(%x: i32) -> i32 { return %x : i32 } func.func @b() { return }"


class _Check(NamedTuple):
    what: str
    run: Callable[[], str]
    """Describes in a few words what it has found, or raises."""
    needed: bool = True


def main(argv: Sequence[str]) -> int:
    make_parser().parse_args(argv)
    with quiet_pipe():
        states = [_state(check) for check in CHECKS]
        states.append(_state(_Check("MLIR bindings", _bindings, needed=mlir.are_wanted())))
        if states[-1] == "ok":
            states += map(_state, ABLE)
        return 1 if "FAIL" in states else 0


def make_parser() -> Parser:
    text = "Show which compilers are used, and test what they can do."
    return Parser("passpilot doctor", description=text, epilog=EPILOG)


def _state(check: _Check) -> str:
    try:
        state, text = "ok", check.run()
    except (Error, ImportError, AttributeError, OSError, RuntimeError, SubprocessError) as error:
        state = "FAIL" if check.needed else "-"
        text = " ".join(str(error).split()) or type(error).__name__
    print(f"{state:5}{check.what:20}{text}")
    return state


def _python() -> str:
    return f"{platform.python_version()}, passpilot {version('passpilot')}"


def _llvm() -> str:
    from passpilot import plugin
    from passpilot.plugin import _core

    core = Path(str(_core.__file__))
    sources = [path for folder in plugin.__path__ for path in Path(folder, "native").rglob("*.cpp")]
    if _newest(sources) > _newest(core.parent.glob("*.so")):  # a build links only what changed
        raise InputError(f"expected {core} to be newer than its sources, got an old one; run `make build`")

    lines = _core.version_text().split("\n")
    mapped: list[str] = []
    with contextlib.suppress(OSError):  # a chroot may have no /proc
        mapped = Path("/proc/self/maps").read_text().split()
    libraries = sorted({file for file in mapped if Path(file).name.startswith("libLLVM")})
    return ", ".join([*(line.strip() for line in lines if line.strip()), *libraries])


def _newest(files: Iterable[Path]) -> float:
    return max((path.stat().st_mtime for path in files), default=0.0)


def _stock_plugin() -> str:
    """Load the plugin into stock opt with a Python policy, so that it starts an interpreter."""
    path = llvm_plugin()
    opt = shutil.which(f"opt-{MAJOR}")
    if opt is None:
        raise RuntimeError(f"opt-{MAJOR} is not on the PATH; sudo apt-get install llvm-{MAJOR}")
    asked = ("-passpilot-inline=python:passpilot.cli.doctor:probe", "-passes=inliner-wrapper")
    command = [opt, f"-load-pass-plugin={path}", *asked, "-disable-output", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return str(path)


def probe(_: object) -> bool:
    """The policy of `_stock_plugin`."""
    return False


def _c_api() -> str:
    path = c_library()
    ctypes.CDLL(str(path))
    return str(path)


def _bindings() -> str:
    chosen = f", as {mlir.VARIABLE} says" if os.environ.get(mlir.VARIABLE) else ""
    return f"{mlir.bindings().root} {mlir.bindings().version} ({mlir.bindings().capi.name}){chosen}"


def _passes_in_python() -> str:
    seen: list[object] = []

    @dataclass(frozen=True)
    class Probe:
        def run(self, operation: Operation) -> None:
            seen.append(operation.name)

    from passpilot.passes.mlir import api as passes

    passes.pass_(PROBE, anchor="func.func")(Probe)
    try:
        context = mlir.bindings().ir.Context()
        context.enable_multithreading(True)
        module = mlir.bindings().ir.Module.parse(TEXT, context)
        passes.run_pipeline(module, f"builtin.module(func.func({PROBE},cse))")
    finally:
        passes.unregister(PROBE)
    if len(seen) != 2:
        raise Error(f"expected a pass to run on 2 functions, got {len(seen)}")
    return f"nested, in {context.get_num_threads()} threads"


def _lowering() -> str:
    from passpilot.passes.mlir.lower import lower

    text = lower(TEXT)
    if "define i32 @a" not in text:
        raise Error("expected LLVM IR with the function @a, got none")
    return "func, scf, arith, memref, linalg to LLVM IR"


def _inlining() -> str:
    from passpilot.plugin.mlir.inliner import inliner

    inliner()
    return "MLIR's inliner asks a runner"


def _engine() -> str:
    ir = mlir.bindings().ir
    engine = import_module(f"{mlir.bindings().root}.execution_engine")
    with ir.Context():
        engine.ExecutionEngine(ir.Module.parse(FUNCTION)).invoke("f")
    return "runs what is lowered"


def _module(name: str) -> Callable[[], str]:
    return lambda: str(import_module(name).__version__)


def _extra(extra: str, *names: str) -> Callable[[], str]:
    """A check of the packages that an extra of passpilot installs."""

    def run() -> str:
        with needs(extra, f"passpilot[{extra}]"):
            return ", ".join(f"{name} {import_module(name).__version__}" for name in names)

    return run


def _sought(extra: str) -> Callable[[], str]:
    def run() -> str:
        if missing := [name for name in EXTRAS[extra] if find_spec(name) is None]:
            raise ImportError(f"no {', '.join(missing)}; run: {install(extra)}")
        return ", ".join(EXTRAS[extra])

    return run


def _tool(name: str) -> Callable[[], str]:
    def run() -> str:
        if path := shutil.which(name):
            return path
        package, users = TOOLS[name]
        raise FileNotFoundError(f"not on the PATH, for {users}; sudo apt-get install {package}")

    return run


CHECKS: Final = (
    _Check("Python", _python),
    _Check("LLVM", _llvm),
    _Check("C API", _c_api),
    _Check(f"plugin for opt-{MAJOR}", _stock_plugin, needed=False),
    _Check("onnxruntime", lambda: str(quiet_onnxruntime().__version__)),
    *(_Check(f"[{extra}]", _extra(extra, *names), needed=False) for extra, names in EXTRAS_SHOWN.items()),
    *(_Check(f"[{extra}]", _sought(extra), needed=False) for extra in EXTRAS_SOUGHT),
    *(_Check(name, _tool(name), needed=False) for name in TOOLS),
)
ABLE: Final = (
    _Check("  passes in Python", _passes_in_python),
    _Check("  lowering", _lowering, needed=False),
    _Check("  advised-inline", _inlining, needed=False),
    _Check("  JIT", _engine, needed=False),
)
"""Checks that need MLIR's bindings."""
