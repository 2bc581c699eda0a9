# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who compiles for a search: the processors of this machine, or what an earlier run has compiled."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.isolated import run_isolated_together
from passpilot.training.machines.local import ThisMachine
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.unit import Asked, Compiled, UnitChoice, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from passpilot.training.machines.local import Machines
    from passpilot.training.tuning.unit import Unit

    Done = Callable[[int, Compiled | Error], object]


class Engine(Protocol):
    """Compiles choices for units."""

    @property
    def jobs(self) -> int:
        """How many compilations run at once."""
        ...

    @property
    def saved(self) -> float:
        """The seconds that earlier compilations have saved."""
        ...

    def compile(
        self, work: Sequence[tuple[int, UnitChoice]], done: Done = lambda _number, _made: None
    ) -> list[Compiled | Error]:
        """Compile every choice for the unit of its number; an error for one that fails or takes too long.

        Args:
            work: the numbers of units, and the choices.
            done: called with the index in `work` and the result as soon as it is there.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """A process of this machine for every compilation.

    Attributes:
        units: the modules.
        jobs: how many processes run at once.
        deadline: the seconds that one compilation may take.
    """

    units: Sequence[Unit]
    jobs: int = 1
    deadline: float = 300.0

    @property
    def saved(self) -> float:
        """See `Engine`."""
        return 0.0

    def compile(
        self, work: Sequence[tuple[int, UnitChoice]], done: Done = lambda _number, _made: None
    ) -> list[Compiled | Error]:
        """See `Engine`."""
        warm_up(self.units[0].rewards if self.units else ())
        runs = [partial(self.units[number].compile, choice) for number, choice in work]
        return run_isolated_together("tune", runs, self.deadline, self.jobs, done)


def engine_on(where: Machines, units: Sequence[Unit], deadline: float = 300.0) -> Engine:
    """What compiles units on machines, with `deadline` seconds for one compilation."""
    if isinstance(where, ThisMachine):
        return LocalEngine(units, where.jobs, deadline)
    from passpilot.training.machines.ray_cluster import RayCluster
    from passpilot.training.tuning.ray_engine import RayEngine

    assert isinstance(where, RayCluster), "there are no others"
    return RayEngine(units, where, deadline)


@dataclass(slots=True)
class KeepingEngine:
    """Keeps results in files, by what they are made of: a search that was ended continues where it was.

    Attributes:
        inner: compiles what is not there.
        units: the modules.
        folder: the directory of the files.
    """

    inner: Engine
    units: Sequence[Unit]
    folder: str
    saved: float = 0.0
    _modules: dict[int, bytes] = field(default_factory=dict)

    @property
    def jobs(self) -> int:
        """See `Engine`."""
        return self.inner.jobs

    def compile(
        self, work: Sequence[tuple[int, UnitChoice]], done: Done = lambda _number, _made: None
    ) -> list[Compiled | Error]:
        """See `Engine`."""
        paths = [os.path.join(self.folder, self._key(*each)) for each in work]
        found = [_read(path, choice) for path, (_, choice) in zip(paths, work, strict=True)]
        missing = [index for index, each in enumerate(found) if each is None]
        self.saved += sum(each.seconds for each in found if each is not None) / self.jobs

        def keep(index: int, made: Compiled | Error) -> None:
            if not isinstance(made, Error):
                with contextlib.suppress(InputError):  # a full disk must not end the search
                    write_file(paths[missing[index]], _packed(made))
            done(missing[index], made)

        made = iter(self.inner.compile([work[index] for index in missing], keep))
        return [next(made) if each is None else each for each in found]

    def _key(self, number: int, choice: UnitChoice) -> str:
        if number not in self._modules:
            self._modules[number] = hashlib.sha256(self.units[number].module.bitcode()).digest()
        unit = self.units[number]
        text = (unit.pipeline, unit.relocation_model, unit.sections, unit.rewards, unit.as_clang)
        more = (
            sorted(choice.inline.items()),
            choice.tail,
            choice.options,
            sorted(choice.functions.items()),
            choice.policy,
        )
        return hashlib.sha256(self._modules[number] + repr((text, more)).encode()).hexdigest()


def _packed(made: Compiled) -> bytes:
    """The questions as JSON, and behind them the object."""
    choice = made.choice
    text = json.dumps(
        {
            "asked": [[*call, *asked] for call, asked in made.asked.items()],
            "inline": [[*call, inlined] for call, inlined in choice.inline.items()],
            "seconds": made.seconds,
            "parts": made.parts,
        }
    ).encode()
    return zlib.compress(len(text).to_bytes(8, "little") + text + made.code, 1)


def _read(path: str, choice: UnitChoice) -> Compiled | None:
    """What a file has; None if it is missing or damaged."""
    try:
        with open(path, "rb") as file:
            data = zlib.decompress(file.read())
        size = int.from_bytes(data[:8], "little")
        table = json.loads(data[8 : 8 + size])
        asked = {CallKey(*row[:3]): Asked(*row[3:]) for row in table["asked"]}
        inline = {CallKey(*row[:3]): row[3] for row in table["inline"]}
        seconds, parts = float(table["seconds"]), table["parts"]
    except (OSError, ValueError, TypeError, KeyError, zlib.error):
        return None
    settled = UnitChoice(inline, choice.tail, choice.options, choice.functions)
    return Compiled(data[8 + size :], asked, settled, seconds, parts)
