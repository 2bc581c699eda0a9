// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "environment.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace passpilot {

/// setenv() would free the old array, which other threads may be reading.
void addVariable(const std::string &Variable) {
  if (!environ || std::getenv(Variable.substr(0, Variable.find('=')).c_str()))
    return;
  size_t Count = 0;
  while (environ[Count])
    ++Count;
  char **All = new char *[Count + 2]; // never freed, like the text
  std::copy_n(environ, Count, All);
  All[Count] = strdup(Variable.c_str());
  All[Count + 1] = nullptr;
  environ = All;
}

} // namespace passpilot
