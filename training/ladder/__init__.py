# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to switch on in a build: its levers, measured on what a corpus has recorded."""
