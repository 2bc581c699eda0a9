# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc --record`: the compilation is clang's own, and beside it stands what a corpus needs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest

from tests.command import GENEROUS, PASSPILOT, Done, files_in, refused, run
from tests.corpus.build import bindir
from tests.training.corpus.builds import recorded

WARNS: Final = "int f(int x) { int unused; return x + 1; }\nint main(void) { return f(-1); }\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder for sources, beside that of the recording."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "a.c").write_text(WARNS)
    (folder / "b.c").write_text("int g(void) { return 2; }\n")
    (folder / "wrong.c").write_text("int f(void) { return }\n")
    (folder / "asm.s").write_text('.globl h\nh: ret\n.section .note.GNU-stack,"",@progbits\n')
    return folder


def cc(*arguments: str, cwd: Path, prefix: tuple[str, ...] = ()) -> Done:
    return run(*prefix, PASSPILOT, "cc", f"--record={cwd.parent}/recording", *arguments, cwd=cwd)


def commands(here: Path) -> list[dict[str, object]]:
    return recorded(here.parent / "recording")


def units(here: Path) -> list[dict[str, object]]:
    """The units of the only command."""
    (command,) = commands(here)
    made = command["units"]
    assert isinstance(made, list)
    return made


@pytest.mark.parametrize(
    "arguments",
    [
        ("-Oz", "-Wall", "-MD", "-c", "a.c"),
        ("-O2", "-g", "-save-temps", "-Wall", "-c", "a.c", "-o", "a.o"),
        ("-O1", "-Wall", "-MMD", "-MF", "deps", "a.c", "b.c", "asm.s", "-o", "program"),
        ("-Oz", "-flto", "-c", "a.c"),
        ("-Oz", "-v", "-c", "wrong.c"),
        ("-Oz", "-ftime-trace", "-c", "b.c", "-fsave-optimization-record"),
        ("-Oz", "-MD", "-E", "a.c"),
        ("-Oz", "-S", "a.c", "-o", "-"),
        ("-###", "-c", "a.c", "-o", "a.o"),
        ("--version",),
    ],
    ids=" ".join,
)
def test_the_compilation_is_clangs(arguments: tuple[str, ...], here: Path) -> None:
    sources = files_in(here)
    theirs = run("clang-22", *arguments, cwd=here)
    made = {name: (here / name).read_bytes() for name in files_in(here)}
    for name in made.keys() - set(sources):
        (here / name).unlink()
    ours = cc(*arguments, cwd=here)
    assert (ours.code, ours.out, ours.err) == (theirs.code, theirs.out, theirs.err)
    now = {name: (here / name).read_bytes() for name in files_in(here)}
    assert now.keys() == made.keys()
    assert [name for name in now if now[name] != made[name] and not name.endswith(".json")] == []


def embedded(here: Path, *flags: str) -> tuple[bytes, list[str]]:
    """The bitcode and the arguments that clang itself embeds."""
    run("clang-22", *flags, "-Xclang", "-fembed-bitcode=all", "-o", "embedded.o", cwd=here)
    names = ("--dump-section=.llvmbc=bc", "--dump-section=.llvmcmd=cmd")
    run(bindir() / "llvm-objcopy", *names, "embedded.o", "/dev/null", cwd=here)
    words = (here / "cmd").read_bytes().decode().split("\0")[:-1]
    return (here / "bc").read_bytes(), [each for each in words if each != "-fembed-bitcode=all"]


@pytest.mark.parametrize(
    "flags",
    [
        ("-Oz", "-Wall", "-c", "a.c"),
        ("-O2", "-g", "-fPIC", "-ffunction-sections", "-DX='a b'", "-march=x86-64-v3", "-c", "a.c"),
        ("-x", "c++", "-std=c++20", "-Os", "-fno-rtti", "-c", "b.c"),
    ],
    ids=" ".join,
)
def test_what_is_recorded_is_what_clang_embeds(flags: tuple[str, ...], here: Path) -> None:
    assert cc(*flags, "-o", "embedded.o", cwd=here).code == 0
    bitcode, arguments = embedded(here, *flags)
    (unit,) = units(here)
    assert unit["arguments"] == arguments
    assert (here.parent / "recording" / "bitcode" / f"{unit['bitcode']}.bc").read_bytes() == bitcode
    assert unit["language"] == ("c++" if "c++" in flags else "c")


def test_a_link_has_its_parts(here: Path) -> None:
    assert run("clang-22", "-Oz", "-c", "b.c", "asm.s", cwd=here).code == 0
    assert run(bindir() / "llvm-ar", "rc", "libb.a", "b.o", "asm.o", cwd=here).code == 0
    assert run("clang-22", "-shared", "-fPIC", "b.c", "-o", "libshared.so", cwd=here).code == 0
    (here / "more").write_text('-Oz -flto=full "asm.o"\n')
    flags = ("-Wl,--gc-sections,-z,now", "-Wl,-Map,map", "-s", "-L", ".", "-pthread", "-DNAME")
    done = cc(
        "@more",
        "a.c",
        "-Wl,--whole-archive",
        "libb.a",
        "-Wl,--no-whole-archive",
        *flags,
        "-lb",
        "-lm",
        cwd=here,
    )
    assert done.code != 0, "asm.o is there twice"
    assert not (here.parent / "recording" / "commands").exists()
    assert (
        cc("a.c", "libb.a", "-fuse-ld=bfd", *flags, "-lb", "-lm", "-lshared", "-o", "p", cwd=here).code == 0
    )
    (command,) = commands(here)
    link = command["link"]
    assert isinstance(link, dict)
    assert link["output"] == str(here / "p")
    kinds = [(item["kind"], item.get("text") or item["path"]) for item in link["items"]]
    assert kinds == [
        ("unit", str(here / "a.c")),
        ("archive", str(here / "libb.a")),
        ("argument", "-Wl,--gc-sections"),
        ("argument", "-Wl,-z"),
        ("argument", "-Wl,now"),
        ("argument", f"-L{here}"),
        ("argument", "-pthread"),
        ("archive", "-lb"),
        ("argument", "-lm"),
        ("argument", "-lshared"),
    ]
    assert [member["name"] for member in link["items"][1]["members"]] == ["b.o", "asm.o"]


def test_the_same_command_again_replaces_its_record(here: Path) -> None:
    for _ in range(2):
        assert cc("-Oz", "-c", "a.c", cwd=here).code == 0
    assert len(commands(here)) == 1
    (here / "a.c").write_text("int main(void) { return 3; }\n")
    assert cc("-Oz", "-c", "a.c", cwd=here).code == 0
    (unit,) = units(here)
    assert len(list((here.parent / "recording" / "bitcode").iterdir())) == 2
    assert unit["source"] == str(here / "a.c")


def test_commands_may_run_together(here: Path) -> None:
    words = [str(PASSPILOT), "cc", f"--record={here.parent}/recording", "-Oz", "-c", "a.c", "-o"]
    running = [subprocess.Popen([*words, f"{number % 4}.o"], cwd=here, stderr=-3) for number in range(8)]
    assert [each.wait(GENEROUS) for each in running] == [0] * 8
    assert len(commands(here)) == 4
    assert len(list((here.parent / "recording" / "bitcode").iterdir())) == 1
    assert not [name for name in files_in(here.parent) if ".tmp" in name]


def test_advice_and_best_of_are_recorded_without_them(here: Path) -> None:
    assert cc("--best-of=2", "--inline=const:0", "-Oz", "-c", "a.c", "-o", "a.o", cwd=here).code == 0
    (command,) = commands(here)
    assert command["command"] == ["clang-22", "-Oz", "-c", "a.c", "-o", "a.o"]


def test_the_variable_does_as_the_option(here: Path) -> None:
    variable = f"PASSPILOT_RECORD={here.parent}/recording"
    assert run("env", variable, PASSPILOT, "c++", "-Oz", "-c", "b.c", cwd=here).code == 0
    (command,) = commands(here)
    assert command["driver"] == "c++"


@pytest.mark.parametrize("source", ["-", "/dev/stdin"])
def test_a_stream_is_recorded_as_a_problem(source: str, here: Path) -> None:
    text = f"echo 'int i;' | {PASSPILOT} cc --record={here.parent}/recording -x c -c {source} -o in.o"
    assert run("sh", "-c", text, cwd=here).code == 0
    (unit,) = units(here)
    assert unit["problem"] == "expected a file that can be read again, got a stream"


def test_a_front_end_that_fails_is_recorded_as_a_problem(here: Path) -> None:
    """The source is wrong as soon as it has been compiled."""
    (here / "once.c").write_text('#if __has_include("once.d")\n#error again\n#endif\nint i;\n')
    done = cc("-MD", "-c", "once.c", cwd=here)
    assert (done.code, done.err) == (0, "")
    (unit,) = units(here)
    assert unit["problem"] == "clang: expected it to succeed, got once.c:2:2: error: again"
    assert unit["bitcode"] == ""


def test_an_error_is_said_once_and_nothing_is_recorded(here: Path) -> None:
    theirs = run("clang-22", "-c", "wrong.c", cwd=here)
    ours = cc("-c", "wrong.c", cwd=here)
    assert (ours.code, ours.err) == (theirs.code, theirs.err)
    assert files_in(here.parent / "recording") == []


def test_a_recording_that_cannot_be_written_is_a_warning(here: Path) -> None:
    """As on a full disk: the object has room, the bitcode, with functions that are only inlined, has not."""
    inline = "extern inline __attribute__((gnu_inline)) int"
    functions = "".join(f"{inline} f{i}(int x) {{ return x + {i}; }}\n" for i in range(99))
    (here / "long.c").write_text(
        f"{functions}int g(void) {{ return {'+'.join(f'f{i}(1)' for i in range(99))}; }}\n"
    )
    done = cc("-O2", "-c", "long.c", cwd=here, prefix=("prlimit", "--fsize=4000"))
    assert done.code == 0
    assert done.err.startswith("passpilot: warning: cc: --record: ")
    assert done.err.endswith("got: File too large; the command is not recorded\n")
    assert (here / "long.o").exists()
    assert [
        name for name in files_in(here.parent / "recording") if name.endswith((".bc", ".json", ".tmp"))
    ] == []


def test_a_wrong_folder(here: Path) -> None:
    assert "--record: expected an absolute path, got recording" in refused(
        "cc", "--record=recording", "-c", "a.c", cwd=here, code=2
    )
    text = refused("cc", f"--record={here}/a.c/x", "-c", "a.c", cwd=here)
    assert f"--record: expected a folder, got {here}/a.c/x: Not a directory" in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_end_of_the_command_ends_clang(number: signal.Signals, here: Path) -> None:
    os.mkfifo(here / "slow.c")
    with subprocess.Popen([PASSPILOT, "cc", f"--record={here.parent}/r", "-c", "slow.c"], cwd=here) as child:
        end = time.monotonic() + GENEROUS
        while not (below := children(child.pid)) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(child.pid, number)
        assert child.wait(GENEROUS) == -number
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
