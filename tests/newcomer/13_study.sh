# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two machines search the same program; their studies become one, and a search starts from the best of both.
export PASSPILOT_CACHE=$PWD/cache
passpilot tune prog.bc --compiles=8 --study=here.study -o prog.decisions
passpilot tune prog.bc --compiles=8 --seed=1 --study=there.study -o there.decisions
passpilot study here.study there.study -o both.study
trials() { grep -c '"op_code":4' "$1"; }
test "$(trials both.study)" -ge "$(trials here.study)"
passpilot tune prog.bc --compiles=8 --update=both.study --study=both.study -o prog.decisions
# A search that is killed goes on, and finds what it would have found.
passpilot tune pressure.bc --compiles=12 --study=whole.study -o whole.decisions
passpilot cache --clear
passpilot tune pressure.bc --compiles=12 --study=killed.study -o killed.decisions & search=$!
until [ -s killed.study ]; do kill -0 $search; done
kill -KILL $search || true
wait $search || true
passpilot tune pressure.bc --compiles=12 --study=killed.study -o killed.decisions
cmp whole.decisions killed.decisions
test "$(trials whole.study)" = "$(trials killed.study)"
passpilot cache | grep ' compilations, '
