# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that share Python with the C API: their locks, their names, their environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import c_library
from tests.command import GENEROUS
from tests.plugin.native.c.test_programs import ENVIRONMENT, NATIVE, STRICT, flags, run

ROOT: Final = Path(__file__).parents[4]
POLICY: Final = "def decide(obs):\n    return True\n"

HOST: Final = f"""\
import ctypes, threading
import sys as system
system.path.insert(0, {str(ROOT)!r})
from tests.plugin.native.c.client import COptions, CPoint, c_library, described, flag

POINT = described({{"size": ("int64", (1,))}}, flag())


def create(kind):
    function = kind(str(c_library())).passpilot_runner_create
    function.restype = ctypes.c_void_p
    function.argtypes = ctypes.c_char_p, ctypes.POINTER(CPoint), ctypes.POINTER(COptions)
    assert function(b"python:policy.py:decide", ctypes.byref(POINT), None)
"""
TWO_THREADS: Final = """
starting, go_on = threading.Event(), threading.Event()


class Slow:
    def find_spec(self, name, path, target=None):
        if name == "passpilot.runners.c_api":
            starting.set()
            go_on.wait()


system.meta_path.insert(0, Slow())
first = threading.Thread(target=create, args=(ctypes.CDLL,))
first.start()
starting.wait()  # the library has its lock, and imports
system.setswitchinterval(1000)  # this thread keeps the GIL until it gives it up
go_on.set()
create(ctypes.PyDLL)  # calls with the GIL
first.join()
print("both")
"""
NAMES: Final = """
sys = tell = importlib = "mine"
before = {}
before.update(globals())
create(ctypes.CDLL)
after = dict(globals())
del after["before"], before["before"]
assert before == after, (before.keys() ^ after.keys(), after["sys"])
print("the same")
"""
ENVIRONMENT_OF_THREADS: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <passpilot.h>
#include <stdio.h>
#include <stdlib.h>

static int changes;

int setenv(const char *name, const char *value, int replace) {
  typedef int setter(const char *, const char *, int);
  fprintf(stderr, "setenv %s\n", name);
  ++changes;
  return ((setter *)dlsym(RTLD_NEXT, "setenv"))(name, value, replace);
}

int main(void) {
  const passpilot_point point = {"toy", NULL, 0, NULL, {PASSPILOT_FLAG, 0, NULL, 0, 0}};
  passpilot_runner *runner = passpilot_runner_create("python:policy.py:decide", &point, NULL);
  const char *threads = getenv("OPENBLAS_NUM_THREADS");
  if (!runner)
    puts(passpilot_last_error());
  passpilot_runner_destroy(runner);
  printf("%d changes, %s thread\n", changes, threads ? threads : "any");
  return 0;
}
"""
TWO_LIBRARIES: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <passpilot.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *create(void *path) {
  const passpilot_point point = {"toy", NULL, 0, NULL, {PASSPILOT_FLAG, 0, NULL, 0, 0}};
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  typedef passpilot_runner *creator(const char *, const passpilot_point *, const passpilot_options *);
  typedef const char *teller(void);
  if (!library)
    puts(dlerror());
  else if (!((creator *)dlsym(library, "passpilot_runner_create"))("python:policy.py:decide", &point, NULL))
    puts(((teller *)dlsym(library, "passpilot_last_error"))());
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t first;
  FILE *second;
  pthread_create(&first, NULL, create, argv[1]);
  while (access("starting", F_OK))
    usleep(1000);
  second = fopen("second", "w");
  fclose(second);
  create(argv[argc - 1]);
  pthread_join(first, NULL);
  puts("both");
  return 0;
}
"""
SLOW_START: Final = """
import os, sys, time
open("starting", "w").close()
while not os.path.exists("second"):
    time.sleep(0.001)
time.sleep(0.5)  # in which a library that does not wait comes here, too
if len(sys._current_frames()) == 1:
    open("started", "w").close()
"""
LATER: Final = """
import os
assert os.path.exists("started"), "two threads started Python"
"""


def hosted(script: str, folder: Path) -> str:
    """What a program in Python says that loads the library."""
    (folder / "policy.py").write_text(POLICY)
    done = subprocess.run(
        [sys.executable, "-c", HOST + script],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=GENEROUS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_thread_with_the_gil_does_not_wait_for_the_start(tmp_path: Path) -> None:
    assert hosted(TWO_THREADS, tmp_path) == "both\n"


def test_the_hosts_names_stay_its_own(tmp_path: Path) -> None:
    assert hosted(NAMES, tmp_path) == "the same\n"


@pytest.mark.parametrize("language", ["C", "C.UTF-8"])
def test_no_other_threads_environment_is_freed(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """setenv() may free what getenv() reads on another thread, so nobody calls it."""
    monkeypatch.setitem(ENVIRONMENT, "LC_ALL", language)
    monkeypatch.delitem(ENVIRONMENT, "OPENBLAS_NUM_THREADS", raising=False)
    (tmp_path / "policy.py").write_text(POLICY)
    (tmp_path / "a.c").write_text(ENVIRONMENT_OF_THREADS)
    run("cc", "-std=gnu99", *STRICT[:3], "-rdynamic", "a.c", *flags(), "-ldl", "-o", "a", cwd=tmp_path)
    assert run(tmp_path / "a", cwd=tmp_path) == "0 changes, 1 thread\n"


def test_one_of_two_libraries_starts_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other waits until it has started: a copy of the library has variables of its own."""
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SLOW_START)
    (tmp_path / "policy.py").write_text(LATER + POLICY)
    (tmp_path / "a.c").write_text(TWO_LIBRARIES)
    copy = shutil.copy(c_library(), tmp_path / "copy.so")
    words = ("-std=gnu99", *STRICT[:3], f"-I{NATIVE / 'include'}", "a.c", "-pthread", "-ldl", "-o", "a")
    run("cc", *words, cwd=tmp_path)
    assert run(tmp_path / "a", c_library(), copy, cwd=tmp_path) == "both\n"
