# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts a report into one HTML file that needs no network.

The data is JSON, gzipped and in base64: no name in it can be taken for HTML, and the file stays small. The
policy in the page (Content-Security-Policy) allows nothing but its own script and style, by their hashes, so
that a browser refuses to load anything else.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Final

from passpilot.plugin.failures import printable

PARTS: Final = Path(__file__).with_name("page")
"""The folder with the page's template, style and scripts."""

SCRIPTS: Final = (
    "vendor/libraries.js",  # made by tools/report_libraries
    "format.js",
    "query.js",
    "runs.js",
    "parts.js",
    "table.js",
    "grid.js",
    "treemap.js",
    "curve.js",
    "graph.js",
    "decisions.js",
    "compared.js",
    "evaluation.js",
    "ladder.js",
    "sections.js",
    "main.js",
)
"""The scripts in the order in which they run."""


def page(title: str, data: Mapping[str, object]) -> bytes:
    script, style = script_text(), _part("style.css")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    text = Template(_part("page.html")).substitute(
        title=html.escape(printable(title)),
        version=version("passpilot"),
        policy=policy,
        style=style,
        script=script,
        data=_packed(data),
    )
    return text.encode()


def script_text() -> str:
    parts = "\n".join(map(_part, SCRIPTS))
    return f'(() => {{\n"use strict";\n{parts}}})();'


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _packed(data: Mapping[str, object]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    shown = re.sub("[\ud800-\udfff]", lambda odd: "\\" + printable(odd[0]), text)
    return base64.b64encode(gzip.compress(shown.encode(), mtime=0)).decode()


def _hash(text: str) -> str:
    """The source of a script or style in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
