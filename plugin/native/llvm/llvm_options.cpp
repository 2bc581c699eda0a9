// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "llvm_options.h"

#include "llvm/Support/CommandLine.h"

#include <limits>

using namespace llvm;

namespace passpilot {

static cl::Option *findOption(StringRef Name) {
  return cl::getRegisteredOptions().lookup(Name);
}

bool boolOption(StringRef Name) {
  // The only type that LLVM declares these options with.
  auto *O = static_cast<cl::opt<bool> *>(findOption(Name));
  return O && *O;
}

void liftGrowthLimit() {
  auto *O = static_cast<cl::opt<float> *>(
      findOption("ml-advisor-size-increase-threshold"));
  if (O && O->getNumOccurrences() == 0)
    O->setValue(std::numeric_limits<float>::max());
}

void liftEvictionLimit() {
  auto *O = static_cast<cl::opt<unsigned> *>(
      findOption("mlregalloc-max-eviction-count"));
  if (O && O->getNumOccurrences() == 0)
    O->setValue(std::numeric_limits<unsigned>::max());
}

void forgetTargets() {
  for (const char *Name : {"min-jump-table-entries", "max-jump-table-size"})
    if (cl::Option *O = findOption(Name); O && O->getNumOccurrences() == 0)
      O->setDefault();
}

} // namespace passpilot
