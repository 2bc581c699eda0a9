# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@oz`, as it comes with passpilot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from passpilot.runners.policy.bundle import find_bundle
from passpilot.training.evaluation.unwind_check import check_unwind
from passpilot.training.policy_folder import PolicyText, RecipeChoice, write_policy
from passpilot.training.rewards import allocated_bytes
from passpilot.training.tuning.recipes import TAILS
from tests.command import passpilot
from tests.corpus.build import build
from tests.corpus.programs import all_programs
from tests.plugin.unwind_programs import FRAMES

PROGRAM = " ".join(f"device[{number & 7}] = {number};" for number in range(1, 40))
SOURCE = f"""
extern volatile int device[8];
void start(void) {{ {PROGRAM} }}
void again(void) {{ {PROGRAM} {PROGRAM} }}
void more(int n) {{ {PROGRAM} device[7] = n; }}
void run(int n) {{ for (int i = 0; i < n; ++i) {{ {PROGRAM} }} }}
"""
"""The same instructions in four functions."""


def test_nothing_is_outlined_unless_the_aim_is_rom(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    for target in ("x86_64", "aarch64"):
        for query in ("", "?aim=file", "?aim=compressed", "?aim=rom"):
            flags = (f"--target={target}-linux-gnu", f"--policy=@oz{query}", "-Oz", "-S", "a.c", "-o", "a.s")
            done = passpilot("cc", *flags, cwd=tmp_path)
            assert (done.code, done.err) == (0, "")
            outlined = "OUTLINED" in (tmp_path / "a.s").read_text()
            # LLVM outlines at -Oz by itself, but not for x86-64.
            assert outlined == (query == "?aim=rom" or (target == "aarch64" and "compressed" not in query)), (
                query
            )


def test_small_constants_are_moved_where_pushes_need_rows(tmp_path: Path) -> None:
    """A push and a pop are shorter than a move, and have two rows where tables are exact everywhere."""
    (tmp_path / "a.c").write_text(
        "int ask(int, int); int twice(int n) { return ask(3, n) + ask(5, n) + n; }\n"
    )
    texts = {}
    for mode in ("full", "faults"):
        flags = ("--policy=@oz", f"--unwind={mode}", "-Oz", "-S", "a.c", "-o", f"{mode}.s")
        done = passpilot("cc", *flags, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        texts[mode] = (tmp_path / f"{mode}.s").read_text()
    assert "movl\t$3, %edi" in texts["full"]
    assert "pushq\t$" not in texts["full"]
    assert "pushq\t$3" in texts["faults"]
    plain = ("--unwind=full", "-Oz", "-S", "a.c", "-o", "plain.s")  # as stock clang: no policy, no move
    done = passpilot("cc", *plain, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "pushq\t$3" in (tmp_path / "plain.s").read_text()


def test_the_same_module_becomes_the_same_bytes(tmp_path: Path) -> None:
    """LLVM's gvn-sink and gvn-hoist follow addresses: with the first, this module differed in each run."""
    assert not build(["lz4"])
    module = all_programs()["lz4"].unit("lz4libs/lz4.c", "Oz")
    outputs = [tmp_path / f"{number}.bc" for number in range(4)]
    for output in outputs:
        done = passpilot("opt", "--policy=@oz", "-Oz", module, "-o", output, cwd=tmp_path)
        assert done.code == 0, done.err
    assert len({output.read_bytes() for output in outputs}) == 1
    pipelines = [recipe.pipeline for recipe in find_bundle("@oz").recipes] + list(TAILS)
    assert not [pipeline for pipeline in pipelines if re.search("gvn-(sink|hoist)", pipeline)]


def test_all_recipes_write_smaller_unwind_tables(tmp_path: Path) -> None:
    assert {each.options[-1] for each in find_bundle("@oz").recipes} == {"unwind=linked"}
    (tmp_path / "a.cpp").write_text(FRAMES)
    flags = ("--policy=@oz", "-Oz", "-w", "-c", "-emit-llvm", "a.cpp", "-o", "a.bc")
    done = passpilot("cc", *flags, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    for name, more in (("small.o", ()), ("full.o", ("-unwind=full", "-move-small-constants=false"))):
        done = passpilot("llc", "--policy=@oz", *more, "-filetype=obj", "a.bc", "-o", name, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    found = check_unwind(str(tmp_path / "full.o"), str(tmp_path / "small.o"))
    assert found.differences == ()
    assert found.sizes[1] < found.sizes[0]


FIRMWARE = """
int table[64], other[64];
int sum(const int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s += p[i] * other[i] + table[i];
  return s;
}
void copy(char *a, const char *b, short *c, int n) {
  for (int i = 0; i < n; ++i) { a[i] = b[i]; c[i] = b[n - i]; }
}
int kind(int c) {
  switch (c) { case 1: return 9; case 4: return sum(table, 7); case 7: return table[3]; case 9: return 8;
    case 12: return sum(table, 2); case 15: return table[9]; case 19: return 5; case 21: return table[1]; }
  return c;
}
void fill(int n) { for (int i = 0; i < n; ++i) table[i & 63] = kind(i) + sum(table, i) + kind(other[i]); }
"""


@pytest.mark.parametrize(
    ("target", "own"),
    [
        ("thumbv7em-none-eabi", True),
        ("thumbv6m-none-eabi", False),
        ("riscv32-unknown-elf", True),
        ("riscv64-linux-gnu", True),
        ("wasm32-wasip1", True),
        ("aarch64-linux-gnu", True),
        ("powerpc64le-linux-gnu", False),
    ],
)
def test_every_family_of_targets_has_its_own_levers(tmp_path: Path, target: str, *, own: bool) -> None:
    """The objects are those of the options for all targets and for this one, and not larger than by -Oz."""
    recipe = find_bundle("@oz").recipes[0]
    more = [options for start, options in recipe.targets.items() if target.startswith(start)]
    assert len(more) == own
    names = {option.partition("=")[0] for options in more for option in options}
    kept = [option for option in recipe.options if option.partition("=")[0] not in names]
    same = RecipeChoice(recipe.pipeline, [*kept, *(option for options in more for option in options)])
    write_policy(str(tmp_path / "same"), PolicyText(name="same", description="x", card="x"), {}, [same])
    (tmp_path / "a.c").write_text(FIRMWARE)
    objects = {}
    for name, policy in (("plain", ()), ("oz", ("--policy=@oz",)), ("same", ("--policy=same",))):
        flags = (f"--target={target}", "-Oz", "-ffunction-sections", "-c", "a.c", "-o", f"{name}.o")
        done = passpilot("cc", *policy, *flags, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        objects[name] = (tmp_path / f"{name}.o").read_bytes()
    assert objects["oz"] == objects["same"]
    if own:
        assert objects["oz"] != objects["plain"]
        assert allocated_bytes(objects["oz"]) <= allocated_bytes(objects["plain"])
