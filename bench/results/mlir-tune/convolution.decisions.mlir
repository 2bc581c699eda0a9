module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %1 = transform.structured.match ops{["func.func"]} attributes {sym_name = "convolution"} in %module : (!transform.any_op) -> !transform.any_op
    %2 = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %1 : (!transform.any_op) -> !transform.any_op
    %3 = transform.structured.match ops{["func.func"]} attributes {sym_name = "convolution"} in %module : (!transform.any_op) -> !transform.any_op
    %4 = transform.structured.match interface{LinalgOp} in %3 : (!transform.any_op) -> !transform.any_op
    %5, %6 = transform.split_handle %4 : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %7, %8, %9, %10 = transform.structured.tile_using_for %5 tile_sizes [1, 1, 1, 0] interchange = [3, 2, 1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %11 = transform.structured.generalize %7 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %10 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %12 = transform.structured.match ops{["linalg.generic"]} in %10 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %12 : !transform.any_op
    transform.apply_patterns to %10 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %10 {factor = 4} : !transform.any_op
    %13, %14, %15, %16, %17 = transform.structured.tile_using_for %6 tile_sizes [0, 8, 0, 32, 2, 0, 32] interchange = [0, 1, 2, 3, 4, 5, 6] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %18, %19, %20, %21, %22, %23, %24, %25 = transform.structured.tile_using_for %13 tile_sizes [1, 1, 7, 32, 1, 1, 4] interchange = [3, 2, 1, 0, 4, 5, 6] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %25 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %24 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %23 : !transform.any_op
    %26 = transform.structured.generalize %18 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %25 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %27 = transform.structured.match ops{["linalg.generic"]} in %25 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %27 : !transform.any_op
    transform.apply_patterns to %25 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %25 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %25 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %25 : !transform.any_op
    transform.apply_licm to %24 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %24 : !transform.any_op
    transform.apply_licm to %23 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %23 : !transform.any_op
    transform.apply_patterns to %3 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_patterns to %3 { transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct" transform.apply_patterns.vector.lower_multi_reduction lowering_strategy = "innerreduction" transform.apply_patterns.vector.lower_transpose transform.apply_patterns.vector.lower_shape_cast } : !transform.any_op
    transform.apply_patterns to %3 { transform.apply_patterns.canonicalization } : !transform.any_op
    transform.yield
  }
}
