# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random questions and changes: a slice; in `make soak` ten thousand under an address-sanitised core."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import stock
from tests.plugin.ir_fuzz import fuzz

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Random modules, and one that clang made."""
    folder = tmp_path_factory.mktemp("sources")
    files = [stock.clang(stock.MANY_CALLS, folder / "calls.bc", "-g")]
    for seed in range(12):
        stock.run("llvm-stress", "-size=80", f"-seed={seed}", "-o", folder / f"{seed}.ll")
        files.append(folder / f"{seed}.ll")
    return files


def small_units(corpus: Callable[[str, str], Path]) -> list[Path]:
    """Some translation units of real programs in C and C++."""
    folders = (corpus("libyaml", "O2").parent, corpus("box2d", "Oz").parent)
    units = (sorted(each.glob("*.bc"), key=lambda file: file.stat().st_size) for each in folders)
    return [unit for each in units for unit in each[1:4]]


def test_a_slice(sources: list[Path]) -> None:
    assert fuzz([each.read_bytes() for each in sources], 0, 150) > 500


def test_a_real_program(corpus: Callable[[str, str], Path]) -> None:
    units = small_units(corpus)
    assert fuzz([each.read_bytes() for each in units], 0, 12) > 20


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_ten_thousand_sequences_under_the_address_sanitiser(
    sources: list[Path], tmp_path: Path, corpus: Callable[[str, str], Path]
) -> None:
    """The core is built apart, with -fsanitize=address, and stands before the installed one on the path."""
    units = small_units(corpus)
    site = sanitised(tmp_path)
    # The sanitiser finds the functions that throw only if the C++ library is there when it starts.
    names = ("libasan.so", "libstdc++.so.6")
    libraries = [
        subprocess.check_output(["g++", f"-print-file-name={name}"], text=True).strip() for name in names
    ]
    environment = {
        **os.environ,
        # Not through the editable install's import hook, which would find the ordinary core: hence -S.
        "PYTHONPATH": f"{site}:{ROOT}:{sysconfig.get_path('platlib')}",
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0",
    }
    command = [
        sys.executable,
        "-S",
        "-m",
        "tests.plugin.ir_fuzz",
        "0",
        "10000",
        *map(str, (*sources, *units)),
    ]
    subprocess.run(command, env=environment, cwd=ROOT, check=True)


def sanitised(folder: Path) -> Path:
    """A folder to import passpilot from, with a core that the address sanitiser watches."""
    build, site = folder / "build", folder / "site"
    nanobind = subprocess.check_output([sys.executable, "-m", "nanobind", "--cmake_dir"], text=True).strip()
    flags = "-fsanitize=address -O1 -g1 -fno-omit-frame-pointer"
    options = ("-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={flags}", f"-Dnanobind_ROOT={nanobind}")
    source = ("-S", ROOT / "plugin", "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}")
    configure = [str(each) for each in ("cmake", *source, *options)]
    bin_ = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    subprocess.run(configure, check=True, env=environment)
    subprocess.run(["cmake", "--build", build], check=True, env=environment)
    package = site / "passpilot"
    (package / "plugin").mkdir(parents=True)
    for layer in ("features", "runners", "passes"):
        (package / layer).symlink_to(ROOT / layer)
    (package / "__init__.py").write_text((ROOT / "plugin/root.py.in").read_text())
    for each in (ROOT / "plugin").glob("*.py"):
        (package / "plugin" / each.name).symlink_to(each)
    for core in (*build.glob("_core*.so"), build / "libpasspilot.so"):
        (package / "plugin" / core.name).symlink_to(core)
    return site
