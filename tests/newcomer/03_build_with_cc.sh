# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A build with make, where a policy decides; the same program comes out of it.
printf 'prog: prog.o main.o\n\t$(CC) $^ -o $@\n%%.o: %%.c\n\t$(CC) -Oz -c $< -o $@\n' >Makefile
make -s CC=clang-22 && ./prog >expected.txt
rm -f ./*.o prog
make -s CC="passpilot cc --inline=const:0 --log=$PWD/logs/"
./prog | diff expected.txt -
passpilot log show logs | tail -1
