# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A number that LLVM does not offer, as an input of the policy.
cat >mine.py <<'PY'
import passpilot


@passpilot.feature("int64[1]")
def callee_name_length(site):
    return len(site.callee.name)


def decide(obs):
    return obs["callee_name_length"] > 3


decide.features = ("callee_name_length",)
PY
passpilot opt prog.bc -passes='default<Oz>' --load=mine.py --inline=python:mine.py:decide --log=mine.log -S -o out.ll
grep 'call.*@mix' out.ll
passpilot log show mine.log --csv | head -1 | grep 'callee_name_length'
