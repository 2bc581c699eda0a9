# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune -- COMMAND`: records what a build compiles and links."""
