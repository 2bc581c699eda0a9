# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all tests share: how their process begins, the corpus, and that no test leaves its registrations."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from passpilot.plugin.registry import snapshot
from tests.corpus.build import build
from tests.corpus.programs import programs
from tests.other_llvm import not_tested, only_for_default

for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    # `nohup make test &` starts us with signals ignored, and each process that a test starts inherits that.
    if signal.getsignal(number) is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())

# Numba compiles for the machine that it runs on, and which decisions there are depends on its registers.
os.environ.update(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")

os.environ["PASSPILOT_CACHE"] = ""  # of compilations: no test finds what another one has compiled

# A random example may take long on a machine with other work, and is the same in each run.
settings.register_profile(
    "anywhere", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("anywhere")

pytest_plugins = ["tests.fixtures.programs", "tests.fixtures.registry", "tests.fixtures.remote"]


@pytest.fixture(scope="session")
def corpus() -> Callable[[str, str], Path]:
    """`corpus("zstd", "Oz")` is the linked bitcode of a real program, built on first use and kept."""

    def whole(name: str, level: str) -> Path:
        problems = build([name])
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)
        return programs()[name].whole(level)

    return whole


@pytest.fixture(autouse=True, scope="module")
def nothing_stays() -> Iterator[None]:
    """Fails the module that leaves features, points or passes behind, rather than whichever runs after it."""
    before = _registered()
    yield
    assert _registered() == before


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not import files whose packages are missing beside another LLVM."""
    is_test = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    if is_test and (reason := not_tested(collection_path)).startswith("needs "):
        print(f"{collection_path}: not imported: {reason}")
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the files that name LLVM 22 or its tools where passpilot is built with another one."""
    reasons = {path: not_tested(path) for path in {item.path for item in items}}
    for item in items:
        if reason := reasons[item.path] or only_for_default(item.path, item.name):
            item.add_marker(pytest.mark.skip(reason=reason))


def _registered() -> set[tuple[object, str]]:
    """What there is beside what comes with passpilot, with what holds it."""
    return {(registry, name) for registry in snapshot() for name in registry.added()}
