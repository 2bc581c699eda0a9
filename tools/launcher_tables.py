# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes C++ tables for plugin/native/launcher: the options of `passpilot cc`, and what it knows of clang's.

usage: launcher_tables.py MAJOR FILE

CMake runs it in the source tree, before there is a package, with any Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

STRUCTURE: Final = """\
enum class Kind { runner, file, policy, choice, seconds, number, folder, other };
struct OptionRow {
  const char *name, *variable;
  Kind kind;
  const char *choices; ///< joined by |
  bool several;        ///< whether all given values count, not only the last one
};"""

KINDS: Final = {
    "file": "file",
    "policy": "policy",
    "choice": "choice",
    "seconds": "seconds",
    "number": "number",
    "count": "number",
}


def text(major: str) -> str:
    package = ModuleType("passpilot")
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules["passpilot"] = package
    from passpilot.cli.cc import build_process, level_note, variables
    from passpilot.cli.cc import clang_arguments as clang
    from passpilot.cli.options_table import FILES, OF_OTHERS, SCHEMES, options_of
    from passpilot.features.catalogue import HOOKED

    policies = Path(__file__).parents[1] / "policies"
    rows = []
    flags = ["help"]
    flag_variables = []
    for option in options_of("cc"):
        if option.kind == "flag":
            flags.append(option.name)
            flag_variables += [option.variable] if option.name == "stats" else []
            continue
        kind = (
            "runner"
            if option.name in HOOKED
            else "folder"
            if option.name == "log"
            else KINDS.get(option.kind)
        )
        choices = (major,) if option.name == "llvm" else option.choices  # Python finds the other ones
        fields = f"Kind::{kind or 'other'}, {json.dumps('|'.join(choices))}, {str(option.several).lower()}"
        rows.append(f'  {{"{option.name}", "{option.variable}", {fields}}},')
    tables: dict[str, Iterable[str]] = {
        "kFlags": flags,
        "kFlagVariables": flag_variables,
        "kWithValue": sorted(clang.WITH_VALUE),
        "kNoCode": sorted(clang.NO_CODE),
        "kNoLink": sorted(clang.NO_LINK),
        "kForParts": clang.FOR_PARTS,
        "kCompiled": clang.COMPILED,
        "kCompilers": clang.COMPILERS,
        "kFiles": FILES,
        "kOfOthers": OF_OTHERS,
        "kSchemes": SCHEMES,
        "kPolicies": sorted(folder.parent.name for folder in policies.glob("*/policy.toml")),
        "kVariables": sorted((*variables.KNOWN, *(variables.PREFIX + name for name in variables.OTHERS))),
        "kBuildTools": build_process.TOOLS,
        "kShells": build_process.SHELLS,
        "kProbes": level_note.PROBES,
    }
    lists = [
        f"inline constexpr const char *{name}[] = {{{', '.join(map(json.dumps, words))}}};"
        for name, words in tables.items()
    ]
    return "\n".join(
        (
            "// Written by tools/launcher_tables.py.\n#pragma once\n\nnamespace passpilot {\n",
            STRUCTURE,
            "inline constexpr OptionRow kOptions[] = {",
            *rows,
            "};",
            *lists,
            f"inline constexpr long kSaidPause = {level_note.PAUSE:.0f}; ///< seconds",
            f'inline constexpr const char *kClang = "clang-{major}", *kClangxx = "clang++-{major}";',
            "\n} // namespace passpilot\n",
        )
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(text(sys.argv[1]))
