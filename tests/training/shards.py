# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of small programs, in shards, for the tests of data and trainers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from passpilot.training.data.collection import collect, loose_modules
from passpilot.training.data.gather import Teaching
from passpilot.training.machines.local import Machines

CAREFUL: Final = """\
def decide(obs):
    if obs["callee_users"].item() > 3:
        return False
    return obs["cost_estimate"].item() < (20 if obs["constant_args"].item() else -15)
"""
"""A teacher that decides otherwise than LLVM, by three features."""


def gathered(
    modules: Sequence[Path], folder: Path, *teachers: str, point: str = "inline", part: str = "train"
) -> Path:
    """The folder of the shards of some modules, whose programs are the folders of the modules."""
    teaching = Teaching(point, teachers or ("default",), machines=Machines(2))
    collect(loose_modules([str(each) for each in modules], ""), teaching, str(folder), None, part)
    return folder / part
