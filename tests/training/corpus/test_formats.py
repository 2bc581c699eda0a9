# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects of other classes and byte orders, archives byte by byte, and what clang's arguments say."""

from __future__ import annotations

import contextlib
import resource
import struct
from pathlib import Path

import pytest

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.training.corpus.archive import ArchiveMember, is_archive, read_members
from passpilot.training.corpus.arguments import for_object, optimization_level, relocation_model, value_of
from passpilot.training.corpus.elf import code_hash, elf_type
from passpilot.training.corpus.front_end import FrontEnd, FrontEndJob, _job, _words, failure
from passpilot.training.corpus.inspection import inspect
from passpilot.training.corpus.recorded.link_command import LinkItem, read_link

NAMES = b"\0.text\0.data\0.bss\0.init\0"
ROWS = ((1, 1, 4, b"\x90\xc3"), (7, 1, 0, b"abc"), (13, 8, 4, b""), (18, 1, 6, b"\xcc"), (1, 3, 0, NAMES))
"""Place of the name, type, flags and bytes; the third one has no bytes in the file."""


def elf(*, wide: bool, order: str, rows: tuple[tuple[int, int, int, bytes], ...] = ROWS) -> bytes:
    """An ELF object with these sections, the last one that of names."""
    head = 64 if wide else 52
    body = b"".join(data for *_, data in rows)
    form = order + ("IIQQQQIIQQ" if wide else "10I")
    table = struct.pack(form, *[0] * 10)
    place = head
    for name, kind, flags, data in rows:
        table += struct.pack(form, name, kind, flags, 0, place, len(data) or 1 << 20, 0, 0, 1, 0)
        place += len(data)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    middle = "HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"
    size, count = struct.calcsize(form), len(rows) + 1
    fields = struct.pack(order + middle, 3, 62, 1, 0, 0, place, 0, head, 0, 0, size, count, count - 1)
    return ident + fields + body + table


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("order", ["<", ">"])
def test_sections_of_every_class_and_byte_order(wide: bool, order: str) -> None:
    data = elf(wide=wide, order=order)
    assert elf_type(data) == 3
    assert _core.object_sections(data) == [
        (".text", 4, b"\x90\xc3"),
        (".data", 0, b"abc"),
        (".bss", 4, b""),
        (".init", 6, b"\xcc"),
        (".text", 0, NAMES),
    ]
    assert code_hash(data) == code_hash(elf(wide=True, order="<"))


def changed(place: int, name: int | None = None, flags: int | None = None, data: bytes | None = None) -> str:
    """The hash of the object with one section changed."""
    old_name, kind, old_flags, old_data = ROWS[place]
    row = (
        old_name if name is None else name,
        kind,
        old_flags if flags is None else flags,
        old_data if data is None else data,
    )
    return code_hash(elf(wide=True, order="<", rows=(*ROWS[:place], row, *ROWS[place + 1 :])))


def test_the_hash_is_of_names_and_bytes_of_code_alone() -> None:
    same = code_hash(elf(wide=True, order="<"))
    assert len(same) == 64
    assert changed(1, data=b"xyz") == changed(1, name=18) == changed(0, flags=6) == same
    others = {changed(0, data=b"\x91\xc3"), changed(3, data=b"\xcd"), changed(0, name=7), changed(1, flags=4)}
    assert len(others | {same}) == 5
    moved = (ROWS[3], *ROWS[:3], ROWS[4])
    assert code_hash(elf(wide=True, order="<", rows=moved)) != same
    assert changed(0, data=b"\x90", name=1) != changed(0, data=b"\x90\xc3\xcc")


def test_other_files_have_no_type_and_damaged_ones_no_sections() -> None:
    data = elf(wide=True, order="<")
    assert (elf_type(data[:17]), elf_type(data[:18]), elf_type(b"text" * 10)) == (0, 3, 0)
    for end in (17, 63, len(data) - 1):
        with pytest.raises(InputError, match="expected an ELF object, got a damaged one"):
            list(_core.object_sections(data[:end]))
    with pytest.raises(InputError, match="expected an ELF object, got another file"):
        list(_core.object_sections(b"\x7fELG"))
    far = (*ROWS[:1], (7, 1, 0, b""), *ROWS[2:])
    with pytest.raises(InputError, match="got a damaged one"):
        list(_core.object_sections(elf(wide=True, order="<", rows=far)))
    narrow = data[:58] + struct.pack("<H", 8) + data[60:]
    with pytest.raises(InputError, match="got a damaged one"):
        list(_core.object_sections(narrow))
    for size in (0, 4, 4096):  # of a row in the table of sections
        with pytest.raises(InputError, match="got a damaged one"):
            _core.object_sections(data[:58] + struct.pack("<H", size) + data[60:])
    no_table = data[:40] + bytes(8) + data[48:]
    assert list(_core.object_sections(no_table)) == []


def member(name: str, data: bytes, size: str = "") -> bytes:
    """A member of an archive, padded to an even size."""
    head = f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{size or len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)


def members(data: bytes, path: str = "x.a") -> list[tuple[str, bytes, str]]:
    return [tuple(each) for each in read_members(path, data)]  # type: ignore[misc]


def test_sections_that_share_their_bytes_are_refused() -> None:
    """Twenty thousand sections that each span the whole file would be gigabytes."""
    data = elf(wide=True, order="<", rows=((1, 1, 4, b"\x90" * 100_000), *ROWS))
    place = data.index(struct.pack("<IIQQQQ", 1, 1, 4, 0, 64, 100_000))
    row = data[place : place + 64]
    many = data[:place] + row * 20_000 + data[place + 64 :]
    many = many[:60] + struct.pack("<H", 20_006) + many[62:]
    before = peak_memory()
    for read in (_core.object_sections, lambda data: code_hash(data) or None):
        with contextlib.suppress(InputError):
            assert read(many) is None
    assert peak_memory() - before < 100 << 20
    assert _core.object_sizes(many)[0] >= 20_000 * 100_000


def peak_memory() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


GNU = (
    member("/", b"abc\0"),
    member("//", b"a_long_name_of_one.o/\nanother_long_name.o/\n"),
    member("short.o/", b"odd"),
    member("/0", b"one"),
    member("/22", b"two!"),
    member("empty.o/", b""),
)
BSD = (
    member("#1/12", b"__.SYMDEF\0\0\0" + bytes(8)),
    member("#1/8", b"bsd.o\0\0\0data"),
    member("short.o", b"odd"),
)


def test_members_byte_by_byte() -> None:
    assert members(b"!<arch>\n" + b"".join(GNU)) == [
        ("short.o", b"odd", ""),
        ("a_long_name_of_one.o", b"one", ""),
        ("another_long_name.o", b"two!", ""),
        ("empty.o", b"", ""),
    ]
    assert members(b"!<arch>\n" + b"".join(BSD)) == [("bsd.o", b"data", ""), ("short.o", b"odd", "")]
    assert members(b"!<arch>\n") == []
    assert [is_archive(each) for each in (b"!<arch>\n", b"!<thin>\nx", b"!<arch>", b"")] == [
        *(True, True),
        *(False, False),
    ]


@pytest.mark.parametrize(
    "data",
    [
        member("a.o/", b"abc", size="4")[:-1],
        member("a.o/", b"abc", size="-1"),
        member("a.o/", b"abc", size="x"),
        member("/9", b"abc"),
        member("#1/x", b"abc"),
    ],
    ids=["cut", "negative", "no number", "no long name", "no length"],
)
def test_a_damaged_member_is_an_error(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^x.a: expected an archive, got a damaged one$"):
        members(b"!<arch>\n" + data)


def test_members_of_a_thin_archive_are_beside_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.o").write_bytes(b"first")
    (tmp_path / "deep" / "b.o").write_bytes(b"second")
    parts = [member("//", b"../a.o/\nb.o/\n"), member("/0", b"", size="5"), member("/8", b"", size="6")]
    data, path = b"!<thin>\n" + b"".join(parts), str(tmp_path / "deep" / "x.a")
    found = members(data, path)
    assert list(read_members(path, data, str(tmp_path))) == found
    with pytest.raises(InputError, match=r"x.a: expected members below .*/deep, got .*/a.o; give a folder"):
        list(read_members(path, data, str(tmp_path / "deep")))
    (tmp_path / "deep" / "b.o").unlink()
    (tmp_path / "deep" / "b.o").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match=r"x.a: expected members below "):
        list(read_members(path, data, str(tmp_path)))
    assert found == [
        ("a.o", b"first", str(tmp_path / "a.o")),
        ("b.o", b"second", str(tmp_path / "deep" / "b.o")),
    ]
    assert ArchiveMember("a", b"").path == ""


def test_the_last_argument_counts() -> None:
    words = ["-triple", "a", "-O2", "-triple", "b", "-Os", "-triple"]
    assert value_of(words, "-triple") == "b"
    assert value_of(words, "-x") == value_of([], "-x") == ""
    assert optimization_level(words) == "Os"
    assert optimization_level(["-Oz", "-Ofast", "-O"]) == "O1"
    assert relocation_model(["-mrelocation-model", "static"]) == "static"
    assert relocation_model([]) == relocation_model(["-mrelocation-model"]) == "pic"


@pytest.mark.parametrize(
    "dropped",
    [
        *("-sys-header-deps", "-MP", "-MV", "-H", "-v", "-ftime-report", "-print-stats"),
        *("-ftime-trace=x", "-stats-file=x", "-fembed-bitcode=all"),
        *("-emit-obj", "-emit-llvm-bc", "-emit-llvm", "-S"),
        *("-emit-llvm-uselists", "-flto-unit", "-disable-llvm-passes", "-flto=thin", "-fthinlto-index=x"),
        *("-dependency-file x", "-dependency-dot x", "-module-dependency-dir x", "-MT x"),
        *("-serialize-diagnostic-file x", "-header-include-file x", "-diagnostic-log-file x"),
        *("-opt-record-file x", "-opt-record-passes x", "-opt-record-format x", "-split-dwarf-output x"),
    ],
)
def test_arguments_about_other_outputs_are_dropped(dropped: str) -> None:
    assert for_object(["-cc1", *dropped.split(), "-Oz"]) == ["-cc1", "-Oz", "-emit-obj", "-w"]
    assert for_object([dropped.split()[0]]) == ["-emit-obj", "-w"]


@pytest.mark.parametrize("value", ["-v", "-H", "-S", "-MT"])
def test_values_are_no_options(value: str) -> None:
    words = ["-target-feature", value, "-mllvm", value, "-D", value, "-Oz"]
    assert for_object(words) == [*words, "-emit-obj", "-w"]


def test_how_clang_failed() -> None:
    assert failure(1, b"a.c:1: warning: x\na.c:2: error: y\na.c:3: error: z\n") == "a.c:2: error: y"
    linker = b"/usr/bin/ld: a.o: in function f: undefined reference to `g'"
    said = failure(1, b"ld: warning: x\n" + linker + b"\nclang-22: error: linker command failed\n")
    assert said == linker.decode()
    assert failure(1, b"first\n  last  \n") == "last"
    assert (failure(3, b""), failure(-9, b""), failure(2, b"\n \n")) == (
        "exit code 3",
        "signal 9",
        "exit code 2",
    )
    assert failure(1, b"\xff error: \xff").startswith("\udcff error: ")


JOB = ["clang", "-cc1", "-triple", "t", "-emit-obj", "-o", "a.o", "-x", "c", "a.c"]


def test_the_jobs_among_clangs_commands() -> None:
    assert _words(' "/usr/bin/clang" "-cc1" "a \\"b\\\\ \\$c" ""') == [
        "/usr/bin/clang",
        "-cc1",
        'a "b\\ $c',
        "",
    ]
    assert _job(JOB) == FrontEndJob("a.c", "c", "a.o", ("-cc1", "-triple", "t", "-emit-obj"))
    twice = _job([*JOB[:4], "-o", "first", *JOB[4:]])
    assert twice
    assert twice.output == "a.o"
    assert _job([*JOB[:-2], "ir", "a.bc"])
    for action in ("-emit-llvm-bc", "-S"):
        assert _job([each if each != "-emit-obj" else action for each in JOB])
    refused = [
        ["clang", "-cc1as", *JOB[2:]],
        [each if each != "-emit-obj" else "-E" for each in JOB],
        [*JOB[:-3], "-y", "c", "a.c"],
        [each if each != "-o" else "-p" for each in JOB],
        JOB[:7],
    ]
    assert [_job(each) for each in refused] == [None] * len(refused)


def test_what_a_job_keeps() -> None:
    arguments = ("-cc1", "-Wall", "-fembed-bitcode=all", "-Oz", "-w", "-wide")
    job = FrontEndJob("a.mm", "objective-c++", "o", arguments)
    assert job.recorded == ("-cc1", "-Oz", "-w", "-wide")
    assert [FrontEndJob("", each, "", ()).is_cxx for each in ("c", "c++", "objective-c++", "c-header")] == [
        *(False, True),
        *(True, False),
    ]


def test_steps_of_a_compilation_become_one(tmp_path: Path) -> None:
    """The front end is asked as if no step had a file of its own."""
    (tmp_path / "clang").write_text('#!/bin/sh\necho "$@" > asked\necho "$A" >> asked\n')
    (tmp_path / "clang").chmod(0o755)
    made = FrontEnd(str(tmp_path / "clang"), str(tmp_path), {"A": "1", "PATH": "/usr/bin:/bin"})
    words = ["-save-temps=obj", "--save-temps", "-fembed-bitcode", "-fno-integrated-as", "-no-integrated-as"]
    assert made.jobs(["clang", *words, "-c", "a.c"]) == []
    assert (tmp_path / "asked").read_text() == "-### -c a.c\n1\n"


FACTS = """\
target triple = "x86_64-pc-linux-gnu"
source_filename = "a.c"
declare void @far()
define void @f(ptr %p) minsize {
  call void @g()
  call void @far()
  call void %p()
  call void @g()
  ret void
}
define void @g() {
  ret void
}
"""


def facts_of(text: str, folder: Path) -> tuple[object, ...]:
    from passpilot.plugin.module import Module

    (folder / "a.ll").write_text(text)
    return tuple(inspect("a", Module.read(folder / "a.ll").bitcode))


def test_what_is_in_a_module(tmp_path: Path) -> None:
    triple = "x86_64-pc-linux-gnu"
    assert facts_of(FACTS, tmp_path) == (triple, "", "a.c", 2, 2, True, False, False)
    more = '!llvm.ident = !{!0, !1}\n!0 = !{!"one"}\n!1 = !{!"two"}\n'
    flags = '!llvm.module.flags = !{!2, !3}\n!2 = !{i32 1, !"wchar_size", i32 4}\n'
    flags += '!3 = !{i32 8, !"PIC Level", i32 2}\n'
    text = FACTS.replace("minsize", "optsize") + more + flags
    assert facts_of(text, tmp_path) == (triple, "one", "a.c", 2, 2, False, True, True)
    only = FACTS.replace(" minsize", "").replace("@far()\ndefine", "@far() minsize optsize\ndefine")
    assert facts_of(only, tmp_path)[5:] == (False, False, False)


def missing() -> bytes:
    raise PermissionError(13, "Permission denied")


def test_what_is_no_module() -> None:
    for read, said in (
        (lambda: b"", "m: expected bitcode, got nothing"),
        (lambda: b"; text", "m: expected bitcode, got other data"),
        (missing, "m: expected bitcode, got: Permission denied"),
    ):
        with pytest.raises(InputError, match=f"^{said}$"):
            inspect("m", read)


VALUES = frozenset(
    ("-o", "--output", "-L", "--library-directory", "-l", "-T", "-x", "-mllvm", "-u", "-I", "--param",
     "-target", "--sysroot")
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "items"),
    [
        ("-Ldir -lx", [LinkItem("-L/d/dir"), LinkItem("-lx", library=("/d/dir",))]),
        ("-lx -L/abs", [LinkItem("-lx", library=()), LinkItem("-L/abs")]),
        (
            "-L a --library-directory b -l x",
            [LinkItem("-L/d/a"), LinkItem("-L/d/b"), LinkItem("-lx", library=("/d/a", "/d/b"))],
        ),
        ("-mllvm x -x c --param p -I i -u sym", [LinkItem("-u"), LinkItem("sym")]),
        ("-Wl,-Map -Wl,m.map -Wl,--as-needed", [LinkItem("-Wl,--as-needed")]),
        ("-Wl,--dependency-file=d,--dependency-file,e,,-z,now", [LinkItem("-Wl,-z"), LinkItem("-Wl,now")]),
        (
            "-Wl,--whole-archive -lx -Wl,--no-whole-archive -ly",
            [LinkItem("-lx", library=(), whole=True), LinkItem("-ly", library=())],
        ),
        (
            "-Wl,-whole-archive a.a -Wl,-no-whole-archive b.a",
            [LinkItem("/d/a.a", is_input=True, whole=True), LinkItem("/d/b.a", is_input=True)],
        ),
        (
            "-Wl,--thinlto-jobs=2,--lto-O3,--icf=all,-O2,--Map=x,--print-map,-M,--save-temps,-S,-s",
            [LinkItem("-Wl,--icf=all"), LinkItem("-Wl,-O2")],
        ),
        (
            "-static -shared -object a/../b.o -",
            [
                LinkItem("-static"),
                LinkItem("-shared"),
                LinkItem("-object"),
                LinkItem("/d/b.o", is_input=True),
                LinkItem("/d/-", is_input=True),
            ],
        ),
        (
            "-pipe -w -c -nostdinc -pedantic -ansi -fdata-sections -isystemx -Ux -idirafter -imacrosy",
            [],
        ),
        (
            "--target=wasm32-wasi -Oz -g -c -Wl,--print-memory-usage,--cref",
            [LinkItem("--target=wasm32-wasi"), LinkItem("-Oz")],
        ),
        ("-target wasm32 -O2", [LinkItem("-target"), LinkItem("wasm32"), LinkItem("-O2")]),
        ("--sysroot ../r --sysroot=/x", [LinkItem("--sysroot=/r"), LinkItem("--sysroot=/x")]),
        ("-iquotez --ld-path=x -fno-lto -nostdinc++ -fno-function-sections -fno-data-sections", []),
    ],
)
def test_what_a_link_keeps(words: str, items: list[LinkItem]) -> None:
    assert list(read_link(words.split(), "/d", VALUES).items) == items


def test_the_output_of_a_link() -> None:
    outputs = {
        words: read_link(words.split(), "/d", VALUES).output
        for words in ("-o p", "-op", "--output x/../p", "-o q -o p")
    }
    assert set(outputs.values()) == {"/d/p"}
    assert read_link(["a.o"], "/d", VALUES).output == "/d/a.out"
