# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every example of every help text is run as it is printed, in one folder that has its inputs.

Searches get a small budget; what climbs ladders, and needs minutes, is a long test.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from passpilot.cli.cc.options import help_text
from passpilot.cli.main import EXAMPLE
from tests.cli.test_vocabulary import PARSERS
from tests.command import PASSPILOT
from tests.passes.mlir.schedule.kernels import MATMUL
from tests.runners.aot.models import small_mlp
from tests.training.evaluation.small import corpus

C: Final = """\
static int f(int x) { return x * x - 3; }
int g(int x) { return f(x) + f(x + 1); }
int main(int argc, char **argv) { (void)argv; return g(argc) == 77; }
"""
FILES: Final = {
    "in.c": C,
    "prog.c": C,
    "many.c": "".join(f"int f{i}(int x) {{ return x{' * x + 7' * (i % 9)}; }}\n" for i in range(100)),
    "lua.c": C,
    "model.cpp": "void model(int64_t users[1], int64_t callers[1], int64_t answer[1]) {\n"
    "  answer[0] = users[0] < callers[0];\n}\n",
    "host.c": "#include <passpilot_model.h>\nextern const struct passpilot_model my_policy;\n"
    "int main(void) { return my_policy.abi != PASSPILOT_MODEL_ABI; }\n",
    "compiler.c": "#include <passpilot.h>\nint main(void) { return passpilot_last_error() == 0; }\n",
    "policy.py": "def decide(obs):\n    return 0\n",
    "in.mlir": "func.func @f(%x: i32) -> i32 { return %x : i32 }\n",
    "matmul.mlir": MATMUL,
    "split.toml": '[parts]\ntrain = ["count", "shout"]\n',
    "imitate.toml": 'policy = "linear"\n[data]\ntrain = ["data/train"]\n',
    "Makefile": "lua: lua.o\n\t$(CC) lua.o -o lua\nlua.o: lua.c\n\t$(CC) -Oz -c lua.c -o lua.o\n",
}
WAITING: Final = "serve-compiler"


def examples(text: str) -> list[str]:
    """The lines of the blocks behind `example:` and `examples:`, with lines that go on joined."""
    found: list[str] = []
    for block in re.findall(r"^examples?:\n((?:(?:  .*)?\n)+)", f"{text}\n", re.MULTILINE):
        found += re.sub(r"\\\n\s*", "", block).splitlines()
    return [line.strip() for line in found if line.strip()]


HELPS: Final = {
    **{name: parser.format_help() for name, parser in PARSERS.items()},
    "cc": help_text("cc", "clang-22"),
    "passpilot": f"example:\n  {EXAMPLE}\n",
}


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the inputs of all examples."""
    here = tmp_path_factory.mktemp("ready")
    for name, text in FILES.items():
        (here / name).write_text(text)
    (here / "model.onnx").write_bytes(small_mlp().SerializeToString())
    corpus(here)
    run(
        here,
        "clang-22 -O2 -Xclang -disable-llvm-passes -emit-llvm -c in.c -o in.bc",
        "mkdir test modules; for f in a.bc lua.bc test/a.bc modules/a.bc; do cp in.bc $f; done",
        "clang-22 -Oz in.c -o lua; cp lua luac",
        "clang-22 -O1 -Xclang -disable-llvm-passes -emit-llvm -c many.c -o modules/many.bc",
        "for n in before after; do passpilot opt in.bc -O2 --inline=random:7 --log=$n.log -o o.bc; done",
        "passpilot tune in.bc --compiles=16 -o count.decisions; cp count.decisions shout.decisions",
    )
    return here


def run(folder: Path, *lines: str) -> None:
    path = os.pathsep.join([str(Path(PASSPILOT).parent), os.environ["PATH"]])
    script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n" + "\n".join(lines)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def shortened(lines: list[str], folder: Path) -> Iterator[str]:
    """The lines with small budgets for searches, and places of their own for servers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    for line in lines:
        line = re.sub(r" --budget=\d+", "", line) if "tune" in line else line
        line = re.sub(r"passpilot tune (?!--ladder)", "passpilot tune --compiles=2 ", line)
        line = f"rm -f lua.o; {line}" if "-- make" in line else line  # a build with something to do
        line = line.replace("5005", port).replace("/tmp/ch", str(folder / "ch"))
        yield f"timeout 5 {line} || test $? = 124" if f"passpilot {WAITING}" in line else line


def is_long(name: str) -> bool:
    return name in ("tune", "size", "eval", "build", "train evolve", "train native-size", "corpus debian")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] * is_long(name)) for name in HELPS]
)
def test_the_examples_of_a_help_run_as_printed(name: str, ready: Path, tmp_path: Path) -> None:
    if name in ("train ppo", "train dqn") and find_spec("stable_baselines3") is None:
        pytest.skip("needs passpilot[rl]")
    if name == "import":
        pytest.skip(
            "needs TensorFlow and a policy; tests/runners/foreign/test_saved_model.py imports several"
        )
    lines = examples(HELPS[name])
    assert lines, HELPS[name]
    here = tmp_path / "here"
    shutil.copytree(ready, here)
    if name == "train imitate":
        run(here, *shortened(examples(HELPS["train"])[:1], here))
    if any(line.endswith("-o corpus") for line in lines):
        shutil.rmtree(here / "corpus")
    run(here, *shortened(lines, here))


def test_every_subcommand_has_an_example_of_its_own() -> None:
    subcommands = [name for name in HELPS if " " in name]
    texts = [tuple(examples(HELPS[name])) for name in subcommands]
    assert len(subcommands) > 10
    assert len(set(texts)) == len(texts)
    for name, lines in zip(subcommands, texts, strict=True):
        assert any(f"passpilot {name}" in line for line in lines), name
