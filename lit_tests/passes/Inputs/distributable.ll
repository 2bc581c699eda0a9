; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Loops of which one part depends on earlier iterations: beside another part, alone, and with a hint in the source.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; p[i] += p[i - 3]; q[i] *= 5
define void @parts(ptr noalias %p, ptr noalias %q, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 3, %entry ], [ %next, %loop ]
  %before = add nsw i64 %i, -3
  %from = getelementptr inbounds i32, ptr %p, i64 %before
  %to = getelementptr inbounds i32, ptr %p, i64 %i
  %a = load i32, ptr %from
  %b = load i32, ptr %to
  %c = add i32 %a, %b
  store i32 %c, ptr %to
  %other = getelementptr inbounds i32, ptr %q, i64 %i
  %d = load i32, ptr %other
  %e = mul i32 %d, 5
  store i32 %e, ptr %other
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop, !llvm.loop !0

exit:
  ret void
}

; p[i] += p[i - 3]
define void @one(ptr %p, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 3, %entry ], [ %next, %loop ]
  %before = add nsw i64 %i, -3
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

; p[i] += p[i - 3]; q[i] *= 5, where p and q may overlap
define void @overlap(ptr %p, ptr %q, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 3, %entry ], [ %next, %loop ]
  %before = add nsw i64 %i, -3
  %from = getelementptr inbounds i32, ptr %p, i64 %before
  %to = getelementptr inbounds i32, ptr %p, i64 %i
  %a = load i32, ptr %from
  %b = load i32, ptr %to
  %c = add i32 %a, %b
  store i32 %c, ptr %to
  %other = getelementptr inbounds i32, ptr %q, i64 %i
  %d = load i32, ptr %other
  %e = mul i32 %d, 5
  store i32 %e, ptr %other
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop

exit:
  ret void
}

; as @parts
define void @hinted(ptr noalias %p, ptr noalias %q, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 3, %entry ], [ %next, %loop ]
  %before = add nsw i64 %i, -3
  %from = getelementptr inbounds i32, ptr %p, i64 %before
  %to = getelementptr inbounds i32, ptr %p, i64 %i
  %a = load i32, ptr %from
  store i32 %a, ptr %to
  %other = getelementptr inbounds i32, ptr %q, i64 %i
  %d = load i32, ptr %other
  %e = mul i32 %d, 5
  store i32 %e, ptr %other
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop, !llvm.loop !2

exit:
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.distribute.enable", i1 false}
