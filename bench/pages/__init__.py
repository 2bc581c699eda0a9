# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of the docs that are made of records."""
