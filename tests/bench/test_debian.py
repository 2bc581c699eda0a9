# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debian's packages as witnesses: the rule that chooses them, what their tests say, and the sealed part."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.lib import records
from bench.pages import debian as page
from bench.sweeps.debian import choose
from bench.sweeps.debian.__main__ import chosen, is_due, listed, open_sealed, read_lines
from bench.sweeps.debian.autopkgtest import RUN, InstalledTest, made_packages, needed, read_tests
from bench.sweeps.debian.tests import PLANNED, TestRun, differences, flaky
from bench.sweeps.debian.witness import Witnessed, line, summed, witness
from passpilot.training.corpus.debian.package import DebianPackage
from passpilot.training.corpus.debian.system import DebianSystem
from passpilot.training.file_sizes import FileSizes
from tests.corpus.programs import all_programs

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("output", "count"),
    [
        (b"PASS: a.test\nPASS: b\nFAIL: c\n# PASS:  2\n# FAIL:  1\n", 2),
        (b"1..3\nok 1 - reads\nnot ok 2 - writes\nok 3\n", 2),
        (b"1/2 Test #1: reads ........   Passed    0.01 sec\n2/2 Test #2: b ....***Failed  0.2 sec\n", 1),
        (b"100% tests passed, 0 tests failed out of 7\n", 7),
        (b" 1/2 fuzz OK              0.31s\n 2/2 loop FAIL  0.1s\nOk:  1\n", 1),
        (b"[ RUN      ] A.b\n[       OK ] A.b (3 ms)\n[  PASSED  ] 1 test.\n", 1),
        (b"All tests successful.\nFiles=3, Tests=41,  1 wallclock secs\n", 41),
        (b"100%: Checks: 9, Failures: 0, Errors: 0\n", 9),
        (b"\t\t=== gcc Summary ===\n# of expected passes\t\t12\n", 12),
        (b"test cases: 5 | 5 passed\n", 5),
        (b"make[1]: Entering directory '/x'\n./run\nall is well\n", 1),
        (
            b"dh_auto_test\n\tmake -j1 test\nmake[1]: Nothing to be done for 'test'.\n[ 50%] Built a\n",
            0,
        ),
        (b"dh_auto_test -a\n\tcd o && meson test\nninja: no work to do.\nNo tests defined.\n", 0),
        (b"Test project /build/source/o\nNo tests were found!!!\n", 0),
        (b"", 0),
    ],
)
def test_what_test_runners_print_is_counted(output: bytes, count: int) -> None:
    assert TestRun.read(output, is_good=True).count == count


def test_the_time_of_a_test_is_no_difference() -> None:
    first, second = (
        TestRun.read(b" 1/1 fuzz OK      %bs\n[       OK ] A.b (%b ms)\n" % (time, time), is_good=True)
        for time in (b"0.31", b"12")
    )
    assert first == second
    assert first.passed.total() == 2


def test_what_passes_twice_must_pass_with_advice() -> None:
    both = TestRun.read(b"ok 1 - a\nok 2 - b\nok 3 - c\n", is_good=True)
    fewer = TestRun.read(b"ok 1 - a\nok 3 - c\n", is_good=True)
    failed = TestRun.read(b"ok 1 - a\nnot ok 2 - b\nok 3 - c\n", is_good=False)
    assert (differences(both, both, both), flaky(both, both)) == ([], 0)
    assert differences(both, both, fewer) == ["ok 2 - b"]
    assert differences(both, both, failed) == ["ok 2 - b", "the suite fails"]
    assert (differences(both, failed, fewer), flaky(both, failed)) == ([], 1), "b is flaky"
    five, four = (TestRun.read(b"Ran %d tests in 1 s\n" % count, is_good=True) for count in (5, 4))
    assert differences(five, five, four) == ["4 tests pass instead of 5"]
    assert flaky(five, four) == 1


@pytest.mark.parametrize(
    ("output", "command"),
    [
        (b'dh: command-omitted: The call to "dh_auto_test -a -O--x" was omitted\n', b"dh_auto_test -a -O--x"),
        (
            b"   dh_auto_build -a\n   debian/rules override_dh_auto_test\n",
            b"debian/rules override_dh_auto_test",
        ),
    ],
)
def test_the_command_of_the_tests_is_what_dh_would_run(output: bytes, command: bytes) -> None:
    found = PLANNED.search(output)
    assert found
    assert found[1] == command


BINARIES = """\
Package: libfoo1
Source: foo (1.2)
Depends: libc6 (>= 2.36), libstdc++6 (>= 12)
Section: libs

Package: foo-tools
Source: foo
Depends: libc6
Section: utils

Package: bar
Depends: libc6 (>= 2.36)
Section: net

Package: snake
Depends: python3, bar
Section: python
"""
SOURCES = """\
Package: {0}
Architecture: any
Build-Depends: debhelper-compat (= 13){1}
Files:
 {2} 1000 x.dsc
 {2} {3} x.orig.tar.gz
Testsuite: {4}
"""


def test_the_rule_reads_the_index_of_an_archive(tmp_path: Path) -> None:
    rows = [
        ("foo", ", check <!nocheck>", "0" * 32, 30_000, ""),
        ("bar", "", "1" * 32, 50_000, "autopkgtest"),
        ("bar2", "", "2" * 32, 50_000, "autopkgtest"),  # makes no programs
        ("snake", "", "3" * 32, 50_000, "autopkgtest"),
    ]
    others = (f"Package: other{number}\nDepends: libfoo1 (>= 1), bar\nSection: x\n" for number in range(5))
    (tmp_path / "x_dists_s_main_binary-amd64_Packages").write_text("\n".join([BINARIES, *others]))
    sources = tmp_path / "x_dists_s_main_source_Sources"
    sources.write_text("\n".join(SOURCES.format(*row) for row in rows))
    found = list(choose.candidates(tmp_path, "s"))
    foo, bar = (("foo", "c++", "libs", 31_000, 5), ("bar", "c", "net", 51_000, 6))
    assert [tuple(one) for one in found] == [foo, bar]
    for name, needs, size, suite in (
        ("foo", ", ghc, check", 30_000, ""),
        ("foo", "", 30_000, ""),
        ("foo", ", check", 4_000_000, ""),
    ):
        sources.write_text(SOURCES.format(name, needs, "0" * 32, size, suite))
        assert not list(choose.candidates(tmp_path, "s")), (needs, size)


def test_a_family_has_one_package_and_languages_take_turns() -> None:
    names = ["libfoo", "foo-data", "bar2", "bar3", *(f"{letter}zz" for letter in "cdefgh")]
    found = [
        choose.Candidate(name, "c++" if number % 2 else "c", f"s{number % 3}", 1, number)
        for number, name in enumerate(names)
    ]
    picked = choose.chosen(found, 6)
    assert len({one.family for one in picked}) == len(picked) == 6
    assert sum(one.language == "c" for one in picked) == 3
    assert {"gzz", "hzz"} <= {one.name for one in picked}, "what many use comes first"
    assert picked == sorted(picked, key=lambda one: one.order)
    assert choose.chosen(found[::-1], 6) == picked, "the order of the index does not matter"


def test_the_lists_are_what_the_rule_says() -> None:
    parts = ("train", "validation", "test")
    rows = [row for part in parts for row in listed(part)]
    assert [sum(row.part == part for row in rows) for part in parts] == [choose.PARTS[part] for part in parts]
    reserve = list(listed("reserve"))
    assert len(reserve) == choose.RESERVE
    assert not {row.package for row in reserve} & {row.package for row in rows}
    families = {choose.family_of(row.package) for row in rows}
    assert len(families) == len(rows), "no family is in two parts"
    assert not families & set(map(choose.family_of, all_programs())), "tests/corpus has parts of its own"
    orders = [choose.Candidate(row.package, "", "", 0, 0).order for row in rows]
    first, last = orders[:90], orders[90:110]
    assert max(first) < min(last), "parts follow the order of hashes"
    assert 0.3 < sum(row.language == "c++" for row in rows) / len(rows) < 0.6
    assert len({row.domain for row in rows}) > 12
    named = chosen((rows[-1].package, rows[0].package), "")
    assert [row.package for row in named] == [rows[0].package, rows[-1].package]


def test_a_call_goes_on_behind_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Witnessed(name, "train", "c", "net") for name in "abc"]
    lacking = {"package": "a", "is_fetched": False, "units": 0, "tests": 0}
    untested = {"package": "b", "is_fetched": True, "units": 3, "tests": 0}
    left = {"package": "no-longer-listed", "is_fetched": True, "units": 3, "tests": 1}
    monkeypatch.setattr("bench.sweeps.debian.__main__.ROWS", tmp_path / "debian.jsonl")
    assert not read_lines(rows)
    (tmp_path / "debian.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in (lacking, untested, left))
    )
    done = read_lines(rows)
    assert set(done) == {"a", "b"}
    due = {again: [row.package for row in rows if is_due(done.get(row.package), again)] for again in
           ("", "lacking", "untested")}  # fmt: skip
    assert due == {"": ["c"], "lacking": ["a"], "untested": ["b"]}


CONTROL = """\
# the tests of foo
Tests: unit, cli
Depends: @, bar (>= 1.2) [amd64], @builddeps@, baz <!nocheck>
Restrictions: allow-stderr

Test-Command: foo --version
Features: test-name=version
Restrictions: superficial,
 skippable

Tests: daemon
Depends: foo
Restrictions: needs-root, allow-stderr

Tests: in-place
Tests-Directory: t
Depends: foo (= ${binary:Version})
"""


def test_tests_of_a_package_that_can_run_here_are_read() -> None:
    tests = read_tests(CONTROL)
    assert [test.name for test in tests] == ["unit", "cli", "version", "in-place"], "none that needs root"
    assert tests[1].call.startswith("run cli yes no ")
    assert tests[1].command == "chmod +x ./debian/tests/cli; exec ./debian/tests/cli"
    assert tests[2].call == "run version no yes 'foo --version'"
    assert tests[3].command.endswith("exec ./t/in-place")
    made = made_packages(
        "Source: foo\n\nPackage: foo\nDepends: a,\n b\n\nPackage: foo-udeb\n\nPackage: libfoo1\n"
    )
    assert made == ["foo", "libfoo1"]
    assert needed(tests, made) == "foo, libfoo1, bar (>= 1.2) [amd64], baz"
    assert not read_tests("Tests: a\nRestrictions: isolation-machine\n")


def test_a_test_passes_that_ends_well_and_writes_no_errors(tmp_path: Path) -> None:
    cases = {
        "good": ("true", ""),
        "bad": ("exit 3", ""),
        "loud": ("echo x >&2", ""),
        "loud-but-good": ("echo x >&2", "allow-stderr"),
        "skipped": ("exit 77", "skippable"),
        "not-skippable": ("exit 77", ""),
    }
    calls = "\n".join(
        InstalledTest(name, command, (), frozenset([word])).call for name, (command, word) in cases.items()
    )
    script = RUN.format(deadline=20, calls=calls).replace("/build/source", str(tmp_path))
    done = subprocess.run(["/bin/sh", "-euc", script], capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    found = TestRun.read(done.stdout, is_good=False)
    names = ("good", "loud-but-good")
    assert set(found.passed) == {f"ok 1 - debian/tests: {name}" for name in names}
    assert b"skipped: skipped\n" in done.stdout


def test_the_sealed_part_is_opened_for_one_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "bench.sweeps.debian", str(tmp_path), "--part=sealed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert (done.returncode, "opened by `make release-figures`" in done.stderr) == (1, True)
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    assert open_sealed() == "sealed"
    opened = json.loads((tmp_path / "sealed.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", opened["opened"])
    assert open_sealed() == "sealed", "a sweep that was ended goes on"
    assert json.loads((tmp_path / "sealed.json").read_text()) == opened
    (tmp_path / "sealed.json").write_text(json.dumps(opened | {"release": "0.0.1"}))
    with pytest.raises(SystemExit, match=r"were opened for 0\.0\.1: a release needs others"):
        open_sealed()


def test_sizes_are_those_of_what_all_builds_install() -> None:
    small, large = FileSizes(1, 2, 3, 4), FileSizes(10, 20, 30, 40)
    sums = summed({"-Oz": {"a": large, "b": large, "c": large}, "R1": {"a": small, "b": small}})
    assert sums == {"-Oz": large._asdict() | {"allocated": 20, "text": 40, "stripped": 60, "xz": 80}} | {
        "R1": {"allocated": 2, "text": 4, "stripped": 6, "xz": 8}
    }
    assert not summed({"-Oz": {"a": large}, "R1": {}})


def test_the_pages_show_what_differs_and_what_grows() -> None:
    sides = {
        name: FileSizes(*sizes)._asdict() for name, sizes in {"-Oz": (120,) * 4, "R1": (100,) * 4}.items()
    }
    good = Witnessed("a", "train", "c", "net", units=3, tests=7, suite="passed", kind="build")
    good_row = line(good) | {"sizes": sides | {"@oz": FileSizes(90, 95, 90, 91)._asdict()}}
    bad = line(
        replace(good, package="b", language="c++", domain="libs", kind="autopkgtest", units=1, tests=1)
    ) | {"differences": {"@oz": ["t"]}}
    bad |= {"sizes": sides | {"@oz": FileSizes(101, 100, 100, 100)._asdict()}}
    rows = [good_row, bad, line(Witnessed("c", "train", "c", "net", problem="c: expected it to build"))]
    rows.append(line(Witnessed("d", "train", "c", "net", is_fetched=False)))
    rows.append(line(replace(good, package="e", tests=9, problem="e: expected it to build within 600 s")))
    text = page.witnesses(rows)
    assert "| all | 3 | 7 | 0 | 0 | 2 | 8 | 0 | 1 |" in text
    assert "Not built with all advice before the deadline: e.\n" in text
    assert "1 more packages do not build with clang-22, or not in time. Of 1 more the mirror" in text
    assert "| b | libs | autopkgtest | passed | 1 | 0 | @oz: 1 |" in text
    picture = page.plot(rows)
    assert "<title>allocated, C</title>" in picture
    assert "xz, all, median 0.955" in picture, "of 0.91 and 1"
    shown = page.sizes(rows)
    assert "`@oz` makes these larger: b." in shown
    assert "| a | net | 100 | 0.833 | 0.833 | 0.833 | 0.833 | 0.900 | 0.950 | 0.900 | 0.910 |" in shown


@pytest.mark.soak  # needs root and a Debian system of 1.2 GB, and builds a package four times
def test_a_package_is_a_witness(tmp_path: Path) -> None:
    mirror = "http://deb.debian.org/debian"
    system = DebianSystem.made(tmp_path / "system", "bookworm", mirror, tmp_path / "system.log")
    package = DebianPackage("hello", system, tmp_path / "hello", 600.0)
    found = witness(package, Witnessed("hello", "train", "c", "devel"))
    assert (found.problem, found.differences, found.broken) == ("", {}, 0)
    assert found.units == found.verified > 10
    assert (found.suite, found.tests > 3, found.flaky) == ("passed", True, 0)
    assert found.sizes["@oz"]["allocated"] < found.sizes["R1"]["allocated"] < found.sizes["-Oz"]["allocated"]
