# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Readers of bytes that others wrote: mutated inputs are read, or refused with an error of passpilot.

The mutations are the same in every run. Each reader has a process of its own with bounds for memory and time:
what swells or does not end is an error, too. `make sanitize` runs the readers in C++ under AddressSanitizer.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import pytest

from bench.lib import ROOT
from bench.sweeps.fuzz import NATIVE
from passpilot.plugin.errors import Error
from passpilot.plugin.isolated import run_isolated
from tests.fuzz.readers import FOUND, HARMLESS, READERS, SLOW, Reader, folder_of, limit_memory, mutated

MUTATIONS: Final = 2000
SECONDS: Final = 300.0


def refusals(reader: Reader, seed: bytes, folder: Path, numbers: range) -> int:
    """How many of the mutations are refused."""
    limit_memory()
    warnings.simplefilter("ignore")
    refused = 0
    for number in numbers:
        data = mutated(seed, Random(number))
        try:
            reader(data, folder)
        except Error:
            refused += 1
        except BaseException as error:
            raise AssertionError(f"seed {number}: {data[:200]!r}: {error!r:.500}") from error
    return refused


def check(
    name: str, row: tuple[bytes, Reader], folder: Path, numbers: range, seconds: float = SECONDS
) -> None:
    """Read the seed, then mutations of it; at least one is noticed."""
    seed, reader = row
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in READERS:
            reader(seed, folder)
        found = run_isolated(name, partial(refusals, reader, seed, folder, numbers), seconds)
    assert (found > 0) != (name in HARMLESS)


@pytest.mark.parametrize("name", READERS)
def test_mutations(name: str, tmp_path: Path) -> None:
    check(name, READERS[name], tmp_path, range(MUTATIONS))


@pytest.mark.parametrize("name", [name for name in SLOW if name.endswith("actor-13")])
def test_mutations_of_models(name: str, tmp_path: Path) -> None:
    check(name, SLOW[name], tmp_path, range(20))


def test_what_was_taken_wrongly(tmp_path: Path) -> None:
    readers = {folder_of(name): reader for name, (_, reader) in READERS.items()}
    found = [path for path in sorted(FOUND.glob("*/*")) if path.parent.name in readers]
    assert found  # those in C++ run in the sweep
    for path in found:
        reader = readers[path.parent.name]
        run_isolated(path.name, partial(attempt, reader, path.read_bytes(), tmp_path), 60)


def attempt(reader: Reader, data: bytes, folder: Path) -> None:
    """Reads an input as `refusals` does."""
    limit_memory()
    with contextlib.suppress(Error):
        reader(data, folder)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", READERS)
def test_many_mutations(name: str, tmp_path: Path) -> None:
    check(name, READERS[name], tmp_path, range(MUTATIONS, 200_000), 7000)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", SLOW)
def test_many_mutations_of_models(name: str, tmp_path: Path) -> None:
    check(name, SLOW[name], tmp_path, range(20, 2000), 7000)


def test_the_readers_in_cpp_have_seeds() -> None:
    text = (ROOT / "bench/native/fuzz.cpp").read_text()
    assert re.findall(r'\{"(\w+)", read', text) == [name.removeprefix("C++ ") for name in NATIVE]
