# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What measurements and sweeps share: arguments, turns, tables, records and bars."""
