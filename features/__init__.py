# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees at each decision: tensors, views and graphs."""
