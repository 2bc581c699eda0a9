!a = tensor<64x48xf32>
!b = tensor<48x32xf32>
!c = tensor<64x32xf32>
func.func @multiply(%a: !a, %b: !b, %c: !c) -> !c {
  %r = linalg.matmul ins(%a, %b : !a, !b) outs(%c : !c) -> !c
  func.return %r : !c
}
