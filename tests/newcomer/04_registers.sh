# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Who is evicted: a random advisor against LLVM's own, and what it costs.
passpilot llc pressure.bc -O2 --report=default.json -o default.s
passpilot llc pressure.bc -O2 --evict=random:7 --report=random.json --log=evict.log -o random.s
passpilot report random.json | grep 'spills'
passpilot log show evict.log --limit=3
! cmp -s default.s random.s
