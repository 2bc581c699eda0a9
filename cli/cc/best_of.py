# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc` with --best-of=N, or tries of a policy: finds the policy that makes the smallest object.

The tries write nothing but a temporary object. clang then compiles once more, with the policy that was found,
so that all outputs, messages and logs are those of one compilation.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from passpilot.cli.options_table import TABLE
from passpilot.plugin.errors import CompilationError, InputError
from passpilot.training.corpus.arguments import ACTIONS
from passpilot.training.corpus.front_end import FrontEnd, FrontEndJob
from passpilot.training.corpus.recorded.child import ended_by_signals
from passpilot.training.rewards import allocated_bytes

if TYPE_CHECKING:
    from passpilot.cli.cc.options import Options

LOG, POLICY = (next(row.variable for row in TABLE if row.name == name) for name in ("log", "policy"))

VARIANTS: Final = ("", "@oz?recipe=2", "@oz?recipe=3", "@oz")
"""The policies of --best-of=N, the most useful first; bench/measure/policies/best_of.py measures them.

The empty one stands for the user's own command.
"""


def variants_of(options: Options) -> Sequence[str]:
    """The policies to compile with, by what the options ask for; none for a plain compilation."""
    if options.tries < 2:
        return VARIANTS[: options.best_of] if options.best_of > 1 else ()
    from passpilot.runners.policy.bundle import find_bundle

    policy = options.policy.partition("?")[0]
    count = min(options.tries, len(find_bundle(policy).recipes))
    return [f"{policy}?recipe={number}" for number in range(1, count + 1)]


def choose_policy(
    options: Options, compiler: str, command: Sequence[str], environment: dict[str, str]
) -> bool:
    """Put the policy that makes the smallest object into the environment; whether there is one."""
    variants = variants_of(options)
    with ended_by_signals():
        policy = best_variant(FrontEnd(compiler, os.getcwd(), environment), command, variants)
    if policy:
        environment[POLICY] = policy
    return bool(policy)


def best_variant(front_end: FrontEnd, command: Sequence[str], variants: Sequence[str]) -> str:
    """The policy that makes the smallest object of a command of clang; the first of several smallest ones.

    It is the first policy without any comparison if the command makes anything but one object in a file,
    or if clang refuses it.
    """
    job = _only_object(front_end, command)
    if job is None:
        return variants[0]
    sizes: dict[str, int] = {}
    for policy in variants:
        size = _size(front_end, job, policy)
        if size is not None:
            sizes[policy] = size
        elif not sizes:
            return variants[0]
    return min(sizes, key=sizes.__getitem__)


def _only_object(front_end: FrontEnd, command: Sequence[str]) -> FrontEndJob | None:
    """The only compilation of a command, if it makes an object file and its source can be read again."""
    try:
        jobs = front_end.compilations(command)
    except CompilationError:
        return None
    if len(jobs) != 1 or [argument for argument in jobs[0].arguments if argument in ACTIONS] != ["-emit-obj"]:
        return None
    source, output = (os.path.join(front_end.directory, path) for path in (jobs[0].source, jobs[0].output))
    is_file = jobs[0].output != "-" and (os.path.isfile(output) or not os.path.lexists(output))
    return jobs[0] if is_file and os.path.isfile(source) else None


def _size(front_end: FrontEnd, job: FrontEndJob, policy: str) -> int | None:
    """The bytes that the object of a policy loads; none if there is no object."""
    environment = {name: value for name, value in front_end.environment.items() if name != LOG}
    if policy:
        environment[POLICY] = policy
    try:
        with tempfile.TemporaryDirectory(prefix="passpilot-") as folder:
            path = os.path.join(folder, "object")
            replace(front_end, environment=environment).make_object(job, path)
            with open(path, "rb") as file:
                return allocated_bytes(file.read())
    except (CompilationError, InputError, OSError):
        return None
