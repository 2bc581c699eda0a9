# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutates inputs of readers by what of the code they reach: atheris in Python, LLVM's fuzzer library in C++.

usage: python -m bench.sweeps.fuzz [READER ...] [--budget=T]

The readers are those of tests/fuzz/readers.py, and those of bench/native/fuzz.cpp, which is built with
AddressSanitizer and UBSan. build/fuzz keeps the inputs that reach new code: the next call goes on. An input
that raises another exception than passpilot's, ends the process, or takes ten seconds or a GiB, is kept in
tests/fuzz/seeds/found, where `make test` reads it, and the exit code is 1. bench/results/fuzz.json counts.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType
from typing import Any, Final

from bench.lib import ROOT, read, write
from bench.sweeps.programs import duration
from passpilot.plugin.errors import Error
from passpilot.plugin.version import MAJOR
from tests.fuzz.readers import DECISIONS, FOUND, READERS, RECORD, Reader, folder_of

FOLDER: Final = ROOT / "build/fuzz"
RESULT: Final = "fuzz.json"
NATIVE: Final = {
    "C++ decisions": DECISIONS,
    "C++ record": b"@oz?recipe=1\0" + RECORD,
    "C++ spec": b"onnx:m.onnx?output=x&threshold=0.5&map=x:a,b;y:*&as=logits",
    "C++ pipeline": b"function(gvn,loop-mssa(licm<x>)),mergefunc",
    "C++ text": "grpc:h:1?token=abc&x=\u202e \x1b[2J".encode(),
    "C++ tensors": b"a 7  1\nx 1 a,b -1 4\nmask 7  1 33\nadvice 1  1 33\n",
}
"""Seeds of the readers in bench/native/fuzz.cpp."""
BOUNDS: Final = ("-timeout=10", "-rss_limit_mb=1024", "-max_len=8192", "-print_final_stats=1", "-verbosity=0")
INSTRUMENTED: Final = ("passpilot", "tomllib", "elftools", "zipfile", "shlex")
"""The packages whose functions tell atheris which way they go."""


def build() -> str:
    """Compile the readers in C++; the program."""
    program = FOLDER / "native"
    sources = [ROOT / "bench/native/fuzz.cpp", *sorted((ROOT / "plugin/native/runtime").glob("*.cpp"))]
    flags = ("-std=c++17", "-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=fuzzer,address,undefined")
    native = ("-fno-sanitize=vptr", "-fno-sanitize-recover=all", f"-I{ROOT / 'plugin/native'}", "-ldl")
    subprocess.run([f"clang++-{MAJOR}", *flags, *native, *sources, "-o", program], check=True)
    return str(program)


def fuzz(name: str, command: Sequence[str], seed: bytes, seconds: float) -> dict[str, Any]:
    """Mutate the inputs of a reader; what came of it."""
    corpus, found = FOLDER / folder_of(name), FOUND / folder_of(name)
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    (corpus / "seed").write_bytes(seed)
    before = set(found.iterdir())
    limits = (*BOUNDS, f"-max_total_time={seconds:.0f}", f"-artifact_prefix={found}/")
    environment = {**os.environ, "PASSPILOT_READER": name.removeprefix("C++ ")}
    run = [*command, *limits, str(corpus), str(found)]
    done = subprocess.run(
        run, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
    runs = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    row = {
        "runs": int(runs[1]) if runs else 0,
        "inputs": len(list(corpus.iterdir())),
        "wrong": len(set(found.iterdir()) - before) or int(done.returncode != 0),
        "date": datetime.now(UTC).date().isoformat(),
    }
    if not any(found.iterdir()):
        found.rmdir()
    return row


def child(name: str, arguments: Sequence[str]) -> None:
    """Be the process of a reader in Python."""
    import atheris  # `make fuzz` installs it

    warnings.simplefilter("ignore")
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and (function.__module__ or "").split(".")[0] in INSTRUMENTED:
            atheris.instrument_func(function)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        atheris.Setup([name, *arguments], one(READERS[name][1], Path(folder)))
        atheris.Fuzz()


def one(reader: Reader, folder: Path) -> Callable[[bytes], None]:
    """A call of a reader; errors of passpilot's are right."""

    def call(data: bytes) -> None:
        with contextlib.suppress(Error):
            reader(data, folder)

    return call


def main(argv: Sequence[str]) -> int:
    if argv[:1] == ["child"]:
        child(argv[1], argv[2:])
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("readers", nargs="*", metavar="READER", help="all, unless some are named")
    parser.add_argument("--budget", type=duration, default=duration("90m"))
    options = parser.parse_args(argv)
    known = {**NATIVE, **{name: seed for name, (seed, _) in READERS.items()}}
    names = options.readers or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"expected readers among {', '.join(known)}, got {', '.join(unknown)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    native = build() if any(name in NATIVE for name in names) else ""
    ends, wrong = time.monotonic() + options.budget, 0
    for number, name in enumerate(names):
        share = max(1, (ends - time.monotonic()) / (len(names) - number))
        command = [native] if name in NATIVE else [sys.executable, "-m", "bench.sweeps.fuzz", "child", name]
        row = fuzz(name, command, known[name], share)
        record = read(RESULT, {"rows": {}})
        row["runs"] += record["rows"].get(name, {}).get("runs", 0)
        record["rows"][name] = row
        write(RESULT, record)
        print(f"{name}: {row['runs']:,} runs, {row['inputs']:,} inputs, {row['wrong']} wrong", flush=True)
        wrong += row["wrong"]
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
