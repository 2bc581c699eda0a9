# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the policies of the package were made; `python -m tools.policies --help`."""
