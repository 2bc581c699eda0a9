# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs in MLIR: exported from JAX, with a driver in C, its input, and what it should compute.

They cannot be fetched: whoever has them puts them, or a link to them, into the cache's folder ``mlir``.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.corpus.programs import cache_home

TOLERANCES: Final = {
    "flax_resnet_forward": 1e-5,
    "flax_transformer_train": 1e-5,
    "jax_ode_and_linalg": 1e-5,
    "scipy_bfgs_rosenbrock": 0.26,
}
"""How far results may be from the reference, which XLA has computed.

Stock mlir-opt's are as far off in the case of the iteration to a minimum, which stops elsewhere."""


@dataclass(frozen=True)
class MlirProgram:
    """One of the programs."""

    name: str

    @property
    def source(self) -> Path:
        """The module, of func, scf, memref and linalg on memrefs.

        Raises:
            Skipped: it is not there.
        """
        path = self._file("memref.mlir")
        if not path.exists():
            pytest.skip(f"there is no {path}")
        return path

    def check(self, code: bytes, folder: Path) -> None:
        """Link an object file with the driver, run it, and compare what it computes with the reference."""
        made, program = folder / "kernel.o", folder / "program"
        made.write_bytes(code)
        build: list[str | Path] = ["clang-22", "-O1", "-w", self._file("c"), made, "-lm", "-o", program]
        subprocess.run(build, check=True, timeout=120)
        run = [program, self._file("in.bin"), self._file("ref.bin")]
        done = subprocess.run(run, check=True, capture_output=True, text=True, timeout=120)
        worst, bad = done.stderr.split()
        assert float(worst) <= TOLERANCES[self.name], "the largest difference of floating-point numbers"
        assert bad == "0", "how many integers differ"

    def _file(self, suffix: str) -> Path:
        return cache_home() / "mlir" / f"{self.name}.{suffix}"
