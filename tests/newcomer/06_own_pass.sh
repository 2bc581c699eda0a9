# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A pass of ten lines between LLVM's own.
cat >shift.py <<'PY'
from dataclasses import dataclass

import passpilot


@passpilot.llvm.function_pass("count-calls")
@dataclass(frozen=True)
class CountCalls:
    def run(self, function):
        print(function.name, len(function.call_sites))
        return False
PY
passpilot opt prog.bc --load=shift.py -passes='function(count-calls)' -o out.bc | tee calls.txt
grep 'total 3' calls.txt
(passpilot opt prog.bc --load=shift.py -passes='function(count-cals)' -o out.bc || true) 2>&1 | grep "count-calls"
