# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Smaller unwind tables: no instruction changes, and the rows are right wherever a program can stop."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.toolchain import llvm_plugin
from passpilot.training.evaluation.unwind_check import check_unwind
from tests.command import passpilot as command
from tests.command import run
from tests.corpus.build import bindir
from tests.plugin.unwind_programs import BUILDS, compiled, environment

MODES = ("full", "faults", "shared", "calls", "exceptions", "none")
X86 = "x86_64-linux-gnu"


def table(path: Path, section: str = ".eh_frame") -> bytes:
    """The unwind table of an object."""
    return next((data for name, _, data in _core.object_sections(path.read_bytes()) if name == section), b"")


def code(path: Path) -> list[tuple[str, bytes]]:
    """The executable sections of an object."""
    return [(name, data) for name, flags, data in _core.object_sections(path.read_bytes()) if flags & 4]


def language(*flags: str) -> tuple[str, ...]:
    return ("-xc++", "-c", *flags)


@pytest.mark.parametrize("mode", ["faults", "calls"])
@pytest.mark.parametrize(("target", "flags"), [(target, flags) for target, *flags in BUILDS])
def test_rows_are_right_where_a_program_can_stop(
    target: str, flags: list[str], mode: str, tmp_path: Path
) -> None:
    arguments = language(f"--target={target}", *flags)
    stock = compiled(tmp_path, "stock.o", *arguments)
    small = compiled(tmp_path, "small.o", *arguments, mode=mode)
    assert code(small) == code(stock)
    found = check_unwind(str(stock), str(small), at=mode)
    assert found.differences == ()
    assert found.dropped == 0
    assert found.calls > 20
    assert len(table(small)) <= len(table(stock))
    if target.startswith("x86_64-linux-gnu") and "-fno-omit-frame-pointer" not in flags:
        assert len(table(small)) < 0.9 * len(table(stock))


def test_rows_are_right_after_relaxation(tmp_path: Path) -> None:
    """RISC-V's linker shortens code, and so the tables of objects have no addresses yet."""
    flags = (
        "-xc++",
        "--target=riscv64-linux-gnu",
        "-Oz",
        "-march=rv64gc",
        "-fuse-ld=lld",
        "-nostdlib",
        "-shared",
        "-fPIC",
    )
    stock = compiled(tmp_path, "stock.so", *flags)
    small = compiled(tmp_path, "small.so", *flags, mode="faults")
    found = check_unwind(str(stock), str(small))
    assert found.differences == ()
    assert found.calls > 20
    assert found.sizes[1] < found.sizes[0]


def test_both_tables_have_the_same_rows(tmp_path: Path) -> None:
    """LLVM writes .debug_frame and .eh_frame of one list, so neither can be full without the other."""
    flags = language("-Oz", "-g", "-fforce-dwarf-frame")
    full, small = (compiled(tmp_path, f"{mode}.o", *flags, mode=mode) for mode in ("full", "faults"))
    for section in (".eh_frame", ".debug_frame"):
        assert 0 < len(table(small, section)) < 0.9 * len(table(full, section))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Whatever is in a table or a header, the check says what is wrong with the file."""
    whole = compiled(tmp_path, "whole.o", *language("-Oz"))
    data = whole.read_bytes()
    start = data.index(table(whole))
    places = [*range(start, start + 80, 3), *range(16, 64, 5), *range(len(data) - 300, len(data), 30)]
    refused = 0
    for number, place in enumerate(places):
        damaged = bytearray(data)
        damaged[place] ^= 1 << number % 8
        (tmp_path / "damaged.o").write_bytes(damaged)
        files = [str(whole), str(tmp_path / "damaged.o")]
        try:
            check_unwind(*files[:: 1 if number % 2 else -1])
        except InputError:
            refused += 1
    assert 10 < refused < len(places)


@pytest.mark.parametrize("mode", MODES)
def test_all_doors_write_the_same_table(mode: str, tmp_path: Path) -> None:
    clang = compiled(tmp_path, "clang.o", *language("-Oz"), mode=mode)
    cc = tmp_path / "cc.o"
    arguments = ("-w", "-xc++", "-Oz", "-c", "frames.cpp", "-o", str(cc))
    done = command("cc", f"--unwind={mode}", *arguments, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert cc.read_bytes() == clang.read_bytes()
    bitcode = compiled(tmp_path, "frames.bc", *language("-Oz", "-emit-llvm"))
    hosted, stock = tmp_path / "hosted.o", tmp_path / "stock.o"
    done = command("llc", f"-unwind={mode}", "-filetype=obj", str(bitcode), "-o", str(hosted), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    llc = (str(bindir() / "llc"), f"-load={llvm_plugin()}", f"-passpilot-unwind={mode}", "-filetype=obj")
    subprocess.run([*llc, str(bitcode), "-o", str(stock)], check=True, timeout=60)
    assert hosted.read_bytes() == stock.read_bytes()
    plain = compiled(tmp_path, "plain.o", *language("-Oz"))
    assert mode == "shared" or code(plain) == code(clang)
    if mode == "full":
        assert clang.read_bytes() == plain.read_bytes()


def test_each_mode_is_smaller_than_the_one_before(tmp_path: Path) -> None:
    made = {m: len(table(compiled(tmp_path, f"{m}.o", *language("-Oz", "-DLEAF"), mode=m))) for m in MODES}
    assert made["full"] > made["faults"] > made["calls"] > made["exceptions"] > made["none"]
    assert made["faults"] > made["shared"]
    stock = str(tmp_path / "full.o")
    found = check_unwind(stock, str(tmp_path / "exceptions.o"), at="calls", fewer_entries=True)
    assert found.differences == ()
    assert 0 < found.dropped < found.functions


@pytest.mark.parametrize("kind", ["full", "thin"])
def test_links_write_smaller_tables(kind: str, tmp_path: Path) -> None:
    flags = ("-xc++", "-Oz", f"-flto={kind}", "-fuse-ld=lld", "-nostdlib", "-shared", "-fPIC")
    stock = compiled(tmp_path, "stock.so", *flags)
    small = tmp_path / "small.so"
    done = command("c++", "--unwind=faults", "-w", *flags, "frames.cpp", "-o", str(small), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    found = check_unwind(str(stock), str(small))
    assert found.differences == ()
    assert found.sizes[1] < 0.9 * found.sizes[0]


SHARING = [
    (X86, "-Oz"),
    (X86, "-O2", "-fno-omit-frame-pointer", "-g"),
    (X86, "-Oz", "-mllvm", "-enable-machine-outliner=always"),
    ("i686-linux-gnu", "-Oz", "-fPIC"),
    ("aarch64-linux-gnu", "-Oz", "-fasynchronous-unwind-tables", "-mbranch-protection=standard"),
]


@pytest.mark.parametrize(("target", "flags"), [(target, flags) for target, *flags in SHARING])
def test_neighbours_share_an_entry(target: str, flags: list[str], tmp_path: Path) -> None:
    arguments = language(f"--target={target}", *flags)
    stock = compiled(tmp_path, "stock.o", *arguments)
    small = compiled(tmp_path, "small.o", *arguments, mode="shared")
    found = check_unwind(str(stock), str(small))
    assert (found.differences, found.dropped) == ((), 0)
    assert found.calls > 20
    assert entries(small) <= entries(stock) - 8
    if "-Oz" in flags:  # and nothing is aligned
        sizes = [sum(len(data) for _, data in code(path)) for path in (stock, small)]
        assert sizes[1] <= sizes[0]


def test_functions_are_compared_without_their_padding(tmp_path: Path) -> None:
    """How much is before aligned code depends on the place of its function."""
    (tmp_path / "a.c").write_text(
        "void use(int);\n"
        + "".join(
            f"__attribute__((cold, noinline)) static void f{i}(int n, int *p) "
            f'{{ {i * "use(n);"} __asm__(".p2align 4"); use(*p); }}\n'
            for i in range(9)
        )
        + f"void all(int n, int *p) {{ {''.join(f'f{i}(n, p);' for i in range(9))} }}\n"
    )
    flags = ("-O2", "-ffunction-sections", "-c", "a.c", "-o")
    for mode in ("full", "shared"):
        done = command("cc", f"--unwind={mode}", *flags, f"{mode}.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    found = check_unwind(str(tmp_path / "full.o"), str(tmp_path / "shared.o"))
    assert (found.functions, found.differences, found.dropped) == (10, (), 0)
    assert entries(tmp_path / "shared.o") == 2


def test_outlined_functions_stay_behind_all_others(tmp_path: Path) -> None:
    """LLVM keeps a call of one in the memory of the called function, which ends when that is printed."""
    arguments = language("-Oz", "-mllvm", "-enable-machine-outliner=always")
    small = compiled(tmp_path, "small.o", *arguments, mode="shared")
    text = run(bindir() / "llvm-nm", "--numeric-sort", "--defined-only", small, cwd=tmp_path).out.decode()
    names = [line.split()[2] for line in text.splitlines() if line.split()[1] in "tT"]
    outlined = [name.startswith("OUTLINED_FUNCTION_") for name in names]
    assert any(outlined)
    assert outlined == sorted(outlined)


def entries(path: Path) -> int:
    """The entries of functions in an object's unwind table."""
    with path.open("rb") as file:
        found = ELFFile(file).get_dwarf_info(relocate_dwarf_sections=False).EH_CFI_entries()
        return sum(isinstance(entry, FDE) for entry in found)


def test_full_links_share_entries_and_drop_what_is_unused(tmp_path: Path) -> None:
    """With a section for every function, only those that link-time optimization keeps share one."""
    text = "".join(
        f"void use(void *); void unused{i}(void) {{ int a[{i + 9}]; use(a); }}\n"
        "__attribute__((noinline)) "
        f"void used{i}(int n) {{ int a[{i % 3 + 9}]; use(a); if (n) use(a + n * {i + 3}); }}\n"
        for i in range(40)
    )
    calls = "".join(f"used{i}(n);" for i in range(40))
    (tmp_path / "a.c").write_text(
        f'{text}__attribute__((visibility("default"))) void all(int n) {{ {calls} }}\n'
    )
    flags = (
        "-Oz",
        "-flto",
        "-fuse-ld=lld",
        "-nostdlib",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-ffunction-sections",
    )
    for mode in ("full", "faults", "shared", "@oz"):
        tables = f"--policy={mode}" if mode == "@oz" else f"--unwind={mode}"
        arguments = (tables, "-w", *flags, "-Wl,--gc-sections", "a.c", "-o", f"{mode}.so")
        done = command("cc", *arguments, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    found = check_unwind(str(tmp_path / "full.so"), str(tmp_path / "shared.so"))
    assert (found.functions, found.differences, found.dropped) == (41, (), 0)
    assert entries(tmp_path / "faults.so") == 41
    assert entries(tmp_path / "shared.so") == 3  # 32 and 8 functions, and the one that is exported
    assert entries(tmp_path / "@oz.so") == 3
    assert found.sizes[1] < 0.2 * found.sizes[0]


def test_entries_are_shared_where_the_linker_optimizes(tmp_path: Path) -> None:
    """By `linked`; units have what `faults` writes."""
    compiled(tmp_path, "frames.bc", *language("-Oz", "-emit-llvm"))
    link = ("-Oz", "-w", "-flto", "-fuse-ld=lld", "-nostdlib", "-shared", "-fPIC", "frames.cpp", "-o")
    made: dict[tuple[str, str], bytes] = {}
    for mode in ("faults", "shared", "linked"):
        unwind = f"--unwind={mode}"
        for kind, arguments in (
            ("unit", ("cc", unwind, "-w", *language("-Oz"), "frames.cpp", "-o")),
            ("llc", ("llc", f"-{unwind[2:]}", "-filetype=obj", "frames.bc", "-o")),
            ("link", ("c++", unwind, *link)),
        ):
            done = command(*arguments, "out", cwd=tmp_path)
            assert (done.code, done.err) == (0, "")
            made[kind, mode] = (tmp_path / "out").read_bytes()
    assert made["unit", "linked"] == made["unit", "faults"] != made["unit", "shared"]
    assert made["llc", "linked"] == made["llc", "faults"] != made["llc", "shared"]
    assert made["link", "linked"] == made["link", "shared"] != made["link", "faults"]


def test_functions_that_cannot_move_keep_an_entry_of_their_own(tmp_path: Path) -> None:
    """Those in sections that the user has named, and those that the linker may drop alone."""
    text = "".join(
        f"void use(void *); void f{i}(void) {{ int a[9]; use(a); }}\n"
        f'__attribute__((section(".mine"))) void g{i}(void) {{ int a[9]; use(a); }}\n'
        for i in range(4)
    )
    (tmp_path / "a.c").write_text(text)
    counts = []
    for more in ((), ("-ffunction-sections",)):
        done = command("cc", "--unwind=shared", "-Oz", *more, "-c", "a.c", "-o", "a.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        counts.append(entries(tmp_path / "a.o"))
    assert counts == [5, 8]


def test_a_policy_or_decision_file_says_how_many_share(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "".join(f"void use(int); void f{i}(void) {{ use({i}); use(1); }}\n" for i in range(12))
    )
    for share, expected in ((4, 3), (1, 12), (12, 1)):
        lines = ["passpilot decisions 1", "unit a.c", "option unwind=shared", f"option unwind-share={share}"]
        (tmp_path / "a.decisions").write_text("\n".join(lines) + "\n")
        done = command("cc", "--decisions=a.decisions", "-Oz", "-c", "a.c", "-o", "a.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        assert entries(tmp_path / "a.o") == expected


def test_text_has_an_entry_for_every_function(tmp_path: Path) -> None:
    directives = []
    for mode in ("faults", "shared"):
        text = compiled(tmp_path, f"{mode}.s", *language("-Oz", "-S"), mode=mode).read_text()
        directives.append([line for line in text.splitlines() if ".cfi_" in line])
    assert directives[0] == directives[1]


def test_a_link_with_tables_of_its_own_has_no_cache(tmp_path: Path) -> None:
    flags = (
        "-xc",
        "-flto=thin",
        "-fuse-ld=lld",
        "-nostdlib",
        "-shared",
        "-fPIC",
        f"-Wl,--thinlto-cache-dir={tmp_path}/c",
    )
    compiled(tmp_path, "stock.so", *flags)
    done = command("cc", "--unwind=calls", "-w", *flags, "frames.cpp", "-o", "x.so", cwd=tmp_path)
    assert done.code == 1
    assert "cannot have --thinlto-cache-dir" in done.err


def test_directives_of_inline_assembly_stay(tmp_path: Path) -> None:
    text = (
        "void use(void *);\nvoid f(int *p) { use(p); "
        '__asm__ volatile("push %rax\\n.cfi_adjust_cfa_offset 8\\npop %rax\\n'
        '.cfi_adjust_cfa_offset -8"); use(p); }\n'
    )
    (tmp_path / "a.c").write_text(text)
    for mode in ("full", "faults"):
        done = command("cc", f"--unwind={mode}", "-Oz", "-c", "a.c", "-o", f"{mode}.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    assert (tmp_path / "full.o").read_bytes() == (tmp_path / "faults.o").read_bytes()


def test_decision_files_set_the_mode_of_a_unit_and_of_functions(tmp_path: Path) -> None:
    plain = compiled(tmp_path, "plain.o", *language("-Oz"))
    lines = ["passpilot decisions 1", "unit frames.cpp", "option unwind=calls", "function pushes unwind=full"]
    (tmp_path / "f.decisions").write_text("\n".join(lines) + "\n")
    arguments = ("--decisions=f.decisions", "-w", "-xc++", "-Oz", "-c", "frames.cpp", "-o", "decided.o")
    done = command("cc", *arguments, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    found = check_unwind(str(plain), str(tmp_path / "decided.o"))
    wrong = {difference.function for difference in found.differences}
    assert "wrapped" in wrong
    assert "pushes" not in wrong
    (tmp_path / "f.decisions").write_text("\n".join([*lines[:3], "function pushes unwind=some"]) + "\n")
    done = command("cc", *arguments, cwd=tmp_path)
    assert done.code == 1
    assert 'f.decisions:4: expected a decision, got "function pushes unwind=some"' in done.err


def policy(folder: Path) -> Path:
    """A policy that sets nothing but the mode."""
    (folder / "policy.toml").write_text(
        'name = "mine"\ndescription = "x"\nllvm = 22\nlevel = "Oz"\ntargets = "any"\nlicense = "x"\n'
        '[[recipes]]\noptions = ["unwind=faults"]\n'
    )
    return folder


def test_policies_set_the_mode_and_options_win(tmp_path: Path) -> None:
    full = compiled(tmp_path, "full.o", *language("-Oz"))
    faults = compiled(tmp_path, "faults.o", *language("-Oz"), mode="faults")
    arguments = (f"--policy={policy(tmp_path)}", "-w", "-xc++", "-Oz", "-c", "frames.cpp", "-o", "x.o")
    for more, expected in (((), faults), (("--unwind=full",), full)):
        done = command("cc", *more, *arguments, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        assert (tmp_path / "x.o").read_bytes() == expected.read_bytes()


@pytest.mark.parametrize(
    "target", ["thumbv7m-none-eabi", "arm64-apple-macos14", "x86_64-apple-macos14", "x86_64-w64-windows-gnu"]
)
def test_other_targets_are_left_alone_with_a_warning(target: str, tmp_path: Path) -> None:
    flags = ("-w", "-xc", f"--target={target}", "-Oz", "-funwind-tables", "-c", "frames.cpp", "-o")
    plain = compiled(tmp_path, "plain.o", *flags[:-2], "-xc")
    done = command("cc", "--unwind=faults", *flags[1:], "x.o", cwd=tmp_path)
    assert done.code == 0
    assert done.err.count("warning: unwind tables: expected an ELF target") == 1
    assert (tmp_path / "x.o").read_bytes() == plain.read_bytes()
    done = command("cc", f"--policy={policy(tmp_path)}", *flags, "x.o", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")


def test_functions_without_entries_are_no_reason_to_warn(tmp_path: Path) -> None:
    (tmp_path / "leaf.c").write_text("int leaf(int x) { return x; }\n")
    flags = ("--unwind=none", "--target=thumbv6m-none-eabi", "-Oz", "-c", "leaf.c")
    done = command("cc", *flags, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")


def test_wrong_modes_are_refused(tmp_path: Path) -> None:
    bitcode = compiled(tmp_path, "frames.bc", *language("-Oz", "-emit-llvm"))
    done = command("cc", "--unwind=some", "-c", "frames.cpp", cwd=tmp_path)
    assert done.code == 2
    assert (
        "cc: --unwind: expected full or faults or shared or linked or calls or exceptions or none, got some"
        in done.err
    )
    llc = (str(bindir() / "llc"), f"-load={llvm_plugin()}", str(bitcode), "-o", str(tmp_path / "x.s"))
    for flags, mode, name in (
        (["-passpilot-unwind=some"], "", "-passpilot-unwind"),
        ([], "some", "PASSPILOT_UNWIND"),
    ):
        refused = subprocess.run(
            [*llc, *flags], capture_output=True, text=True, env=environment(mode), check=False, timeout=60
        )
        assert refused.returncode == 1
        expected = f"{name}: expected full, faults, shared, linked, calls, exceptions or none, got 'some'"
        assert expected in refused.stderr
    done = command("llc", "-unwind=some", str(bitcode), cwd=tmp_path)
    assert done.code == 2
    assert "llc: for the --unwind option: Cannot find option named 'some'!" in done.err


def test_the_command_compares_what_follows_code_without_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        '__asm__(".text\\nbare: call far\\n ret");\nvoid far(void);\nvoid f(void) { far(); far(); }\n'
    )
    for mode in ("full", "none"):
        done = command("cc", f"--unwind={mode}", "-Oz", "-c", "a.c", "-o", f"{mode}.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    done = command("unwind", "check", "full.o", "none.o", "--stops=calls", cwd=tmp_path)
    assert (done.code, done.err) == (1, "")
    *_, counts, sizes = done.out.decode().splitlines()
    assert " 1 call and 0 other instructions that can fault: 1 difference" in counts
    assert sizes == f"unwind tables: {len(table(tmp_path / 'full.o')):,} bytes in A, 0 in B"


def test_a_frame_of_a_register_alone_has_no_offset(tmp_path: Path) -> None:
    for name, frame in (("a", ".cfi_def_cfa_register %rbp"), ("b", ".cfi_def_cfa %rbp, 0")):
        (tmp_path / f"{name}.s").write_text(f"f:\n.cfi_startproc simple\n{frame}\ncall far\n.cfi_endproc\n")
        subprocess.run(
            [bindir() / "clang", "--target=x86_64-linux-gnu", "-c", f"{name}.s"], cwd=tmp_path, check=True
        )
    found = check_unwind(str(tmp_path / "a.o"), str(tmp_path / "b.o"))
    assert (found.calls, found.differences) == (1, ())
