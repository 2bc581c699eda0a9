# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mypy: disable-error-code="no-untyped-def"
import subprocess

import passpilot

C = b"""static int add(int a, int b) { return a + b; }
        int twice(int n) { return add(n, n); }
        int four(int n) { return twice(twice(n)); }"""


def decide(obs):
    site, cost = obs.site, obs["cost_estimate"][0]
    print(f"{site.callee.name} into {site.caller.name}: cost {cost}, LLVM says {obs.default()}")
    return site.callee.name == "add"


clang = "clang-22 -O2 -Xclang -disable-llvm-passes -c -emit-llvm -xc - -o -"
module = passpilot.Module.read(subprocess.check_output(clang.split(), input=C))
passpilot.optimize(module, "default<O2>", [passpilot.InlineAdvisor(decide)])
print(*[line for line in str(module).splitlines() if "call" in line], sep="\n")
