# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profile-guided builds: a profile fits, whatever advised the build that made it and the one that uses it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import llvm_plugin
from passpilot.training.tuning.decision_file import HEAD
from tests.command import PASSPILOT
from tests.stock import clang

SOURCE: Final = """\
static int small(int x) { return x > 3 ? x * 3 + 1 : x - 1; }
static int medium(int x, int *p) {
  int s = 0;
  for (int i = 0; i < x; ++i) { if (p[i] > 7) s += small(p[i]); else s ^= p[i]; }
  return s;
}
static int wide(int k, int x) {
  switch (k) {
    case 0: return small(x);
    case 1: return small(x + 1) * 3;
    case 2: return small(x) ^ 5;
    default: return x;
  }
}
int top(int k, int x, int *p) {
  if (k > 100) return medium(x, p);
  return wide(k, x) + medium(x + 1, p) + wide(k + 1, small(x));
}
int other(int x, int *p) { return medium(x, p) + wide(x, 4) + wide(2, x); }
"""

PASS: Final = """\
from dataclasses import dataclass
import passpilot

@passpilot.llvm.module_pass("show-calls")
@dataclass(frozen=True)
class ShowCalls:
    def run(self, module):
        print("small" in [function.name for function in module.functions], flush=True)
        return False
"""

DECISIONS: Final = ("unit a.c", "function * minsize unroll=1")

CLOSED: Final = ": the code is counted for a profile, or takes counts from one, behind it; LLVM alone decides"
NAMES: Final = ("-mllvm", "-enable-name-compression=false")
COUNTERS: Final = re.compile(r"^@__profd_.* i64 (-?\d+), i64 (-?\d+), .*, i32 (\d+), \[", re.MULTILINE)
FUNCTIONS: Final = {"top", "other"}
SHARED: Final = ("-gline-tables-only", "-S", "-emit-llvm", "-o", "-", "a.c")

Counters = dict[str, tuple[int, int]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "p.py").write_text(PASS)
    (tmp_path / "f.decisions").write_text("\n".join((HEAD, *DECISIONS, "")))
    return tmp_path


WAYS: Final[dict[str, list[str | Path]]] = {
    "clang": ["clang-22"],
    "never": [PASSPILOT, "cc", "--inline=const:0"],
    "always": [PASSPILOT, "cc", "--inline=const:1"],
    "decided": [PASSPILOT, "cc", "--decisions=f.decisions"],
    "early": [PASSPILOT, "cc", "--at=pipeline-start=function(lower-switch)"],
    "often": [PASSPILOT, "cc", "--at=peephole=lower-switch"],
}


def run(folder: Path, *command: str | Path, said: str = "") -> str:
    """The output of a command that is not refused and warns of nothing else."""
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == bool(said), done.stderr
    return done.stdout


def made(folder: Path, way: str, *arguments: str, said: str = "") -> str:
    """The IR that a compiler makes."""
    return run(folder, *WAYS[way], *SHARED, *arguments, said=said)


def counters(ir: str) -> Counters:
    """The hash and the number of counters by the function's name, of instrumented IR."""
    names = re.search(r'^@__llvm_prf_nm = .* c"((?:[^"\\]|\\..)*)"', ir, re.MULTILINE)
    assert names
    plain = re.sub(r"\\(..)", lambda found: chr(int(found[1], 16)), names[1])
    by_hash = {}
    for name in plain[plain.index("\0") + 1 :].split("\1"):  # two numbers come before the names
        digest = hashlib.md5(name.encode(), usedforsecurity=False).digest()
        by_hash[int.from_bytes(digest[:8], "little", signed=True)] = name
    found = COUNTERS.findall(ir)
    assert found
    return {by_hash[int(name)]: (int(code) % 2**64, int(number)) for name, code, number in found}


def profile(folder: Path, kind: str, *all_counters: Counters) -> str:
    """The name of a profile in which every counter is 100 or more."""
    text = f":{kind}\n" + "".join(
        f"{function}\n{code}\n{number}\n" + "".join(f"{100 + at}\n" for at in range(number)) + "\n"
        for one in all_counters
        for function, (code, number) in one.items()
    )
    (folder / f"{kind}.text").write_text(text)
    run(folder, "llvm-profdata-22", "merge", f"{kind}.text", "-o", kind)
    return kind


def counted(ir: str) -> set[str]:
    """The functions with counts from a profile."""
    return set(re.findall(r"^define .*@(\w+)\(.* !prof ", ir, re.MULTILINE))


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3", "-Os", "-Oz"])
def test_counters_fit_at_every_level(level: str, folder: Path) -> None:
    ways = list(WAYS)[: None if level == "-O2" else 4]
    generated = {way: counters(made(folder, way, level, "-fprofile-generate", *NAMES)) for way in ways}
    assert len(generated["clang"]) > 1
    assert generated == dict.fromkeys(ways, generated["clang"])
    use = f"-fprofile-use={profile(folder, 'ir', generated['clang'])}"
    results = {way: made(folder, way, level, use) for way in ways}
    assert all(counted(result) >= FUNCTIONS for result in results.values())
    assert results["never"] != results["always"]  # advice counts behind the profile
    assert " minsize " in results["decided"]


def test_the_default_compiles_with_a_profile_as_clang(folder: Path) -> None:
    generated = counters(made(folder, "clang", "-O2", "-fprofile-generate", *NAMES))
    use = f"-fprofile-use={profile(folder, 'ir', generated)}"
    logged = (PASSPILOT, "cc", "--inline=default", f"--log=inline={folder / 'i.log'}")
    for option in (use, "-fprofile-generate"):
        assert run(folder, *logged, *SHARED, "-O2", option) == made(folder, "clang", "-O2", option)
        assert (folder / "i.log").stat().st_size > 0


def test_counters_of_contexts_fit(folder: Path) -> None:
    first = counters(made(folder, "clang", "-O2", "-fprofile-generate", *NAMES))
    use = f"-fprofile-use={profile(folder, 'ir', first)}"
    said = dict.fromkeys(("never", "always", "decided", "often"), CLOSED)
    generated = {
        way: counters(made(folder, way, "-O2", use, "-fcs-profile-generate", *NAMES, said=said.get(way, "")))
        for way in WAYS
    }
    assert generated == dict.fromkeys(WAYS, generated["clang"])
    assert not first.items() & generated["clang"].items()
    use = f"-fprofile-use={profile(folder, 'csir', first, generated['clang'])}"
    for way in WAYS:
        assert counted(made(folder, way, "-O2", use, said=said.get(way, ""))) >= FUNCTIONS


def test_the_front_ends_counters_and_sampled_profiles_fit(folder: Path) -> None:
    generated = {way: counters(made(folder, way, "-O2", "-fprofile-instr-generate", *NAMES)) for way in WAYS}
    assert generated == dict.fromkeys(WAYS, generated["clang"])
    front = f"-fprofile-instr-use={profile(folder, 'fe', generated['clang'])}"
    (folder / "sampled").write_text("top:3000:100\n 1: 100\n 2: 90\nother:900:80\n 0: 80\n")
    for use in (front, "-fprofile-sample-use=sampled"):
        assert {way: counted(made(folder, way, "-O2", use)) >= FUNCTIONS for way in WAYS} == dict.fromkeys(
            WAYS, True
        )


def test_probes_see_the_code_of_the_front_end(folder: Path) -> None:
    options = ("-O2", "-fpseudo-probe-for-profiling")
    probes = {way: made(folder, way, *options).partition("!llvm.pseudo_probe_desc = ")[2] for way in WAYS}
    hashes = {way: re.findall(r'!\{i64 -?\d+, i64 (-?\d+), !"', text) for way, text in probes.items()}
    assert len(hashes["clang"]) == 5
    assert hashes == dict.fromkeys(WAYS, hashes["clang"])


def test_a_pass_in_python_at_the_start_runs_behind_the_counting(folder: Path) -> None:
    shows = (PASSPILOT, "cc", "--load=p.py", "--at=pipeline-start=show-calls")
    assert run(folder, *shows, *SHARED[:-2], "/dev/null", "a.c", "-O2") == "True\n"
    assert run(folder, *shows, *SHARED[:-2], "/dev/null", "a.c", "-O2", "-fprofile-generate") == "False\n"


@pytest.mark.parametrize("lto", ["thin", "full"])
def test_counters_of_a_link_fit(lto: str, folder: Path) -> None:
    first = counters(made(folder, "clang", "-O2", "-fprofile-generate", *NAMES))
    use = profile(folder, "ir", first)
    counts, plain = set(), {}
    for runner in ("", "const:0", "const:1"):
        options = (f"-flto={lto}", f"-fprofile-use={use}")
        text = linked(folder, runner, *options, "-fcs-profile-generate", "--lto-cs-profile-generate")
        counts.add(tuple(re.findall(r"__profd_top:\n(?:\s+\.quad\s.*\n){2}", text)))
        plain[runner] = linked(folder, runner, *options, f"--lto-cs-profile-file={use}")
    assert len(counts) == 1
    assert counts.pop()
    assert plain["const:0"] != plain["const:1"]  # the profile has no contexts: the link's inliner asks


def linked(folder: Path, runner: str, *options: str) -> str:
    """The assembly of a link; its last option is lld's, the others are clang's."""
    compiler = (PASSPILOT, "cc", f"--inline={runner}") if runner else ("clang-22",)
    run(folder, *compiler, "-O2", "-c", "a.c", "-o", "a.o", *options[:-1])
    link = ["ld.lld-22", "-shared", "--lto-emit-asm", options[-1], "a.o", "-o", "a.s"]
    link += [f"--load-pass-plugin={llvm_plugin()}"] if runner else []
    environment = {**os.environ, "PASSPILOT_INLINE": runner}
    subprocess.run(link, cwd=folder, env=environment, check=True, capture_output=True)
    return "".join(path.read_text() for path in sorted(folder.glob("a*.s*")))


PIPELINES: Final = {
    "default<O2>": ("-pgo-kind=pgo-instr-gen-pipeline",),
    "inliner-wrapper,pgo-instr-gen,instrprof,inliner-wrapper": (),
}


@pytest.mark.parametrize("passes", PIPELINES)
def test_counters_fit_in_opt(passes: str, folder: Path) -> None:
    module = clang(SOURCE, folder / "a.bc")
    command: tuple[str | Path, ...] = (module, "-S", f"-passes={passes}", *PIPELINES[passes])
    texts = {"": run(folder, "opt-22", *command)}
    for runner in ("const:0", "const:1"):
        load = f"-load-pass-plugin={llvm_plugin()}"
        texts[runner] = run(folder, "opt-22", load, f"-passpilot-inline={runner}", *command)
        if len(command) == 3:
            assert run(folder, PASSPILOT, "opt", f"--inline={runner}", *command) == texts[runner]
    assert {str(COUNTERS.findall(text)) for text in texts.values()} == {str(COUNTERS.findall(texts[""]))}
    assert texts["const:0"] != texts["const:1"]
