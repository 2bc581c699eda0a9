; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
target triple = "x86_64-pc-linux-gnu"

define i32 @leaf(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}

define i32 @sum(ptr %p, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %t, %loop ]
  %q = getelementptr i32, ptr %p, i32 %i
  %v = load i32, ptr %q
  %w = call i32 @leaf(i32 %v)
  %t = add i32 %s, %w
  %next = add i32 %i, 1
  %done = icmp sge i32 %next, %n
  br i1 %done, label %exit, label %loop

exit:
  ret i32 %t
}

define i32 @kept(i32 %x) noinline optnone {
  %y = call i32 @leaf(i32 %x)
  ret i32 %y
}
