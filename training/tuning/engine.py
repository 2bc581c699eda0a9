# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Engine`: compiles for a search on machines, and keeps the results in files if it has a folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Final

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import read_regular, write_file
from passpilot.plugin.json_and_toml import parse_json
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.unit import Asked, Compiled, Unit, UnitChoice, warm_up

_MOST_BYTES: Final = 1 << 30
"""Of one file that a search keeps."""


@dataclass(slots=True)
class Engine:
    """Compiles choices for units. With a folder, a search that was ended continues where it was.

    Attributes:
        units: the modules.
        machines: run the compilations.
        deadline: the seconds that one compilation may take.
        folder: the directory of the results, by what they are made of; empty to keep none.
        kept: the results of an earlier run that the folder had at the start.
        saved: the seconds that they have saved.
    """

    units: Sequence[Unit]
    machines: Machines = field(default_factory=Machines)
    deadline: float = 300.0
    folder: str = ""
    kept: int = field(init=False, default=0)
    saved: float = 0.0
    _shared: dict[int, Any] = field(default_factory=dict)
    _modules: dict[int, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if os.path.isdir(self.folder):
            self.kept = len(os.listdir(self.folder))

    @property
    def jobs(self) -> int:
        """How many compilations run at once."""
        return self.machines.jobs

    def compile(self, work: Sequence[tuple[int, UnitChoice]]) -> list[Compiled | Error]:
        """Compile every choice for the unit of its number; an error for one that fails or takes too long."""
        paths = [os.path.join(self.folder, self._key(*task)) if self.folder else "" for task in work]
        found = [_read(path, choice) if path else None for path, (_, choice) in zip(paths, work, strict=True)]
        missing = [index for index, compiled in enumerate(found) if compiled is None]
        self.saved += sum(compiled.seconds for compiled in found if compiled is not None) / self.jobs

        def keep(index: int, compiled: Compiled | Error) -> None:
            path = paths[missing[index]]
            if path and not isinstance(compiled, Error):
                with contextlib.suppress(InputError):  # a full disk must not end the search
                    write_file(path, _packed(compiled))

        if self.units:
            warm_up(self.units[0].rewards)
        calls = [partial(Unit.compile, self._unit(work[index][0]), work[index][1]) for index in missing]
        results = iter(self.machines.run("tune", calls, self.deadline, keep))
        return [next(results) if compiled is None else compiled for compiled in found]

    def _unit(self, number: int) -> Any:
        if number not in self._shared:
            self._shared[number] = self.machines.share(self.units[number])
        return self._shared[number]

    def _key(self, number: int, choice: UnitChoice) -> str:
        if number not in self._modules:
            self._modules[number] = hashlib.sha256(self.units[number].module.bitcode()).digest()
        unit = self.units[number]
        text = tuple(getattr(unit, setting.name) for setting in fields(unit)[1:])
        more = (
            sorted(choice.inline.items()),
            choice.tail,
            choice.options,
            sorted(choice.functions.items()),
            choice.policy,
        )
        return hashlib.sha256(self._modules[number] + repr((text, more)).encode()).hexdigest()


def _packed(compiled: Compiled) -> bytes:
    """The questions as JSON, and behind them the object."""
    text = json.dumps(
        {
            "asked": [[*call, *asked] for call, asked in compiled.asked.items()],
            "inline": [[*call, inlined] for call, inlined in compiled.choice.inline.items()],
            "seconds": compiled.seconds,
            "parts": compiled.parts,
        }
    ).encode()
    return zlib.compress(len(text).to_bytes(8, "little") + text + compiled.code, 1)


def _read(path: str, choice: UnitChoice) -> Compiled | None:
    """What a file has; None if it is missing or damaged."""
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(read_regular(path, _MOST_BYTES), _MOST_BYTES)
        if not unpack.eof:
            return None
        size = int.from_bytes(data[:8], "little")
        table: Any = parse_json(data[8 : 8 + size], path)
        asked = {CallKey(*row[:3]): Asked(*row[3:]) for row in table["asked"]}
        inline = {CallKey(*row[:3]): row[3] for row in table["inline"]}
        seconds, parts = float(table["seconds"]), table["parts"]
    except (OSError, Error, ValueError, TypeError, KeyError, zlib.error):
        return None
    decided = UnitChoice(inline, choice.tail, choice.options, choice.functions)
    return Compiled(data[8 + size :], asked, decided, seconds, parts)
