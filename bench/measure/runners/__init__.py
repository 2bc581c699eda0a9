# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One question to a runner, by transport and kind of model."""
