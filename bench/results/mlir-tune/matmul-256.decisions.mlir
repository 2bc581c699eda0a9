module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %1 = transform.structured.match ops{["func.func"]} attributes {sym_name = "matmul"} in %module : (!transform.any_op) -> !transform.any_op
    %2 = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %1 : (!transform.any_op) -> !transform.any_op
    %3 = transform.structured.match ops{["func.func"]} attributes {sym_name = "matmul"} in %module : (!transform.any_op) -> !transform.any_op
    %4 = transform.structured.match interface{LinalgOp} in %3 : (!transform.any_op) -> !transform.any_op
    %5, %6 = transform.split_handle %4 : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %7, %8 = transform.structured.tile_using_for %5 tile_sizes [1, 0] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %9 = transform.structured.generalize %7 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %8 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %10 = transform.structured.match ops{["linalg.generic"]} in %8 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %10 : !transform.any_op
    transform.apply_patterns to %8 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %8 {factor = 4} : !transform.any_op
    %11, %12, %13 = transform.structured.tile_using_for %6 tile_sizes [64, 128, 0] interchange = [1, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %14, %15, %16, %17 = transform.structured.tile_using_for %11 tile_sizes [8, 32, 4] interchange = [0, 1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %17 : !transform.any_op
    %18 = transform.structured.generalize %14 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %17 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %19 = transform.structured.match ops{["linalg.generic"]} in %17 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %19 : !transform.any_op
    transform.apply_patterns to %17 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %17 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %17 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %17 : !transform.any_op
    transform.loop.unroll %17 {factor = 2} : !transform.any_op
    transform.apply_patterns to %3 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_patterns to %3 { transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct" transform.apply_patterns.vector.lower_multi_reduction lowering_strategy = "innerreduction" transform.apply_patterns.vector.lower_transpose transform.apply_patterns.vector.lower_shape_cast } : !transform.any_op
    transform.apply_patterns to %3 { transform.apply_patterns.canonicalization } : !transform.any_op
    transform.yield
  }
}
