// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes apart the lines of files and the specs of runners.

#ifndef PASSPILOT_RUNTIME_TEXT_H
#define PASSPILOT_RUNTIME_TEXT_H

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

namespace passpilot {

/// Returns \p Text up to \p Mark and removes it, and the mark, from \p Text.
inline std::string_view take(std::string_view &Text, char Mark) {
  const std::string_view Part = Text.substr(0, Text.find(Mark));
  Text.remove_prefix(std::min(Text.size(), Part.size() + 1));
  return Part;
}

/// The number that \p Text is; nothing if it is none. \p Base is of integers.
template <typename T>
std::optional<T> number(std::string_view Text, int Base = 10) {
  T Value{};
  const char *Begin = Text.data(), *End = Begin + Text.size();
  std::from_chars_result Read{};
  if constexpr (std::is_integral_v<T>)
    Read = std::from_chars(Begin, End, Value, Base);
  else
    Read = std::from_chars(Begin, End, Value);
  if (Text.empty() || Read.ptr != End || Read.ec != std::errc())
    return std::nullopt;
  return Value;
}

} // namespace passpilot

#endif
