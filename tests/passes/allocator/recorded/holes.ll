; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Values that are defined on some of the paths to their uses.
target triple = "x86_64-unknown-linux-gnu"

declare void @other(i64)

define i64 @holes(ptr %p, i64 %n, i1 %c, i1 %d) {
entry:
  br i1 %c, label %some, label %join

some:
  %a0 = load volatile i64, ptr %p
  %b0 = load volatile i64, ptr %p
  %e0 = load volatile i64, ptr %p
  call void @other(i64 %a0)
  br label %join

join:
  %a = phi i64 [ %a0, %some ], [ poison, %entry ]
  %b = phi i64 [ %b0, %some ], [ undef, %entry ]
  %e = phi i64 [ %e0, %some ], [ undef, %entry ]
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r14},~{r15}"()
  br label %loop

loop:
  %i = phi i64 [ 0, %join ], [ %j, %again ]
  %s = phi i64 [ 0, %join ], [ %t, %again ]
  %x = load volatile i64, ptr %p
  %y = load volatile i64, ptr %p
  br i1 %c, label %used, label %again

used:
  %s1 = xor i64 %s, %a
  %s2 = mul i64 %s1, %b
  %s3 = add i64 %s2, %e
  %s4 = xor i64 %s3, %a
  %s5 = mul i64 %s4, %b
  %s6 = add i64 %s5, %e
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13}"()
  br label %again

again:
  %u = phi i64 [ %s6, %used ], [ %s, %loop ]
  %t0 = add i64 %u, %x
  %t = mul i64 %t0, %y
  %j = add i64 %i, 1
  %end = icmp eq i64 %j, %n
  br i1 %end, label %out, label %loop

out:
  br i1 %d, label %last, label %done

last:
  %l1 = add i64 %a, %b
  %l2 = mul i64 %l1, %e
  store volatile i64 %l2, ptr %p
  br label %done

done:
  %r = phi i64 [ %t, %out ], [ %l2, %last ]
  ret i64 %r
}
