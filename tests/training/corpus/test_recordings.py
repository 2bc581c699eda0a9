# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings written by hand: which unit an object is, how programs are named, and what cannot be read."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.corpus.builder import CorpusDraft
from passpilot.training.corpus.elf import code_hash
from passpilot.training.corpus.recorded.from_recording import draft_recording
from passpilot.training.corpus.recorded.link_command import LinkItem
from passpilot.training.corpus.recorded.recorder import _item, _library
from passpilot.training.corpus.recorded.recording import read_recording
from tests.training.corpus.test_formats import ROWS, elf, member


class Build:
    """A build in a folder, and its recording; the commands come in the order of their calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands = 0
        (folder / "recording" / "commands").mkdir(parents=True)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def command(self, **fields: object) -> None:
        """Write a command; later ones have names that sort before."""
        self.commands += 1
        value = {
            "format": 1,
            "time": self.commands,
            "directory": "/d",
            "driver": "cc",
            "command": ["clang-22"],
        }
        file = self.folder / "recording" / "commands" / f"{99 - self.commands}.json"
        file.write_text(json.dumps({**value, "units": [], **fields}))

    def unit(self, source: str, output: str = "", data: bytes = b"", **fields: object) -> dict[str, object]:
        """A unit; its object exists if it has data."""
        if data:
            (self.folder / output).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / output).write_bytes(data)
        return {
            "source": self.path(source),
            "language": "c",
            "arguments": ["-cc1", f"-D{source}"],
            "bitcode": "00",
            "output": output and self.path(output),
            **hashes(data),
            **fields,
        }

    def compiled(self, source: str, output: str, data: bytes, **fields: object) -> None:
        self.command(units=[self.unit(source, output, data, **fields)])

    def linked(self, output: str, *items: dict[str, object], **fields: Any) -> None:
        (self.folder / output).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / output).write_bytes(b"program")
        link = {"output": self.path(output), "sha256": fields.pop("sha256", ""), "items": items}
        self.command(link=link, **fields)

    def object(self, name: str, data: bytes) -> dict[str, object]:
        return {"kind": "object", "path": self.path(name), **hashes(data)}

    def draft(self, root: str = "") -> CorpusDraft:
        return draft_recording(self.path("recording"), root)


def hashes(data: bytes) -> dict[str, object]:
    return {"sha256": hashlib.sha256(data).hexdigest(), "code_sha256": code_hash(data)}


def archive(path: str, *members: tuple[str, bytes], whole: bool = False, text: str = "") -> dict[str, object]:
    rows = [{"name": name, **hashes(data)} for name, data in members]
    return {"kind": "archive", "path": path, "text": text, "whole": whole, "members": rows}


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


def code(byte: int, more: bytes = b"") -> bytes:
    """An object whose machine code is this byte; `more` is data beside it."""
    rows = ((1, 1, 4, bytes([byte])), (7, 1, 0, more or b"d"), ROWS[4])
    return elf(wide=True, order="<", rows=rows)


def test_an_object_is_the_unit_of_its_path_then_of_its_name_then_any(build: Build) -> None:
    same = code(1)
    build.command(
        units=[
            build.unit("one.c", "x/a.o", same),
            build.unit("two.c", "y/a.o", same),
            build.unit("three.c", "b.o", same),
        ]
    )
    for name in ("x/a.o", "y/a.o", "z/a.o", "other.o"):
        build.linked(f"p-{name.replace('/', '-')}", build.object(name, same))
    found = {each.name: each.objects for each in build.draft().programs}
    assert found == {
        "p-x-a.o": ("one.c",),
        "p-y-a.o": ("two.c",),
        "p-z-a.o": ("two.c",),
        "p-other.o": ("three.c",),
    }


def test_a_stripped_object_is_known_by_name_and_code(build: Build) -> None:
    build.compiled("one.c", "a.o", code(1, b"debug"))
    build.compiled("two.c", "b.o", code(2, b"debug"))
    items = [build.object("lib/a.o", code(1)), build.object("c.o", code(2)), build.object("text.o", b"text")]
    build.linked("p", *items)
    (program,) = build.draft().programs
    assert program.objects == ("one.c",)
    assert program.foreign == (build.path("c.o"), build.path("text.o"))


def test_units_of_the_link_itself_have_no_objects(build: Build) -> None:
    good = build.unit("a.c")
    bad = build.unit("b.c", problem="the front end failed")
    items: list[dict[str, object]] = [
        {"kind": "unit", "path": build.path(name)} for name in ("b.c", "a.c", "none.c")
    ]
    options: list[dict[str, object]] = [
        {"kind": "argument", "text": "-lm"},
        {"kind": "other", "path": "/lib/x.so"},
    ]
    build.linked("p", *items, *options, units=[good, bad], driver="c++")
    draft = build.draft()
    (program,) = draft.programs
    assert (program.objects, program.arguments) == (("a.c",), ("-lm",))
    assert program.foreign == (build.path("b.c"), build.path("none.c"), "/lib/x.so")
    assert (program.language, program.compiler, program.directory) == ("c++", "c++", "/d")
    (unit,) = draft.units
    assert (unit.origin.output, unit.origin.command, unit.origin.directory) == ("", ("clang-22",), "/d")


def test_a_unit_of_cxx_makes_a_program_of_cxx(build: Build) -> None:
    build.compiled("a.cpp", "a.o", code(1), language="c++")
    build.linked("p", build.object("a.o", code(1)))
    (program,) = build.draft().programs
    assert (program.language, program.compiler) == ("c++", "cc")


def test_archives_in_parts(build: Build) -> None:
    """What the build has not made stays in the archive, or in the library's own words."""
    build.compiled("a.c", "a.o", code(1))
    build.compiled("b.c", "b.o", code(2))
    ours, theirs = ("a.o", code(1)), ("t.o", code(9))
    plain = [
        archive("/all.a", ours, ("b.o", code(2))),
        archive("/some.a", ours, theirs, text="-lsome"),
        archive("/none.a", theirs),
        archive("/named.a", theirs, text="-lnamed"),
        archive("/all.a", ours),
    ]
    build.linked("plain", *plain)
    whole = [
        archive("/all.a", ours, ("b.o", code(2)), whole=True),
        archive("/some.a", ours, theirs, whole=True),
        archive("/none.a", theirs, whole=True),
        archive("/named.a", theirs, whole=True, text="-lnamed"),
    ]
    build.linked("whole", *whole)
    first, second = build.draft().programs
    assert (first.objects, first.libraries) == ((), (("a.c", "b.c"), ("a.c",)))
    assert (first.foreign, first.arguments) == (("/some.a", "/none.a"), ("-lnamed",))
    assert (second.objects, second.libraries, second.foreign) == (("a.c", "b.c"), (), ())
    around = "-Wl,--whole-archive,{},--no-whole-archive"
    assert second.arguments == (around.format("/some.a"), around.format("/none.a"), "-lnamed")


def test_a_partial_link_is_its_parts_without_its_arguments(build: Build) -> None:
    build.compiled("a.c", "a.o", code(1))
    both = code(7)
    build.linked(
        "both.o",
        build.object("a.o", code(1)),
        {"kind": "argument", "text": "-r"},
        sha256=hashes(both)["sha256"],
    )
    build.linked("p", {"kind": "argument", "text": "-lm"}, build.object("both.o", both))
    (program,) = build.draft().programs
    assert (program.name, program.objects, program.arguments) == ("p", ("a.c",), ("-lm",))


def test_a_partial_link_that_changes_nothing_is_its_input(build: Build) -> None:
    """The input may be one that is known, or foreign; it may come twice."""
    build.compiled("a.c", "a.o", code(1))
    both, theirs = code(7), code(8)
    build.linked("both.o", build.object("a.o", code(1)), sha256=hashes(both)["sha256"])
    build.linked("again.o", build.object("both.o", both), sha256=hashes(both)["sha256"])
    build.linked("same.o", build.object("theirs.o", theirs), sha256=hashes(theirs)["sha256"])
    parts = [build.object("again.o", both), build.object("same.o", theirs), build.object("both.o", both)]
    build.linked("p", *parts)
    (program,) = build.draft().programs
    assert (program.objects, program.foreign) == (("a.c", "a.c"), (build.path("theirs.o"),))


def test_objects_that_were_overwritten_have_names_of_their_own(build: Build) -> None:
    for number in range(3):
        build.compiled("a.c", "a.o", code(number))
        build.linked(f"p{number}", build.object("a.o", code(number)))
    draft = build.draft()
    assert [each.name for each in draft.units] == ["a.c@a.o", "a.c@a.o.2", "a.c@a.o.3"]
    assert [each.objects for each in draft.programs] == [(each.name,) for each in draft.units]


def test_the_last_link_of_a_program_counts(build: Build) -> None:
    """The order is that of the commands' times, not of their files."""
    build.compiled("a.c", "a.o", code(1))
    build.compiled("b.c", "b.o", code(2))
    build.linked("p", build.object("a.o", code(1)))
    build.linked("p", build.object("b.o", code(2)))
    (program,) = build.draft().programs
    assert program.objects == ("b.c",)


def test_programs_of_one_name_have_their_paths(build: Build) -> None:
    build.compiled("a.c", "a.o", code(1))
    for name in ("x/deep/tool", "y/tool", "z/other"):
        build.linked(name, build.object("a.o", code(1)))
    assert [each.name for each in build.draft().programs] == ["x-deep-tool", "y-tool", "other"]


@pytest.mark.parametrize(
    "probe",
    [
        *("CMakeFiles/3.25.1/CompilerIdC/a.out", "CMakeFiles/CompilerIdCXX/a.out"),
        *("CMakeFiles/CMakeScratch/TryCompile-x/p", "CMakeFiles/CMakeTmp/p", "meson-private/p"),
        *("conftest", "conftest.dir/p"),
    ],
)
def test_probes_are_no_programs(probe: str, build: Build) -> None:
    build.compiled("a.c", f"{probe}.o", code(1))
    build.linked(probe, build.object("x.o", code(1)))
    build.linked("kept/conftester", build.object("x.o", code(1)))
    draft = build.draft()
    assert [each.name for each in draft.programs] == ["conftester"]
    build.linked("kept/conftester")
    assert build.draft().units == []


def test_an_object_that_has_changed_is_left_out(build: Build) -> None:
    """One without code, as of bitcode, is not compared."""
    build.compiled("same.c", "a.o", code(1))
    build.compiled("stripped.c", "b.o", code(2, b"debug"))
    build.compiled("other.c", "c.o", code(3))
    build.compiled("gone.c", "d.o", code(4))
    build.compiled("lto.c", "e.o", b"BC\xc0\xdeone")
    (build.folder / "b.o").write_bytes(code(2))
    (build.folder / "c.o").write_bytes(code(4))
    (build.folder / "d.o").unlink()
    (build.folder / "e.o").write_bytes(b"BC\xc0\xdeother")
    draft = build.draft()
    assert [each.name for each in draft.units] == ["lto.c", "same.c", "stripped.c"]
    got = f"another {build.path('c.o')} than the recorded one"
    assert draft.problems == [f"{build.path('other.c')}: expected its object, got {got}; it is left out"]


def test_a_problem_is_told_once(build: Build) -> None:
    build.compiled("a.c", "a.o", code(1), problem="clang failed")
    build.linked("p", build.object("a.o", code(1)))
    build.linked("q", build.object("a.o", code(1)))
    draft = build.draft()
    assert draft.problems == [f"{build.path('a.c')}: clang failed; its object is linked as it is"]
    assert (draft.units, draft.programs) == ([], [])


def test_names_are_relative_to_the_root(build: Build) -> None:
    build.compiled("src/a.c", "a.o", code(1))
    build.compiled("src/deep/b.c", "b.o", code(2))
    assert [each.name for each in build.draft().units] == ["a.c", "deep/b.c"]
    assert [each.name for each in build.draft(str(build.folder)).units] == ["src/a.c", "src/deep/b.c"]
    mixed = [each.name for each in build.draft(build.path("src/deep")).units]
    assert mixed == ["b.c", build.path("src/a.c").lstrip("/")]
    elsewhere = [each.name for each in build.draft("/nowhere").units]
    assert elsewhere == [build.path(name).lstrip("/") for name in ("src/a.c", "src/deep/b.c")]


def test_what_a_recording_has(build: Build) -> None:
    (build.folder / "recording" / "commands" / "note.txt").write_text("no command")
    build.command(format=2)
    build.compiled("a.c", "a.o", code(1), bitcode="12ab", sha256="34", code_sha256="56")
    build.linked("p", build.object("a.o", code(1)), archive("/x.a", ("m.o", b"x"), whole=True))
    found = read_recording(build.path("recording"))
    (problem,) = found.problems
    assert problem.endswith("98.json: expected format 1, got 2 of another passpilot")
    (unit,) = found.units
    assert unit.bitcode == str(build.folder / "recording" / "bitcode" / "12ab.bc")
    assert (unit.sha256, unit.code_sha256, unit.arguments) == ("34", "56", ("-cc1", "-Da.c"))
    (link,) = found.links
    first, second = link.items
    assert (first.kind, first.path, first.whole) == ("object", build.path("a.o"), False)
    assert (second.path, second.whole, [each.name for each in second.members]) == ("/x.a", True, ["m.o"])
    with pytest.raises(InputError) as caught:
        read_recording(build.path("none"))
    advice = "record a build by passpilot build --record"
    expected = f"expected a recording, got: No such file or directory; {advice}"
    assert str(caught.value) == f"{build.path('none')}: {expected}"
    with pytest.raises(InputError) as caught:
        read_recording(str(build.folder))
    assert str(caught.value) == f"{build.folder}: expected a recording, got another folder; {advice}"


def test_the_library_that_a_name_means(tmp_path: Path) -> None:
    """The first folder that has it; a shared library there is not ours."""
    for name in ("one/libx.a", "two/libx.a", "two/libx.so", "two/liby.a", "two/own.a", "two/own.so"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    assert _library("x", [one, two]) == f"{one}/libx.a"
    assert _library("x", [two, one]) == ""
    assert _library("y", [one, two]) == f"{two}/liby.a"
    assert (_library(":own.a", [one, two]), _library(":own.so", [two])) == (f"{two}/own.a", "")
    assert (_library("z", [one, two]), _library("x", [])) == ("", "")


def test_what_an_input_of_a_link_is(tmp_path: Path) -> None:
    files = {
        "a.o": code(1),
        "shared.so": elf(wide=True, order="<"),
        "lto.o": b"BC\xc0\xdex",
        "wrapped.o": b"\xde\xc0\x17\x0bx",
        "text": b"text",
        "x.a": b"!<arch>\n" + member("m.o/", code(1)),
        "cut.a": b"!<arch>\n" + member("m.o/", b"abc", size="9"),
    }
    shared = files["shared.so"]
    files["a.o"] = shared[:16] + b"\x01\x00" + shared[18:]
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    def kind(name: str, **more: Any) -> dict[str, object]:
        return _item(LinkItem(str(tmp_path / name), is_input=True, **more), {str(tmp_path / "s.c")})

    kinds = {name: kind(name)["kind"] for name in (*files, "gone.o", "s.c")}
    assert kinds == {
        "a.o": "object",
        "shared.so": "other",
        "lto.o": "object",
        "wrapped.o": "object",
        "text": "other",
        "x.a": "archive",
        "cut.a": "other",
        "gone.o": "other",
        "s.c": "unit",
    }
    assert kind("a.o") == {"kind": "object", "path": str(tmp_path / "a.o"), **hashes(files["a.o"])}
    rows = [{"name": "m.o", **hashes(code(1))}]
    expected = {"kind": "archive", "path": str(tmp_path / "x.a"), "whole": True, "members": rows}
    assert kind("x.a", whole=True) == {**expected, "text": ""}
    os.rename(tmp_path / "x.a", tmp_path / "libx.a")
    found = _item(LinkItem("-lx", library=(str(tmp_path),)), set())
    assert found == {**expected, "path": str(tmp_path / "libx.a"), "text": "-lx", "whole": False}
    (tmp_path / "libx.a").write_text("INPUT(-ly)")
    for item in (LinkItem("-lx", library=(str(tmp_path),)), LinkItem("-lz", library=()), LinkItem("-O")):
        assert _item(item, set()) == {"kind": "argument", "text": item.text}
