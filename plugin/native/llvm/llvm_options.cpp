// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "llvm_options.h"

#include "llvm/Support/CommandLine.h"

#include <limits>
#include <mutex>

using namespace llvm;

namespace passpilot {

static cl::Option *findOption(StringRef Name) {
  return cl::getRegisteredOptions().lookup(Name);
}

static constexpr const char *Outliner = "enable-machine-outliner";

/// Returns whether the option has changed.
static bool enableOutliner() {
  cl::Option *O = findOption(Outliner);
  return O && !O->getNumOccurrences() &&
         !O->addOccurrence(0, Outliner, "always");
}

void outlineInAllFunctions() {
  static std::once_flag Once;
  std::call_once(Once, enableOutliner);
}

static std::mutex &outlinerMutex() {
  static std::mutex Mutex;
  return Mutex;
}

OutlinerOption::OutlinerOption(bool Outlines)
    : Lock(outlinerMutex()), Changed(Outlines && enableOutliner()) {}

OutlinerOption::~OutlinerOption() {
  if (Changed)
    findOption(Outliner)->reset();
}

bool boolOption(StringRef Name) {
  // LLVM declares these options as booleans only.
  auto *O = static_cast<cl::opt<bool> *>(findOption(Name));
  return O && *O;
}

/// Sets option \p Name to its largest value unless the user has set it. Writes
/// it once: compilations on other threads may be reading it.
template <typename T> static void lift(StringRef Name) {
  static std::mutex Mutex;
  std::lock_guard<std::mutex> Lock(Mutex);
  auto *O = static_cast<cl::opt<T> *>(findOption(Name));
  const T Largest = std::numeric_limits<T>::max();
  if (O && O->getNumOccurrences() == 0 && O->getValue() != Largest)
    O->setValue(Largest);
}

static bool isGiven(StringRef Name) {
  const cl::Option *O = findOption(Name);
  return O && O->getNumOccurrences();
}

double growthLimitOfUser() {
  constexpr const char *Name = "ml-advisor-size-increase-threshold";
  if (!isGiven(Name))
    return 0;
  return static_cast<cl::opt<float> *>(findOption(Name))->getValue();
}

bool limitsInlinedStack() { return isGiven("inline-max-stacksize"); }

void liftEvictionLimit() { lift<unsigned>("mlregalloc-max-eviction-count"); }

bool setUnlessGiven(StringRef Text) {
  static std::mutex Mutex;
  std::lock_guard<std::mutex> Lock(Mutex);
  const auto [Name, Value] = Text.split('=');
  cl::Option *O = findOption(Name);
  return O && (O->getNumOccurrences() || !O->addOccurrence(0, Name, Value));
}

void forgetTargets() {
  for (const char *Name : {"min-jump-table-entries", "max-jump-table-size"})
    if (cl::Option *O = findOption(Name); O && O->getNumOccurrences() == 0)
      O->setDefault();
}

} // namespace passpilot
