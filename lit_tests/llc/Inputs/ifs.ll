target triple = "wasm32-unknown-unknown"

declare void @left()
declare void @right()
declare void @after()

define void @one(i32 %a, i32 %b) {
  %less = icmp slt i32 %a, %b
  br i1 %less, label %then, label %end
then:
  call void @left()
  br label %end
end:
  call void @after()
  ret void
}

define void @two(double %a, double %b) {
  %less = fcmp olt double %a, %b
  br i1 %less, label %then, label %else
then:
  call void @left()
  br label %end
else:
  call void @right()
  br label %end
end:
  call void @after()
  call void @after()
  call void @after()
  call void @after()
  ret void
}

define void @nested(i32 %a, i32 %b) {
  %first = icmp eq i32 %a, 0
  br i1 %first, label %outer, label %end
outer:
  call void @left()
  %second = icmp ult i32 %a, %b
  br i1 %second, label %inner, label %end
inner:
  call void @right()
  br label %end
end:
  call void @after()
  ret void
}

define void @loop(i32 %n) {
  br label %head
head:
  %i = phi i32 [ 0, %0 ], [ %next, %latch ]
  %bit = and i32 %i, 1
  %odd = icmp ne i32 %bit, 0
  br i1 %odd, label %body, label %latch
body:
  call void @left()
  %far = icmp eq i32 %i, 9
  br i1 %far, label %end, label %latch
latch:
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %n
  br i1 %again, label %head, label %end
end:
  ret void
}

define void @assembly(i32 %a) {
  %first = icmp eq i32 %a, 0
  br i1 %first, label %then, label %end
then:
  call void asm sideeffect "nop", ""()
  br label %end
end:
  call void @after()
  ret void
}

define void @none(i32 %a) optnone noinline {
  %first = icmp eq i32 %a, 0
  br i1 %first, label %then, label %end
then:
  call void @left()
  br label %end
end:
  call void @after()
  ret void
}
