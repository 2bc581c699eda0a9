module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %1 = transform.structured.match ops{["func.func"]} attributes {sym_name = "attention"} in %module : (!transform.any_op) -> !transform.any_op
    %2 = transform.structured.match ops{["linalg.softmax"]} in %1 : (!transform.any_op) -> !transform.any_op
    %3 = transform.structured.decompose_interface %2 : (!transform.any_op) -> !transform.any_op
    %4 = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %1 : (!transform.any_op) -> !transform.any_op
    %5 = transform.structured.match ops{["func.func"]} attributes {sym_name = "attention"} in %module : (!transform.any_op) -> !transform.any_op
    %6 = transform.structured.match interface{LinalgOp} in %5 : (!transform.any_op) -> !transform.any_op
    %7, %8, %9, %10, %11, %12, %13, %14, %15, %16 = transform.split_handle %6 : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %17, %18 = transform.structured.fuse %16 tile_sizes [64, 0, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %5 { transform.apply_patterns.canonicalization } : !transform.any_op
    transform.apply_cse to %5 : !transform.any_op
    %19 = transform.structured.match ops{["func.func"]} attributes {sym_name = "attention"} in %module : (!transform.any_op) -> !transform.any_op
    %20 = transform.structured.match interface{LinalgOp} in %19 : (!transform.any_op) -> !transform.any_op
    %21, %22, %23, %24, %25, %26, %27, %28, %29, %30 = transform.split_handle %20 : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %31, %32 = transform.structured.tile_using_for %21 tile_sizes [1, 0] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %33 = transform.structured.generalize %31 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %32 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %34 = transform.structured.match ops{["linalg.generic"]} in %32 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %34 : !transform.any_op
    transform.apply_patterns to %32 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %32 {factor = 4} : !transform.any_op
    %35, %36 = transform.structured.tile_using_for %22 tile_sizes [0, 256, 0] interchange = [1, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %37, %38, %39, %40 = transform.structured.tile_using_for %35 tile_sizes [8, 32, 4] interchange = [0, 1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %40 : !transform.any_op
    %41 = transform.structured.generalize %37 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %40 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %42 = transform.structured.match ops{["linalg.generic"]} in %40 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %42 : !transform.any_op
    transform.apply_patterns to %40 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %40 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %40 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %40 : !transform.any_op
    transform.structured.vectorize %23 : !transform.any_op
    %43, %44, %45 = transform.structured.tile_using_for %24 tile_sizes [16, 16] interchange = [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %45 : !transform.any_op
    %46 = transform.structured.generalize %43 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %45 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %47 = transform.structured.match ops{["linalg.generic"]} in %45 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %47 : !transform.any_op
    transform.apply_patterns to %45 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %45 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %45 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %45 : !transform.any_op
    transform.loop.unroll %45 {factor = 4} : !transform.any_op
    %48, %49, %50 = transform.structured.tile_using_for %25 tile_sizes [1, 128] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %51 = transform.structured.generalize %48 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %50 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %52 = transform.structured.match ops{["linalg.generic"]} in %50 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %52 : !transform.any_op
    transform.apply_patterns to %50 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.structured.vectorize %26 : !transform.any_op
    %53, %54, %55 = transform.structured.tile_using_for %27 tile_sizes [16, 16] interchange = [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %55 : !transform.any_op
    %56 = transform.structured.generalize %53 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %55 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %57 = transform.structured.match ops{["linalg.generic"]} in %55 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %57 : !transform.any_op
    transform.apply_patterns to %55 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %55 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %55 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %55 : !transform.any_op
    transform.loop.unroll %55 {factor = 2} : !transform.any_op
    %58, %59 = transform.structured.tile_using_for %28 tile_sizes [1, 0] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %60 = transform.structured.generalize %58 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %59 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %61 = transform.structured.match ops{["linalg.generic"]} in %59 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %61 : !transform.any_op
    transform.apply_patterns to %59 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %59 {factor = 4} : !transform.any_op
    %62, %63 = transform.structured.tile_using_for %29 tile_sizes [1, 0] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %64 = transform.structured.generalize %62 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %63 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %65 = transform.structured.match ops{["linalg.generic"]} in %63 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %65 : !transform.any_op
    transform.apply_patterns to %63 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    %66, %67, %68 = transform.structured.tile_using_for %30 tile_sizes [32, 0, 64] interchange = [1, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %69, %70, %71, %72 = transform.structured.tile_using_for %66 tile_sizes [4, 64, 8] interchange = [0, 1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %72 : !transform.any_op
    %73 = transform.structured.generalize %69 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %72 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %74 = transform.structured.match ops{["linalg.generic"]} in %72 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %74 : !transform.any_op
    transform.apply_patterns to %72 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %72 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %72 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %72 : !transform.any_op
    transform.apply_patterns to %19 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_patterns to %19 { transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct" transform.apply_patterns.vector.lower_multi_reduction lowering_strategy = "innerreduction" transform.apply_patterns.vector.lower_transpose transform.apply_patterns.vector.lower_shape_cast } : !transform.any_op
    transform.apply_patterns to %19 { transform.apply_patterns.canonicalization } : !transform.any_op
    transform.yield
  }
}
