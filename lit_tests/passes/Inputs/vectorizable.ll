; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Loops for the vectorizer: of independent iterations, of sums, of iterations that depend on earlier ones, with
; a hint in the source; and straight-line code.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; p[i] += q[i]
define void @add(ptr noalias %p, ptr noalias %q, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %to = getelementptr inbounds i32, ptr %p, i64 %i
  %from = getelementptr inbounds i32, ptr %q, i64 %i
  %a = load i32, ptr %to
  %b = load i32, ptr %from
  %c = add i32 %a, %b
  store i32 %c, ptr %to
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; a sum whose order matters
define float @exact(ptr %p, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi float [ 0.0, %entry ], [ %t, %loop ]
  %from = getelementptr inbounds float, ptr %p, i64 %i
  %a = load float, ptr %from
  %t = fadd float %s, %a
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop

exit:
  ret float %t
}

; a sum of 16-bit numbers from the end to the start of every second one
define i32 @backwards(ptr %p) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 20, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %t, %loop ]
  %from = getelementptr inbounds i16, ptr %p, i64 %i
  %a = load i16, ptr %from
  %w = sext i16 %a to i32
  %t = add i32 %s, %w
  %next = add nsw i64 %i, -1
  %done = icmp eq i64 %next, 0
  br i1 %done, label %exit, label %loop

exit:
  ret i32 %t
}

; p[i] += p[i - 8]
define void @distant(ptr %p, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 8, %entry ], [ %next, %loop ]
  %before = add nsw i64 %i, -8
  %from = getelementptr inbounds i32, ptr %p, i64 %before
  %to = getelementptr inbounds i32, ptr %p, i64 %i
  %a = load i32, ptr %from
  %b = load i32, ptr %to
  %c = add i32 %a, %b
  store i32 %c, ptr %to
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; p[i] += p[i - 1], which cannot be vectorized
define void @serial(ptr %p, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 1, %entry ], [ %next, %loop ]
  %before = add nsw i64 %i, -1
  %from = getelementptr inbounds i32, ptr %p, i64 %before
  %to = getelementptr inbounds i32, ptr %p, i64 %i
  %a = load i32, ptr %from
  %b = load i32, ptr %to
  %c = add i32 %a, %b
  store i32 %c, ptr %to
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; h[p[i]] = p[2 * i] where p[2 * i] > 0, with checks of pointers at run time
define void @hinted(ptr %h, ptr %p, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %twice = shl nuw nsw i64 %i, 1
  %from = getelementptr inbounds i32, ptr %p, i64 %twice
  %a = load i32, ptr %from
  %positive = icmp sgt i32 %a, 0
  br i1 %positive, label %then, label %latch

then:
  %to = getelementptr inbounds i32, ptr %h, i64 %i
  store i32 %a, ptr %to
  br label %latch

latch:
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop, !llvm.loop !0

exit:
  ret void
}

; four additions beside each other
define void @straight(ptr noalias %p, ptr noalias %q) {
  %p1 = getelementptr inbounds i8, ptr %p, i64 4
  %p2 = getelementptr inbounds i8, ptr %p, i64 8
  %p3 = getelementptr inbounds i8, ptr %p, i64 12
  %q1 = getelementptr inbounds i8, ptr %q, i64 4
  %q2 = getelementptr inbounds i8, ptr %q, i64 8
  %q3 = getelementptr inbounds i8, ptr %q, i64 12
  %a0 = load i32, ptr %q
  %a1 = load i32, ptr %q1
  %a2 = load i32, ptr %q2
  %a3 = load i32, ptr %q3
  %b0 = add i32 %a0, 1
  %b1 = add i32 %a1, 2
  %b2 = add i32 %a2, 3
  %b3 = add i32 %a3, 4
  store i32 %b0, ptr %p
  store i32 %b1, ptr %p1
  store i32 %b2, ptr %p2
  store i32 %b3, ptr %p3
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.vectorize.width", i32 2}
