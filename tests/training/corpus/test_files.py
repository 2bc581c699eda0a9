# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The readers of objects, archives and links' arguments: what they find; damage is an error of ours."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from passpilot.cli.cc.clang_arguments import WITH_VALUE
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.training.corpus.archive import ArchiveMember, read_members
from passpilot.training.corpus.arguments import for_object, optimization_level
from passpilot.training.corpus.elf import code_hash, elf_type
from passpilot.training.corpus.embedded import inside, read_embedded
from passpilot.training.corpus.recorded.link_command import LinkItem, read_link
from tests.corpus.build import bindir
from tests.training.corpus.builds import run, write


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two objects; one has a long name, an odd size, and embedded bitcode."""
    folder = write(tmp_path_factory.mktemp("objects"), {"a.c": "int a;", "b.c": "int f(int x) { return x; }"})
    run("clang-22", "-c", "a.c", cwd=folder)
    embed = ("-Oz", "-Xclang", "-fembed-bitcode=all")
    run("clang-22", *embed, "-c", "b.c", "-o", "with_a_rather_long_name.o", cwd=folder)
    with (folder / "a.o").open("ab") as file:
        file.write(b"\0" * (1 + (folder / "a.o").stat().st_size % 2))
    return folder


NAMES = ("a.o", "with_a_rather_long_name.o")


@pytest.mark.parametrize("format_", ["gnu", "bsd"])
def test_members_of_an_archive(objects: Path, format_: str) -> None:
    archive = objects / f"{format_}.a"
    run(bindir() / "llvm-ar", f"--format={format_}", "rcs", archive, *NAMES, cwd=objects)
    found = list(read_members(str(archive), archive.read_bytes()))
    assert [each.name for each in found] == list(NAMES)
    for each in found:
        assert each.data.rstrip(b"\0\n") == (objects / each.name).read_bytes().rstrip(b"\0")


def test_members_of_a_thin_archive(objects: Path) -> None:
    (objects / "lib").mkdir()
    run(bindir() / "llvm-ar", "rcs", "--thin", "lib/thin.a", *NAMES, cwd=objects)
    archive = objects / "lib" / "thin.a"
    found = list(read_members(str(archive), archive.read_bytes()))
    assert found == [
        ArchiveMember(name, (objects / name).read_bytes(), str(objects / name)) for name in NAMES
    ]
    archive.write_bytes(archive.read_bytes().replace(b"../a.o", b"../n.o"))
    with pytest.raises(InputError, match=r"thin.a: expected its member .*/n.o, got: No such file"):
        list(read_members(str(archive), archive.read_bytes()))


def test_a_damaged_archive_is_an_error(objects: Path) -> None:
    archive = objects / "cut.a"
    run(bindir() / "llvm-ar", "rcs", archive, *NAMES, cwd=objects)
    whole = archive.read_bytes()
    chosen = random.Random(3)
    damaged = [whole[:end] for end in range(8, len(whole), 37)]
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(3):
            data[chosen.randrange(8, 400)] = chosen.randrange(256)
        damaged.append(bytes(data))
    damaged.append(whole[:56] + b"-9999     " + whole[66:])
    said = set()
    for each in damaged:
        try:
            list(read_members("cut.a", each))
        except InputError as error:
            said.add(str(error))
    assert said == {"cut.a: expected an archive, got a damaged one"}


def test_a_damaged_object_is_an_error(objects: Path) -> None:
    whole = (objects / NAMES[1]).read_bytes()
    assert read_embedded("o", whole).arguments[0] == "-cc1"
    chosen = random.Random(4)
    said = set()
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(4):
            place = chosen.choice((chosen.randrange(64), len(whole) - 1 - chosen.randrange(900)))
            data[place] = chosen.randrange(256)
        cut = bytes(data[: chosen.choice((len(data), chosen.randrange(len(data))))])
        code_hash(cut)
        elf_type(cut)
        try:
            read_embedded("o", cut)
        except InputError as error:
            said.add(str(error))
    assert len(said) >= 3
    assert all(each.startswith("o: expected an ") for each in said)


def test_the_code_of_an_object(objects: Path) -> None:
    name = NAMES[1]
    run(bindir() / "llvm-objcopy", "--strip-unneeded", name, "stripped.o", cwd=objects)
    whole, stripped = (objects / name).read_bytes(), (objects / "stripped.o").read_bytes()
    assert whole != stripped
    assert code_hash(whole) == code_hash(stripped) != code_hash((objects / "a.o").read_bytes())
    assert code_hash(b"text") == ""
    assert elf_type(whole) == 1
    assert {each[0] for each in _core.object_sections(whole)} >= {".text", ".llvmbc", ".llvmcmd", ".symtab"}


def test_an_object_with_very_many_sections() -> None:
    """The numbers of sections beyond 16 bits are in the first one."""
    names = b"\0.x\0.names\0"
    rows = [
        (0, 0, 0, 0, 0, 3, 2, 0, 0, 0),
        (1, 1, 4, 0, 64, 2, 0, 0, 1, 0),
        (4, 3, 0, 0, 66, len(names), 0, 0, 1, 0),
    ]
    body = b"\x90\xc3" + names
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        1,
        62,
        1,
        0,
        0,
        64 + len(body),
        0,
        64,
        0,
        0,
        64,
        0,
        0xFFFF,
    )
    data = head + body + b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows)
    assert [(each[0], each[2]) for each in _core.object_sections(data)] == [
        (".x", b"\x90\xc3"),
        (".names", names),
    ]


def test_the_arguments_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "rsp").write_text('-Wl,--start-group "a b.o" -Wl,--end-group\n@rsp2 -g3')
    (tmp_path / "rsp2").write_text("-O2 -flto=thin -std=c99 -stdlib=libc++ -W -Wl,-rpath,x,-z,now")
    words = [
        "@rsp",
        "@none",
        "-o",
        "out/p",
        "-Llib",
        "-L",
        "/abs",
        "-la",
        "-l",
        "b",
        "-l:libc.a",
        "-Wl,--whole-archive",
        "w.a",
        "-Wl,--no-whole-archive",
        "x.a",
        "-Xlinker",
        "-Map",
        "-Xlinker",
        "m.map",
        "-Xlinker",
        "--no-gc-sections",
        "-Wl,-Map=z,--icf=all,-O1,--version-script=v",
        "-z",
        "pack-relative-relocs",
        "-no-pie",
        "-T",
        "s.ld",
        "-x",
        "c",
        "c.c",
        "-DX",
        "-I",
        "i",
        "-MF",
        "d",
        "-pthread",
        "-static-libgcc",
        "-fuse-ld=lld",
        "-s",
        "-u",
        "sym",
        "-ffunction-sections",
        "--",
        "-d.o",
    ]
    link = read_link(words, str(tmp_path), WITH_VALUE)
    here = str(tmp_path)
    folders = (f"{here}/lib", "/abs")
    assert link.output == f"{here}/out/p"
    assert link.items == (
        LinkItem(f"{here}/a b.o", is_input=True),
        LinkItem("-stdlib=libc++"),
        LinkItem("-Wl,-rpath"),
        LinkItem("-Wl,x"),
        LinkItem("-Wl,-z"),
        LinkItem("-Wl,now"),
        LinkItem(f"{here}/@none", is_input=True),
        LinkItem(f"-L{here}/lib"),
        LinkItem("-L/abs"),
        LinkItem("-la", library=folders),
        LinkItem("-lb", library=folders),
        LinkItem("-l:libc.a", library=folders),
        LinkItem(f"{here}/w.a", is_input=True, whole=True),
        LinkItem(f"{here}/x.a", is_input=True),
        LinkItem("-Wl,--no-gc-sections"),
        LinkItem("-Wl,--icf=all"),
        LinkItem("-Wl,-O1"),
        LinkItem("-Wl,--version-script=v"),
        LinkItem("-z"),
        LinkItem("pack-relative-relocs"),
        LinkItem("-no-pie"),
        LinkItem("-T"),
        LinkItem(f"{here}/s.ld"),
        LinkItem(f"{here}/c.c", is_input=True),
        LinkItem("-pthread"),
        LinkItem("-static-libgcc"),
        LinkItem("-u"),
        LinkItem("sym"),
        LinkItem(f"{here}/-d.o", is_input=True),
    )
    (tmp_path / "loop").write_text("@loop x.o")
    assert len(read_link(["@loop"], here, WITH_VALUE).items) < 100
    (tmp_path / "quote").write_text("'a")  # clang takes the rest as a word
    assert read_link(["@quote"], here, WITH_VALUE).items == (LinkItem(f"{here}/a", is_input=True),)


def test_arguments_for_an_object() -> None:
    given = (
        "-cc1 -O3 -emit-llvm-bc -flto=thin -flto-unit -dependency-file a.d -MT a.o -sys-header-deps -MP -Oz"
    )
    more = ["-opt-record-file", "y", "-ftime-trace=z", "-H", "-disable-llvm-passes", "-pic-level", "2"]
    made = for_object([*given.split(), *more])
    assert made == ["-cc1", "-O3", "-Oz", "-pic-level", "2", "-emit-obj", "-w"]
    assert [optimization_level(each) for each in (made, ["-O"], ["-Og"], [], ["-Ofast"])] == [
        "Oz",
        "O1",
        "O1",
        "O0",
        "O0",
    ]


def test_names_stay_in_the_folder() -> None:
    assert [inside(each) for each in ("/a/b.o", "../../c.o", "x/../y.o", "./z.o")] == [
        "a/b.o",
        "c.o",
        "y.o",
        "z.o",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["-Ts.ld"],
        ["-T", "s.ld"],
        ["-Wl,-Ts.ld"],
        ["-Wl,-T,s.ld"],
        ["-Wl,--script=s.ld"],
        ["-Wl,-T", "-Wl,s.ld"],
        ["-Xlinker", "--script", "-Xlinker", "s.ld"],
    ],
)
def test_a_linker_script_in_all_spellings(words: list[str], tmp_path: Path) -> None:
    link = read_link([*words, "-Wl,-Ttext=0x0", "-o", "p"], str(tmp_path), WITH_VALUE)
    assert link.items == (LinkItem("-T"), LinkItem(f"{tmp_path}/s.ld"), LinkItem("-Wl,-Ttext=0x0"))
