# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@oz`, as it comes with passpilot."""

from __future__ import annotations

import re
from pathlib import Path

from passpilot.runners.policy.bundle import find_bundle
from passpilot.training.evaluation.unwind_check import check_unwind
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
