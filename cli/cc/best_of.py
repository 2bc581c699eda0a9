# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc` with --best-of=N, or with tries of a policy: compiles several times, keeps the smallest."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from passpilot.cli.options_table import TABLE
from passpilot.plugin.errors import InputError
from passpilot.training.rewards import code_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.cli.cc.options import Options

LOG, POLICY = (next(row.variable for row in TABLE if row.name == name) for name in ("log", "policy"))

VARIANTS: Final = ("", "@oz?recipe=2", "@oz?recipe=3", "@oz")
"""The policies of --best-of=N, the most useful first; bench/measure/policies/best_of.py measures them.

The empty one stands for the user's own command.
"""


def variants_of(options: Options) -> Sequence[str]:
    """The policies to compile with, by what the options ask for; none for a plain compilation.

    Raises:
        Error: there is no such policy.
    """
    if options.tries < 2:
        return VARIANTS[: options.best_of] if options.best_of > 1 else ()
    from passpilot.runners.policy.bundle import find_bundle

    policy = options.policy.partition("?")[0]
    count = min(options.tries, len(find_bundle(policy).recipes))
    return [f"{policy}?recipe={number}" for number in range(1, count + 1)]


def compile_best(
    compiler: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    output: str,
    variants: Sequence[str],
) -> int:
    """Compile with all policies; returns the exit code of the first, whose error is the user's.

    An empty policy is the user's own; the first of several smallest objects wins. All compilations
    write `output`, so that dependency files name it; the best object waits beside it under another name.

    Raises:
        InputError: the object is not ELF, or cannot be read or renamed.
    """
    kept = f"{output}.best-{os.getpid()}"
    best = -1
    try:
        for number, policy in enumerate(variants):
            chosen = dict(environment)
            if policy:
                chosen[POLICY] = policy
            if number:
                chosen.pop(LOG, None)
            code = _run(compiler, command, chosen, quiet=number > 0)
            if code and not number:
                return code
            size = -1 if code else _size(output)
            if size >= 0 and (best < 0 or size < best):
                best = size
                os.replace(output, kept)
        if best >= 0:
            os.replace(kept, output)
    except OSError as error:
        raise InputError(f"{output}: expected to keep the smallest object, got: {error.strerror}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kept)
    return 0


def _run(compiler: str, command: Sequence[str], environment: Mapping[str, str], *, quiet: bool) -> int:
    sys.stdout.flush()
    words = subprocess.DEVNULL if quiet else None
    done = subprocess.run(
        command,
        executable=compiler,
        env=environment,
        check=False,
        stdout=words,
        stderr=words,
        close_fds=False,
    )
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _size(path: str) -> int:
    with open(path, "rb") as file:
        return code_bytes(file.read())
