; Chains of instructions that do not depend on each other.
define i64 @ready(i64 %a, i64 %b, i64 %c, i64 %d) {
  %1 = mul i64 %a, 3
  %2 = mul i64 %b, 5
  %3 = mul i64 %c, 7
  %4 = mul i64 %d, 11
  %5 = xor i64 %1, %b
  %6 = xor i64 %2, %c
  %7 = xor i64 %3, %d
  %8 = xor i64 %4, %a
  %9 = sub i64 %5, %6
  %10 = sub i64 %7, %8
  %11 = add i64 %9, %10
  ret i64 %11
}
