# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real C and C++ programs as bitcode, for the tests, the demo and the benchmarks.

`spec.toml` names the programs, their origins and their hashes; `drivers/` are the programs that exercise
them. The sources are other people's: they are fetched from package registries into the user's cache, never
committed.
"""
