# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The policy in a process of its own, for several compilers.
cat >policy.py <<'PY'
def decide(obs):
    return obs["cost_estimate"] < 0


decide.features = ("cost_estimate",)
PY
passpilot serve python:policy.py:decide --pipe=channel 2>served.txt &
server=$!
passpilot opt prog.bc -passes='default<Oz>' --inline=pipe:channel --timeout=60 -o piped.bc
passpilot opt prog.bc -passes='default<Oz>' --inline=python:policy.py:decide -o direct.bc
kill $server
wait $server
cmp piped.bc direct.bc
grep 'answers for the decision point inline' served.txt
