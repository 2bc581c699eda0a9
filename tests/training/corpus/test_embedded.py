# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects with embedded bitcode, read in this process: names, archives, indices, languages, and no clang."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import files_below
from passpilot.training.corpus.elf import code_hash
from passpilot.training.corpus.embedded import draft_embedded, draft_objects, draft_params
from passpilot.training.evaluation.unit_compiler import Toolchain
from tests.training.corpus.builds import run
from tests.training.corpus.test_formats import member


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Objects of C and C++, and one that wants an index for ThinLTO."""
    folder = tmp_path_factory.mktemp("embedded")
    embed = ("-Xclang", "-fembed-bitcode=all", "-Oz", "-c")
    for name in ("a.c", "b.cpp", "c.cc"):
        (folder / name).write_text(f"int {name[0]}(int x) {{ return x; }}\n")
        run("clang-22", *embed, name, "-o", f"{name}.o", cwd=folder)
    data = (folder / "a.c.o").read_bytes()
    place = data.index(b"-main-file-name\0a.c\0")
    flag = b"-fthinlto-index=xyz\0"
    assert len(flag) == len(b"-main-file-name\0a.c\0")
    (folder / "thin.obj").write_bytes(data[:place] + flag + data[place + len(flag) :])
    return folder


def test_units_have_the_language_of_their_source(objects: Path) -> None:
    made = draft_objects(str(objects))
    found = {each.name: (each.origin.language, each.origin.source) for each in made.units}
    assert found == {"a.c.o": ("c", "a.c"), "b.cpp.o": ("c++", "b.cpp"), "c.cc.o": ("c++", "c.cc")}
    unit = made.units[0]
    assert unit.origin.output == str(objects / "a.c.o")
    assert unit.origin.code_sha256 == code_hash((objects / "a.c.o").read_bytes())
    assert unit.bitcode().startswith(b"BC")
    assert unit.arguments(None)[0] == "-cc1"  # type: ignore[arg-type]
    assert (unit.thinlto, made.problems) == (None, [])


def test_a_unit_that_wants_an_index_has_it_below_the_root(objects: Path, tmp_path: Path) -> None:
    row = [("/x/../thin.o", objects / "thin.obj")]
    absent = draft_embedded(row, str(tmp_path))
    assert absent.units == []
    assert absent.problems == [f"thin.o: expected its index for ThinLTO, {tmp_path}/xyz, got none"]
    (tmp_path / "xyz").write_bytes(b"index")
    (unit,) = draft_embedded(row, str(tmp_path)).units
    assert unit.thinlto
    assert (unit.name, unit.thinlto(), unit.origin.language) == ("thin.o", b"index", "")


def test_members_of_one_name_are_numbered(objects: Path, tmp_path: Path) -> None:
    """A member without bitcode does not hide the others."""
    data = [(objects / f"{name}.o").read_bytes() for name in ("a.c", "b.cpp", "c.cc")]
    parts = [
        member("m.o/", data[0]),
        member("m.o/", b"text"),
        member("m.o/", data[1]),
        member("m.o/", data[2]),
    ]
    (tmp_path / "x.a").write_bytes(b"!<arch>\n" + b"".join(parts))
    made = draft_embedded([("lib/x.a", tmp_path / "x.a")], ".")
    assert {each.name: each.origin.source for each in made.units} == {
        "lib/x.a/m.o": "a.c",
        "lib/x.a/m.o.2": "b.cpp",
        "lib/x.a/m.o.3": "c.cc",
    }
    assert made.problems == ["lib/x.a/m.o.2: expected an ELF object, got another file"]
    assert {each.origin.output for each in made.units} == {str(tmp_path / "x.a")}


def test_the_inputs_of_a_linker(objects: Path, tmp_path: Path) -> None:
    """Outputs, options and other files are none; one that comes twice is one."""
    words = "-o a.c.o --output c.cc.o -Lx.o b.cpp.o b.cpp.o x.so gone.o -lm"
    (tmp_path / "params").write_text(words)
    made = draft_params(str(tmp_path / "params"), str(objects))
    assert [each.name for each in made.units] == ["b.cpp.o"]
    assert made.problems == ["gone.o: expected an object, got: No such file or directory"]


def test_files_below_a_folder_are_sorted(tmp_path: Path) -> None:
    for name in ("b.o", "a/c.o", "a.o", "x.obj"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.o").mkdir()
    names = [str(each.relative_to(tmp_path)) for each in files_below(str(tmp_path), ".o")]
    assert names == ["a/c.o", "a.o", "b.o"]
    for wrong in ("none", "a.o"):
        with pytest.raises(InputError) as caught:
            files_below(str(tmp_path / wrong), ".o")
        assert str(caught.value) == f"{tmp_path}/{wrong}: expected a folder, got none"


CLANG = """#!/bin/sh
case "$1" in
  --version) echo 'clang version 22.9'; echo 'Target: x' ;;
  *) echo '{lld}' ;;
esac
exit {code}
"""


def test_the_compilers_of_an_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(name: str, *, lld: str = "/bin/sh", code: int = 0) -> str:
        (tmp_path / name).write_text(CLANG.format(lld=lld, code=code))
        (tmp_path / name).chmod(0o755)
        return str(tmp_path / name)

    def told() -> str:
        with pytest.raises(InputError) as caught:
            Toolchain.find()
        return str(caught.value)

    monkeypatch.setenv("PATH", str(tmp_path))
    hint = "is not on the PATH; sudo apt-get install clang-22"
    assert told() == f"eval: clang-22 {hint}"
    clang = install("clang-22")
    assert told() == f"eval: clang++-22 {hint}"
    both = {"c": clang, "c++": install("clang++-22")}
    assert told() == "eval: llvm-strip-22 is not on the PATH; sudo apt-get install llvm-22"
    strip = install("llvm-strip-22")
    assert Toolchain.find() == Toolchain("clang version 22.9", both, strip)
    install("clang-22", lld=str(tmp_path / "no-lld"))
    assert told() == "eval: expected lld, got none; sudo apt-get install lld-22"
    install("clang-22", code=1)
    assert told().startswith(f"eval: expected {clang} to run, got: ")
