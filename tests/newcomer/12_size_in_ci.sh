# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A budget for what a program loads: a baseline, a change within it, and one that is over it.
clang-22 -Oz main.c prog.c -o main
passpilot size main --result=base.json
passpilot size main --against=base.json --fail-over=0
printf 'int table[1000] = {1};\n' >more.c
clang-22 -Oz main.c prog.c more.c -o main
code=0; passpilot size main --against=base.json --fail-over=1% --markdown=growth.md || code=$?
test "$code" = 1
grep '| table | 0 | 4,000 | +4,000 | new |' growth.md
passpilot size main --against=base.json --fail-over=8000 | grep 'within the budget'
