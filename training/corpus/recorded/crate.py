# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs rustc, and records the modules of a crate as they are before optimization, with their objects.

rustc keeps both, by ``-Csave-temps``, in a folder of the recording; `recorder.py` has the format. The link is
recorded where rustc starts the linker, `cc`, and finds these objects there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.files import files_below, make_folder, read_regular
from passpilot.training.corpus.from_bitcode import derived
from passpilot.training.corpus.inspection import inspect
from passpilot.training.corpus.recorded.child import ended_by_signals, run_clang
from passpilot.training.corpus.recorded.recorder import hashes, keep_module, key_of, write_record

CRATES: Final = "crates"
"""The folder of what rustc keeps."""

MODULE: Final = ".no-opt.bc"
"""How the names of modules before optimization end; the object ends in `.o`."""


LTO: Final = re.compile("(linker-plugin-)?lto(=(?!off|no?$|false).*)?")
"""Options with which rustc optimizes the whole program at its link."""


SECTIONS: Final = ("-ffunction-sections", "-fdata-sections")
"""As rustc has them."""


class CrateRun(NamedTuple):
    """A command of rustc that is to be recorded."""

    compiler: str
    words: Sequence[str]
    """Its arguments."""
    environment: Mapping[str, str]
    advice: Sequence[str] = ()
    """passpilot's options that change the code."""


def run_recorded_crate(folder: str, run: CrateRun) -> int:
    """Run rustc and record what it has made; returns its exit code.

    The build goes on if the recording fails: that is a warning.

    Raises:
        InputError: the folder of the recording cannot be written.
    """
    directory = os.getcwd()
    kept = os.path.join(folder, CRATES, key_of(directory, run.words))
    shutil.rmtree(kept, ignore_errors=True)
    make_folder(kept)
    with ended_by_signals():
        words = [run.compiler, "-Csave-temps", f"-Ztemps-dir={kept}", *run.words]
        code = run_clang(run.compiler, words, run.environment)
        if not code:
            try:
                _record(folder, kept, directory, run)
            except Error as error:
                text = for_terminal(f"passpilot: warning: rustc: {error}; the crate is not recorded")
                print(f"{text}\n", end="", file=sys.stderr)
    with suppress(OSError):
        os.rmdir(kept)  # rustc has only printed something
    return code


def _record(folder: str, kept: str, directory: str, run: CrateRun) -> None:
    modules = [str(path) for path in files_below(kept, MODULE)]
    if modules and _is_searched([word.removeprefix("-C") for word in run.words]):
        source = next((word for word in run.words if word.endswith(".rs") and word[0] != "-"), "")
        units = [_unit(folder, os.path.join(directory, source), module) for module in modules]
        words = [run.compiler, *run.words]
        write_record(folder, directory, words, {"driver": "rustc", "advice": [*run.advice], "units": units})


def _is_searched(options: Sequence[str]) -> bool:
    """Whether options of rustc's code generation optimize a crate, which build scripts need not be.

    Raises:
        InputError: its objects are not made of the single modules.
    """
    if not any(word == "-O" or re.fullmatch("opt-level=[123sz]", word) for word in options):
        return False
    if found := next(filter(LTO.fullmatch, options), ""):
        raise InputError(f"--record: expected lto = false in the profile, got {found}")
    if "codegen-units=1" not in options:
        raise InputError("--record: expected codegen-units = 1 in the profile, got another number")
    return True


def _unit(folder: str, source: str, module: str) -> dict[str, object]:
    data, output = read_regular(module), f"{module.removesuffix(MODULE)}.o"
    facts = inspect(module, lambda: data)
    return {
        "source": os.path.normpath(source),
        "language": "rust",
        "arguments": [*derived(facts), *SECTIONS],
        "bitcode": keep_module(folder, data),
        "problem": "",
        "read": [os.path.normpath(source)],
        "output": output,
        **hashes(read_regular(output)),
    }
