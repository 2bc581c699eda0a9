// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func private @small(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  return %y : i32
}
func.func @big(%x: i32) -> i32 {
  %y = func.call @small(%x) : (i32) -> i32
  %z = func.call @small(%x) : (i32) -> i32
  %w = arith.muli %y, %z : i32
  return %w : i32
}
