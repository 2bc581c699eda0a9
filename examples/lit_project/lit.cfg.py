# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The configuration that `lit -v .` reads; lit runs in the environment that passpilot is installed in."""

from pathlib import Path

import lit.formats

from passpilot.lit import configure

config = globals()["config"]  # lit runs this file with the configuration to fill in
here = Path(__file__).parent

config.name = "my policies"
config.test_format = lit.formats.ShTest()
config.suffixes = [".test"]
config.test_source_root = str(here)
config.test_exec_root = str(here / "Output")

configure(config, globals()["lit_config"])
