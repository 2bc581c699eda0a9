; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; LLVM's default inlines @small and keeps @big, at every level.
target triple = "x86_64-pc-linux-gnu"

declare void @work(i32)

define i32 @small(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}

define i32 @big(i32 %x) {
  call void @work(i32 0)
  call void @work(i32 1)
  call void @work(i32 2)
  call void @work(i32 3)
  call void @work(i32 4)
  call void @work(i32 5)
  call void @work(i32 6)
  call void @work(i32 7)
  call void @work(i32 8)
  call void @work(i32 9)
  call void @work(i32 10)
  call void @work(i32 11)
  call void @work(i32 12)
  call void @work(i32 %x)
  ret i32 %x
}

define i32 @caller(i32 %x) {
  %a = call i32 @small(i32 %x)
  %b = call i32 @big(i32 %a)
  ret i32 %b
}
