# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search can make small beside machine code, function by function."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from passpilot.passes.emit import generate
from passpilot.plugin.compile import file_type
from passpilot.plugin.errors import CompilationError, InputError
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from passpilot.plugin import _core
    from passpilot.plugin.module import Module

ITERATIONS: Final = 10
"""Of the code of a function, in llvm-mca."""

_TYPE: Final = re.compile(r"\s*\.type\s+(\S+),@function")
_LABEL: Final = re.compile(r"(\S+):")
_END: Final = re.compile(r"\.Lfunc_end\d+:")


def instructions(module: Module, _: _core.EmitOptions) -> dict[str, float]:
    """The instructions of LLVM's IR."""
    return {
        function.name: function.instruction_count
        for function in module.functions
        if not function.is_declaration
    }


def native_estimate(module: Module, _: _core.EmitOptions) -> dict[str, float]:
    """The bytes of machine code, estimated from the IR by the model that comes with passpilot."""
    from passpilot.training.native_size.model import shipped

    return shipped().sizes(module)


def allocation_cost(module: Module, wanted: _core.EmitOptions) -> dict[str, float]:
    """The weighed costs of spills, reloads and copies, as `llc --report` shows them."""
    wanted.filetype, wanted.costs = file_type("null"), True
    return {name: cost for name, _, cost in generate(module, wanted, []).costs}


def mca_cycles(module: Module, wanted: _core.EmitOptions) -> dict[str, float]:
    """The cycles by llvm-mca that a function takes whose instructions run once, in order.

    Raises:
        Error: llvm-mca is missing or fails.
    """
    wanted.filetype = file_type("asm")
    text = _with_regions(generate(module, wanted, []).code.decode("utf-8", "surrogateescape"))
    tool = f"llvm-mca-{MAJOR}"
    command = [
        tool,
        "-json",
        f"-iterations={ITERATIONS}",
        "-skip-unsupported-instructions=any",
        f"-mtriple={module.triple}",
    ]
    if wanted.cpu:
        command.append(f"-mcpu={wanted.cpu}")
    try:
        done = subprocess.run(command, input=text, capture_output=True, errors="surrogateescape", check=False)
    except OSError as error:
        install = f"sudo apt-get install llvm-{MAJOR}"
        raise InputError(f"reward mca: {tool} is not on the PATH; {install}") from error
    try:
        regions = json.loads(done.stdout)["CodeRegions"]
        return {region["Name"]: region["SummaryView"]["BlockRThroughput"] for region in regions}
    except (ValueError, KeyError) as error:
        said = next((line for line in done.stderr.splitlines() if "error" in line), "no summary")
        raise CompilationError(f"reward mca: expected {tool} to succeed, got: {said}") from error


def _with_regions(text: str) -> str:
    """Assembly with llvm-mca's marks around every function."""
    lines, following, name = [], "", ""
    for line in text.splitlines():
        if found := _TYPE.match(line):
            following = found[1]
        if name and _END.match(line):
            lines.append(f"# LLVM-MCA-END {name}")
            name = ""
        lines.append(line)
        label = _LABEL.match(line)
        if following and label and label[1] == following:
            name, following = following, ""
            lines.append(f"# LLVM-MCA-BEGIN {name}")
    return "\n".join(lines) + "\n"


PARTS: Final[Mapping[str, Callable[[Module, _core.EmitOptions], dict[str, float]]]] = {
    "instructions": instructions,
    "native-estimate": native_estimate,
    "allocation-cost": allocation_cost,
    "mca": mca_cycles,
}
"""By the names of rewards. A function may change the module and the options."""
