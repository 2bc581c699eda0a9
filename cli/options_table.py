# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that several commands have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from passpilot.cli.parser import Parser
    from passpilot.plugin.compile import Remarks


def input_options(parser: Parser) -> None:
    """Add the input, the output and what concerns the module as a whole."""
    add = parser.option
    parser.add_argument("input", nargs="?", default="-", metavar="IN", help="a .ll or .bc file; - for stdin")
    add("help", "h", action="help", help="show this text")
    add("version", action="store_true", help="passpilot's version and LLVM's")
    add("mtriple", default="", metavar="TRIPLE", help="override the target triple")
    add("disable-verify", action="store_true", help="do not run the verifier")


def remark_options(parser: Parser) -> None:
    """Add the flags of remark files."""
    add = parser.option
    add("pass-remarks-output", default="", metavar="F", help="write remarks to a file")
    add("pass-remarks-filter", default="", metavar="REGEX", help="only remarks of these passes")
    add("pass-remarks-format", default="yaml", metavar="FORMAT", help="yaml (default) or bitstream")
    add("pass-remarks-with-hotness", action="store_true", help="remarks with profile counts")


def remarks_of(options: argparse.Namespace) -> Remarks:
    """What the flags of remark files say."""
    from passpilot.plugin.compile import Remarks

    return Remarks(
        options.pass_remarks_output,
        options.pass_remarks_filter,
        options.pass_remarks_format,
        options.pass_remarks_with_hotness,
    )
