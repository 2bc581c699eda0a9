# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ten lines of Python decide what LLVM's inliner does.
cat >policy.py <<'PY'
def decide(obs):
    if obs.site.callee.name == "mix":
        return False
    return obs["cost_estimate"] < 50
PY
passpilot opt prog.bc -passes='default<Oz>' --inline=python:policy.py:decide --log=inline.log -S -o out.ll
grep 'call.*@mix' out.ll
! grep 'call.*@scale' out.ll
passpilot log show inline.log | tee shown.txt
grep 'decisions' shown.txt
