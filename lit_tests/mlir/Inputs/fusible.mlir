// A row is scaled, multiplied with every row of a matrix, and the rows are added up.
#m = affine_map<(i, j) -> (i, j)>
#c = affine_map<(i, j) -> (j)>
#v = affine_map<(i) -> (i)>
!matrix = tensor<6x8xf32>
!row = tensor<8xf32>
func.func @main(%a: !matrix, %b: !row, %c: !row) -> !row {
  %row = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%b : !row) outs(%c : !row) {
  ^bb0(%x: f32, %o: f32):
    %e = math.exp %x : f32
    %s = arith.addf %e, %x : f32
    linalg.yield %s : f32
  } -> !row
  %scaled = linalg.generic {indexing_maps = [#m, #c, #m], iterator_types = ["parallel", "parallel"]}
      ins(%a, %row : !matrix, !row) outs(%a : !matrix) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    linalg.yield %p : f32
  } -> !matrix
  %sum = linalg.generic {indexing_maps = [#m, #c, #c], iterator_types = ["reduction", "parallel"]}
      ins(%scaled, %c : !matrix, !row) outs(%c : !row) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %q = arith.addf %x, %o : f32
    linalg.yield %q : f32
  } -> !row
  func.return %sum : !row
}
