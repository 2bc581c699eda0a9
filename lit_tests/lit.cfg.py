# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""End to end through installed commands: `passpilot` of this .venv, LLVM's tools by their plain names."""

import importlib.util
import os
import shutil
import signal
import subprocess
from pathlib import Path

import lit.formats

from passpilot.plugin.version import MAJOR

config = globals()["config"]  # lit runs this file with the configuration to fill in
here = Path(__file__).resolve().parent
venv = here.parent / ".venv" / "bin"
llvm = subprocess.check_output([f"llvm-config-{MAJOR}", "--bindir"], text=True).strip()

for number, action in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:  # as under nohup; the commands would inherit it
        signal.signal(number, action)

config.name = "passpilot"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent / "build" / "lit")

config.environment["PATH"] = os.pathsep.join([str(venv), llvm, os.environ["PATH"]])
for name in ("HOME", "XDG_CACHE_HOME", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

for tool in ("passpilot", "opt", "FileCheck", "not", "count", "split-file", "llvm-dis", "llc", "clang"):
    if not shutil.which(tool, path=config.environment["PATH"]):
        globals()["lit_config"].fatal(f"{tool} is not on the PATH; run `make build`")

loaded = subprocess.check_output([venv / "passpilot", "plugin-path"], text=True).strip()
config.substitutions += [
    ("%opt", f"opt -load-pass-plugin={loaded}"),
    ("%clang", f"clang -fpass-plugin={loaded}"),
    ("%llc", f"llc -load={loaded}"),
    ("%plugin", loaded),
]

plugin = subprocess.run([venv / "passpilot", "plugin-path", "--mlir"], capture_output=True, text=True)
if plugin.returncode == 0 and shutil.which("mlir-opt", path=llvm):
    config.available_features.add("mlir-plugin")
    config.substitutions.append(("%mlir-opt", f"mlir-opt --load-pass-plugin={plugin.stdout.strip()}"))

if shutil.which("ld.lld", path=llvm):
    config.available_features.add("lld")

for module in ("onnx", "llvmlite"):
    if importlib.util.find_spec(module):
        config.available_features.add(module)
