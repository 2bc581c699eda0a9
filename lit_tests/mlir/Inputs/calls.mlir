func.func private @small(%x: i64) -> i64 {
  %y = arith.addi %x, %x : i64
  return %y : i64
}
func.func private @large(%x: i64) -> i64 {
  %0 = arith.muli %x, %x : i64
  %1 = arith.muli %0, %x : i64
  %2 = arith.muli %1, %x : i64
  return %2 : i64
}
func.func @main(%x: i64) -> i64 {
  %0 = call @small(%x) : (i64) -> i64
  %1 = call @large(%0) : (i64) -> i64
  return %1 : i64
}
