// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the user is to be told, by those who know nothing of the compiler.

#ifndef PASSPILOT_LOADED_MESSAGE_H
#define PASSPILOT_LOADED_MESSAGE_H

#include <string>
#include <vector>

namespace passpilot {

struct Message {
  /// "error", "warning", "remark" or "note"; "pass" and "result" are answers.
  std::string Kind, Text;
  std::string File =
      {}; ///< empty: where it is about is known to whoever tells it
  int Line = 0, Column = 0;

  bool isError() const { return Kind == "error"; }
};

using Messages = std::vector<Message>;

} // namespace passpilot

#endif
