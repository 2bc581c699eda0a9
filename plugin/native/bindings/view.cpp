// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "view.h"

#include "python_error.h"

namespace passpilot {

std::map<std::string, SiteMaker> &siteMakers() {
  static std::map<std::string, SiteMaker> All;
  return All;
}

Question &View::question(const char *What) const {
  if (A->Session->current() != Asked || A->Session->ordinal() != Ordinal)
    raiseError("StaleViewError",
               std::string(What) + " view of decision " +
                   std::to_string(Ordinal) +
                   ": expected to be read during that decision, by the "
                   "thread that is asked, got another read; copy what "
                   "you need");
  return *Asked;
}

} // namespace passpilot
