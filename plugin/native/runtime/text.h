// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes apart and joins the lines of files and the specs of runners.

#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace passpilot {

/// Returns \p Text up to \p Mark and removes it, and the mark, from \p Text.
inline std::string_view take(std::string_view &Text, char Mark) {
  const std::string_view Part = Text.substr(0, Text.find(Mark));
  Text.remove_prefix(std::min(Text.size(), Part.size() + 1));
  return Part;
}

/// \p Text for people: without the tokens of runner specs, and with escapes for
/// characters that a terminal could obey. Lines remain lines.
std::string shown(std::string_view Text);
/// Prints a warning to stderr, in one write and whatever the tool hides.
void printWarning(std::string_view Text);

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

/// The parts of \p Text between commas; none if it is empty.
inline std::vector<std::string> split(std::string_view Text) {
  std::vector<std::string> Parts;
  while (!Text.empty())
    Parts.emplace_back(take(Text, ','));
  return Parts;
}

/// The \p Texts with \p Mark between them.
template <typename Range>
std::string joined(const Range &Texts, const char *Mark = ", ") {
  std::string All;
  for (const auto &Text : Texts)
    (All += All.empty() ? "" : Mark) += Text;
  return All;
}

/// The element called \p Name; null if there is none.
template <typename T>
const T *named(const std::vector<T> &All, std::string_view Name) {
  for (const T &Element : All)
    if (Element.Name == Name)
      return &Element;
  return nullptr;
}

} // namespace passpilot
