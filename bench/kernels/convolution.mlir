// A convolution of a residual network: 3x3, 64 channels to 64
func.func @convolution(%image: tensor<1x58x58x64xf32>, %filter: tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x56x56x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
  %out = linalg.conv_2d_nhwc_hwcf
    {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %filter : tensor<1x58x58x64xf32>, tensor<3x3x64x64xf32>)
    outs(%start : tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
  return %out : tensor<1x56x56x64xf32>
}
