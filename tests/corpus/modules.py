# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real MLIR modules: JAX programs, lowered to func, scf, memref and linalg.

`mlir/NAME.tar.xz` has the module, a C driver that calls it, its input, and the results of JAX.
"""

from __future__ import annotations

import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests import stock

ARCHIVES: Final = Path(__file__).parent / "mlir"

MODULES: Final = (
    "flax_resnet_forward",
    "flax_transformer_train",
    "jax_ode_and_linalg",
    "scipy_bfgs_rosenbrock",
)
LARGE: Final = "flax_transformer_train"
"""The one that takes long."""

DISTANCE: Final = 1e-5
"""How far results may be from JAX's, relatively.

BFGS takes 14 steps instead of up to 1,600. A step amplifies the rounding of those before it: results are
within 5e-6 of JAX's after 14 steps, 1e-4 off after 20, 2e-2 after 40, where the line search fails in float32.
"""


@dataclass(frozen=True, slots=True)
class RealModule:
    """One of them, unpacked."""

    name: str
    folder: Path

    @property
    def text(self) -> str:
        """The module."""
        return (self.folder / "memref.mlir").read_text()

    def run(self, ir: str) -> str:
        """Compile the LLVM IR that the module has become, and run it; gives the hash of all results."""
        source = self.folder / "module.ll"
        source.write_text(ir)
        return self._run(source)

    def run_object(self, code: bytes) -> str:
        """Run the object file that the module has become; gives the hash of all results."""
        made = self.folder / "module.o"
        made.write_bytes(code)
        return self._run(made)

    def _run(self, made: Path) -> str:
        program = self.folder / "program"
        stock.run("clang", "-O0", "-w", made, "-x", "c", self.folder / "c", "-lm", "-o", program)
        command = [program, self.folder / "in.bin", self.folder / "ref.bin"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        distance, differing = done.stderr.split()
        assert float(distance) <= DISTANCE, "further from JAX's results than it may be"
        assert differing == "0", "integers are other than JAX's"
        return done.stdout


def unpacked(name: str, folder: Path) -> RealModule:
    """A module, unpacked into a folder."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        for member in archive:
            if file := archive.extractfile(member):
                (folder / member.name).write_bytes(file.read())
    return RealModule(name, folder)
