# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The distribution's own opt and clang, unchanged, with the same decisions.
plugin=$(passpilot plugin-path)
passpilot opt prog.bc -passes='default<Oz>' --inline=random:7 -o ours.bc
opt-22 -load-pass-plugin="$plugin" -passpilot-inline=random:7 -passes='default<Oz>' prog.bc -o theirs.bc
cmp ours.bc theirs.bc
passpilot cc -Oz -c main.c --inline=random:7 -o main.o
(passpilot opt prog.bc -passes='default<Oz>' --inline=replay:none.log || true) 2>&1 | grep 'error: .*none.log'
