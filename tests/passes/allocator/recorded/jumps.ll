; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Inline assembly that jumps, and a switch where many blocks meet.
target triple = "x86_64-unknown-linux-gnu"

define i64 @jumps(ptr %p, i64 %n) {
entry:
  %a = load volatile i64, ptr %p
  %b = load volatile i64, ptr %p
  %k = load volatile i64, ptr %p
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %s = phi i64 [ %a, %entry ], [ %t, %next ]
  %v = callbr i64 asm sideeffect "# $0 $1 ${2:l}", "=r,r,!i,~{rax},~{rcx},~{rdx}"(i64 %s) to label %on [label %off]

on:
  %o = mul i64 %v, %b
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r14}"()
  %w = xor i64 %o, %v
  br label %next

off:
  %q = add i64 %v, %a
  %q1 = xor i64 %q, %k
  switch i64 %q1, label %next [
    i64 0, label %c0
    i64 1, label %c1
    i64 2, label %c2
    i64 3, label %c3
    i64 4, label %c4
    i64 5, label %c5
    i64 6, label %c6
    i64 7, label %c7
    i64 8, label %c8
    i64 9, label %c9
  ]

c0:
  store volatile i64 %a, ptr %p
  br label %next
c1:
  store volatile i64 %b, ptr %p
  br label %next
c2:
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r14}"()
  br label %next
c3:
  store volatile i64 %k, ptr %p
  br label %next
c4:
  store volatile i64 %v, ptr %p
  br label %next
c5:
  store volatile i64 %q, ptr %p
  br label %next
c6:
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r15}"()
  br label %next
c7:
  store volatile i64 %i, ptr %p
  br label %next
c8:
  store volatile i64 %s, ptr %p
  br label %next
c9:
  store volatile i64 %n, ptr %p
  br label %next

next:
  %t = phi i64 [ %w, %on ], [ %q, %off ], [ 0, %c0 ], [ 1, %c1 ], [ %q1, %c2 ], [ %s, %c3 ], [ %v, %c4 ], [ %a, %c5 ], [ %b, %c6 ], [ %k, %c7 ], [ 2, %c8 ], [ %i, %c9 ]
  %j = add i64 %i, 1
  %c = icmp eq i64 %j, %n
  br i1 %c, label %end, label %loop

end:
  %r1 = add i64 %t, %a
  %r2 = xor i64 %r1, %b
  %r = mul i64 %r2, %k
  ret i64 %r
}
