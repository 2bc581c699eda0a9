# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees: tensors, views, graphs."""
