# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot policies`: lists the installed policies, and prepares them for this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from passpilot.cli.outputs import prepare, quiet_pipe
from passpilot.cli.parser import Parser, argument, flag, record
from passpilot.plugin import _core
from passpilot.plugin.errors import Error
from passpilot.plugin.failures import did_you_mean, for_terminal
from passpilot.plugin.version import MAJOR
from passpilot.runners.policy.bundle import PolicyBundle, find_bundle, installed_bundles

EPILOG: Final = """\
examples:
  passpilot policies
  passpilot policies @oz --prepare
  passpilot cc -Oz -c prog.c --policy=@oz -o prog.o

Without names, all policies of passpilot and of other installed packages are listed."""


class PoliciesOptions(NamedTuple):
    policies: tuple[str, ...] = argument("POLICY", "@NAME, or a policy's folder", nargs="*")
    prepare: bool = flag("compile the models now, not at the first use")
    compile: bool = flag("compile the models into the policy's folder, for a package of it")


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code, which is 1 if a policy cannot be used."""
    prepare()
    options = record(PoliciesOptions, make_parser().values(argv))
    bundles = list(map(find_bundle, options.policies) if options.policies else installed_bundles())
    good = True
    with quiet_pipe():
        if not bundles:
            print("no policy is installed")
        for bundle in bundles:
            good &= _show(bundle, options)
    return 0 if good else 1


def make_parser() -> Parser:
    parser = Parser(
        "passpilot policies",
        description="List policies: their folders, what they are for, and the start of their model cards.",
        epilog=EPILOG,
    )
    parser.add_fields(PoliciesOptions)
    parser.traceback_option()
    return parser


def _show(bundle: PolicyBundle | Error, options: PoliciesOptions) -> bool:
    if isinstance(bundle, Error):
        print(f"passpilot: error: {for_terminal(str(bundle))}", file=sys.stderr)
        return False
    print(*map(for_terminal, lines_of(bundle)), sep="\n")
    if options.compile:
        from passpilot.runners.policy.models import compile_models

        for path in compile_models(bundle):
            print(f"  compiled: {for_terminal(path)}")
    if options.prepare:
        from passpilot.runners.policy.prepare import policy_record

        record = policy_record(bundle.spec)
        recipes = (record.recipe(f"?recipe={number}") for number in range(1, record.recipe_count + 1))
        for runner in sorted({runner for recipe in recipes for runner in recipe.runners.values()}):
            print(f"  prepared: {for_terminal(runner)}")
    return True


def lines_of(bundle: PolicyBundle) -> Iterator[str]:
    name = bundle.spec if bundle.spec.startswith("@") else bundle.name
    refused = "" if bundle.llvm == MAJOR else f", which is not this LLVM {MAJOR}"
    yield f"{name}: {bundle.description}"
    yield f"  folder: {bundle.folder}"
    targets = " and ".join(bundle.targets) or "any target"
    yield f"  for -{bundle.level}, {targets}, LLVM {bundle.llvm}{refused}"
    size = sum(map(os.path.getsize, bundle.models))
    count = len(bundle.recipes)
    models = f"{size / 1024:.0f} KiB of models"
    yield f"  decides {', '.join(bundle.points) or 'nothing'}; {count} recipe{'s' * (count != 1)}; {models}"
    yield f"  license: {bundle.license}"
    yield from _others_of(bundle)
    if summary := _summary(bundle.card):
        yield f"  {summary}"


def _others_of(bundle: PolicyBundle) -> Iterator[str]:
    """The passes of pipelines that are none of LLVM's."""
    names = [name for recipe in bundle.recipes for name in _core.other_passes(recipe.pipeline)]
    known = re.findall(r"^  ([\w-]+)", _core.pass_names(), re.MULTILINE) if names else []
    for name in dict.fromkeys(names):
        yield f"  needs a pass of a --load file: {name}{did_you_mean(name, known)}"


def _summary(card: str) -> str:
    """The first paragraph of a model card, on one line."""
    if not card:
        return ""
    with open(card, encoding="utf-8", errors="replace") as file:
        parts = file.read(1 << 16).split("\n\n")
    first = next((part for part in parts if part.strip() and not part.lstrip().startswith("#")), "")
    first = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first).replace("`", "")  # Markdown's links and code
    return " ".join(first.split())
