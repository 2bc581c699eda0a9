# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot build`: runs any build with `passpilot cc` in place of its compilers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Final

from passpilot.cli.cc.main import become_other_llvm
from passpilot.cli.cc.options import Options, option_rows
from passpilot.cli.options_table import RUNNERS
from passpilot.cli.outputs import prepare
from passpilot.plugin.errors import UsageError
from passpilot.plugin.origin import warn_user
from passpilot.training.corpus.recorded.child import ended_by_signals, run_clang
from passpilot.training.tuning.build import (
    build_environment,
    build_words,
    is_advised,
    names_in,
    note_other_compilers,
    nothing_compiled,
)

MOST_BYTES: Final = 16_000
"""What the preloaded library can keep for builds that clear their environment."""
HELP: Final = """\
usage: passpilot build [option ...] [argument of clang ...] -- COMMAND ...

Run a build with `passpilot cc` and `passpilot c++` in place of its compilers, whatever it calls them:
names, absolute paths, launchers, toolchain files. The options are those of `passpilot cc`; the other
arguments go in front of those that the build gives to its compilers. Clean the build first.

options:
{rows}

{runners}

examples:
  passpilot build --policy=@oz -- make -j2
  passpilot build --decisions=tuned/lua.decisions -- ninja
  passpilot build --record=recording -- npm install"""


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code of the build."""
    prepare()
    at = argv.index("--") if "--" in argv else len(argv)
    options, command = Options("build", argv[:at]), argv[at + 1 :]
    become_other_llvm("build", options, argv)
    if options.help or "-h" in options.rest:
        print(HELP.format(rows="\n".join(option_rows()), runners=RUNNERS))
        return 0
    if not command:
        raise UsageError("build: expected -- and the command of a build, such as: passpilot build -- make")
    if wrong := next((word for word in options.rest if not word.startswith("-")), ""):
        raise UsageError(f"build: expected options in front of --, got {wrong!r}")
    words = options.words()
    if wrong := next((word for word in words if "\n" in word), ""):
        raise UsageError(f"build: expected options without line breaks, got {wrong!r}")
    if (size := sum(len(os.fsencode(word)) + 1 for word in words)) > MOST_BYTES:
        raise UsageError(f"build: expected options of at most {MOST_BYTES:,} bytes, got {size:,}")
    options.check_readers(loads=False)
    if not words:
        warn_user("build: expected an option such as --policy=@oz, got none; this is the build as it is")
    recording = os.path.abspath(options.value("record")) if options.value("record") else ""
    with ended_by_signals(), tempfile.TemporaryDirectory(prefix="passpilot-build-") as names:
        programs = os.path.join(names, "programs")
        environment = build_environment(names, programs, recording, words)
        code = run_clang("/bin/sh", build_words("build", command, environment), environment)
        seen = names_in(programs)
        if words:
            note_other_compilers(programs)
    if not code and not any(map(is_advised, seen)):
        warn_user(nothing_compiled("build", command, seen))
    return code
