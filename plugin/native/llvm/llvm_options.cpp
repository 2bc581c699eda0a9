// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "llvm_options.h"

#include "compat.h"

#include <limits>
#include <mutex>

using namespace llvm;

namespace passpilot {

static cl::Option *findOption(StringRef Name) {
  return cl::getRegisteredOptions().lookup(Name);
}

bool boolOption(StringRef Name) {
  const auto *O = optionOf<bool>(Name);
  return O && *O;
}

double growthLimitOfUser() {
  const auto *O = optionOf<float>("ml-advisor-size-increase-threshold");
  return O && O->getNumOccurrences() ? O->getValue() : 0.0F;
}

bool isGiven(StringRef Name) {
  const cl::Option *O = findOption(Name);
  return O && O->getNumOccurrences();
}

void liftEvictionLimit() {
  static std::mutex Mutex;
  std::lock_guard<std::mutex> Lock(Mutex);
  auto *O = optionOf<unsigned>("mlregalloc-max-eviction-count");
  constexpr unsigned Largest = std::numeric_limits<unsigned>::max();
  // Written once: compilations on other threads may be reading it.
  if (O && O->getNumOccurrences() == 0 && O->getValue() != Largest)
    O->setValue(Largest);
}

bool setUnlessGiven(StringRef Text, unsigned Position) {
  static std::mutex Mutex;
  std::lock_guard<std::mutex> Lock(Mutex);
  const auto [Name, Value] = Text.split('=');
  cl::Option *O = findOption(Name);
  return O &&
         (O->getNumOccurrences() || !O->addOccurrence(Position, Name, Value));
}

void forgetTargets() {
  for (const char *Name : {"min-jump-table-entries", "max-jump-table-size"})
    if (cl::Option *O = findOption(Name); O && O->getNumOccurrences() == 0)
      O->setDefault();
}

} // namespace passpilot
