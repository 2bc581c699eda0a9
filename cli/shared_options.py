# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options that several commands have beside those of the options table: one name, one value, one meaning.

A command adds one by `Parser.shared`, and says after the meaning what it is there, and its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from passpilot.cli.options_table import TABLE


class SharedOption(NamedTuple):
    """The word for the value, which is empty for a flag, and what the option means in every command."""

    value: str
    meaning: str
    short: str = ""
    """The name with one dash, such as `j`."""


_TABLE: Final = {row.name: row for row in TABLE}

SHARED: Final[Mapping[str, SharedOption]] = {
    **{name: SharedOption(_TABLE[name].value, _TABLE[name].help) for name in ("load", "profile")},
    "corpus": SharedOption("DIR", "take programs from a corpus of passpilot corpus"),
    "program": SharedOption("NAME", "only this program; may be repeated"),
    "root": SharedOption("DIR", "links may read files below DIR, not only of the corpus"),
    "split": SharedOption("FILE.toml", "which programs are in which part"),
    "passes": SharedOption("PIPELINE", "textual pipeline"),
    "point": SharedOption("POINT", "the decision point"),
    "reward": SharedOption("REWARD", "what to make small"),
    "lto": SharedOption("", "optimize when linking"),
    "seed": SharedOption("N", "the seed of chance"),
    "limit": SharedOption("N", "show at most N"),
    "json": SharedOption("", "print JSON"),
    "csv": SharedOption("", "print a table for spreadsheets and pandas"),
    "markdown": SharedOption("FILE", "write the result as Markdown; - for standard output"),
    "html": SharedOption("FILE", "write the result as a page"),
    "result": SharedOption("FILE", "write the result as JSON"),
    "resume": SharedOption("", "go on where an earlier call has ended"),
    "study": SharedOption("FILE", "keep all trials in a study, which passpilot study shows and merges"),
    "no-cache": SharedOption("", "compile again what the cache of compilations has"),
    "force": SharedOption("", "replace an output that exists"),
    "jobs": SharedOption("N", "how many processes or threads run at once (as many as processors)", "j"),
    "budget": SharedOption("SECONDS", "how long to search"),
    "timeout": SharedOption("SECONDS", "how long to wait"),
    "engine": SharedOption("", "who compiles: this machine (local), or a Ray cluster (ray)"),
    "address": SharedOption("HOST:PORT", "the Ray cluster, or auto (one on this machine)"),
    "grpc": SharedOption("[HOST:]PORT", "the port (of 127.0.0.1); 0: take and print a free one"),
    "token": SharedOption("TEXT|@FILE", "the token that clients must send"),
    "tls-cert": SharedOption("FILE", "use TLS with this certificate (PEM)"),
    "tls-key": SharedOption("FILE", "the private key of the certificate (PEM)"),
}


def shared_option(
    name: str, detail: str = "", **keywords: object
) -> tuple[tuple[str, ...], dict[str, object]]:
    """The names without dashes, and the keywords of `add_argument`; `detail` says what the option is here."""
    value, meaning, short = SHARED[name]
    if not value and "choices" not in keywords:
        keywords["action"] = "store_true"
    elif value:
        keywords = {"metavar": value, **keywords}
    if name in ("load", "program"):
        keywords |= {"action": "append", "default": []}
    return (name, *filter(None, [short])), {"help": f"{meaning}: {detail}" if detail else meaning, **keywords}
