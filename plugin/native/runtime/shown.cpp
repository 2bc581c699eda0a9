// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "text.h"

#include <cctype>
#include <cstdint>
#include <cstdio>

namespace passpilot {

/// The character at the beginning of \p Text, which is removed; 0xDC00 and the
/// byte if it is no UTF-8, as Python has it.
static uint32_t takeCharacter(std::string_view &Text) {
  const auto Byte = [&](size_t I) { return static_cast<uint8_t>(Text[I]); };
  const uint8_t First = Byte(0);
  const size_t Size = First < 0x80   ? 1
                      : First < 0xC2 ? 0
                      : First < 0xE0 ? 2
                      : First < 0xF0 ? 3
                      : First < 0xF5 ? 4
                                     : 0;
  uint32_t C = Size < 2 ? First : First & (0x7FU >> Size);
  bool Good = Size && Size <= Text.size();
  for (size_t I = 1; Good && I < Size; ++I) {
    Good = (Byte(I) & 0xC0) == 0x80;
    C = C << 6 | (Byte(I) & 0x3F);
  }
  constexpr uint32_t Least[] = {0, 0, 0x80, 0x800, 0x10000};
  Good = Good && C >= Least[Size] && C < 0x110000 && C >> 11 != 0x1B;
  Text.remove_prefix(Good ? Size : 1);
  return Good ? C : 0xDC00U + First;
}

/// Whether a terminal may obey \p C, or show nothing or the text elsewhere.
static bool isControl(uint32_t C) {
  return C < 0x20 || (C >= 0x7F && C < 0xA0) || C == 0xAD || C == 0x61C ||
         (C >= 0x200B && C < 0x2010) || (C >= 0x2028 && C < 0x202F) ||
         (C >= 0x2060 && C < 0x2070) || C >> 11 == 0x1B || C == 0xFEFF ||
         (C >= 0xFFF9 && C < 0xFFFC) || C >> 12 == 0xE0;
}

/// The length of the token at the beginning of \p Text; 0 for a file's name.
static size_t tokenSize(std::string_view Text) {
  if (!Text.empty() && Text[0] == '@')
    return 0;
  Text = Text.substr(0, Text.find_first_of("& \t\r\n\"'"));
  return Text.find_last_not_of(":;,") + 1;
}

void printWarning(std::string_view Text) {
  const std::string Line = "passpilot: warning: " + shown(Text) + "\n";
  std::fwrite(Line.data(), 1, Line.size(), stderr);
}

std::string shown(std::string_view Text) {
  constexpr std::string_view Key = "token=";
  std::string Safe;
  while (!Text.empty()) {
    if ((Text[0] == '?' || Text[0] == '&') && Text.size() > Key.size() &&
        std::equal(Key.begin(), Key.end(), Text.begin() + 1,
                   [](char A, char B) { return A == std::tolower(B); })) {
      const size_t Head = 1 + Key.size();
      const size_t Size = tokenSize(Text.substr(Head));
      (Safe += Text.substr(0, Head)) += Size ? "..." : "";
      Text.remove_prefix(Head + Size);
      continue;
    }
    const std::string_view Before = Text;
    const uint32_t C = takeCharacter(Text);
    if (C == '\n' || !isControl(C)) {
      Safe += Before.substr(0, Before.size() - Text.size());
      continue;
    }
    char Escape[16];
    const bool IsByte = C >= 0xDC80 && C < 0xDD00; // that is no UTF-8
    std::snprintf(Escape, sizeof Escape,
                  C < 0x100 || IsByte ? "\\x%02x"
                  : C < 0x10000       ? "\\u%04x"
                                      : "\\U%08x",
                  IsByte ? C & 0xFF : C);
    Safe += C == '\t' ? "\\t" : C == '\r' ? "\\r" : Escape;
  }
  return Safe;
}

} // namespace passpilot
