; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; A loop of seven iterations inside one of %n, a loop that the source gives a factor, and functions that ask
; for size or for nothing.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @nest(ptr %p, i32 %n) {
entry:
  br label %outer

outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
  %s = phi i32 [ 0, %entry ], [ %t, %latch ]
  br label %inner

inner:
  %j = phi i32 [ 0, %outer ], [ %j.next, %inner ]
  %r = phi i32 [ %s, %outer ], [ %t, %inner ]
  %k = add i32 %i, %j
  %q = getelementptr i32, ptr %p, i32 %k
  %v = load i32, ptr %q
  %d = sdiv i32 %r, %v
  %t = xor i32 %d, %v
  %j.next = add nuw nsw i32 %j, 1
  %j.done = icmp eq i32 %j.next, 7
  br i1 %j.done, label %latch, label %inner

latch:
  %i.next = add nuw nsw i32 %i, 1
  %i.done = icmp sge i32 %i.next, %n
  br i1 %i.done, label %exit, label %outer

exit:
  ret i32 %t
}

define void @pragma(ptr %p, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %q = getelementptr i32, ptr %p, i32 %i
  store volatile i32 %i, ptr %q
  %next = add nuw nsw i32 %i, 1
  %done = icmp sge i32 %next, %n
  br i1 %done, label %exit, label %loop, !llvm.loop !0

exit:
  ret void
}

define internal i32 @small(i32 %x) optsize {
  %y = sdiv i32 %x, 1000
  ret i32 %y
}

define i32 @calls(i32 %x) {
  %y = call i32 @small(i32 %x)
  ret i32 %y
}

define i32 @smallest(i32 %x) minsize optsize {
  %y = call i32 @outside(i32 %x)
  ret i32 %y
}

define i32 @kept(i32 %x) noinline optnone {
  ret i32 %x
}

declare i32 @outside(i32)

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 3}
