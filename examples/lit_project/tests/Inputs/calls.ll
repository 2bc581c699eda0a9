; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
target triple = "x86_64-pc-linux-gnu"

declare i32 @outside(i32)

define i32 @leaf(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}

define i32 @cold(i32 %x) cold {
  %y = add i32 %x, 7
  ret i32 %y
}

define i32 @inner(i32 %x) {
  %y = call i32 @outside(i32 %x)
  ret i32 %y
}

define i32 @caller(i32 %x) {
  %a = call i32 @leaf(i32 %x)
  %b = call i32 @cold(i32 %a)
  %c = call i32 @inner(i32 %b)
  ret i32 %c
}
