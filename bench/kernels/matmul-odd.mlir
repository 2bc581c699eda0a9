// C = A * B
func.func @matmul(%a: tensor<509x641xf32>, %b: tensor<641x383xf32>) -> tensor<509x383xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<509x383xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<509x383xf32>) -> tensor<509x383xf32>
  %c = linalg.matmul ins(%a, %b : tensor<509x641xf32>, tensor<641x383xf32>)
                     outs(%start : tensor<509x383xf32>) -> tensor<509x383xf32>
  return %c : tensor<509x383xf32>
}
