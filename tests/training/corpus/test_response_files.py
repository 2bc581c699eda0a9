# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Response files are split as clang splits them."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.training.corpus.recorded.response_files import configured, expanded
from tests.cli.cc.test_main import CALLS, NO, good, logs
from tests.command import PASSPILOT

FILES: Final = 150
PIECES: Final = (
    *"0123",
    "00",
    "é",
    " ",
    " ",
    "\t",
    "\n",
    "\r\n",
    "'",
    '"',
    "''",
    '""',
    "\\",
    "\\\\",
    '\\"',
    "\\'",
)
"""No word of these is close to an option of clang, which would add a hint to its message."""


def response_file(chosen: random.Random, number: int) -> str:
    """Any text; it may name a file that was written before, or one that does not exist."""
    pieces = chosen.choices(PIECES, k=chosen.randint(0, 40))
    for _ in range(chosen.choice((0, 0, 1, 2))):
        name = f"r{chosen.randint(max(number - 20, 0), number - 1)}" if number else "0"
        pieces.insert(chosen.randint(0, len(pieces)), f" @{name} ")
    return "".join(pieces)


@pytest.mark.parametrize("quoting", ["posix", "windows"])
def test_random_files_are_split_as_clang_splits_them(
    quoting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind `--` clang names every word, because there is no such file."""
    monkeypatch.chdir(tmp_path)
    chosen = random.Random(quoting)
    names = [f"r{number}" for number in range(FILES)]
    texts = [response_file(chosen, number) for number in range(FILES)]
    for name, text in zip(names, texts, strict=True):
        Path(name).write_bytes(text.encode())
    arguments = [f"--rsp-quoting={quoting}", "-###", "--", *(f"@{name}" for name in names)]
    done = subprocess.run(["clang-22", *arguments], capture_output=True, check=False, timeout=60)
    words = expanded(arguments)[3:]
    said = "".join(f"clang-22: error: no such file or directory: '{word}'\n" for word in words)
    assert len(words) > 500
    assert said.encode() in done.stderr
    assert done.stderr.count(b"no such file or directory: ") == len(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"-D'A=1 -E 2'", ["-DA=1 -E 2"]),
        (b'-D"A=\\"x\\"" y', ['-DA="x"', "y"]),
        (b"a\\ b 'c\\'d' \\", ["a b", "c'd", "\\"]),
        (b'\'\' "" "open', ["open"]),
        (b"\xef\xbb\xbfa", ["a"]),
        ("a 'b é'".encode("utf-16"), ["a", "b é"]),
        (b"caf\xe9.c -c", ["caf\udce9.c", "-c"]),
        (b"a\0b c", ["a", "c"]),
    ],
)
def test_words(text: bytes, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "args").write_bytes(text)
    assert expanded(["x", f"@{tmp_path}/args", "y"]) == ["x", *words, "y"]


def test_nested_files_are_read_where_they_stand(tmp_path: Path) -> None:
    inner, outer, itself = tmp_path / "inner", tmp_path / "outer", tmp_path / "itself"
    inner.write_text("'-c'\n\"a b.c\"")
    outer.write_text(f"-O2 @{inner} -g")
    words = expanded(["x", f"@{outer}", "@none", f"@{tmp_path}", "y"])
    assert words == ["x", "-O2", "-c", "a b.c", "-g", "@none", f"@{tmp_path}", "y"]
    itself.write_text(f"-c @{itself} @{itself}")
    assert expanded([f"@{itself}"]) == ["-c", f"@{itself}", f"@{itself}"]


def test_paths_are_relative_to_the_folder_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a @two d")
    (tmp_path / "two").write_text("'b c'")
    assert expanded(["x", "@one", "y"], str(tmp_path)) == ["x", "a", "b c", "d", "y"]
    for number in range(20):
        (tmp_path / str(number)).write_text(f"@{number + 1}")
    assert expanded(["@0"], str(tmp_path)) == ["@20"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "calls.c").write_text(CALLS)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        """-O2 "-DA=x -E y" -c calls.c""",
        """-O2 -DA="x -fsyntax-only y" -c calls.c""",
        """-O2 -DA=x\\ -E -c calls.c""",
        """-O2 -DA='"-M" -O0 ' -c calls.c""",
        """@nested -c calls.c""",
    ],
)
def test_a_quoted_value_does_not_end_the_advice(text: str, here: Path) -> None:
    (here / "args").write_text(text)
    (here / "nested").write_text("-O2 '-DA= -E '")
    assert good(NO, "--log=logs/", "@args", cwd=here) == ""
    assert list(logs(here).values()) == [2]


def test_a_response_file_may_be_a_pipe(here: Path) -> None:
    script = f"{PASSPILOT} cc {NO} --log=logs/ @<(echo \"-O2 '-DA= -E ' -c calls.c\")"
    subprocess.run(["bash", "-c", script], cwd=here, check=True, timeout=60)
    assert list(logs(here).values()) == [2]
    assert (here / "calls.o").exists()


def test_windows_quoting_is_heeded(here: Path) -> None:
    (here / "args").write_text("""-O2 "-DA= -E ""x\"\"\" -c calls.c -o 'x""")
    assert good(NO, "--rsp-quoting=windows", "--log=logs/", "@args", cwd=here) == ""
    assert list(logs(here).values()) == [2]
    assert (here / "'x").exists()


def test_config_files_are_read_first(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c/board.cfg").write_text(
        "# a board\n--target=thumbv6m-none-eabi \\\n-L<CFGDIR>/lib\n@more\n$-lc\n"
    )
    (tmp_path / "c/more").write_text("-nostdlib\n")
    words = configured(["-Oz", "--config=c/board.cfg", "--config=none", "a.c"], str(tmp_path))
    assert words == [
        *("--target=thumbv6m-none-eabi", f"-L{tmp_path}/c/lib", "-nostdlib"),
        *("-Oz", "--config=none", "a.c", "-lc"),
    ]
