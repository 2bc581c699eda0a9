target triple = "wasm32-unknown-unknown"

declare void @left()
declare void @after()
declare i32 @__gxx_wasm_personality_v0(...)

define void @exceptions(i32 %a) "target-features"="+exception-handling" personality ptr @__gxx_wasm_personality_v0 {
  %first = icmp eq i32 %a, 0
  br i1 %first, label %then, label %end
then:
  invoke void @left() to label %end unwind label %pad
pad:
  %switch = catchswitch within none [label %start] unwind to caller
start:
  %catch = catchpad within %switch [ptr null]
  catchret from %catch to label %end
end:
  call void @after()
  ret void
}
