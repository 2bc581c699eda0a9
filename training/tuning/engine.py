# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Engine`: compiles for a search on machines, and keeps the results in files if it has a folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import read_regular, write_file
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.unit import Compiled, Unit, UnitChoice

T = TypeVar("T")

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
        found = [
            _read(path, self.units[number].unpacked, choice) if path else None
            for path, (number, choice) in zip(paths, work, strict=True)
        ]
        missing = [index for index, compiled in enumerate(found) if compiled is None]
        self.saved += sum(compiled.seconds for compiled in found if compiled is not None) / self.jobs

        def keep(index: int, compiled: Compiled | Error) -> None:
            path = paths[missing[index]]
            if path and not isinstance(compiled, Error):
                with contextlib.suppress(InputError):  # a full disk must not end the search
                    write_file(path, zlib.compress(self.units[work[missing[index]][0]].packed(compiled), 1))

        if self.units:
            self.units[0].warm_up()
        calls = [
            partial(type(self.units[number]).compile, self._unit(number), choice)
            for number, choice in map(work.__getitem__, missing)
        ]
        results = iter(self.machines.run("tune", calls, self.deadline, keep))
        return [next(results) if compiled is None else compiled for compiled in found]

    def _unit(self, number: int) -> Any:
        if number not in self._shared:
            self._shared[number] = self.machines.share(self.units[number])
        return self._shared[number]

    def _key(self, number: int, choice: UnitChoice) -> str:
        unit = self.units[number]
        if number not in self._modules:
            self._modules[number] = unit.digest()
        return hashlib.sha256(self._modules[number] + unit.key(choice).encode()).hexdigest()


def _read(path: str, unpacked: Callable[[bytes, str, Any], T], choice: Any) -> T | None:
    """What a file has; None if it is missing or damaged."""
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(read_regular(path, _MOST_BYTES), _MOST_BYTES)
        return unpacked(data, path, choice) if unpack.eof else None
    except (OSError, Error, ValueError, TypeError, KeyError, zlib.error):
        return None
