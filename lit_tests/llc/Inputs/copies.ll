; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; The argument is in rdi, the frequent call wants it in rdx, the rare one in rsi.
declare void @often(i64, i64, i64)
declare void @seldom(i64, i64)

define void @f(i64 %x) {
  %rare = icmp eq i64 %x, 7
  br i1 %rare, label %cold, label %hot, !prof !0
hot:
  tail call void @often(i64 poison, i64 poison, i64 %x)
  ret void
cold:
  tail call void @seldom(i64 poison, i64 %x)
  ret void
}

!0 = !{!"branch_weights", i32 1, i32 100}
