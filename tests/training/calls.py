# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module of two calls, which the tests of training compile."""

from typing import Final

CALLS: Final = """\
source_filename = "calls.c"
define internal i32 @callee(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define i32 @caller(i32 %x) {
  %a = call i32 @callee(i32 %x)
  %b = call i32 @callee(i32 %a)
  ret i32 %b
}
"""

CODE: Final = CALLS.encode()
