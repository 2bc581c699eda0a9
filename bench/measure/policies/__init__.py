# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the policies of the package are worth."""
