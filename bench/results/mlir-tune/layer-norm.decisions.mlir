module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %1 = transform.structured.match ops{["func.func"]} attributes {sym_name = "layer_norm"} in %module : (!transform.any_op) -> !transform.any_op
    %2 = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %1 : (!transform.any_op) -> !transform.any_op
    %3 = transform.structured.match ops{["func.func"]} attributes {sym_name = "layer_norm"} in %module : (!transform.any_op) -> !transform.any_op
    %4 = transform.structured.match interface{LinalgOp} in %3 : (!transform.any_op) -> !transform.any_op
    %5, %6, %7, %8 = transform.split_handle %4 : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %9, %10 = transform.structured.fuse %8 tile_sizes [32, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %3 { transform.apply_patterns.canonicalization } : !transform.any_op
    transform.apply_cse to %3 : !transform.any_op
    %11 = transform.structured.match ops{["func.func"]} attributes {sym_name = "layer_norm"} in %module : (!transform.any_op) -> !transform.any_op
    %12 = transform.structured.match interface{LinalgOp} in %11 : (!transform.any_op) -> !transform.any_op
    %13, %14, %15, %16 = transform.split_handle %12 : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.structured.vectorize %13 : !transform.any_op
    %17, %18, %19 = transform.structured.tile_using_for %14 tile_sizes [16, 16] interchange = [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %19 : !transform.any_op
    %20 = transform.structured.generalize %17 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %19 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %21 = transform.structured.match ops{["linalg.generic"]} in %19 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %21 : !transform.any_op
    transform.apply_patterns to %19 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %19 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %19 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %19 : !transform.any_op
    transform.loop.unroll %19 {factor = 2} : !transform.any_op
    %22, %23, %24 = transform.structured.tile_using_for %15 tile_sizes [16, 16] interchange = [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %24 : !transform.any_op
    %25 = transform.structured.generalize %22 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %24 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %26 = transform.structured.match ops{["linalg.generic"]} in %24 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %26 : !transform.any_op
    transform.apply_patterns to %24 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %24 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %24 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %24 : !transform.any_op
    transform.loop.unroll %24 {factor = 2} : !transform.any_op
    %27, %28, %29 = transform.structured.tile_using_for %16 tile_sizes [1, 256] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %30 = transform.structured.generalize %27 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %29 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %31 = transform.structured.match ops{["linalg.generic"]} in %29 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %31 : !transform.any_op
    transform.apply_patterns to %29 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %29 {factor = 4} : !transform.any_op
    transform.apply_patterns to %11 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_patterns to %11 { transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct" transform.apply_patterns.vector.lower_multi_reduction lowering_strategy = "innerreduction" transform.apply_patterns.vector.lower_transpose transform.apply_patterns.vector.lower_shape_cast } : !transform.any_op
    transform.apply_patterns to %11 { transform.apply_patterns.canonicalization } : !transform.any_op
    transform.yield
  }
}
