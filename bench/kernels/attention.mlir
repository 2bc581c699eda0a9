// One head of a small transformer: softmax(Q * K^T) * V
func.func @attention(%q: tensor<512x64xf32>, %kt: tensor<64x512xf32>, %v: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %scores = linalg.matmul ins(%q, %kt : tensor<512x64xf32>, tensor<64x512xf32>)
                          outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = tensor.empty() : tensor<512x512xf32>
  %weights = linalg.softmax dimension(1) ins(%scores : tensor<512x512xf32>)
                                         outs(%2 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = tensor.empty() : tensor<512x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<512x64xf32>) -> tensor<512x64xf32>
  %out = linalg.matmul ins(%weights, %v : tensor<512x512xf32>, tensor<512x64xf32>)
                       outs(%4 : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %out : tensor<512x64xf32>
}
