# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The same for MLIR's inliner.
cat >in.mlir <<'MLIR'
func.func private @leaf(%x: i32) -> i32 {
  return %x : i32
}
func.func @top(%x: i32) -> i32 {
  %0 = call @leaf(%x) : (i32) -> i32
  return %0 : i32
}
MLIR
passpilot mlir-opt in.mlir --pass-pipeline='builtin.module(advised-inline{runner=const:0})' | grep 'call @leaf'
passpilot mlir-opt in.mlir --pass-pipeline='builtin.module(advised-inline{runner=const:1})' >out.mlir
! grep 'call @leaf' out.mlir
