#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: with_clang.sh CLANG LAUNCHER: COMPILER ARGUMENT...
# Runs `LAUNCHER CLANG ARGUMENT...`: CMake starts a target's compiler through this, and gets another.
clang=$1
launcher=${2%:}
shift 3
exec $launcher "$clang" "$@"
