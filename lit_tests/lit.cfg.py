# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""End to end through installed commands: `passpilot` of this .venv, LLVM's tools by their plain names."""

import os
import signal
import sys
from pathlib import Path

from passpilot.lit import configure

config = globals()["config"]  # lit runs this file with the configuration to fill in
here = Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
from tests.other_llvm import DEFAULT, MAJOR, ShTest  # noqa: E402

for number, action in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:  # as under nohup; the commands would inherit it
        signal.signal(number, action)

config.name = "passpilot"
config.test_format = ShTest(execute_external=False)
config.suffixes = [".ll", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent / "build" / "lit")

if len(os.sched_getaffinity(0)) > 1:
    config.available_features.add("two-processors")

configure(config, globals()["lit_config"])
if MAJOR < DEFAULT:  # clang reads -mllvm before it loads -fpass-plugin
    flag = "-fpass-plugin=%plugin"
    config.substitutions.insert(0, (flag, f"{flag} -Xclang -load -Xclang %plugin"))
test = "PYTEST_CURRENT_TEST"  # for bench.sweeps.mutants
config.environment |= {test: os.environ[test]} if test in os.environ else {}
