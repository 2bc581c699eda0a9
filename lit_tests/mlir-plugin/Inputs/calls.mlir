func.func private @leaf(%a: i32) -> i32 {
  %c = arith.constant 3 : i32
  %r = arith.muli %a, %c : i32
  return %r : i32
}
func.func private @large(%a: i32) -> i32 {
  %0 = arith.muli %a, %a : i32
  %1 = arith.muli %0, %a : i32
  %2 = arith.muli %1, %a : i32
  %3 = call @leaf(%2) : (i32) -> i32
  return %3 : i32
}
func.func @top(%a: i32) -> i32 {
  %0 = call @large(%a) : (i32) -> i32
  %1 = call @leaf(%0) : (i32) -> i32
  %2 = call @large(%1) : (i32) -> i32
  return %2 : i32
}
