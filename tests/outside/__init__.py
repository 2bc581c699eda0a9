# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Projects of others, built with advice and tried by their own tests."""
