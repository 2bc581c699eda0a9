# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Make a matmul in MLIR fast, and apply what was found with stock mlir-opt alone.
cat >matmul.mlir <<'MLIR'
func.func @matmul(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>)
    -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
MLIR
passpilot tune matmul.mlir --compiles=6 -o matmul.decisions 2>&1 | grep 'GFLOP/s'
mlir-opt-22 matmul.mlir --transform-preload-library=transform-library-paths=matmul.decisions.mlir -transform-interpreter -o stock.mlir
grep 'vector<' stock.mlir
passpilot mlir-opt matmul.mlir --pass-pipeline='builtin.module(advised-schedule{decisions=matmul.decisions})' -o ours.mlir
cmp stock.mlir ours.mlir
passpilot mlir-opt ours.mlir --emit-llvm -o fast.ll
clang-22 -O3 -march=native -fveclib=libmvec -w -c fast.ll -o fast.o
