# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Engine`: compiles for a search on machines, and keeps the results in a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from passpilot.plugin.errors import Error
from passpilot.training.machines.local import Machines
from passpilot.training.studies.compile_cache import CompileCache, compiler_here
from passpilot.training.tuning.unit import Compiled, Unit, UnitChoice


@dataclass(slots=True)
class Engine:
    """Compiles choices for units, and keeps what it has compiled in a cache.

    Attributes:
        units: the modules.
        machines: run the compilations.
        deadline: the seconds that one compilation may take.
        cache: of the results, by what they are made of.
        found: how many results were in the cache.
        saved: the seconds that they have saved.
    """

    units: Sequence[Unit]
    machines: Machines = field(default_factory=Machines)
    deadline: float = 300.0
    cache: CompileCache = field(default_factory=partial(CompileCache, ""))
    found: int = field(init=False, default=0)
    saved: float = 0.0
    _shared: dict[int, Any] = field(default_factory=dict)
    _modules: dict[int, bytes] = field(default_factory=dict)

    @property
    def jobs(self) -> int:
        """How many compilations run at once."""
        return self.machines.jobs

    def compile(self, work: Sequence[tuple[int, UnitChoice]]) -> list[Compiled | Error]:
        """Compile every choice for the unit of its number; an error for one that fails or takes too long."""
        keys = self._keys(work)
        known = [self._known(key, *task) if key else None for key, task in zip(keys, work, strict=True)]
        missing = [index for index, compiled in enumerate(known) if compiled is None]
        self.found += len(work) - len(missing)
        self.saved += sum(compiled.seconds for compiled in known if compiled is not None) / self.jobs

        def keep(index: int, compiled: Compiled | Error) -> None:
            if (key := keys[missing[index]]) and not isinstance(compiled, Error):
                self.cache.keep(key, self.units[work[missing[index]][0]].packed(compiled))

        if self.units:
            self.units[0].warm_up()
        calls = [
            partial(type(self.units[number]).compile, self._unit(number), choice)
            for number, choice in map(work.__getitem__, missing)
        ]
        results = iter(self.machines.run("tune", calls, self.deadline, keep))
        return [next(results) if compiled is None else compiled for compiled in known]

    def _unit(self, number: int) -> Any:
        if number not in self._shared:
            self._shared[number] = self.machines.share(self.units[number])
        return self._shared[number]

    def _keys(self, work: Sequence[tuple[int, UnitChoice]]) -> list[str]:
        """The keys of results in the cache; empty for one that it cannot have."""
        here = compiler_here() if self.cache.folder else ""
        return [self._key(here, *task) if here else "" for task in work]

    def _key(self, here: str, number: int, choice: UnitChoice) -> str:
        unit = self.units[number]
        if number not in self._modules:
            self._modules[number] = unit.digest()
        text = unit.key(choice)
        return CompileCache.key(here, [type(unit).__name__, text], self._modules[number]) if text else ""

    def _known(self, key: str, number: int, choice: UnitChoice) -> Compiled | None:
        """What the cache has; None if it is missing or damaged."""
        data = self.cache.find(key)
        try:
            return None if data is None else self.units[number].unpacked(data, key, choice)
        except (Error, ValueError, TypeError, KeyError):
            return None
