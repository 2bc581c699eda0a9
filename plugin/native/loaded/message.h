// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages for the user, from code that does not know the compiler.

#pragma once

#include <string>
#include <vector>

namespace passpilot {

struct Message {
  /// "error", "warning", "remark" or "note"; "pass", "policy" and "result"
  /// carry answers.
  std::string Kind, Text;
  std::string File = {}; ///< empty: whoever reports the message knows the place
  int Line = 0, Column = 0;

  bool isError() const { return Kind == "error"; }
};

using Messages = std::vector<Message>;

} // namespace passpilot
