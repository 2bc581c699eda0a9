; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Functions with the same sequences: beside each other, in a loop, for size, and a local one.
@g = global i32 0

define void @first() {
  store volatile i32 1000, ptr @g
  store volatile i32 1001, ptr @g
  store volatile i32 1002, ptr @g
  store volatile i32 1003, ptr @g
  store volatile i32 1004, ptr @g
  store volatile i32 1005, ptr @g
  store volatile i32 1006, ptr @g
  store volatile i32 1007, ptr @g
  store volatile i32 1008, ptr @g
  store volatile i32 1009, ptr @g
  store volatile i32 1010, ptr @g
  store volatile i32 1011, ptr @g
  ret void
}

define void @second() {
  store volatile i32 1000, ptr @g
  store volatile i32 1001, ptr @g
  store volatile i32 1002, ptr @g
  store volatile i32 1003, ptr @g
  store volatile i32 1004, ptr @g
  store volatile i32 1005, ptr @g
  store volatile i32 1006, ptr @g
  store volatile i32 1007, ptr @g
  store volatile i32 1008, ptr @g
  store volatile i32 1009, ptr @g
  store volatile i32 1010, ptr @g
  store volatile i32 1011, ptr @g
  ret void
}

define internal void @third(i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 2000, ptr @g
  store volatile i32 2001, ptr @g
  store volatile i32 2002, ptr @g
  store volatile i32 2003, ptr @g
  store volatile i32 2004, ptr @g
  store volatile i32 2005, ptr @g
  store volatile i32 2006, ptr @g
  store volatile i32 2007, ptr @g
  %next = add i32 %i, 1
  %done = icmp sge i32 %next, %n
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

define void @fourth(i32 %n) {
  store volatile i32 2000, ptr @g
  store volatile i32 2001, ptr @g
  store volatile i32 2002, ptr @g
  store volatile i32 2003, ptr @g
  store volatile i32 2004, ptr @g
  store volatile i32 2005, ptr @g
  store volatile i32 2006, ptr @g
  store volatile i32 2007, ptr @g
  call void @third(i32 %n)
  ret void
}

define void @small() minsize {
  store volatile i32 3000, ptr @g
  store volatile i32 3001, ptr @g
  store volatile i32 3002, ptr @g
  store volatile i32 3003, ptr @g
  store volatile i32 3004, ptr @g
  store volatile i32 3005, ptr @g
  store volatile i32 3006, ptr @g
  store volatile i32 3007, ptr @g
  store volatile i32 3008, ptr @g
  ret void
}

define void @smaller() minsize {
  store volatile i32 3000, ptr @g
  store volatile i32 3001, ptr @g
  store volatile i32 3002, ptr @g
  store volatile i32 3003, ptr @g
  store volatile i32 3004, ptr @g
  store volatile i32 3005, ptr @g
  store volatile i32 3006, ptr @g
  store volatile i32 3007, ptr @g
  store volatile i32 3008, ptr @g
  ret void
}
