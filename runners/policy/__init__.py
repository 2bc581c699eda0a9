# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies by name, such as `@oz`: bundles of models, pipelines and options of LLVM that belong together."""
