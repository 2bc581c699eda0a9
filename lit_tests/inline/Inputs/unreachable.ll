; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Calls about which LLVM's ML advisor does not ask: in unreachable blocks, recursive, forced.
; The inline pass alone sees the dead blocks; in a default pipeline, folding makes them dead in between.
target triple = "x86_64-pc-linux-gnu"

declare void @work(i32)

; Its only call is in an unreachable block: inlined there, and deleted.
define internal i32 @only_dead(i32 %x) {
  call void @work(i32 %x)
  %y = mul i32 %x, 3
  ret i32 %y
}

define i32 @dead_call(i32 %x) {
entry:
  ret i32 %x
dead:
  %y = call i32 @only_dead(i32 %x)
  ret i32 %y
}

; Dead code once the argument is known.
define internal i32 @guarded(i1 %c, i32 %x) {
entry:
  br i1 %c, label %yes, label %no
yes:
  %y = call i32 @only_here(i32 %x)
  ret i32 %y
no:
  ret i32 %x
}

define internal i32 @only_here(i32 %x) {
  call void @work(i32 %x)
  call void @work(i32 %x)
  ret i32 %x
}

define i32 @known(i32 %x) {
  %y = call i32 @guarded(i1 false, i32 %x)
  ret i32 %y
}

; Recursion that folds after some rounds.
define i32 @sum(i32 %n) {
entry:
  %end = icmp eq i32 %n, 0
  br i1 %end, label %done, label %more
more:
  %less = sub i32 %n, 1
  %rest = call i32 @sum(i32 %less)
  %all = add i32 %rest, %n
  ret i32 %all
done:
  ret i32 0
}

define i32 @three() {
  %y = call i32 @sum(i32 3)
  ret i32 %y
}

; Mutual recursion.
define i32 @even(i32 %n) {
entry:
  %end = icmp eq i32 %n, 0
  br i1 %end, label %done, label %more
more:
  %less = sub i32 %n, 1
  %y = call i32 @odd(i32 %less)
  ret i32 %y
done:
  ret i32 1
}

define i32 @odd(i32 %n) {
entry:
  %end = icmp eq i32 %n, 0
  br i1 %end, label %done, label %more
more:
  %less = sub i32 %n, 1
  %y = call i32 @even(i32 %less)
  ret i32 %y
done:
  ret i32 0
}

; Forced either way.
define i32 @never(i32 %x) noinline {
  call void @work(i32 2)
  ret i32 %x
}

define internal i32 @always(i32 %x) alwaysinline {
  call void @work(i32 %x)
  call void @work(i32 1)
  ret i32 %x
}

define i32 @forced(i32 %x) {
  %a = call i32 @never(i32 %x)
  %b = call i32 @always(i32 %a)
  ret i32 %b
}
