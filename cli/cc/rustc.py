# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot rustc`: a rustc that uses the libLLVM of the distribution, with advisors.

cargo starts it where `RUSTC_WRAPPER=passpilot` is set, with the path of rustc before the arguments. It
becomes rustc, which loads the plugin; the options reach it through the environment, as in `passpilot cc`.
"""

from __future__ import annotations

import os
from itertools import takewhile

from passpilot.cli.cc.main import become, become_other_llvm, find_program
from passpilot.cli.cc.options import FLAGS, OPTIONS, Options, option_rows
from passpilot.cli.options_table import RUNNERS
from passpilot.plugin.errors import InputError, UsageError
from passpilot.plugin.toolchain import installed

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

OF_CC: Final = ("best-of",)
"""The options of `passpilot cc` that start clang several times."""

_NAMES: Final = ("-Zunstable-options", "-Csymbol-mangling-version=legacy")
"""Functions keep the names that they have without `RUSTC_BOOTSTRAP`, and decision files find them."""

_OWN_LLVM: Final = ("libLLVM", "-rust-")
"""What is in the name of the library that a toolchain of rustup's has beside it."""

_HELP: Final = """\
usage: passpilot rustc [option ...] [any argument of rustc ...]

Compile Rust as rustc does, with advisors. rustc must use the libLLVM that passpilot uses, as Debian's does.

options, before those of rustc:
{rows}

Every option is also a variable, such as PASSPILOT_POLICY. cargo does not know what passpilot does, so another
policy needs another --target-dir, or cargo clean.

{runners}

examples:
  passpilot rustc --policy=@oz -Copt-level=z prog.rs
  RUSTC_WRAPPER=passpilot PASSPILOT_POLICY=@oz cargo build --release
"""


def main(argv: Sequence[str]) -> int:
    """Run `passpilot rustc`; returns only for --help and a recording."""
    given = list(argv)
    rustc = given.pop(0) if given and os.path.basename(given[0]) == "rustc" else "rustc"
    ours = list(takewhile(_is_ours, given))
    options = Options("rustc", [*_of_build(), *ours])
    become_other_llvm("rustc", options, argv)
    if options.help:
        print(_HELP.format(rows="\n".join(option_rows(but=OF_CC)), runners=RUNNERS), end="")
        return 0
    for name in OF_CC:
        if options.value(name):
            raise UsageError(f"rustc: expected an option that rustc can have, got --{name}")
    options.check_log()
    options.check_points()
    path = rustc if "/" in rustc else find_program(rustc)
    if not path:
        raise InputError("rustc: no rustc is on the PATH; sudo apt-get install rustc-web cargo-web")
    arguments = given[len(ours) :]
    environment = {**os.environ, **options.environment()}
    recording = options.value("record") or environment.get("PASSPILOT_RECORDING", "")
    asks = options.asks(unoptimized=False)
    if asks and _has_own_llvm(path):
        expected = "expected a rustc that uses libLLVM of the distribution, such as that of rustc-web"
        hint = "`passpilot attach -- rustc` asks its inliner, by docs/rust.md"
        raise InputError(f"rustc: {expected}, got {path}, which has an LLVM of its own; {hint}")
    if recording or asks:
        plugin = [f"-Zllvm-plugins={installed('libpasspilot.so')}"] if asks else []
        arguments = [*plugin, *_NAMES, *arguments]
        environment["RUSTC_BOOTSTRAP"] = "1"  # -Z is for nightly compilers otherwise
    try:
        if recording:
            from passpilot.training.corpus.recorded.crate import CrateRun, run_recorded_crate

            return run_recorded_crate(recording, CrateRun(path, arguments, environment, options.advice()))
        return become(path, [path, *arguments], environment)
    except OSError as error:
        raise InputError(f"rustc: expected to run {path}, got: {error.strerror}") from error


def _has_own_llvm(path: str) -> bool:
    """Whether a rustc is rustup's proxy, or of a toolchain that brings its LLVM."""
    real = os.path.realpath(path)
    libraries = os.path.join(os.path.dirname(os.path.dirname(real)), "lib")
    try:
        names = os.listdir(libraries)
    except OSError:
        names = []
    return os.path.basename(real) == "rustup" or any(
        all(part in name for part in _OWN_LLVM) for name in names
    )


def _of_build() -> list[str]:
    """The options of `passpilot build`; what it has for clang is none."""
    return list(filter(_is_ours, os.environ.get("PASSPILOT_WORDS", "").splitlines()))


def _is_ours(argument: str) -> bool:
    name = argument[2:].partition("=")[0]
    return argument.startswith("--") and (name in OPTIONS or name in FLAGS or name == "help")
