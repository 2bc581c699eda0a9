# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of the README and of all pages run in the order of the page, and print what it says."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.corpus.programs import programs
from tests.docs.page import DOCS, blocks_of, run_page

FAST: Final = {
    "../README.md": 3,
    "tutorial-llvm.md": 6,
    "tutorial-mlir.md": 5,
    "from-mlgo.md": 3,
    "size-in-ci.md": 2,
    "studies.md": 0,
    "vectorization.md": 4,
    "distribution.md": 3,
    "outlining.md": 6,
    "mlir-buffers.md": 1,
    "mlir-fusion.md": 2,
    "install.md": 0,
    "versions.md": 0,
    "mlir-tiling.md": 0,
    "own-policy.md": 1,
    "compiler-service.md": 1,
    "advised-allocator.md": 3,
    "rl4real.md": 1,
    "embeddings.md": 2,
}
"""Pages that run in some seconds, and how many outputs they show."""
SLOW: Final = {
    "bare-metal.md": 7,
    "front-ends.md": 5,
    "rust.md": 6,
    "rust-firmware.md": 2,
    "recipes.md": 10,
    "smaller.md": 2,
    "own-optimizer.md": 1,
    "tuning-mlir.md": 0,
}
"""Pages that take longer: searches, and C++ with LLVM's headers."""
AFTER: Final = {
    "from-mlgo.md": {
        "inlining.md": 0,
        "allocation.md": 0,
        "scheduling.md": 0,
        "aot.md": 1,
        "attach.md": 0,
        "cc.md": 0,
        "compare.md": 1,
        "corpus.md": 0,
        "report.md": 0,
        "runners.md": 0,
        "llc.md": 0,
        "advised-passes.md": 1,
        "phase-ordering.md": 0,
        "passes.md": 1,
        "own-point.md": 1,
        "policies.md": 0,
        "stock-plugin.md": 0,
        "grpc.md": 0,
        "interop.md": 0,
        "unwind.md": 0,
        "tuning.md": 0,
        "training.md": 1,
        "training-settings.md": 0,
    },
    "tutorial-mlir.md": {
        "mlir.md": 2,
        "mlir-inlining.md": 0,
        "mlir-lowering.md": 0,
        "mlir-plugin.md": 0,
    },
    "corpus.md": {"evaluation.md": 0},
    "smaller.md": {"ladder.md": 0},
}
"""Pages that go on from the files of another one, which they name."""
NOT_RUN: Final = {
    ("rust-firmware.md", "cargo clean"): "takes minutes; tests/cli/cc/test_rustc.py searches a crate",
    (
        "corpus.md",
        "passpilot corpus debian",
    ): "installs a Debian system; tests/training/corpus/test_debian.py does",
    ("../README.md", "make build"): "installs packages of Debian and from the index; every test stands on it",
    (
        "corpus.md",
        "python -m tests.corpus",
    ): "fetches and compiles 46 programs; `make corpus` and `make soak` do",
    (
        "training.md",
        "passpilot train ppo",
    ): "needs PyTorch; tests/training/learning/test_reinforce.py trains agents",
    ("training-settings.md", "passpilot train data --corpus"): "needs a corpus of four programs, and minutes",
    ("training-settings.md", "passpilot train evolve evolve.toml --engine"): "needs a Ray cluster",
    (
        "training-settings.md",
        "passpilot train native-size",
    ): "needs a corpus; tests/training/native_size trains one",
    ("training-settings.md", "python -m tests.corpus.export"): "takes hours: the recipe of a recorded run",
    ("training-settings.md", "passpilot train evolve evict"): "takes hours: the recipe of a recorded run",
    ("lit.md", "sudo apt-get"): "installs packages; tests/examples/test_lit_project.py runs the project",
    (
        "llvmlite.md",
        "python examples/",
    ): "a file of the checkout; tests/examples/test_kaleidoscope.py runs it",
    ("llvmlite.md", "pip install"): "needs the network; the tests have the package",
    (
        "mlir-tiling.md",
        "python examples/",
    ): "a file of the checkout; tests/examples/test_mlir_examples.py runs it",
    ("tuning.md", "passpilot tune "): "takes minutes; tests/training/tuning/test_build.py runs it on Lua",
    ("versions.md", "PASSPILOT_LLVM"): "installs packages of Debian sid; docs/versions.md has what was run",
    ("versions.md", "passpilot cc --llvm"): "needs another LLVM; tests/cli/cc/test_other_llvm.py runs it",
    ("install.md", "make build"): "installs packages; every test stands on it",
    (
        "install.md",
        "python3 -m venv",
    ): "installs packages; tests/newcomer/test_jobs.py runs it in a bare system",
    ("install.md", "sudo apt-get"): "installs packages; tests/newcomer/test_jobs.py runs it in a bare system",
    ("smaller.md", "sudo apt-get"): "installs packages; tests/newcomer/test_jobs.py runs it in a bare system",
    **dict.fromkeys(
        (
            ("front-ends.md", "sudo apt-get"),
            ("front-ends.md", "pip install"),
            ("rust-firmware.md", "sudo apt-get"),
            ("rust.md", "sudo apt-get"),
        ),
        "installs packages; tests/newcomer/test_jobs.py runs it in a bare system",
    ),
    (
        "bare-metal.md",
        "sudo apt-get",
    ): "installs packages; tests/newcomer/test_jobs.py runs it in a bare system",
    ("smaller.md", "curl "): "needs the network; the archive is there",
}
"""Blocks that do not run, by page and beginning, and why."""
NEEDED: Final = {
    "bare-metal.md": (
        *("qemu-system-arm", "qemu-system-riscv32", "qemu-aarch64", "node", "/usr/aarch64-linux-gnu"),
        *("/usr/lib/picolibc/arm-none-eabi", "/usr/lib/picolibc/riscv64-unknown-elf", "/usr/lib/wasm32-wasi"),
        "/usr/lib/arm-none-eabi/newlib",
    ),
    "front-ends.md": ("flang-22", "ldc2", "python-zig", "/usr/lib/gcc/x86_64-linux-gnu/12/include/objc"),
    "rust.md": ("/usr/bin/rustc", "/usr/bin/cargo", "/usr/share/cargo/registry/strsim-0.10.0"),
    "rust-firmware.md": (
        *("/usr/bin/rustc", "/usr/bin/cargo", "qemu-system-arm"),
        *("/usr/lib/rustlib/src/rust/library", "/usr/lib/picolibc/arm-none-eabi"),
    ),
}
"""Programs and folders of packages that `make build` does not install; a page is skipped without them."""
ELSEWHERE: Final = {
    "c-api.md": "tests/plugin/native/c/test_guide.py",
    "cpp.md": "tests/plugin/native/c/test_cpp_guide.py",
}
"""Pages whose commands another test runs."""
LATE: Final = ("ladder.md", "evaluation.md", "tuning.md", "training.md", "training-settings.md")
"""Of the pages that go on from others, those that take longer."""
LONG: Final = [pytest.mark.soak, pytest.mark.timeout(900)]


def skipped(page: str) -> tuple[str, ...]:
    return tuple(start for name, start in NOT_RUN if name == page)


def prepare(page: str, folder: Path) -> None:
    """Put there what the commands that do not run would have brought."""
    if page == "smaller.md":
        with tarfile.open(folder / "lua-5.4.4.tar.gz", "w:gz") as archive:
            archive.add(programs()["lua"].source, "lua-5.4.4")


def follow(page: str, folder: Path) -> int:
    """Run a page in a folder."""
    prepare(page, folder)
    return run_page(DOCS / page, folder, skipped(page))


@pytest.mark.parametrize("page", [*FAST, *(pytest.param(name, marks=LONG) for name in SLOW)])
def test_a_page_prints_what_it_says(page: str, tmp_path: Path) -> None:
    if missing := [one for one in NEEDED.get(page, ()) if not (shutil.which(one) or os.path.isdir(one))]:
        pytest.skip(f"{page} needs {', '.join(missing)}; the page has the packages")
    folder = tmp_path / "page"
    folder.mkdir()
    assert follow(page, folder) == (FAST | SLOW)[page]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """What is there at the end of a page."""

    @cache
    def at_the_end(page: str) -> Path:
        folder = tmp_path_factory.mktemp("before") / "page"
        folder.mkdir()
        earlier = [first for first, pages in AFTER.items() if page in pages]
        for first in earlier:
            shutil.copytree(at_the_end(first), folder, dirs_exist_ok=True)
        follow(page, folder)
        return folder

    return at_the_end


@pytest.mark.parametrize(
    ("first", "page"),
    [
        pytest.param(first, page, marks=LONG if page in LATE else [])
        for first, pages in AFTER.items()
        for page in pages
    ],
)
def test_a_page_goes_on_from_another(
    first: str, page: str, before: Callable[[str], Path], tmp_path: Path
) -> None:
    assert f"]({first}" in (DOCS / page).read_text()
    folder = tmp_path / "page"
    shutil.copytree(before(first), folder)
    assert follow(page, folder) == AFTER[first][page]


def test_every_page_with_commands_runs() -> None:
    """Commands are in `sh` blocks, and nowhere else; what does not run has a reason."""
    run = {*FAST, *SLOW, *ELSEWHERE, *(page for pages in AFTER.values() for page in pages)}
    for page in [DOCS.parent / "README.md", *DOCS.glob("*.md")]:
        name, text = os.path.relpath(page, DOCS), page.read_text()
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.findall(r"^    .*", outside, re.MULTILINE), name
        commands = [block.text for block in blocks_of(text) if not block.file]
        for start in skipped(name):
            assert any(block.startswith(start) for block in commands), f"{name}: no block starts with {start}"
        left = [block for block in commands if not block.startswith(skipped(name) or "\0")]
        assert not left or name in run, f"{name}: a page with commands that no test runs"


def test_a_wrong_output_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```c\n// a.c\nint x;\n```\n\n```sh\nwc -l <a.c\n```\n\n```text\n3\n```\n")
    folder = tmp_path / "page"
    folder.mkdir()
    with pytest.raises(AssertionError, match="wc -l"):
        run_page(page, folder)
