#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: with_clang.sh CLANG LAUNCHER: COMPILER ARGUMENT...
# Runs `LAUNCHER CLANG ARGUMENT...`: as a target's compiler launcher, it replaces the compiler by clang.
clang=$1
launcher=${2%:}
shift 3
exec $launcher "$clang" "$@"
