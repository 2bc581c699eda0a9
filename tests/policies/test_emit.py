# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`emit` with a policy or a decision file: the bytes of `passpilot llc`; and how often a policy is read."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.emit import emit
from passpilot.passes.llvm_advisors import EvictAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import InputError, RunnerSpecError
from passpilot.plugin.module import Module
from tests.command import passpilot
from tests.policies.test_doors import text_of

FLAGS: Final = ("-filetype=obj", "-O2", "calls.bc", "-o", "-")
OUTLINED: Final = b"OUTLINED_FUNCTION"


@pytest.fixture(autouse=True)
def installed(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy is `@tiny` in this process, too."""
    monkeypatch.syspath_prepend(tiny.parent / "site")


def read(here: Path) -> Module:
    return Module.read(here / "calls.bc", for_codegen=True)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_policy_makes_the_object_of_llc(isolated: bool, here: Path) -> None:
    module = read(here)
    before = module.bitcode()
    code = emit(module, policy="@tiny", isolated=isolated)
    assert code == text_of(passpilot("llc", "--policy=@tiny", *FLAGS, cwd=here))
    assert OUTLINED in code
    assert module.bitcode() == before
    plain = emit(module)
    assert plain == text_of(passpilot("llc", *FLAGS, cwd=here)), "no option of the policy stays"
    assert OUTLINED not in plain


def test_a_folder_is_a_policy_too(tiny: Path, here: Path) -> None:
    assert emit(read(here), policy=str(tiny)) == emit(read(here), policy="@tiny")


def test_a_decision_file_makes_the_object_of_llc(here: Path) -> None:
    path = here / "a.decisions"
    unit = read(here).source_file
    path.write_text(f"passpilot decisions 1\nunit {unit}\noption enable-machine-outliner=always\n")
    code = emit(read(here), decisions=str(path))
    assert code == text_of(passpilot("llc", f"--decisions={path}", *FLAGS, cwd=here))
    assert OUTLINED in code
    path.write_text("passpilot decisions 1\nunit other.c\noption enable-machine-outliner=always\n")
    assert OUTLINED not in emit(read(here), decisions=str(path))


def test_a_recipe_without_options_compiles_in_this_process(here: Path) -> None:
    module = read(here)
    before = module.bitcode()
    assert emit(module, policy="@tiny?recipe=3") == emit(read(here))
    assert module.bitcode() != before


def test_an_advisor_decides_before_the_policy(here: Path, tmp_path: Path) -> None:
    with EvictAdvisor("const:32", log=str(tmp_path / "evict.log")) as advisor:
        advisor.may_idle = True
        assert OUTLINED in emit(read(here), advisors=advisor, policy="@tiny")
    assert (tmp_path / "evict.log").exists()


def test_what_is_no_policy_and_no_decision_file_is_refused(here: Path) -> None:
    with pytest.raises(RunnerSpecError, match="@nobody"):
        emit(read(here), policy="@nobody")
    with pytest.raises(InputError, match="none"):
        emit(read(here), decisions=str(here / "none"))


class Opened:
    """Counts how often the records in a folder are opened, by inotify."""

    _OPEN, _CLOSE = 0x20, 0x10  # a close lies between two opens, so that the kernel merges none

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self._fd, os.fsencode(folder), self._OPEN | self._CLOSE) >= 0

    def count(self) -> int:
        """The number since the last call."""
        try:
            data = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return 0
        count = place = 0
        while place < len(data):
            _, mask, _, length = struct.unpack_from("iIII", data, place)
            name = data[place + 16 : place + 16 + length].rstrip(b"\0")
            count += bool(mask & self._OPEN) and name.endswith(b".policy")
            place += 16 + length
        return count


def test_a_compilation_reads_its_policy_once(tiny: Path, here: Path) -> None:
    opt = ("opt", "-passes=default<Oz>", "--policy=@tiny", "--timeout=5", "calls.bc", "-o", "o.bc")
    llc = ("llc", "--policy=@tiny", *FLAGS)
    compilations: dict[str, Callable[[], object]] = {
        "opt": lambda: text_of(passpilot(*opt, cwd=here)),
        "llc": lambda: text_of(passpilot(*llc, cwd=here)),
        "optimize": lambda: optimize(read(here), "Oz", policy="@tiny"),
        "emit": lambda: emit(read(here), policy="@tiny"),
    }
    for compile_ in compilations.values():
        compile_()  # leaves a record in the cache
    opened = Opened(tiny.parent / "cache" / "passpilot" / "policies")
    counts = {}
    for name, compile_ in compilations.items():
        compile_()
        counts[name] = opened.count()
    assert counts == dict.fromkeys(compilations, 1)
