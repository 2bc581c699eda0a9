module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %1 = transform.structured.match ops{["func.func"]} attributes {sym_name = "matmul"} in %module : (!transform.any_op) -> !transform.any_op
    %2 = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %1 : (!transform.any_op) -> !transform.any_op
    %3 = transform.structured.match ops{["func.func"]} attributes {sym_name = "matmul"} in %module : (!transform.any_op) -> !transform.any_op
    %4 = transform.structured.match interface{LinalgOp} in %3 : (!transform.any_op) -> !transform.any_op
    %5, %6 = transform.split_handle %4 : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %7 = transform.structured.pack %6 packed_sizes = [6, 64, 4] : (!transform.any_op) -> !transform.op<"linalg.generic">
    %8 = transform.get_producer_of_operand %7[0] : (!transform.op<"linalg.generic">) -> !transform.op<"linalg.pack">
    %9, %10, %11 = transform.structured.pack_transpose %8 with_compute_op(%7) inner_perm = [1, 0] : (!transform.op<"linalg.pack">, !transform.op<"linalg.generic">) -> (!transform.op<"linalg.generic">, !transform.op<"linalg.pack">, !transform.any_op)
    %12 = transform.get_producer_of_operand %9[1] : (!transform.op<"linalg.generic">) -> !transform.op<"linalg.pack">
    %13, %14, %15 = transform.structured.pack_transpose %12 with_compute_op(%9) outer_perm = [1, 0] inner_perm = [1, 0] : (!transform.op<"linalg.pack">, !transform.op<"linalg.generic">) -> (!transform.op<"linalg.generic">, !transform.op<"linalg.pack">, !transform.any_op)
    transform.apply_patterns to %3 { transform.apply_patterns.canonicalization transform.apply_patterns.linalg.fold_pack_unpack_into_empty } : !transform.any_op
    %16 = transform.structured.match ops{["linalg.pack"]} in %3 : (!transform.any_op) -> !transform.op<"linalg.pack">
    %17, %18, %19 = transform.structured.lower_pack %16 : (!transform.op<"linalg.pack">) -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)
    %20 = transform.structured.match ops{["linalg.unpack"]} in %3 : (!transform.any_op) -> !transform.op<"linalg.unpack">
    %21, %22, %23, %24 = transform.structured.lower_unpack %20 : (!transform.op<"linalg.unpack">) -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">, !transform.op<"tensor.extract_slice">)
    transform.apply_patterns to %3 { transform.apply_patterns.canonicalization } : !transform.any_op
    %25 = transform.structured.match ops{["func.func"]} attributes {sym_name = "matmul"} in %module : (!transform.any_op) -> !transform.any_op
    %26 = transform.structured.match interface{LinalgOp} in %25 : (!transform.any_op) -> !transform.any_op
    %27, %28, %29, %30, %31, %32 = transform.split_handle %26 : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %33, %34, %35 = transform.structured.tile_using_for %27 tile_sizes [1, 1, 0, 0] interchange = [3, 2, 1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %36 = transform.structured.generalize %33 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %35 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %37 = transform.structured.match ops{["linalg.generic"]} in %35 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %37 : !transform.any_op
    transform.apply_patterns to %35 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %35 {factor = 4} : !transform.any_op
    %38, %39, %40 = transform.structured.tile_using_for %28 tile_sizes [1, 1, 0, 0] interchange = [3, 2, 1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %41 = transform.structured.generalize %38 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %40 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %42 = transform.structured.match ops{["linalg.generic"]} in %40 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %42 : !transform.any_op
    transform.apply_patterns to %40 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %40 {factor = 2} : !transform.any_op
    %43, %44, %45 = transform.structured.tile_using_for %29 tile_sizes [1, 1, 0, 0] interchange = [3, 2, 1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %46 = transform.structured.generalize %43 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %45 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %47 = transform.structured.match ops{["linalg.generic"]} in %45 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %47 : !transform.any_op
    transform.apply_patterns to %45 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    %48, %49, %50, %51 = transform.structured.tile_using_for %30 tile_sizes [2, 2, 16, 0, 0, 0] interchange = [0, 1, 2, 3, 4, 5] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %52, %53, %54, %55 = transform.structured.tile_using_for %48 tile_sizes [1, 1, 1, 0, 0, 0] interchange = [4, 3, 1, 0, 2, 5] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.hoist_loop_invariant_subsets %55 : !transform.any_op
    %56 = transform.structured.generalize %52 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %55 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %57 = transform.structured.match ops{["linalg.generic"]} in %55 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %57 : !transform.any_op
    transform.apply_patterns to %55 { transform.apply_patterns.vector.transfer_permutation_patterns transform.apply_patterns.vector.reduction_to_contract } : !transform.any_op
    transform.apply_patterns to %55 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_licm to %55 : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %55 : !transform.any_op
    %58, %59, %60 = transform.structured.tile_using_for %31 tile_sizes [1, 1, 0, 0] interchange = [3, 2, 1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %61 = transform.structured.generalize %58 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %60 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %62 = transform.structured.match ops{["linalg.generic"]} in %60 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %62 : !transform.any_op
    transform.apply_patterns to %60 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %60 {factor = 2} : !transform.any_op
    %63, %64 = transform.structured.tile_using_for %32 tile_sizes [1, 0] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %65 = transform.structured.generalize %63 : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %64 { transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices } : !transform.any_op
    %66 = transform.structured.match ops{["linalg.generic"]} in %64 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %66 : !transform.any_op
    transform.apply_patterns to %64 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.loop.unroll %64 {factor = 4} : !transform.any_op
    transform.apply_patterns to %25 { transform.apply_patterns.canonicalization transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers transform.apply_patterns.vector.cast_away_vector_leading_one_dim } : !transform.any_op
    transform.apply_patterns to %25 { transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct" transform.apply_patterns.vector.lower_multi_reduction lowering_strategy = "innerreduction" transform.apply_patterns.vector.lower_transpose transform.apply_patterns.vector.lower_shape_cast } : !transform.any_op
    transform.apply_patterns to %25 { transform.apply_patterns.canonicalization } : !transform.any_op
    transform.yield
  }
}
