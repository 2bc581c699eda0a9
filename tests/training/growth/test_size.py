# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot size --against`: where the bytes of real programs are, and how they grew."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError, UsageError
from passpilot.training.file_sizes import SizeReport
from passpilot.training.growth.contents import Contents, shown
from passpilot.training.growth.growth import Growth, GrowthBudget
from tests.command import PASSPILOT, passpilot, refused

LINK: Final = ("-fuse-ld=lld", "-nostdlib", "-Wl,-e,start", "-no-pie", "-ffunction-sections")
BEFORE: Final = """\
template <class T> __attribute__((noinline)) T twice(T a) { return a + a; }
__attribute__((noinline)) int same1(int x) { return x * 77 + 5; }
__attribute__((noinline)) int same2(int x) { return x * 77 + VALUE; }
static __attribute__((noinline)) int hidden(int x) { return x * x * x + 9; }
SECTION __attribute__((noinline)) int cold(int x) { return x * 13; }
#ifdef MORE
int table[100] = {1};
__attribute__((noinline)) int added(int x) { return table[x] * 7; }
#else
__attribute__((noinline)) int dropped(int x) { return x * 5 + 3; }
#endif
extern "C" int start(int x) {
  return twice(x) + twice<long>(x) + same1(x) + same2(x) + hidden(x) + cold(x)
#ifdef MORE
   + added(x);
#else
   + dropped(x);
#endif
}
"""


def compiled(folder: Path, name: str, *flags: str, link: bool = True) -> str:
    path = str(folder / name)
    flags = ("-DVALUE=6", "-DSECTION=", *flags) if "-DMORE" not in flags else flags
    command = ["clang++-22", "-O1", "-xc++", "-", "-o", path, *(LINK if link else ["-c"]), *flags]
    subprocess.run(command, input=BEFORE.encode(), check=True, timeout=60, cwd=folder)
    return path


GROWN: Final = (
    "-DMORE",
    "-DVALUE=5",
    '-DSECTION=__attribute__((section(".startup")))',
    "-Wl,--icf=all,-Map=now.map",
)


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("builds")
    compiled(folder, "before", "-g")
    compiled(folder, "now", "-g", *GROWN)
    return folder


def test_what_happened_to_symbols(builds: Path) -> None:
    before, now = (Contents.of(str(builds / name)) for name in ("before", "now"))
    found = {shown(change.name): change for change in Growth(before, now).symbols()}
    assert {name: change.what for name, change in found.items() if name != "start"} == {
        "table": "new",
        "added(int)": "new",
        "dropped(int)": "gone",
        "cold(int)": "moved to .startup",
        "same2(int)": "folded into same1(int)",
    }
    assert found["table"].bytes == 400
    assert (found["same2(int)"].now, found["cold(int)"].bytes) == (0, 0)
    assert found["same2(int)"].before > 0
    assert sum(change.bytes for change in Growth(before, now).sections()) == now.allocated - before.allocated


def test_the_command_and_its_exit_codes(builds: Path) -> None:
    assert passpilot("size", "before", "--result=base.json", cwd=builds).code == 0
    text = (builds / "base.json").read_text()
    assert text.count("\n") > 25, "a symbol has a line"
    names = list(json.loads(text)["files"][0]["symbols"])
    assert names == sorted(names)
    for base in ("base.json", "before"):
        done = passpilot("size", "now", f"--against={base}", "--fail-over=0.5%", cwd=builds)
        assert (done.code, done.err) == (1, ""), base
        assert "OVER the budget of +0.5%" in done.out.decode()
        assert "twice<" not in done.out.decode(), "what is as before is not shown"
        assert passpilot("size", "now", f"--against={base}", "--fail-over=9000", cwd=builds).code == 0
    assert passpilot("size", "before", "--against=now", "--fail-over=0", cwd=builds).code == 0
    done = passpilot("size", "now", "--against=before", "--markdown=-", "--fail-over=10000%", cwd=builds)
    page = done.out.decode()
    assert page.startswith("<!-- passpilot size -->\n### now\n\n")
    assert "| dropped(int) |" in page
    assert "<details>" in page
    row = json.loads(passpilot("size", "now", "--against=before", "--result=-", cwd=builds).out)["growth"][0]
    assert row["within_budget"] is True
    assert row["now"] - row["before"] == sum(change["now"] - change["before"] for change in row["sections"])


def test_source_files(builds: Path, tmp_path: Path) -> None:
    """By debug information, by the table of symbols, and by the linker's map."""
    assert Contents.of(str(builds / "before")).units["-"] > 0
    now = Contents.of(str(builds / "now"), str(builds / "now.map"))
    assert sum(now.units.values()) == now.allocated
    assert any(name.endswith(".o") for name in now.units)
    plain = Contents.of(compiled(tmp_path, "plain"))
    hidden = next(symbol for name, symbol in plain.symbols.items() if "hidden" in name)
    assert hidden.unit == "-"
    told = "debug information (-g) or a linker map (--map) tells the source files"
    assert told in passpilot("size", "plain", cwd=tmp_path).out.decode()
    compiled(tmp_path, "debugged", "-g")
    assert told not in passpilot("size", "debugged", cwd=tmp_path).out.decode()


@pytest.mark.parametrize("version", [4, 5])
def test_variables_have_the_source_of_their_debug_information(tmp_path: Path, version: int) -> None:
    count = "int count(int n) { static int seen[9] = {1}; return seen[n]++; }"
    main = "int table[64] = {1}; int main(int argc, char **argv) { return table[argc] + count(argc); }"
    (tmp_path / "data.c").write_text(f"{count}\n{main}\n")
    flags = ["-O1", f"-gdwarf-{version}", "-fuse-ld=lld"]
    subprocess.run(["clang-22", *flags, "data.c", "-o", "data"], cwd=tmp_path, check=True, timeout=60)
    symbols = Contents.of(str(tmp_path / "data")).symbols
    units = {name: found.unit for name, found in symbols.items() if re.search(r"table|seen|^main$", name)}
    assert len(units) == 3
    assert set(units.values()) == {"data.c"}


def test_archives(tmp_path: Path) -> None:
    for name in ("a.o", "b.o"):
        compiled(tmp_path, name, link=False)
    for kind, flags in (("full.a", "rcs"), ("thin.a", "rcsT")):
        subprocess.run(["llvm-ar-22", flags, kind, "a.o", "b.o"], cwd=tmp_path, check=True, timeout=60)
        found = Contents.of(str(tmp_path / kind))
        assert found.units == {name: Contents.of(str(tmp_path / name)).allocated for name in ("a.o", "b.o")}
        assert passpilot("size", kind, cwd=tmp_path).code == 0
    (tmp_path / "text").write_text("text")
    subprocess.run(["llvm-ar-22", "rcs", "odd.a", "a.o", "text"], cwd=tmp_path, check=True, timeout=60)
    assert "odd.a(text): expected an object of ELF, COFF" in refused("size", "odd.a", cwd=tmp_path)
    (tmp_path / "b.o").unlink()
    assert "b.o: expected a member of a thin archive, got: No such file" in refused(
        "size", "thin.a", cwd=tmp_path
    )


def test_a_stripped_program_has_sections(builds: Path) -> None:
    subprocess.run(["llvm-strip-22", "-o", "bare", "now"], cwd=builds, check=True, timeout=60)
    done = passpilot("size", "bare", "--against=before", cwd=builds)
    assert done.code == 0
    text = done.out.decode()
    assert "bare has no symbols, so functions are not known; give the file as it is before strip" in text
    assert "dropped" not in text, "not all functions are gone"
    assert Contents.of(str(builds / "bare")).sections == Contents.of(str(builds / "now")).sections


def test_linked_wasm(tmp_path: Path) -> None:
    compiled(tmp_path, "a.o", "--target=wasm32", link=False)
    source = b"int far(int); int near(int x) { return far(x) + 1; }"
    command = ["clang-22", "--target=wasm32", "-O1", "-xc", "-", "-c", "-o", "c.o"]
    subprocess.run(command, input=source, cwd=tmp_path, check=True, timeout=60)
    link = ["wasm-ld-22", "--no-entry", "--allow-undefined", "--export-all", "--import-memory",
            "--import-table", "a.o", "c.o", "-o", "a.wasm"]  # fmt: skip
    subprocess.run(link, cwd=tmp_path, check=True, timeout=60)
    linked = Contents.of(str(tmp_path / "a.wasm"))
    sizes = {shown(name): symbol.size for name, symbol in linked.symbols.items()}
    assert {"int twice<int>(int)", "hidden(int)", "near", "start"} <= sizes.keys()
    assert "far" not in sizes, "it is imported"
    assert sizes["near"] == Contents.of(str(tmp_path / "c.o")).symbols["near"].size
    assert 0 < sum(sizes.values()) <= linked.sections["code"]


def test_a_large_program(tmp_path: Path) -> None:
    """A part of LLVM: 20 MB and 20,000 symbols, in less than 300 MB."""
    folder = subprocess.check_output(["llvm-config-22", "--libdir"], text=True).strip()
    parts = [
        f"{folder}/libLLVM{name}.a" for name in ("AArch64CodeGen", "AArch64Desc", "CodeGen", "SelectionDAG")
    ]
    link = ["ld.lld-22", "-shared", "--unresolved-symbols=ignore-all", "--whole-archive", *parts, "-o", "big"]
    subprocess.run(link, cwd=tmp_path, check=True, timeout=120)
    assert os.path.getsize(tmp_path / "big") > 20 * 10**6
    count = "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"  # not this process's, which forks
    script = f"import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\n{count}"
    words = [sys.executable, "-c", script, str(PASSPILOT), "size", "big", "--result=base.json"]
    *lines, kilobytes = subprocess.check_output(words, cwd=tmp_path, text=True, timeout=120).splitlines()
    assert int(kilobytes) < 300 << 10
    assert next(line for line in lines if line.startswith("xz")).split() == ["xz", "-"]
    assert len(SizeReport.read(str(tmp_path / "base.json")).files[0].contents.symbols) > 20_000


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--fail-over=1%",), 2, "size: --fail-over: expected --against beside it"),
        (("--against=before", "--fail-over=much"), 2, "--fail-over: expected bytes or a percentage, such as"),
        (("--against=before", "--fail-over=-1%"), 2, "--fail-over: expected bytes or a percentage, such as"),
        (
            ("--against=gone",),
            1,
            "gone: expected a result of passpilot size, or a program, got: No such file",
        ),
        (("--against=text",), 1, "text: expected an object of ELF, COFF, Mach-O or wasm, got another file"),
        (("--map=text",), 1, "text: expected a map of lld, got another file; link with -fuse-ld=lld"),
        (("--ladder", "--against=before"), 2, "size: --against: expected no --ladder beside it"),
        (("before", "--map=now.map"), 2, "size: --map: expected one program, got 2 files"),
    ],
)
def test_refusals(words: tuple[str, ...], code: int, said: str, builds: Path) -> None:
    (builds / "text").write_text("text")
    assert said in refused("size", "now", *words, cwd=builds, code=code)


@pytest.mark.parametrize(
    "text",
    ["{", "{}", '{"files": 1}', '{"files": [1]}', '{"files": [{"name": "a"}]}',
     '{"files": [{"name": "a", "sections": [{"name": "t", "size": "x", "is_code": 1, "is_loaded": 1}],'
     ' "units": {}, "symbols": {}, "allocated": 1, "text": 1, "stripped": 1, "xz": 1}]}',
     '{"files": [{"name": "a", "sections": [], "allocated": 1, "text": 1, "stripped": 1, "xz": 1,'
     ' "units": {}, "symbols": {"f": [1, 2, 3]}}]}'],
)  # fmt: skip
def test_a_base_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text(text)
    with pytest.raises(InputError, match=r"base.json: expected"):
        SizeReport.read(str(tmp_path / "base.json"))


def test_budgets() -> None:
    def growth(before: int, now: int) -> Growth:
        return Growth(*(Contents("p", {".text": size}, {}, {}) for size in (before, now)))

    assert GrowthBudget.parse("0.5%").allows(growth(1000, 1005))
    assert not GrowthBudget.parse("0.5%").allows(growth(1000, 1006))
    assert GrowthBudget.parse("6").allows(growth(1000, 1006))
    assert GrowthBudget.parse("0").allows(growth(1000, 900))
    assert not GrowthBudget.parse("0").allows(growth(0, 1))
    for text in ("nan%", "inf%", "1e999%", "%", "", "4K"):
        with pytest.raises(UsageError):
            GrowthBudget.parse(text)
