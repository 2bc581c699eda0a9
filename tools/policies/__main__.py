# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the policies of the package, from the training programs of the corpus.

It prints what was tried. The folders appear in `policies/`, or in another folder (-o). The part of a
policy's card that was written by hand is kept.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import Error
from tools.policies import oz, spill
from tools.policies.card import SHIPPED

MAKERS: Final = {"oz": oz.make, "spill": spill.make}


def main(arguments: Sequence[str]) -> int:
    """Make policies; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.policies",
        description=__doc__,
        epilog="example: python -m tools.policies oz --small -o /tmp/policies",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(MAKERS)} (default: all)", metavar="NAME")
    parser.add_argument("--small", action="store_true", help="of two programs only: minutes, to try it")
    parser.add_argument(
        "-o", dest="folder", type=Path, default=SHIPPED, help="write policies into this folder"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilations at the same time")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(MAKERS):
        parser.error(f"expected names of {', '.join(MAKERS)}, got {', '.join(sorted(unknown))}")
    try:
        for name in chosen.names or MAKERS:
            MAKERS[name](chosen.folder / name, chosen.jobs, small=chosen.small)
    except Error as error:
        print(f"policies: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
