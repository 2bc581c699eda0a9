# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What is this, does it work here, and what does it want from me when I mistype?
passpilot --help | grep 'compile C as clang-22 does'
passpilot --version | grep 'LLVM version 22'
passpilot help opt | grep -- '--inline'
passpilot doctor
(passpilot optt || true) 2>&1 | grep "did you mean 'opt'"
(passpilot opt prog.bc -O2 --inlne=const:0 || true) 2>&1 | grep "did you mean '--inline'"
