# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small modules with the call sites that LLVM's ML advisor treats apart from its default one."""

from __future__ import annotations

from typing import Final

HEAD: Final = """\
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
"""

UNREACHABLE: Final = (
    HEAD
    + """
@out = global i32 0

define internal i32 @only_use(i32 %x) {
  %y = call i32 @leaf(i32 %x)
  %z = call i32 @leaf(i32 %y)
  ret i32 %z
}

define internal i32 @leaf(i32 %x) {
  %y = add i32 %x, 1
  store volatile i32 %y, ptr @out
  ret i32 %y
}

define internal i32 @shared(i32 %x) {
  %y = call i32 @leaf(i32 %x)
  store volatile i32 %y, ptr @out
  ret i32 %y
}

; Never returns, so that what follows an inlined call of it is unreachable.
define internal void @stop(i32 %x) {
  store volatile i32 %x, ptr @out
  unreachable
}

define i32 @after_stop(i32 %x) {
  call void @stop(i32 %x)
  %y = call i32 @only_use(i32 %x)
  %z = call i32 @shared(i32 %y)
  ret i32 %z
}

define i32 @dead_block(i32 %x) {
entry:
  %y = call i32 @shared(i32 %x)
  ret i32 %y
dead:
  %z = call i32 @shared(i32 %x)
  %w = call i32 @dead_only(i32 %z)
  br label %dead
}

define internal i32 @dead_only(i32 %x) {
  %y = call i32 @leaf(i32 %x)
  ret i32 %y
}

define i32 @later(i32 %x) {
  %a = call i32 @after_stop(i32 %x)
  %b = call i32 @dead_block(i32 %a)
  %c = call i32 @leaf(i32 %b)
  ret i32 %c
}
"""
)

RECURSIVE: Final = (
    HEAD
    + """
@out = global i32 0

; The inner call folds: it takes the branch that does not recur.
define i32 @folds(i32 %n) {
entry:
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %base, label %step
base:
  store volatile i32 %n, ptr @out
  ret i32 1
step:
  %r = call i32 @folds(i32 0)
  %s = add i32 %r, %n
  ret i32 %s
}

define i32 @recurs(i32 %n) {
entry:
  %small = icmp ult i32 %n, 2
  br i1 %small, label %base, label %step
base:
  ret i32 1
step:
  %m = sub i32 %n, 1
  %r = call i32 @recurs(i32 %m)
  %s = mul i32 %r, %n
  ret i32 %s
}

define internal i32 @even(i32 %n) {
entry:
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %yes, label %go
yes:
  ret i32 1
go:
  %m = sub i32 %n, 1
  %r = call i32 @odd(i32 %m)
  ret i32 %r
}

define internal i32 @odd(i32 %n) {
entry:
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %no, label %go
no:
  ret i32 0
go:
  %m = sub i32 %n, 1
  %r = call i32 @even(i32 %m)
  ret i32 %r
}

define i32 @uses(i32 %n) {
  %a = call i32 @folds(i32 %n)
  %b = call i32 @folds(i32 0)
  %c = call i32 @recurs(i32 1)
  %d = call i32 @even(i32 %n)
  %e = call i32 @odd(i32 0)
  %f = add i32 %a, %b
  %g = add i32 %c, %d
  %h = add i32 %e, %f
  %i = add i32 %g, %h
  ret i32 %i
}
"""
)

ATTRIBUTES: Final = (
    HEAD
    + """
@out = global i32 0
@table = global [2 x ptr] [ptr @plain, ptr @never]
$merged = comdat any

define internal i32 @plain(i32 %x) {
  %y = mul i32 %x, 3
  store volatile i32 %y, ptr @out
  ret i32 %y
}
define internal i32 @never(i32 %x) noinline {
  %y = call i32 @plain(i32 %x)
  ret i32 %y
}
define internal i32 @always(i32 %x) alwaysinline {
  %y = call i32 @never(i32 %x)
  %z = call i32 @plain(i32 %y)
  ret i32 %z
}
define internal coldcc i32 @cold(i32 %x) cold {
  %y = call i32 @plain(i32 %x)
  ret i32 %y
}
define available_externally i32 @elsewhere(i32 %x) {
  %y = call i32 @plain(i32 %x)
  ret i32 %y
}
define linkonce_odr i32 @merged(i32 %x) comdat {
  %y = call i32 @plain(i32 %x)
  ret i32 %y
}
define weak i32 @replaceable(i32 %x) {
  ret i32 %x
}
define internal i32 @hinted(i32 %x) inlinehint minsize optsize {
  %y = call i32 @plain(i32 %x)
  %z = call i32 @merged(i32 %y)
  ret i32 %z
}
define i32 @indirect(i1 %which, i32 %x) {
  %f = select i1 %which, ptr @plain, ptr @never
  %y = call i32 %f(i32 %x)
  ret i32 %y
}
declare i32 @personality(...)
define i32 @handles(i32 %x) personality ptr @personality {
entry:
  %y = invoke coldcc i32 @cold(i32 %x) to label %good unwind label %bad
good:
  %z = invoke i32 @elsewhere(i32 %y) to label %end unwind label %bad
end:
  ret i32 %z
bad:
  %l = landingpad { ptr, i32 } cleanup
  %c = call i32 @always(i32 7)
  resume { ptr, i32 } %l
}
define i32 @uses(i32 %x) {
  %a = call i32 @plain(i32 %x) noinline
  %b = call i32 @never(i32 %a) alwaysinline
  %c = call i32 @always(i32 %b)
  %d = call coldcc i32 @cold(i32 %c)
  %e = call i32 @merged(i32 %d)
  %f = call i32 @replaceable(i32 %e)
  %g = call i32 @hinted(i32 %f)
  %h = call i32 @indirect(i1 true, i32 %g)
  %i = call i32 @handles(i32 %h)
  ret i32 %i
}
"""
)

UNUSED: Final = (
    HEAD
    + """
@out = global i32 0

; They call each other and nobody else calls them: their calls do not count.
define internal i32 @unused(i32 %x) {
  %y = call i32 @leaf(i32 %x)
  %z = call i32 @unused_too(i32 %y)
  ret i32 %z
}
define internal i32 @unused_too(i32 %x) {
  %y = call i32 @leaf(i32 %x)
  %z = call i32 @unused(i32 %y)
  ret i32 %z
}

define internal i32 @leaf(i32 %x) {
  store volatile i32 %x, ptr @out
  ret i32 %x
}

define i32 @used(i32 %x) {
  %y = call i32 @leaf(i32 %x)
  ret i32 %y
}
"""
)

ALL: Final = {
    "unreachable": UNREACHABLE,
    "recursive": RECURSIVE,
    "attributes": ATTRIBUTES,
    "unused": UNUSED,
}
