# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ModuleOptions` and `RemarkOptions`: the common options of `passpilot opt` and `passpilot llc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from passpilot.cli.parser import Parser
    from passpilot.plugin.compile import Remarks


class ModuleOptions(NamedTuple):
    """The input, and options for the whole module."""

    input: str
    version: bool
    """Whether to print versions and do nothing else."""
    mtriple: str
    disable_verify: bool

    @staticmethod
    def add_to(parser: Parser) -> None:
        """Add these options, and --help."""
        add = parser.option
        parser.add_argument(
            "input", nargs="?", default="-", metavar="IN", help="a .ll or .bc file; - for stdin"
        )
        add("help", "h", action="help", help="show this text")
        add("version", action="store_true", help="passpilot's version and LLVM's")
        add("mtriple", default="", metavar="TRIPLE", help="override the target triple")
        add("disable-verify", action="store_true", help="do not run the verifier")


class RemarkOptions(NamedTuple):
    """The flags of remark files."""

    pass_remarks_output: str
    pass_remarks_filter: str
    pass_remarks_format: str
    pass_remarks_with_hotness: bool

    def remarks(self) -> Remarks:
        """The options as a compilation takes them."""
        from passpilot.plugin.compile import Remarks

        return Remarks(
            self.pass_remarks_output,
            self.pass_remarks_filter,
            self.pass_remarks_format,
            self.pass_remarks_with_hotness,
        )

    @staticmethod
    def add_to(parser: Parser) -> None:
        """Add these options."""
        add = parser.option
        add("pass-remarks-output", default="", metavar="F", help="write remarks to a file")
        add("pass-remarks-filter", default="", metavar="REGEX", help="only remarks of these passes")
        add("pass-remarks-format", default="yaml", metavar="FORMAT", help="yaml (default) or bitstream")
        add("pass-remarks-with-hotness", action="store_true", help="remarks with profile counts")
