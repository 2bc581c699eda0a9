# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of machine code of a function, from its IR: `NativeSize` estimates them, `fit` learns how."""
