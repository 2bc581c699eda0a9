#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: with_compiler.sh COMPILER LAUNCHER: REPLACED [--target=TRIPLE] ARGUMENT...
# Runs `LAUNCHER COMPILER ARGUMENT...`: as a target's compiler launcher, it replaces the project's compiler by
# another one. A target, which CMake puts first if clang cross-compiles, is in the other one's name.
compiler=$1
launcher=${2%:}
shift 3
case $1 in --target=*) shift ;; esac
exec $launcher "$compiler" "$@"
