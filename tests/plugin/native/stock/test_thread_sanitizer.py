# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tools/sanitize.sh thread` sees races in tasks of LLVM's thread pool, which run below `pthread_once`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.corpus.build import bindir

PROGRAM: Final = """
#include <pthread.h>
void increment(void);
static void *run(void *once) {
  pthread_once(once, increment);
  return 0;
}
int main(void) {
  pthread_once_t onces[2] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], 0, run, &onces[i]);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], 0);
  return 0;
}
"""
LIBRARY: Final = """
static volatile long count;
void increment(void) {
  for (int i = 0; i < 100000; ++i)
    ++count;
}
"""


@pytest.mark.skipif("tsan" not in os.environ.get("LD_PRELOAD", ""), reason="only under ThreadSanitizer")
def test_a_race_below_pthread_once_is_found(tmp_path: Path) -> None:
    """The program is like the linker, without ThreadSanitizer; the library like the plugin, with it."""
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "library.c").write_text(LIBRARY)
    plain = {**os.environ, "LD_PRELOAD": ""}
    for command in (
        ["-fsanitize=thread", "-fPIC", "-shared", "library.c", "-o", "liblibrary.so"],
        [
            "program.c",
            "-L.",
            "-llibrary",
            "-Wl,-rpath,$ORIGIN",
            "-Wl,--allow-shlib-undefined",
            "-o",
            "program",
        ],
    ):
        words = [str(bindir() / "clang"), "-O1", *command]
        subprocess.run(words, cwd=tmp_path, env=plain, check=True, timeout=60)
    shown = {  # ThreadSanitizer reads UndefinedBehaviorSanitizer's options, too
        name: re.sub(r"log_path=[^:]*", "log_path=stderr", os.environ.get(name, ""))
        for name in ("TSAN_OPTIONS", "UBSAN_OPTIONS")
    }
    done = subprocess.run(
        [tmp_path / "program"],
        env={**os.environ, **shown},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 66
    assert "data race" in done.stderr
    assert "increment" in done.stderr
