# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc` where it links: lld compiles there, with the same advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.cc.test_main import CALLS, MAIN, NO, cc, good, logs
from tests.command import run


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a program of two units."""
    (tmp_path / "calls.c").write_text(CALLS)
    (tmp_path / "main.c").write_text(MAIN)
    return tmp_path


def test_a_plain_link_loads_nothing(here: Path) -> None:
    good("-O2", "-c", "calls.c", "main.c", cwd=here)
    assert "passpilot" not in cc(NO, "-###", "calls.o", "main.o", cwd=here).err
    good(NO, "-O2", "-Werror", "calls.o", "main.o", "-o", "program", cwd=here)
    assert run(here / "program", cwd=here).code == 0


@pytest.mark.parametrize("kind", ["full", "thin"])
def test_the_linker_asks(kind: str, here: Path) -> None:
    command = ("--inline=random:7", "--log=logs/", f"-flto={kind}", "-O2")
    good(*command, "-c", "calls.c", cwd=here)
    good(*command, "-c", "main.c", cwd=here)
    before = logs(here)
    done = cc(*command, "calls.o", "main.o", "-o", "program", cwd=here)
    assert done.code == 0, done.err
    assert run(here / "program", cwd=here).code == 0
    linked = {name: count for name, count in logs(here).items() if name not in before}
    assert sum(linked.values()) > 0, linked


def test_compiling_and_linking_at_once(here: Path) -> None:
    done = cc(NO, "--log=logs/", "-flto", "-O2", "calls.c", "main.c", "-o", "program", cwd=here)
    assert done.code == 0, done.err
    assert run(here / "program", cwd=here).code == 0
    advised = [name for name, count in logs(here).items() if count]
    assert any("calls.c" in name or "calls-" in name for name in advised)
    assert any("ld-temp" in name for name in advised)


def test_registers_are_allocated_by_the_linker(here: Path) -> None:
    command = ("--priority=default", "--log=logs/", "-flto", "-O2")
    good(*command, "calls.c", "main.c", "-o", "program", cwd=here)
    assert [name.rpartition("-")[2] for name in logs(here)] == ["priority.log"]


def test_an_lld_of_the_users_compiles_bitcode_without_flto(here: Path) -> None:
    good("-flto", "-O2", "-c", "calls.c", "main.c", cwd=here)
    done = cc(NO, "--log=logs/", "-O2", "-fuse-ld=lld", "calls.o", "main.o", "-o", "program", cwd=here)
    assert done.code == 0, done.err
    assert sum(logs(here).values()) > 0


def test_what_asks_nothing_is_no_warning_of_the_linker(here: Path) -> None:
    (here / "calls.c").write_text("int twice(int x) { return x; }\n")
    good("--evict=const:32", "--log=logs/", "-flto", "-Wl,--fatal-warnings", "calls.c", "main.c", cwd=here)


def test_a_linker_without_plugins_may_be_accepted(here: Path) -> None:
    command = (NO, "--on-error=default", "-flto", "-fuse-ld=bfd", "-O2", "calls.c", "main.c", "-o", "program")
    done = cc(*command, cwd=here)
    assert done.code == 0, done.err
    assert "passpilot: warning: cc: expected lld" in done.err
    assert run(here / "program", cwd=here).code == 0


def test_the_link_is_as_lld_makes_it_where_the_default_decides(here: Path) -> None:
    command = ("-flto", "-O2", "-fuse-ld=lld", "calls.c", "main.c", "-o", "program")
    assert run("clang-22", *command, cwd=here).code == 0
    theirs = (here / "program").read_bytes()
    good("--inline=default", "--log=logs/", *command, cwd=here)
    assert (here / "program").read_bytes() == theirs
    assert [count for name, count in logs(here).items() if "ld-temp" in name] == [1]


def test_the_linkers_cache_is_refused(here: Path) -> None:
    """It would return objects of other advice."""
    done = cc(NO, "-flto=thin", "-O2", "-Wl,--thinlto-cache-dir=cache", "calls.c", "main.c", cwd=here)
    assert done.code == 1
    assert "an advised link cannot have --thinlto-cache-dir; remove it" in done.err
    good("-flto=thin", "-fuse-ld=lld", "-O2", "-Wl,--thinlto-cache-dir=cache", "calls.c", "main.c", cwd=here)


def test_a_distributor_is_refused(here: Path) -> None:
    """It compiles in other processes, which ask nobody."""
    for option in ("-fthinlto-distributor=/bin/false", "-Wl,--thinlto-distributor=/bin/false"):
        done = cc(NO, "-flto=thin", "-fuse-ld=lld", "-O2", option, "calls.c", "main.c", cwd=here)
        expected = "an advised link cannot have thinlto-distributor; remove it"
        assert (done.code, expected in done.err) == (1, True), done.err


def test_a_distributed_back_end_advises_code_generation_alone(here: Path) -> None:
    run("clang-22", "-flto=thin", "-O2", "-c", "calls.c", cwd=here)
    run("ld.lld-22", "-shared", "--thinlto-index-only", "calls.o", cwd=here)
    back_end = ("-O2", "-fthinlto-index=calls.o.thinlto.bc", "-x", "ir", "calls.o", "-c", "-o", "out.o")
    for advice in (NO, "--policy=@oz", "--at=optimizer-last=dce"):
        done = cc(advice, *back_end, cwd=here)
        assert (done.code, "with which clang's optimizer loads no plugin" in done.err) == (1, True), done.err
        assert not (here / "out.o").exists()
    done = cc(NO, "--on-error=default", *back_end, cwd=here)
    assert (done.code, done.err.count("warning: ")) == (0, 1), done.err
    assert good("--evict=default", "--log=logs/", *back_end, cwd=here) == ""
    assert [name.rsplit("-", 1)[1] for name in logs(here)] == ["evict.log"]
    (here / "empty").touch()  # with which clang compiles as without an index
    good(NO, "--log=logs/", *back_end, "-fthinlto-index=empty", cwd=here)
    assert len(logs(here)) == 2


def test_without_lld_the_package_is_named(here: Path) -> None:
    folder = here / "bin"
    folder.mkdir()
    (folder / "clang-22").write_text("#!/bin/sh\nexit 3\n")
    (folder / "clang-22").chmod(0o755)
    done = cc(NO, "-flto", "-O2", "main.c", cwd=here, PATH=str(folder))
    assert done.code == 1
    assert "sudo apt-get install lld-22" in done.err


def test_decisions_for_the_other_way_to_link_are_told(here: Path) -> None:
    """A file of a search with --lto is for links with -flto, and a file about sources for others."""
    head = "passpilot decisions 1\n"
    (here / "whole").write_text(f"{head}unit ld-temp.o\nfunction * minsize\n")
    (here / "sources").write_text(f"{head}unit calls.c\nfunction * minsize\n")
    whole = "warning: decisions whole: expected a link with -flto=full, for which the decisions are, got a "
    sources = (
        "warning: decisions sources: expected a build without -flto, for which the decisions are, got a "
    )
    link = ("-O2", "calls.c", "main.c", "-o", "program")
    for flags, told, count in (
        (("--decisions=whole", *link), f"{whole}compilation of calls.c; build with -flto", 1),
        # thin LTO compiles the units side by side, and either may be the first
        (("--decisions=whole", "-flto=thin", *link), f"{whole}compilation of ", 1),
        (("--decisions=whole", "-flto", *link), "warning", 0),
        (("--decisions=sources", "-flto", *link), f"{sources}link with it; build without -flto", 1),
        (("--decisions=sources", "-O2", "-c", "calls.c"), "warning", 0),
    ):
        done = cc(*flags, cwd=here)
        assert (done.code, done.err.count(told)) == (0, count), (flags, done.err)
