; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Parses, but uses a value before its definition.
define i32 @f(i32 %x) {
entry:
  br label %next
next:
  %y = add i32 %z, 1
  %z = add i32 %y, 1
  ret i32 %z
}
