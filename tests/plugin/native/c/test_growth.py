# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that were compiled with another passpilot.h, and programs that run out of memory."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import c_library, include_folder
from tests.plugin.native.c.test_programs import POLICY, STRICT, flags, run

CLIENT: Final = r"""
#include <passpilot.h>
#include <stdio.h>

int main(void) {
  const passpilot_point point = {"toy", NULL, 0, NULL, {PASSPILOT_FLAG, 0, NULL, 0, 0}};
  struct {
    passpilot_options options;
    char behind[64]; /* what the library must not read */
  } given = {PASSPILOT_OPTIONS_INIT, ""};
  passpilot_runner *runner;
  passpilot_advice advice;
  int i;
  for (i = 0; i < (int)sizeof given.behind; ++i)
    given.behind[i] = 'x';
  given.options.default_on_error = 1;
  runner = passpilot_runner_create("const:1", &point, &given.options);
  if (!runner || passpilot_runner_evaluate(runner, &advice)) {
    printf("%s\n", passpilot_last_error());
    return 1;
  }
  printf("%d by options of %d bytes\n", (int)advice.integer, (int)sizeof given.options);
  passpilot_runner_destroy(runner);
  return 0;
}
"""
POOR: Final = r"""
#include <passpilot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int main(void) {
  const passpilot_point point = {"toy", NULL, 0, NULL, {PASSPILOT_FLAG, 0, NULL, 0, 0}};
  const size_t size = (size_t)1 << 27; /* a copy of the text does not fit */
  char *text = malloc(size);
  FILE *usage = fopen("/proc/self/statm", "r");
  struct rlimit most;
  unsigned long pages = 0;
  passpilot_runner *runner = passpilot_runner_create("const:1", &point, NULL);
  passpilot_place place = {NULL, NULL, NULL, 0, 0};
  passpilot_advice advice;
  if (!text || !runner || !usage || fscanf(usage, "%lu", &pages) != 1)
    return 1;
  most.rlim_cur = most.rlim_max = pages * 4096 + size / 2;
  if (setrlimit(RLIMIT_AS, &most))
    return 1;
  memset(text, 'x', size - 1);
  text[size - 1] = 0;
  place.caller = text;
  passpilot_runner_set_place(runner, &place);
  puts(passpilot_last_error());
  passpilot_runner_switch_context(runner, text);
  puts(passpilot_last_error());
  puts(passpilot_runner_evaluate(runner, &advice) ? "no advice" : "advice");
  passpilot_runner_destroy(runner);
  return 0;
}
"""
THROWS: Final = r"""
#include <passpilot.h>
#include <iostream>
#include <stdexcept>

static void warn(void *, const char *) { throw std::runtime_error("thrown by the client"); }

int main() {
  const passpilot_point point = {"toy", nullptr, 0, nullptr, {PASSPILOT_FLAG, 0, nullptr, 0, 0}};
  passpilot_options options = PASSPILOT_OPTIONS_INIT;
  options.default_on_error = 1;
  options.warn = warn;
  passpilot_runner *runner = passpilot_runner_create("python:policy.py:breaks", &point, &options);
  passpilot_advice advice;
  std::cout << passpilot_runner_evaluate(runner, &advice) << " " << passpilot_last_error() << std::endl;
  std::cout << passpilot_runner_evaluate(runner, &advice) << std::endl;
  passpilot_runner_destroy(runner);
}
"""


def built(folder: Path, *, cut: str = "", add: str = "") -> Path:
    """The client, compiled with a header whose options lack members from `cut` on, or have more."""
    include = folder / "include"
    include.mkdir()
    for header in include_folder().glob("*.h"):
        (include / header.name).write_text(header.read_text())
    header = include / "passpilot.h"
    text = header.read_text()
    members = re.search(r"typedef struct passpilot_options \{\n(.*?)\} passpilot_options;", text, re.DOTALL)
    assert members
    kept = members[1].partition(f"  {cut}")[0] if cut else members[1]
    text = text.replace(members[1], kept.rpartition("/*")[0] if kept.rstrip().endswith("*/") else kept + add)
    count = {"": 7, "const char *log": 3, "void (*warn)": 5}[cut]
    values = ["sizeof(passpilot_options)", "10.0", "0", *["NULL"] * 4][:count] + ["NULL"] * bool(add)
    initial = re.compile(r"\{sizeof\(passpilot_options\).*\}")
    assert initial.search(text)
    header.write_text(initial.sub("{" + ", ".join(values) + "}", text))
    (folder / "client.c").write_text(CLIENT)
    run("cc", "-std=c99", *STRICT, f"-I{include}", "client.c", *flags(), "-o", "client", cwd=folder)
    return folder / "client"


@pytest.mark.parametrize(("cut", "size"), [("", 56), ("void (*warn)", 40), ("const char *log", 24)])
def test_a_program_with_an_older_header_runs(tmp_path: Path, cut: str, size: int) -> None:
    assert run(built(tmp_path, cut=cut), cwd=tmp_path) == f"1 by options of {size} bytes\n"


def test_a_program_with_a_newer_header_is_refused(tmp_path: Path) -> None:
    told = run(built(tmp_path, add="  const char *newest;\n"), cwd=tmp_path, good=False)
    assert told.startswith("options: expected the size of passpilot_options, here 56 or less in an older ")
    assert told.endswith(
        "got 64; start from PASSPILOT_OPTIONS_INIT, and use the library of the header's version\n"
    )


def test_programs_ask_for_the_library_of_the_headers_version(tmp_path: Path) -> None:
    client = built(tmp_path)
    assert "[libpasspilot_c.so.1]" in subprocess.check_output(["readelf", "-d", client], text=True)
    assert c_library().name == "libpasspilot_c.so.1"


@pytest.mark.skipif(
    "libclang_rt" in os.environ.get("LD_PRELOAD", ""),
    reason="a sanitizer ends the process where memory ends",
)
def test_nothing_is_thrown_where_memory_ends(tmp_path: Path) -> None:
    (tmp_path / "poor.c").write_text(POOR)
    run("cc", "-std=gnu99", *STRICT, "poor.c", *flags(), "-o", "poor", cwd=tmp_path)
    told = run(tmp_path / "poor", cwd=tmp_path).splitlines()
    assert told == ["passpilot: expected memory, got none"] * 2 + ["advice"]


def test_an_exception_of_a_callback_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY)
    (tmp_path / "throws.cpp").write_text(THROWS)
    run("c++", "-std=c++17", "throws.cpp", *flags(), "-o", "throws", cwd=tmp_path)
    assert run(tmp_path / "throws", cwd=tmp_path) == "1 thrown by the client\n0\n"
