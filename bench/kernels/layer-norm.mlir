// Layer normalization of 512 rows of 768 numbers
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#both = affine_map<(i, j) -> (i, j)>
func.func @layer_norm(%x: tensor<512x768xf32>, %gain: tensor<768xf32>, %bias: tensor<768xf32>)
    -> tensor<512x768xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 768.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %rows = tensor.empty() : tensor<512xf32>
  %start = linalg.fill ins(%zero : f32) outs(%rows : tensor<512xf32>) -> tensor<512xf32>
  %sum = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<512x768xf32>) outs(%start : tensor<512xf32>) {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.addf %old, %in : f32
    linalg.yield %0 : f32
  } -> tensor<512xf32>
  %squares = linalg.generic {indexing_maps = [#both, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %sum : tensor<512x768xf32>, tensor<512xf32>) outs(%start : tensor<512xf32>) {
  ^bb0(%in: f32, %s: f32, %old: f32):
    %mean = arith.divf %s, %count : f32
    %0 = arith.subf %in, %mean : f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %old, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %empty = tensor.empty() : tensor<512x768xf32>
  %out = linalg.generic {indexing_maps = [#both, #row, #row, #column, #column, #both],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum, %squares, %gain, %bias
          : tensor<512x768xf32>, tensor<512xf32>, tensor<512xf32>, tensor<768xf32>, tensor<768xf32>)
      outs(%empty : tensor<512x768xf32>) {
  ^bb0(%in: f32, %s: f32, %q: f32, %g: f32, %b: f32, %old: f32):
    %mean = arith.divf %s, %count : f32
    %variance = arith.divf %q, %count : f32
    %0 = arith.addf %variance, %epsilon : f32
    %1 = math.rsqrt %0 : f32
    %2 = arith.subf %in, %mean : f32
    %3 = arith.mulf %2, %1 : f32
    %4 = arith.mulf %3, %g : f32
    %5 = arith.addf %4, %b : f32
    linalg.yield %5 : f32
  } -> tensor<512x768xf32>
  return %out : tensor<512x768xf32>
}
