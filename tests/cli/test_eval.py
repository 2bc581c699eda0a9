# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot eval` on a corpus of two small programs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from passpilot.plugin.version import MAJOR
from tests import stock
from tests.command import PASSPILOT, Done, finished, passpilot, refused, run, started
from tests.corpus.export import export
from tests.other_llvm import DEFAULT
from tests.training.evaluation.small import change, corpus, result
from tests.training.report.test_report import data_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus, and a cache of this module's tests."""
    return corpus(tmp_path_factory.mktemp("small"))


@pytest.fixture
def small(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpus, for one test to change."""
    monkeypatch.setenv("PASSPILOT_CACHE", str(made.parent / "cache"))
    return Path(shutil.copytree(made, tmp_path / "corpus"))


def evaluated(small: Path, *arguments: str, code: int = 0, rounds: int = 0) -> Done:
    """The command's end."""
    words = (f"--corpus={small}", "-o", "r.json", "--force", f"--rounds={rounds}", *arguments)
    done = passpilot("eval", *words, cwd=small.parent)
    assert done.code == code, done.err
    return done


def test_sizes_decisions_and_outputs(small: Path) -> None:
    policy = small.parent / "policy.py"
    policy.write_text("def decide(obs):\n    return False\n")
    arguments = [f"--contender=python:{policy}:decide", "--contender=-O2 default", "--contender=best-of:2"]
    done = evaluated(small, *arguments, "--markdown=r.md", "--html=r.html", rounds=3)
    assert done.err == ""
    made = result(small.parent / "r.json")
    assert made["complete"] is True
    assert [each["name"] for each in made["programs"]] == ["count", "shout"]
    count = made["programs"][0]["results"]
    never, plain = count[f"python:{policy}:decide"], count["-Oz"]
    assert all(each["output"] == "right" and each["allocated"] for each in count.values())
    assert never["decisions"] == 3
    assert never["agreed"] < 3, "LLVM inlines a static function with a few calls"
    assert never["allocated"] != plain["allocated"]
    assert count["-O2 default"]["allocated"] == count["-O2"]["allocated"], "default is the level itself"
    least = min(plain["allocated"], count["-Oz+outline"]["allocated"])
    assert count["best-of:2"]["allocated"] < least + (MAJOR != DEFAULT), (
        "with other versions, no other is smaller"
    )
    assert (plain["run"]["ratio"], plain["run"]["pairs"]) == (1.0, 3)
    assert made["programs"][0]["functions"]["names"].count("unused") == 0, "the linker drops it, on all sides"
    assert "| count |" in (small.parent / "r.md").read_text()
    assert (
        data_of((small.parent / "r.html").read_bytes())["evaluations"][0]["raw"]["programs"]
        == made["programs"]
    )
    assert "python:" in done.out.decode()


def test_the_shells_variables_are_not_part_of_a_policy(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ("--baselines=-Oz", "--contender=priority=default", "--no-runs", "--no-cache")
    evaluated(small, *flags)
    before = result(small.parent / "r.json")["programs"]
    for name, value in (("INLINE", "const:0"), ("POLICY", "@none"), ("LOG", "none/logs"), ("STATS", "1")):
        monkeypatch.setenv(f"PASSPILOT_{name}", value)
    assert evaluated(small, *flags).err == ""
    after = result(small.parent / "r.json")["programs"]
    assert [each["results"]["priority=default"]["allocated"] for each in after] == [
        each["results"]["priority=default"]["allocated"] for each in before
    ]


def test_baselines_come_from_the_cache_the_second_time(small: Path) -> None:
    evaluated(small, "--baselines=-Oz,-O3", "--no-cache")
    fresh = result(small.parent / "r.json")
    evaluated(small, "--baselines=-Oz,-O3")
    evaluated(small, "--baselines=-Oz,-O3")
    cached = result(small.parent / "r.json")
    for old, new in zip(fresh["programs"], cached["programs"], strict=True):
        for name, each in old["results"].items():
            assert each["cached"] == 0
            assert new["results"][name]["cached"] == new["units"]
            assert new["results"][name]["allocated"] == each["allocated"]


def test_a_wrong_output_is_an_error_line(small: Path) -> None:
    change(small, "count", runs=[{"arguments": ["more"], "stdout_sha256": "0" * 64}])
    done = evaluated(small, "--baselines=-Oz", code=1)
    (line,) = done.err.splitlines()
    assert line.startswith(
        "passpilot: error: eval: count, -Oz: run: expected the output with sha256 000000000000,"
    )
    made = result(small.parent / "r.json")["programs"]
    assert [each["results"]["-Oz"]["output"] for each in made] == ["wrong", "right"]


def test_a_policy_that_breaks_the_program_is_told_from_the_reference(small: Path) -> None:
    """Where the corpus does not know the output, it is the reference's."""
    change(small, "count", runs=[{"arguments": []}])
    evaluated(small, "--baselines=-Oz,-O2")
    made = result(small.parent / "r.json")["programs"][0]["results"]
    assert {each["output"] for each in made.values()} == {"right"}


def test_what_fails_is_one_line_and_the_rest_goes_on(small: Path) -> None:
    (small / "count/work.c.bc").write_bytes(b"BC\xc0\xdenonsense")
    done = evaluated(small, "--baselines=-Oz", "--contender=decisions:{program}.decisions", code=1)
    lines = done.err.splitlines()
    assert len(lines) == 3, done.err
    assert "count, -Oz: count/work.c: expected an object, got error:" in lines[0]
    assert "count, decisions:{program}.decisions: " in lines[1]
    assert "expected a file that exists, got 'count.decisions'" in lines[1]
    made = result(small.parent / "r.json")["programs"]
    assert [each["results"]["-Oz"]["allocated"] is None for each in made] == [True, False]


def test_a_program_that_hangs_and_a_link_that_fails(small: Path) -> None:
    change(small, "count", foreign=["none.o"])
    change(small, "shout", runs=[{"arguments": [], "directory": "/none"}])
    done = evaluated(small, "--baselines=-Oz", code=1)
    first, second = done.err.splitlines()
    assert "count, -Oz: link: expected a program, got" in first
    assert "No such file or directory" in second


def test_a_driver_that_hangs(small: Path) -> None:
    loop = small / "loop.o"
    source = small.parent / "loop.c"
    source.write_text('__attribute__((constructor)) static void forever(void) { for (;;) __asm__(""); }')
    stock.run("clang", "-c", source, "-o", loop)
    change(small, "count", foreign=[str(loop)])
    done = evaluated(small, "--baselines=-Oz", "--run-timeout=0.5", rounds=4, code=1)
    assert "count, -Oz: run: expected an end within 0.5 s, got none" in done.err
    assert result(small.parent / "r.json")["programs"][1]["results"]["-Oz"]["run"]["pairs"] == 4


def test_resume_takes_what_is_done_and_repeats_what_failed(small: Path) -> None:
    whole = (small / "shout/main.cpp.bc").read_bytes()
    (small / "shout/main.cpp.bc").write_bytes(b"")
    evaluated(small, "--baselines=-Oz", code=1)
    path = small.parent / "r.json"
    made = result(path)
    made["programs"][0]["warnings"] = ["kept"]
    path.write_text(json.dumps(made))
    (small / "shout/main.cpp.bc").write_bytes(whole)
    evaluated(small, "--baselines=-Oz", "--resume")
    made = result(path)
    assert [each["warnings"] for each in made["programs"]] == [["kept"], []]
    assert made["programs"][1]["results"]["-Oz"]["allocated"]
    message = refused(
        "eval", f"--corpus={small}", "-o", path, "--baselines=-O2", "--rounds=0", "--resume", cwd=small.parent
    )
    assert "expected a result of the same evaluation to resume, got another contenders" in message


def test_an_interrupt_keeps_the_finished_programs(small: Path) -> None:
    loop = small.parent / "loop.c"
    loop.write_text('__attribute__((constructor)) static void forever(void) { for (;;) __asm__(""); }')
    stock.run("clang", "-c", loop, "-o", small / "loop.o")
    change(small, "shout", foreign=[str(small / "loop.o")])
    path = small.parent / "r.json"
    command: list[str | Path] = [
        PASSPILOT,
        "eval",
        f"--corpus={small}",
        "-o",
        path,
        "--rounds=0",
        "--baselines=-Oz",
    ]
    with started(*command, cwd=small.parent) as child:
        began = time.monotonic()
        while not (path.exists() and result(path)["programs"]):
            assert time.monotonic() - began < 60
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        done = finished(child, began)
    assert done.code == 130
    made = result(path)
    assert (made["complete"], [each["name"] for each in made["programs"]]) == (False, ["count"])


def test_a_killed_evaluation_leaves_no_program_behind(small: Path) -> None:
    source = small.parent / "loop.c"
    source.write_text("""#include <stdio.h>
        #include <unistd.h>
        __attribute__((constructor)) static void forever(void) {
          FILE *file = fopen("pid.new", "w");
          fprintf(file, "%d", getpid());
          fclose(file);
          rename("pid.new", "pid");
          for (;;) pause();
        }""")
    stock.run("clang", "-c", source, "-o", small / "loop.o")
    change(small, "count", foreign=[str(small / "loop.o")], runs=[{"directory": str(small.parent)}])
    command: list[str | Path] = [PASSPILOT, "eval", f"--corpus={small}", "--rounds=0", "--baselines=-Oz"]
    with started(*command, cwd=small.parent) as child:
        began = time.monotonic()
        while not (small.parent / "pid").exists():
            assert time.monotonic() - began < 60
            time.sleep(0.05)
        pid = int((small.parent / "pid").read_text())
        child.kill()
        child.wait()
        while os.path.exists(f"/proc/{pid}"):
            assert time.monotonic() - began < 60
            time.sleep(0.05)


def test_a_full_disk_is_a_line_for_each_program(small: Path) -> None:
    evaluated(small, "--baselines=-Oz")  # fills the cache
    limited = ("prlimit", "--fsize=300", PASSPILOT, "eval", f"--corpus={small}", "--rounds=0")
    done = run(*limited, "--baselines=-Oz", cwd=small.parent)
    assert done.code == 1
    first, second = done.err.splitlines()
    assert first.startswith(
        "passpilot: error: eval: count, -Oz: count/main.c: expected to write an object, got"
    )
    assert "File too large" in second


def test_a_corpus_without_programs_is_measured_by_units(small: Path) -> None:
    (small / "programs.json").unlink()
    evaluated(small, "--baselines=-Oz,-O2", "--program=count/work.c")
    (program,) = result(small.parent / "r.json")["programs"]
    assert (program["name"], program["units"]) == ("count/work.c", 1)
    assert program["results"]["-Oz"]["allocated"] is None
    assert program["results"]["-Oz"]["objects"] > 0


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--baselines=-O7"], "expected levels such as -Oz or -Oz+outline, got '-O7'", 2),
        (["--contender=-Oz"], "expected different policies, got '-Oz' twice", 1),
        (["--contender="], "expected a runner, a decision file or a level", 2),
        (["--contender=best-of:x"], "expected best-of:N, got 'best-of:x'", 2),
        (["--contender=decisions:none"], "expected a file that exists, got 'none'", 1),
        (["--contender=const:0 --wrong"], "expected options of passpilot cc, got '--wrong'", 2),
        (["--program=none"], "expected programs among count, shout, got 'none'", 1),
        (["--resume"], "--resume has no effect without -o RESULT.json", 2),
        (["--timeout=0"], "expected a number of seconds above 0", 2),
        (["-o", "none/r.json"], "none/r.json: expected a file to write, got: No such file", 1),
    ],
)
def test_a_wrong_command_line(small: Path, arguments: list[str], message: str, code: int) -> None:
    assert message in refused("eval", f"--corpus={small}", *arguments, cwd=small.parent, code=code)


def test_a_corpus_that_is_none(tmp_path: Path) -> None:
    assert "expected the folder of a corpus, got another folder" in refused(
        "eval", f"--corpus={tmp_path}", cwd=tmp_path
    )


@pytest.mark.soak
def test_real_programs(tmp_path: Path) -> None:
    """The best of two variants is never larger, and all programs do what they should."""
    assert export(tmp_path / "corpus", ["lua", "re2", "libyaml"], "Oz") == []
    arguments = ["--contender=best-of:2", "--rounds=3", "--html=r.html", "-o", "r.json"]
    done = passpilot("eval", "--corpus=corpus", *arguments, cwd=tmp_path, timeout=3600)
    assert (done.code, done.err) == (0, "")
    made = result(tmp_path / "r.json")
    for program in made["programs"]:
        results = program["results"]
        assert {each["output"] for each in results.values()} == {"right"}
        assert results["best-of:2"]["objects"] <= results["-Oz"]["objects"]
        assert results["-O2"]["allocated"] > results["-Oz"]["allocated"]
    mean = made["summary"]["-Oz"]["allocated"]["best-of:2"]
    assert mean["low"] <= mean["ratio"] <= mean["high"] < 1
    assert (tmp_path / "r.html").stat().st_size < 1_000_000


def test_a_profile_is_for_all_policies(small: Path) -> None:
    """`work` never ran in the profile, and so is for size."""
    (small.parent / "count.prof").write_text("unused:900:1\n 1: 900\n")
    flags = ("--profile={program}.prof", "--contender=-O2 default", "--baselines=-O2", "--program=count")
    evaluated(small, *flags)
    found = result(small.parent / "r.json")["programs"][0]["results"]
    profiled = found["-O2 default '--profile={program}.prof'"]
    assert profiled["text"] < found["-O2"]["text"]
    assert profiled["output"] == "right"
